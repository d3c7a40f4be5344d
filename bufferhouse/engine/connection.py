"""Connections to a file of DuckDB or in memory, and the errors for files that DuckDB refuses."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb

from bufferhouse.engine import faults, interrupts, journal
from bufferhouse.engine.sql import quoted
from bufferhouse.errors import WarehouseError, WarehouseInUse, first_line

_LAST_TASKS = 0.01  # seconds
_LITTLE = "1MB"
_SQLITE = b"SQLite format 3\0"


def connect(path: Path | None, *, read_only: bool, wait: float) -> duckdb.DuckDBPyConnection:
    """Connect, waiting up to `wait` seconds while another process has the file open.

    Raises:
        WarehouseInUse: another process has it open for longer.
        WarehouseError: it cannot be opened, or is not a database of DuckDB.
    """
    if path is None:
        return duckdb.connect()
    for is_last in tries(wait):
        try:
            con = duckdb.connect(str(path.absolute()), read_only=read_only)  # `ab:c` would be another database's
        except duckdb.IOException as error:
            if not faults.is_locked(error):
                _check_kind(path)
                fault = faults.no_space(path, error) or faults.damage(path, error)
                raise fault or WarehouseError(f"{path} cannot be opened: {first_line(error)}") from None
            if is_last:
                raise WarehouseInUse(
                    f"{path} is open in another process ({faults.holder(error)}); try again later"
                ) from None
        except duckdb.Error as error:
            raise (
                _of_another_kind(path)
                if faults.is_of_rows(error)
                else WarehouseError(f"{path} is no warehouse: {first_line(error)}")
            ) from None
        else:
            _check_file(con, path)
            return con


def _check_file(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file of rows: for a file called .csv, .json or .parquet DuckDB makes views in memory.

    Rows that are written there would be lost without an error.
    """
    [(own,)] = con.execute("SELECT path FROM duckdb_databases() WHERE database_name = current_database()").fetchall()
    if own is None:
        con.close()
        raise _of_another_kind(path)


def _of_another_kind(path: Path) -> WarehouseError:
    return WarehouseError(f"{path} is no warehouse: expected a database of DuckDB, found a file of another kind")


def _check_kind(path: Path) -> None:
    """Refuse a file of SQLite by name: DuckDB only says that it lacks an extension for it.

    Call it only if DuckDB did not open the file: a process that closes any descriptor of a file loses its lock on it.

    Raises:
        WarehouseError: it is a database of SQLite.
    """
    with suppress(OSError), path.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            raise WarehouseError(f"{path} is no warehouse: expected a database of DuckDB, found one of SQLite")


def close(con: duckdb.DuckDBPyConnection) -> None:
    """Close a connection, and the database with its last connection. A closed one stays closed.

    On busy cores DuckDB 1.5.5 sometimes (twice in some 8,000 times) ends the process with SIGSEGV, in one of its own
    threads, while a database is closed. `SET threads` ends these threads first: it returns when they are gone. If
    DuckDB gave up waiting for a statement at a signal, the statement continues in these threads until it is
    interrupted.
    """
    with suppress(duckdb.Error):
        con.interrupt()
    interrupts.forget(con)
    try:
        con.execute("SET threads = 1")
    except duckdb.Error:
        time.sleep(_LAST_TASKS)  # settings are locked, or the transaction failed: what the threads still do is short
    finally:
        con.close()


def close_writer(con: duckdb.DuckDBPyConnection) -> duckdb.Error | OSError | None:
    """Write the log into the file, and close the writer's connection; return the error if the log stays."""
    interrupts.forget(con)
    try:
        journal.checkpoint(con)
        with suppress(duckdb.Error, OSError):
            journal.remove_empty_logs(con)  # while the lock is held: later the log may be another writer's
    except (duckdb.Error, OSError) as error:
        return error
    finally:
        close(con)
    return None


def evict(con: duckdb.DuckDBPyConnection, limit: str) -> None:
    """Free the memory in which DuckDB keeps blocks that it has read; `limit` is the memory limit to set afterwards.

    DuckDB evicts blocks when its limit is lowered (`BufferPool::SetLimit`). Then the limit is set to `limit` and not
    reset to its default, which would change what the setting says, but not what DuckDB takes. No temporary files are
    written meanwhile; if statements have written some already, nothing is evicted.
    """
    folder = con.execute("SELECT current_setting('temp_directory')").fetchone()[0]
    try:
        con.execute("SET temp_directory = ''")
    except duckdb.Error:
        return
    with suppress(duckdb.OutOfMemoryException):  # blocks in use stay
        con.execute(f"SET memory_limit = '{_LITTLE}'")
    con.execute(f"SET memory_limit = '{limit}'")
    con.execute(f"SET temp_directory = {quoted(folder)}")


def settle(con: duckdb.DuckDBPyConnection) -> None:
    """Make a connection and its cursors give the same answers on every machine, and stop at Ctrl-C."""
    interrupts.listen(con)
    interrupts.stop_statements()
    # A cursor is a connection of its own, which has only global settings: Polars and pandas use one.
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets, which draws no bar
        con.execute("SET enable_progress_bar = false")  # DuckDB draws its own on standard output
    con.execute("SET python_enable_replacements = false")  # an unknown table is an error, not a variable of Python


def tries(seconds: float, pause: float = 0.05, longest_pause: float | None = None) -> Iterator[bool]:
    """Yield before each try whether it is the last one: the first at once, and others until `seconds` are over.

    The caller leaves the loop after a success. `pause` is the time between two tries; it grows up to `longest_pause`.
    """
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        yield is_last
        if is_last:
            return
        time.sleep(pause)
        pause = min(pause * 1.5, longest_pause or pause)
