"""The files of a warehouse: where it lies, and what lies beside it.

A symbolic link is another name of the file that it leads to. Lock, log and published copy lie beside the file, so that
all who call it by any name meet there.
"""

import os
import re
import time
from pathlib import Path

from bufferhouse.errors import UsageError
from bufferhouse.warehouse.lake.address import LakeAddress, address_of


def default_path() -> Path | LakeAddress:
    """Return `$BUFFERHOUSE_WAREHOUSE`, else `warehouse.duckdb` in the working directory."""
    return address_of(os.environ.get("BUFFERHOUSE_WAREHOUSE") or "warehouse.duckdb")


def file_of(path: Path) -> Path:
    """Return the file behind a name of a warehouse, be it there or not; the name itself where it is no link.

    Raises:
        UsageError: the link leads back to itself.
    """
    if not path.is_symlink():
        return path
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise UsageError(f"{path}: expected a file or a link to one, found a symbolic link that leads back to itself")
    return file


def has_names(file: Path) -> bool:
    """Say whether a file is there under several names."""
    try:
        return file.stat().st_nlink > 1
    except FileNotFoundError:
        return False


def lock_path(path: Path) -> Path:
    """Return where the writer's lock of a warehouse lies."""
    return _beside(path, ".lock")


def log_path(path: Path) -> Path:
    """Return where DuckDB writes what is not in the file yet."""
    return _beside(path, ".wal")


def _beside(path: Path, suffix: str) -> Path:
    file = file_of(path)
    return file.with_name(file.name + suffix)


def published_path(path: Path | LakeAddress) -> Path | None:
    """Return where the published copy of a warehouse lies: `x.duckdb` is published as `x.published.duckdb`.

    A lake has none.
    """
    if isinstance(path, LakeAddress):
        return None
    file = file_of(path)
    return file.with_name(f"{file.stem}.published{file.suffix or '.duckdb'}")


def outdate_copy(path: Path) -> None:
    """Make sure that the published copy is not taken for newer than what is written from now on.

    Its time says so, and lies ahead where the clock was set back since: readers would go on with the copy.
    """
    copy, now = published_path(path), time.time()
    if copy.exists() and copy.stat().st_mtime >= now:
        os.utime(copy, (now - 1, now - 1))


def sweep(file: Path) -> None:
    """Remove what commands that were killed left beside a warehouse; who calls it holds the writer's lock."""
    names = "|".join(re.escape(path.name) for path in (file, published_path(file)))
    leftover = re.compile(rf"\.({names})\.\d+\.(new|tmp|compact)(\..+)?")
    for name in os.listdir(file.parent):
        if leftover.fullmatch(name):
            file.with_name(name).unlink(missing_ok=True)


def is_published(path: Path | LakeAddress) -> bool:
    """Say whether the published copy of a warehouse has all that was committed: to the file and to the log beside it.

    A lake needs none.
    """
    copy = published_path(path)
    if copy is None:
        return True
    try:
        is_newer = copy.stat().st_mtime_ns > path.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return is_newer and not log_path(path).exists()
