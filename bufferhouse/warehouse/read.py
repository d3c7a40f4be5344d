"""A warehouse open for reading: the file itself, its published copy, or a snapshot of a lake."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from bufferhouse.engine.connection import close, connect, settle
from bufferhouse.engine.journal import journal_path, roll_back
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError
from bufferhouse.warehouse import migrate
from bufferhouse.warehouse.files import file_of, has_names, is_published, published_path
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.lock import WriterLock
from bufferhouse.warehouse.warehouse import Warehouse


def open_reader(path: Path | LakeAddress, *, wait: float = 0.0) -> tuple[duckdb.DuckDBPyConnection, str | None]:
    """Open a warehouse for reading; return the connection and a note where it is not the newest state.

    Reads the published copy where nothing was written since, which is in no writer's way. Else reads the file itself
    when nobody writes, else the published copy as it is, else waits up to `wait` seconds.

    Raises:
        UsageError: there is no warehouse at `path`.
        WarehouseBusy: it is being written, there is no published copy, and `wait` is over.
    """
    if isinstance(path, LakeAddress):
        from bufferhouse.warehouse.lake.open import open_snapshot

        con = open_snapshot(path, wait)
        settle(con)
        return con, None
    if not path.exists():
        raise UsageError(
            f"there is no warehouse at {path}; make one with: bufferhouse ingest SOURCE --warehouse {path}"
        )
    path, published = file_of(path), published_path(path)
    note = None
    if is_published(path):
        con = connect(published, read_only=True, wait=wait)
    else:
        undo_left(path)
        try:
            con = connect(path, read_only=True, wait=0.0 if published.exists() else wait)
            if has_names(path):
                note = f"{path} has a second name, a hard link: what lies in a log beside that one is not seen"
        except WarehouseBusy:
            if not published.exists():
                raise
            con = connect(published, read_only=True, wait=wait)
            moment = datetime.fromtimestamp(published.stat().st_mtime, UTC)
            note = f"{path} is being written; this is the published copy, as of {moment:%Y-%m-%d %H:%M:%S} UTC"
    settle(con)
    version = migrate.applied_version(con)
    if version != max(migrate.migrations()):
        close(con)
        known = max(migrate.migrations())
        way = "any ingest migrates it" if version < known else "install the newer bufferhouse that wrote it"
        raise WarehouseError(f"{path} has schema version {version}, this bufferhouse reads version {known}; {way}")
    return con, note


def undo_left(path: Path) -> None:
    """Undo what a killed writer left of a checkpoint, before the file is read.

    Where another writes it now, or this user may not, it stays as it is.
    """
    with suppress(WarehouseBusy, OSError):
        if journal_path(path).exists():
            with WriterLock(path):
                roll_back(path)


def is_there(path: Path | LakeAddress) -> bool:
    """Say whether there is a warehouse."""
    if isinstance(path, LakeAddress):
        from bufferhouse.warehouse.lake.attach import exists

        return exists(path)
    return path.exists()


@contextmanager
def reading(path: Path | LakeAddress, *, wait: float = 0.0) -> Iterator[tuple[duckdb.DuckDBPyConnection, str | None]]:
    """Yield what `open_reader` returns, and close it.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `open_reader`.
    """
    con, note = open_reader(path, wait=wait)
    try:
        yield con, note
    finally:
        close(con)


@contextmanager
def only_asked(path: Path | LakeAddress, *, wait: float = 0.0) -> Iterator[tuple[Warehouse, str | None]]:
    """Yield a warehouse to look things up in, and the note of `open_reader`.

    It is neither made, nor migrated, nor locked; where there is none, it is an empty one in memory.
    """
    if not is_there(path):
        with Warehouse(None) as warehouse:
            yield warehouse, None
        return
    warehouse = Warehouse(path)
    with reading(path, wait=wait) as (warehouse.con, note):
        yield warehouse, note
