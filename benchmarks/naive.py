"""The naive ingest: what a good engineer writes in a day, which ours is measured against.

Each file is opened, decoded and read by `lean_reader`, one pattern a line; its tuples go into lists, and every so often
the lists become Arrow tables and are inserted into a DuckDB file. No hash, no shapes, no validation, no models, no
checks, no rejects, no look for repeats: every file is read as if it were new.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks import lean_reader
from bufferhouse.tabulate.memory import collector_paused

BATCH_BYTES = 32 << 20  # of text, so that memory has a bound
SUFFIX = "-buffer-assignment.txt"
SIBLINGS = ("-buffer-assignment-values.txt", "-live-range.txt")
_NUMBER, _TEXT, _FLAG = pa.int64(), pa.string(), pa.bool_()
# The columns of `lean_reader.TABLES`, behind the number of the dump.
COLUMNS = {
    "dump": {"total_bytes": _NUMBER, "max_position": _NUMBER, "peak_position": _NUMBER},
    "allocations": {
        "allocation": _NUMBER, "size": _NUMBER, "color": _NUMBER, "parameter": _NUMBER, "parameter_shape": _TEXT,
        "parameter_index": _TEXT, "output_shape": _TEXT, "constant": _FLAG, "thread_local": _FLAG,
        "live_out": _FLAG, "temp": _FLAG,
    },
    "values": {
        "value": _NUMBER, "name": _TEXT, "shape_index": _TEXT, "phi": _FLAG, "color": _NUMBER, "allocation": _NUMBER,
        "start": _NUMBER, "size": _NUMBER, "shape": _TEXT,
    },
    "positions": {"value": _NUMBER, "name": _TEXT, "shape_index": _TEXT},
    "uses": {"value": _NUMBER, "name": _TEXT, "operand": _NUMBER, "shape_index": _TEXT},
    "instructions": {"value": _NUMBER, "instruction": _TEXT, "opcode": _TEXT, "op_name": _TEXT},
    "schedule": {"place": _NUMBER, "name": _TEXT},
    "live_ranges": {"name": _TEXT, "shape_index": _TEXT, "first": _NUMBER, "last": _NUMBER},
    "peak_lines": {"name": _TEXT, "shape_index": _TEXT, "bytes": _NUMBER, "cumulative": _NUMBER},
}  # fmt: skip


@collector_paused()
def ingest(folder: Path, database: Path) -> int:
    """Read every dump below a folder into a new DuckDB file; return how many there are."""
    rows: dict[str, list[tuple]] = {table: [] for table in COLUMNS}
    dumps: dict[str, list[int]] = {table: [] for table in COLUMNS}
    count = size = 0
    with duckdb.connect(str(database)) as con:
        for text in _texts(str(folder)):
            for table, found in lean_reader.read(text).items():
                rows[table] += found
                dumps[table] += [count] * len(found)
            count, size = count + 1, size + len(text)
            if size >= BATCH_BYTES:
                _insert(con, rows, dumps)
                size = 0
        _insert(con, rows, dumps)
    return count


def _texts(folder: str) -> Iterator[str]:
    for directory, _, names in os.walk(folder):
        present = set(names)
        for name in names:
            if name.endswith(SUFFIX):
                stem = name.removesuffix(SUFFIX)
                siblings = [stem + suffix for suffix in SIBLINGS if stem + suffix in present]
                yield "".join(_text(os.path.join(directory, one)) for one in (name, *siblings))


def _text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def _insert(con: duckdb.DuckDBPyConnection, rows: dict[str, list[tuple]], dumps: dict[str, list[int]]) -> None:
    con.execute("BEGIN")
    for table, columns in COLUMNS.items():
        cells = list(zip(*rows[table], strict=True)) or [()] * len(columns)
        arrays = [pa.array(dumps[table], _NUMBER), *map(pa.array, cells, columns.values())]
        con.register("batch", pa.table(dict(zip(("dump", *columns), arrays, strict=True))))
        con.execute(f'CREATE TABLE IF NOT EXISTS "{table}" AS SELECT * FROM batch LIMIT 0')
        con.execute(f'INSERT INTO "{table}" SELECT * FROM batch')
        con.unregister("batch")
        rows[table].clear()
        dumps[table].clear()
    con.execute("COMMIT")
