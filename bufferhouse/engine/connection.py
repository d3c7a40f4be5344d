"""Connections to a file of DuckDB or in memory, and what it means when DuckDB refuses one."""

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
    """Connect, waiting up to `wait` seconds for whoever has the file open.

    Raises:
        WarehouseInUse: another process has it open, longer than that.
        WarehouseError: it cannot be opened, or is no database.
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
    """Refuse rows in the place of a database: of a file called .csv, .json or .parquet DuckDB makes views, in memory.

    What is written there would be lost without a word.
    """
    [(own,)] = con.execute("SELECT path FROM duckdb_databases() WHERE database_name = current_database()").fetchall()
    if own is None:
        con.close()
        raise _of_another_kind(path)


def _of_another_kind(path: Path) -> WarehouseError:
    return WarehouseError(f"{path} is no warehouse: expected a database of DuckDB, found a file of another kind")


def _check_kind(path: Path) -> None:
    """Name a file that is another database's: DuckDB looks for an extension that reads it, and says only that.

    To be called where DuckDB did not open the file: with any descriptor of it a process drops the lock that it has.
    """
    with suppress(OSError), path.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            raise WarehouseError(f"{path} is no warehouse: expected a database of DuckDB, found one of SQLite")


def close(con: duckdb.DuckDBPyConnection) -> None:
    """Close a connection, and the database with the last of its connections. A closed one stays closed.

    DuckDB 1.5.5 now and then (twice in some 8,000 times, on busy cores) ends the process with SIGSEGV, in one of its
    own threads, while a database is taken down. `SET threads` ends them first: it returns when they are gone. A
    statement that DuckDB gave up at a signal goes on in these threads until it is interrupted.
    """
    with suppress(duckdb.Error):
        con.interrupt()
    interrupts.forget(con)
    try:
        con.execute("SET threads = 1")
    except duckdb.Error:
        time.sleep(_LAST_TASKS)  # settings are locked, or the transaction broke: what they still do is short
    finally:
        con.close()


def close_writer(con: duckdb.DuckDBPyConnection) -> duckdb.Error | OSError | None:
    """Take the log into the file, and close a connection that wrote it; where that fails, the log stays: return why."""
    interrupts.forget(con)
    try:
        journal.checkpoint(con)
        with suppress(duckdb.Error, OSError):
            journal.remove_empty_logs(con)  # as long as the lock is held: later it may be another writer's
    except (duckdb.Error, OSError) as error:
        return error
    finally:
        close(con)
    return None


def evict(con: duckdb.DuckDBPyConnection, limit: str) -> None:
    """Give back the memory in which DuckDB keeps blocks of the file that it has read; `limit` is what it may take.

    It evicts them when it may take less (`BufferPool::SetLimit`), and may then take as much as before: to set it back
    to its default would change what it says, and not what it takes. Nothing is written to a disk meanwhile; where
    statements have written to one already, all stays as it is.
    """
    folder = con.execute("SELECT current_setting('temp_directory')").fetchone()[0]
    try:
        con.execute("SET temp_directory = ''")
    except duckdb.Error:
        return
    with suppress(duckdb.OutOfMemoryException):  # what is in use stays
        con.execute(f"SET memory_limit = '{_LITTLE}'")
    con.execute(f"SET memory_limit = '{limit}'")
    con.execute(f"SET temp_directory = {quoted(folder)}")


def settle(con: duckdb.DuckDBPyConnection) -> None:
    """Make a connection and its cursors answer alike wherever it is opened, and stop at Ctrl-C."""
    interrupts.listen(con)
    interrupts.stop_statements()
    # A cursor is a connection of its own, with what is set for all of them: Polars and pandas ask through one.
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets, where none is drawn
        con.execute("SET enable_progress_bar = false")  # DuckDB draws its own on standard output
    con.execute("SET python_enable_replacements = false")  # a table that is not there is no variable of ours


def tries(seconds: float, pause: float = 0.05, longest_pause: float | None = None) -> Iterator[bool]:
    """Yield before each try whether it is the last one: the first at once, and others until `seconds` are over.

    Whoever succeeds leaves the loop. `pause` is the time between two tries; it grows up to `longest_pause`.
    """
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        yield is_last
        if is_last:
            return
        time.sleep(pause)
        pause = min(pause * 1.5, longest_pause or pause)
