"""Copies of the warehouse file while it is open here.

A child process makes them: if this process opened the file a second time and closed it, the kernel would drop DuckDB's
lock on it, which is a POSIX lock, and a second writer's commits would be lost without a word.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from bufferhouse.engine.faults import lacks_space
from bufferhouse.errors import WarehouseError, WarehouseFull
from bufferhouse.paths import remove_leftovers, replacing


def copy_file(
    source: Path, target: Path, *, is_flushed: bool = True, prove: Callable[[Path], None] | None = None
) -> None:
    """Put a copy of `source` at `target`, in one step: until it is whole, nothing is changed there.

    `is_flushed` waits until it is on the disk. Where the file system can, both share their blocks. `prove` is given
    the copy, and raises where it is not good enough to take that place.

    Raises:
        WarehouseFull: there is no space for it.
        WarehouseError: it cannot be written for another reason.
    """
    if target.parent.is_dir():
        remove_leftovers(target)  # the caller holds the writer's lock, so nobody else is copying
    with replacing(target, is_flushed=is_flushed) as new:
        command = ["cp", "--reflink=auto", "--", str(source), str(new)]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"}
        )
        if done.returncode:
            ended = signal.strsignal(-done.returncode) if done.returncode < 0 else "cp failed"
            reason = done.stderr.strip() or str(ended)
            if lacks_space(reason):
                raise WarehouseFull(f"{target} cannot be written: {reason}; make space and try again")
            raise WarehouseError(f"{target} cannot be written: {reason}")
        if prove:
            prove(new)
