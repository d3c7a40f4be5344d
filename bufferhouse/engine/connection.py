"""Connections to a warehouse that is a file or in memory, and what it means when DuckDB refuses one."""

import re
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import duckdb

from bufferhouse.engine import interrupts, journal
from bufferhouse.errors import WarehouseBusy, WarehouseError, WarehouseFull, first_line

LAKE = "bufferhouse_lake"  # the database of a lake in its connection
_ARE_LAKES: WeakKeyDictionary[duckdb.DuckDBPyConnection, bool] = WeakKeyDictionary()
_LAST_TASKS = 0.01  # seconds
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large", "File size limit exceeded")


def connect(path: Path | None, *, read_only: bool, wait: float) -> duckdb.DuckDBPyConnection:
    """Connect, waiting up to `wait` seconds for whoever has the file open.

    Raises:
        WarehouseBusy: another process has it open, longer than that.
        WarehouseError: it cannot be opened, or is no database.
    """
    if path is None:
        return duckdb.connect()
    deadline = time.monotonic() + wait
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only)
        except duckdb.IOException as error:
            if "Could not set lock" not in str(error):
                raise no_space(path, error) or WarehouseError(f"{path} cannot be opened: {first_line(error)}") from None
            if time.monotonic() >= deadline:
                raise WarehouseBusy(
                    f"{path} is open in another process ({_holder(error)}); "
                    "try again later, or wait for it with --wait SECONDS"
                ) from None
            time.sleep(0.05)
        except duckdb.Error as error:
            raise WarehouseError(f"{path} is no warehouse: {first_line(error)}") from None


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


def close_writer(con: duckdb.DuckDBPyConnection) -> None:
    """Take the log into the file, and close a connection that wrote it; where that fails, the log stays."""
    interrupts.forget(con)
    try:
        with suppress(duckdb.Error, OSError):
            journal.checkpoint(con)
    finally:
        close(con)


def is_lake(con: duckdb.DuckDBPyConnection) -> bool:
    """Say whether a connection asks a lake, which it was opened for: it is asked for once."""
    if con not in _ARE_LAKES:
        _ARE_LAKES[con] = con.execute("SELECT current_database()").fetchone()[0] == LAKE
    return _ARE_LAKES[con]


def settle(con: duckdb.DuckDBPyConnection) -> None:
    """Make a connection answer alike wherever it is opened, and stop at Ctrl-C."""
    interrupts.listen(con)
    interrupts.stop_statements()
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET enable_progress_bar = false")  # DuckDB draws its own on standard output
    con.execute("SET python_enable_replacements = false")  # a table that is not there is no variable of ours


def no_space(path: Path | None, error: Exception) -> WarehouseFull | None:
    """Return what to raise for an error of DuckDB that says that the disk is full; None for any other."""
    if not lacks_space(error):
        return None
    return WarehouseFull(
        f"no space left for {path}: {first_line(error)}; what was committed is kept, make space and run the same "
        "command again"
    )


def _holder(error: Exception) -> str:
    found = re.search(r"PID \d+", str(error))
    return found[0] if found else "its number is not known"


def lacks_space(message: object) -> bool:
    """Say whether an error is that of a full disk, a full quota or a limit on the size of files."""
    return any(reason in str(message) for reason in _NO_SPACE)
