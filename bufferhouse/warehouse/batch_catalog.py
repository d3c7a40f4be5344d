"""A batch as a catalog of its own, beside the warehouse: the models and checks run there, on the new dumps alone.

A literal `dump_id = x` is pushed into a view, a join or `IN (SELECT …)` is not: in the warehouse itself the models
would scan everything that is in it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NamedTuple

import duckdb
import polars as pl

from bufferhouse.engine.connection import is_lake
from bufferhouse.engine.sql import registered
from bufferhouse.engine.two_connections import Step, run_steps
from bufferhouse.errors import ModelError, SourceUnavailable, UsageError, WarehouseBusy, WarehouseError, first_line
from bufferhouse.models.project import LAYERS
from bufferhouse.tabulate.batch import COLUMNS, Batch
from bufferhouse.tabulate.contracts import without
from bufferhouse.tabulate.tables import Refusal, fault_of
from bufferhouse.warehouse.lake import history
from bufferhouse.warehouse.lake.retry import passes
from bufferhouse.warehouse.rows import stored

CATALOG = "bufferhouse_batch"
_BUILT = "SELECT model_name, is_incremental, severity, reads, model_sql FROM meta.models ORDER BY ordinal"
_MANY_ROWS = 10_000  # in a table: one that nobody reads any more is dropped for its memory
REFUSING = (duckdb.DataError, duckdb.InvalidInputException)  # how DuckDB says that the numbers are to blame


@dataclass(slots=True)
class Names:
    """The incremental models that were built in the catalog, with their rows; its checks, severities and offences."""

    incremental: dict[str, int]
    checks: list[tuple[str, str, int]]


class Checked(NamedTuple):
    """What is in the catalog, the offences that make rejects by dump_id, and offences per check that only warns."""

    names: Names
    offenders: Mapping[int, Refusal]
    warnings: dict[str, int]


@contextmanager
def batch_catalog(
    con: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame], *, built: list[tuple] | None = None
) -> Iterator[Names]:
    """Attach the batch as a catalog of its own and build in it what checks and incremental models need.

    The models are those that the warehouse was built with, or `built`: name, is_incremental, severity, reads, sql.
    """
    main = con.execute("SELECT current_database()").fetchone()[0]
    con.execute(f"ATTACH ':memory:' AS {CATALOG}")
    try:
        if is_lake(con):
            history.remember_models(con, CATALOG)  # before they are read: they may be built anew between the two
        built = built or con.execute(_BUILT).fetchall()
        con.execute(f"USE {CATALOG}")  # before anything is registered: in a lake it would be looked up in the catalog
        for layer in LAYERS:
            con.execute(f"CREATE SCHEMA {layer}")
        for table in ("observations", "stack_frames"):
            # What a dump was seen with may be another tomorrow: nothing that is kept with the dump can depend on it.
            con.execute(f'CREATE TABLE raw.{table} AS FROM "{main}".raw.{table} LIMIT 0')
        rows = {f"raw.{table}": len(frame) for table, frame in frames.items()}
        run_steps(con, [*_tables(frames), *_models(built, rows)], catalog=CATALOG)
        con.execute(f'USE "{main}"')
        checks = [(row[0], row[2], rows[row[0]]) for row in built if row[2]]
        yield Names({row[0]: rows[row[0]] for row in built if row[1]}, checks)
    finally:
        # After a fatal error (a full disk in COMMIT) DuckDB answers nothing more: the first error is the one to hear.
        with suppress(duckdb.Error):
            con.execute(f'USE "{main}"')
            con.execute(f"DETACH {CATALOG}")


def _tables(frames: Mapping[str, pl.DataFrame]) -> Iterator[Step]:
    """Yield what makes the tables of raw."""

    def store(table: str, frame: pl.DataFrame, con: duckdb.DuckDBPyConnection) -> None:
        with registered(con, "batch_frame", frame.to_arrow()):
            con.execute(f"CREATE TABLE {table} AS SELECT * FROM batch_frame")

    for table, frame in frames.items():
        yield Step(f"raw.{table}", (), partial(store, f"raw.{table}", frame))


def _models(built: list[tuple], rows: dict[str, int]) -> Iterator[Step]:
    """Yield what builds the models that are asked for; to the `rows` of raw each that is a table adds its own."""
    asked = _asked(built)
    kept = {name for name, is_incremental, severity, *_ in built if is_incremental or severity}
    stored = kept | {name for name, *_ in built if asked.get(name, 0) > 1}
    behind = _behind(built, stored)
    still_read = Counter(table for name in stored & asked.keys() for table in behind[name])
    counting = Lock()

    def make(model: tuple, con: duckdb.DuckDBPyConnection) -> None:
        name, _, severity, reads, sql = model
        if name not in stored:
            con.execute(f"CREATE VIEW {name} AS\n{sql}")
            return
        if severity and reads and not any(rows.get(table, 1) for table in reads):
            # Of empty tables a check finds nothing, and need not be planned.
            con.execute(f"CREATE TABLE {name} (dump_id BIGINT, expected VARCHAR, found VARCHAR)")
            rows[name] = 0
        else:
            rows[name] = con.execute(f"CREATE TABLE {name} AS\n{sql}").fetchone()[0]
        with counting:
            still_read.subtract(behind[name])
            unread = [table for table in behind[name] if not still_read[table] and table not in kept]
        for table in unread:
            if rows[table] > _MANY_ROWS:
                con.execute(f"DROP TABLE {table}")

    for model in built:
        if model[0] in asked:
            yield Step(model[0], model[3], partial(make, model))


def _behind(built: list[tuple], stored: set[str]) -> dict[str, set[str]]:
    """Return the models among `stored` that each model reads, by itself or through views."""
    behind: dict[str, set[str]] = {}
    for name, _, _, reads, _ in built:
        behind[name] = {table for table in reads if table in stored}
        behind[name].update(*(behind.get(view, ()) for view in reads if view not in stored))
    return behind


def _asked(built: list[tuple]) -> dict[str, int]:
    """Return how many models of a batch ask for each; those that nobody asks for are not there.

    What several ask is cheaper to keep, on a batch, than to compute again.
    """
    asked: dict[str, int] = {}
    for name, is_incremental, severity, reads, _ in reversed(built):
        if is_incremental or severity or name in asked:
            asked.setdefault(name, 0)
            for table in reads:
                asked[table] = asked.get(table, 0) + 1
    return asked


def run_checks(
    con: duckdb.DuckDBPyConnection, checks: list[tuple[str, str, int]]
) -> tuple[dict[int, Refusal], dict[str, int]]:
    """Return the first offence of each dump against a check of severity error, and offences per check that warns."""
    offenders: dict[int, Refusal] = {}
    warnings: dict[str, int] = {}
    for name, severity, count in checks:
        if not count:
            continue
        if severity == "warn":
            warnings[name.split(".")[1]] = count
            continue
        rows = con.execute(f"SELECT dump_id, expected, found FROM {CATALOG}.{name}").fetchall()
        for dump_id, expected, found in rows:
            offenders.setdefault(dump_id, Refusal(f"check:{name.split('.')[1]}", expected, found))
    return offenders, warnings


def is_of_content(error: Exception) -> bool:
    """Say whether what was read may be to blame for an error: warehouse, disk, memory and callers are not."""
    if isinstance(error, duckdb.Error):
        # The catalog of a lake may be gone: no dump is to blame for that.
        return isinstance(error, (*REFUSING, duckdb.IntegrityError)) and not passes(error)
    from pandera.errors import SchemaErrors  # half a second, which only a fault pays for

    # A breach of a contract that no row shows is one of all rows.
    ours = (SchemaErrors, UsageError, WarehouseError, WarehouseBusy, ModelError, SourceUnavailable)
    return not isinstance(error, (*ours, OSError, MemoryError))


def to_blame(batch: Batch, check: Callable[[Batch], object]) -> dict[int, Refusal]:
    """Return the dumps of a batch on which a contract, a model or a check fails; found by halves.

    Nothing in the contracts bounds a sum, say: sizes that are no real ones may be more than a BIGINT holds together.
    """
    dump_ids = batch.frames["dumps"]["dump_id"].to_list()
    try:
        check(batch)
    except Exception as error:
        if not is_of_content(error):
            raise
        if len(dump_ids) == 1:
            is_about_numbers = isinstance(error, REFUSING)
            found = first_line(error)
            expected = "numbers that every model can compute with"
            return {dump_ids[0]: Refusal("model", expected, found) if is_about_numbers else fault_of("model", error)}
        middle = len(dump_ids) // 2
        halves = (dump_ids[:middle], dump_ids[middle:])
        return {key: found for half in halves for key, found in to_blame(without(batch, set(half)), check).items()}
    return {}


def copy_in(con: duckdb.DuckDBPyConnection, bad: set[int], incremental: Mapping[str, int]) -> dict[str, int]:
    """Copy the batch into the warehouse but for some bad dumps; return the rows added by table."""
    excluded = f" WHERE dump_id NOT IN ({', '.join(map(str, bad))})" if bad else ""
    rows = {}
    for table, columns in COLUMNS.items():
        names = ", ".join(columns)
        condition = excluded
        if table == "shapes":
            condition = " WHERE shape_id NOT IN (SELECT shape_id FROM raw.shapes)"
        rows[table] = con.execute(
            f"INSERT INTO {stored(con, table)} ({names}) SELECT {names} FROM {CATALOG}.raw.{table}{condition}"
        ).fetchone()[0]
    for name in (name for name, count in incremental.items() if count):
        con.execute(f"INSERT INTO {name} BY NAME SELECT * FROM {CATALOG}.{name}{excluded}")
    if is_lake(con):
        history.note_models(con, CATALOG)
    return rows
