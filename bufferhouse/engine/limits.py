"""What one statement may take: seconds, memory, threads, temporary files, rows.

DuckDB limits the memory of its buffers. A vector of a long list is outside them, and while DuckDB makes one, it does
not react to an interrupt. So the operating system limits the memory of the process, too, and a caller that can lose the
process may end it when an interrupt does not help.
"""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bufferhouse.engine.interrupts import AGAIN_SECONDS, END, woken_by_signals

MIB, GIB = 1 << 20, 1 << 30
OUTSIDE_BYTES = 512 * MIB  # what the process may take beyond DuckDB's own limit: vectors, threads, the answer as text
GRACE_SECONDS = 5.0  # between the interrupt and giving up


def half_of_the_memory(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return half of the bytes that this process may take; 1 GiB if that is not known.

    It may take the memory of the machine, or less in a container (control groups of Linux): `groups` is the file that
    names the groups of the process, and their files are below `root`.
    """
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return GIB
    return min([machine, *_bounds_of_groups(groups, root)]) // 2


def _bounds_of_groups(groups: Path, root: Path) -> list[int]:
    bounds = []
    with suppress(OSError):
        for line in groups.read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            if "memory" in controllers.split(","):
                top, name = root / "memory", "memory.limit_in_bytes"  # version 1
            else:
                top, name = root, "memory.max"  # version 2; other groups have no such file
            # Limits of the groups above hold, too. In a container the top is its own group, and `group` may not exist.
            own = top / group.lstrip("/")
            for folder in [own, *own.parents][: len(own.parts) - len(top.parts) + 1]:
                with suppress(OSError, ValueError):  # not there, or "max"
                    bounds.append(int((folder / name).read_text(encoding="utf-8")))
    return bounds


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of one statement, bytes of memory and of temporary files, threads, rows of the answer."""

    seconds: float = 300.0
    memory_bytes: int = min(4 * GIB, half_of_the_memory())
    temporary_bytes: int = 8 * GIB
    threads: int = min(8, os.cpu_count() or 1)
    rows: int = 1_000_000


@contextmanager
def bounded_memory(more_bytes: int) -> Iterator[None]:
    """Limit the bytes of memory that the process may take in addition, if the system can do that (Linux)."""
    taken = _taken_bytes()
    if taken is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = taken + more_bytes
    known = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([bound, *known]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _taken_bytes() -> int | None:
    try:
        found = re.search(r"^VmData:\s+(\d+) kB$", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


@contextmanager
def interrupted_after(
    con: duckdb.DuckDBPyConnection, seconds: float, give_up: Callable[[], None] | None
) -> Iterator[threading.Event]:
    """Interrupt the statement of a connection after so many seconds, or at Ctrl-C; yield an event that Ctrl-C sets.

    A statement that is interrupted raises duckdb.InterruptException. Python handles Ctrl-C only when DuckDB returns to
    it, which may not happen during one step of a large join: so the signal itself wakes a thread here. `give_up` is
    called if a statement continues after its time and after the interrupt.
    """
    ctrl_c = threading.Event()

    def watch(woken: socket.socket) -> None:
        reason = _first_byte(woken, seconds)
        if reason == END:
            return
        if reason is not None:
            ctrl_c.set()
        last = time.monotonic() + GRACE_SECONDS
        while True:
            con.interrupt()  # repeated, because the statement may not have begun yet
            if _first_byte(woken, AGAIN_SECONDS) == END:
                return
            if time.monotonic() >= last and reason is None and give_up:
                give_up()
                return

    with woken_by_signals(watch):
        yield ctrl_c


def _first_byte(woken: socket.socket, seconds: float) -> bytes | None:
    """Return the next of END and Ctrl-C, or None if neither comes in time."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        woken.settimeout(min(left, threading.TIMEOUT_MAX))
        with suppress(TimeoutError):
            if (byte := woken.recv(1)) in (END, bytes([signal.SIGINT])):
                return byte
    return None
