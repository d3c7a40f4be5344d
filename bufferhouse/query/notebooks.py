"""The warehouse for other tools: a connection for notebooks, and Parquet files."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb

from bufferhouse.engine.faults import is_expired, lacks_space, raised_inside
from bufferhouse.engine.sql import quoted, table_names
from bufferhouse.errors import UsageError, WarehouseFull, first_line
from bufferhouse.paths import remove_leftovers, replacing
from bufferhouse.query.door import SEARCH_PATH
from bufferhouse.warehouse.export import check_inside
from bufferhouse.warehouse.open import open_reader


def connect(warehouse: str | os.PathLike | None = None, *, wait: float = 0.0) -> duckdb.DuckDBPyConnection:
    """Return the connection of `bufferhouse.connect`."""
    opened = open_reader(warehouse, wait=wait, is_long=True)
    if opened.note:
        warnings.warn(opened.note, stacklevel=3)
    opened.con.execute(f"SET search_path = '{SEARCH_PATH}'")
    return opened.con


def export_parquet(
    con: duckdb.DuckDBPyConnection, directory: Path, *, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Write every table of raw and every mart to `directory/<schema>/<name>.parquet`; return the files.

    Marts are written by their versions, in the order of their grain. A file appears whole or not at all; what else lies
    in `directory` stays.

    Raises:
        UsageError: `directory` is a file, or a link in it leads out; nothing was written.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: expected a folder")
    orders = dict(
        con.execute(
            "SELECT model_name, array_to_string(grain, ', ') FROM meta.models WHERE layer = 'marts' ORDER BY model_name"
        ).fetchall()
    )
    names = [*(f"raw.{table}" for table in table_names(con, "raw")), *orders]  # some of raw are views in a lake
    check_inside(directory, dict.fromkeys(name.partition(".")[0] for name in names))
    written = []
    for number, name in enumerate(names, 1):
        target = directory.joinpath(*name.split(".")).with_suffix(".parquet")
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target, of_ended=True)
        order = f" ORDER BY {orders[name]}" if name in orders else ""
        try:
            with replacing(target) as new:
                con.execute(
                    f"COPY (SELECT * FROM {name}{order}) TO {quoted(str(new))} (FORMAT parquet, COMPRESSION zstd)"
                )
        except duckdb.Error as error:
            if is_expired(error) or raised_inside(error):
                raise
            if lacks_space(error):
                raise WarehouseFull(
                    f"no space left for {target}: {first_line(error)}; make space and run it again"
                ) from None
            raise UsageError(f"{target} cannot be written: {first_line(error)}") from None
        written.append(target)
        if progress:
            progress(number, len(names))
    return written
