"""How much memory a process has held, or a process and those it started."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from bufferhouse.layout import CHECKOUT

_STEP_SECONDS = 0.02


def peak_mb() -> int:
    """Return the most memory this process has held, in MiB.

    The kernel's figure, where there is one: that of getrusage begins with what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def run_alone(code: str, *words: object) -> tuple[str, int]:
    """Run Python code in a process of its own; return what it prints, and its peak in MiB.

    The peak is the sum of those of the process and of all that it started, though they need not be at one moment.
    """
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", code, *map(str, words)]
    peaks: dict[int, int] = {}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as run:
        while run.poll() is None:
            for pid in _family(run.pid):
                peaks[pid] = max(peaks.get(pid, 0), _held(pid))
            time.sleep(_STEP_SECONDS)
        text = run.stdout.read()
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)
    return text, sum(peaks.values()) >> 10


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(int(child)))]


def _held(pid: int) -> int:
    """Return the most that a process has held so far, in KiB; 0 where it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
