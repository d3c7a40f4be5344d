"""The files of a warehouse: where it lies by default, and the published copy beside it."""

import os
import time
from pathlib import Path

from bufferhouse.lake.address import LakeAddress, address_of


def default_path() -> Path | LakeAddress:
    """Return `$BUFFERHOUSE_WAREHOUSE`, else `warehouse.duckdb` in the working directory."""
    return address_of(os.environ.get("BUFFERHOUSE_WAREHOUSE") or "warehouse.duckdb")


def published_path(path: Path | LakeAddress) -> Path | None:
    """Return where the published copy of a warehouse lies: `x.duckdb` is published as `x.published.duckdb`.

    A lake has none.
    """
    if isinstance(path, LakeAddress):
        return None
    return path.with_name(f"{path.stem}.published{path.suffix or '.duckdb'}")


def outdate_copy(path: Path) -> None:
    """Make sure that the published copy is not taken for newer than what is written from now on.

    Its time says so, and lies ahead where the clock was set back since: readers would go on with the copy.
    """
    copy, now = published_path(path), time.time()
    if copy.exists() and copy.stat().st_mtime >= now:
        os.utime(copy, (now - 1, now - 1))


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
    return is_newer and not path.with_name(f"{path.name}.wal").exists()
