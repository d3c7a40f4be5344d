"""How much memory a process has held, or a process and those it started."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from bufferhouse.paths import CHECKOUT

_STEP_SECONDS = 0.05


def peak_mb() -> int:
    """Return the most memory this process has held, in MB.

    The kernel's figure, where there is one: that of getrusage begins with what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 // 10**6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 10**6


def run_alone(code: str, *words: object) -> tuple[str, int]:
    """Run Python code in a process of its own; return what it prints, and its peak in MB.

    The peak is that of the process and all that it started together, pages that they share counted once, as far as one
    sees by looking twenty times a second.
    """
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", code, *map(str, words)]
    peak = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as run:
        while run.poll() is None:
            peak = max(peak, sum(_held(pid) for pid in _family(run.pid)))
            time.sleep(_STEP_SECONDS)
        text = run.stdout.read()
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)
    return text, peak * 1024 // 10**6


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(int(child)))]


def _held(pid: int) -> int:
    """Return what a process holds, its part of shared pages included, in KiB; 0 where it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
