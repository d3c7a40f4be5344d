"""How much memory a process has held."""

import resource
from pathlib import Path


def peak_mb() -> int:
    """Return the most memory this process has held, in MiB.

    The kernel's figure, where there is one: that of getrusage begins with what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
