"""Connections to a warehouse that is a file or in memory, and what it means when DuckDB refuses one."""

import re
import time
from pathlib import Path

import duckdb

from bufferhouse import interrupts
from bufferhouse.copying import lacks_space
from bufferhouse.errors import WarehouseBusy, WarehouseError, WarehouseFull


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


def settle(con: duckdb.DuckDBPyConnection) -> None:
    """Make a connection answer alike wherever it is opened, and stop at Ctrl-C."""
    interrupts.listen(con)
    interrupts.stop_statements()
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET enable_progress_bar = false")  # DuckDB draws its own on standard output
    con.execute("SET python_enable_replacements = false")  # a table that is not there is no variable of ours


def first_line(error: Exception) -> str:
    """Return what stands in the first line of an error: behind it DuckDB shows the statement."""
    return str(error).split("\n", 1)[0]


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
