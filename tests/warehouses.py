"""Small warehouses for tests: what is in them, and how texts get in without files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from itertools import count
from pathlib import Path

import duckdb

from bufferhouse.dump.identity import content_of, read_file_name
from bufferhouse.engine.sql import quoted
from bufferhouse.ingest.pipeline import parse_batch
from bufferhouse.ingest.read import ReadBatch
from bufferhouse.messages.rows import faults
from bufferhouse.sources.run import Run
from bufferhouse.tabulate.batch import ParsedBatch, Sighting
from bufferhouse.warehouse.address import FileAddress
from bufferhouse.warehouse.load import Loaded, load
from bufferhouse.warehouse.verify import chosen_dumps, verify
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import TABLES

# What differs from load to load without meaning anything.
_OF_THE_LOAD = {"load_id", "reject_id", "run_id", "started_at", "finished_at", "rejected_at"}


def published_path(path: Path) -> Path:
    """Where the published copy of a warehouse lies."""
    return FileAddress(path).published


# To make a database takes as long as to open a file in one that is there. One thread: nothing is at work at the end.
_database = cache(partial(duckdb.connect, config={"threads": 1}))
_numbers = count()


@contextmanager
def asked(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a warehouse file that nobody has open."""
    name = f"asked_{next(_numbers)}"
    _database().execute(f"ATTACH {quoted(str(path.absolute()))} AS {name} (READ_ONLY)")
    try:
        with _database().cursor() as con:
            con.execute(f"USE {name}")
            con.execute("SET TimeZone = 'UTC'")
            yield con
    finally:
        _database().execute(f"DETACH {name}")


@contextmanager
def taken_back(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The connection in a transaction that is taken back at the end."""
    con.execute("BEGIN")
    yield con
    con.execute("ROLLBACK")


def rows(path: Path, sql: str, parameters: object = None) -> list[tuple]:
    """Ask a warehouse file that nobody has open."""
    with asked(path) as con:
        return con.execute(sql, parameters).fetchall()


def counts(path: Path) -> dict[str, int]:
    """The number of rows of every table of raw."""
    with asked(path) as con:
        return {table: con.execute(f"SELECT COUNT(*) FROM raw.{table}").fetchall()[0][0] for table in TABLES}


def unproved(path: Path) -> list[object]:
    """What `verify` finds in the rows of raw, which takes a third of what it takes to prove all models and views."""
    with asked(path) as con:
        return [*verify(con, chosen_dumps(con)), *faults(con)]


def derived(path: Path) -> dict[str, list[tuple]]:
    """All rows but those of raw.loads, and the tables of the incremental models."""
    found = {table: cells for table, cells in contents(path).items() if table != "loads"}
    with asked(path) as con:
        names = con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY ordinal").fetchall()
        return found | {name: con.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for (name,) in names}


def contents(path: Path) -> dict[str, list[tuple]]:
    """The rows of every table of raw, shapes by their text and without what every load numbers anew."""
    with asked(path) as con:
        return {
            table: con.execute(
                f"SELECT {', '.join(_column(name) for name in contract.columns if name not in _OF_THE_LOAD)}"
                f" FROM raw.{table} AS t ORDER BY ALL"
            ).fetchall()
            for table, contract in TABLES.items()
        }


def _column(name: str) -> str:
    return f"(SELECT shape_text FROM raw.shapes WHERE shape_id = t.{name})" if name.endswith("shape_id") else name


def run_called(name: str) -> Run:
    """A run that only has a name."""
    return Run(name, f"/{name}", datetime(2026, 1, 1, tzinfo=UTC), "given")


def parsed(
    texts: Iterable[bytes], run_name: str = "run", known: Mapping[int, tuple[str, int]] | None = None
) -> ParsedBatch:
    """Dumps given as bytes, parsed to a batch; contents that are `known` are only seen again."""
    batch = ReadBatch(known=dict(known or {}))
    for number, text in enumerate(texts):
        _add(batch, run_name, f"{number}-buffer-assignment.txt", {"combined": text})
    return parse_batch(batch)


def _add(batch: ReadBatch, run_name: str, path: str, files: Mapping[str, bytes]) -> None:
    content, size = content_of(files), sum(map(len, files.values()))
    sighting = Sighting(run_name, path, f"/{run_name}/{path}", size, 0, content, read_file_name(path), size, files)
    batch.sightings.append(sighting)
    if content.dump_id not in batch.known:
        batch.new.setdefault(content.dump_id, sighting)


def load_runs(warehouse: Warehouse, runs: Mapping[str, Sequence[Mapping[str, bytes]]], target: str = "cpu") -> None:
    """Load runs of dumps given as files by role, none of which may be refused; all dumps belong to module `jit_f`."""
    batch = ReadBatch(known={})
    for run_name, dumps in runs.items():
        for number, files in enumerate(dumps):
            name = f"module_{number}.jit_f.{target}_after_optimizations-buffer-assignment.txt"
            _add(batch, run_name, name, files)
    loaded = load(warehouse, parse_batch(batch), {name: run_called(name) for name in runs}, datetime.now(UTC))
    assert [] == [str(refusal) for _, refusal in loaded.rejects]


def load_parsed(warehouse: Warehouse, batch: ParsedBatch, run_name: str = "run") -> Loaded:
    """Load a batch that `parsed` made."""
    return load(warehouse, batch, {run_name: run_called(run_name)}, datetime.now(UTC))


def load_texts(warehouse: Warehouse, texts: Sequence[bytes]) -> list[int]:
    """Load dumps given as bytes, none of which may be refused; return their ids."""
    ids = [content_of({"combined": text}).dump_id for text in texts]
    loaded = load_parsed(warehouse, parsed(texts, known=warehouse.known_contents(ids)))
    assert [] == [str(refusal) for _, refusal in loaded.rejects]
    return ids


def differences(one: Path, two: Path) -> dict[str, int]:
    """Return how many rows of each table of raw are in one of two warehouses only; moments of loading do not count."""
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{one}' AS one (READ_ONLY)")
        con.execute(f"ATTACH '{two}' AS two (READ_ONLY)")
        tables = con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' AND database_name = 'one'"
        ).fetchall()
        found = {}
        for (table,) in tables:
            left_out = {"loads": " EXCLUDE (started_at, finished_at)", "rejects": " EXCLUDE (rejected_at)"}.get(
                table, ""
            )
            here, there = (f"(SELECT *{left_out} FROM {name}.raw.{table})" for name in ("one", "two"))
            found[table] = con.execute(
                f"SELECT COUNT(*) FROM (({here} EXCEPT ALL {there}) UNION ALL ({there} EXCEPT ALL {here}))"
            ).fetchone()[0]
        return found
