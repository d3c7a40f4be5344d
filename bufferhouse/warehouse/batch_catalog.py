"""A batch as a catalog of its own, beside the warehouse: the models and checks run there, on the new dumps alone.

A literal `dump_id = x` is pushed into a view, a join or `IN (SELECT …)` is not: in the warehouse itself the models
would scan everything that is in it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Condition, Thread
from typing import NamedTuple

import duckdb
import polars as pl

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import settle
from bufferhouse.engine.sql import execute_over, identifier
from bufferhouse.models.project import LAYERS
from bufferhouse.tabulate.batch import COLUMNS, Refusal
from bufferhouse.warehouse.stored_sets import SETS
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import DERIVED

CATALOG = "bufferhouse_batch"
_BUILT = "SELECT model_name, is_incremental, severity, reads, model_sql FROM meta.models ORDER BY ordinal"
_NOTHING = (
    "CREATE TABLE %s AS SELECT NULL::BIGINT AS dump_id, NULL::VARCHAR AS expected, NULL::VARCHAR AS found LIMIT 0"
)
_DUMPS = "raw.dumps"  # which dumps a batch has is asked at its end, too
_MANY_ROWS = 10_000  # in a table: one that nobody reads any more is dropped for its memory


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of SQL, carried out after all that it `needs`; other names among these are there already.

    `given` is a frame that it reads by this name. Where all tables `of` are known to have fewer rows than
    `least` together, `otherwise` is carried out in its place, if there is such.
    """

    name: str
    needs: Collection[str]
    sql: str
    given: pl.DataFrame | None = None
    of: Collection[str] = ()
    least: int = 0
    otherwise: str | None = None


class Checked(NamedTuple):
    """What is in the catalog, the offenses that make rejects by dump_id, and offenses per check that only warns.

    `frames` is None where nothing is new, and there is no catalog.
    """

    frames: Mapping[str, pl.DataFrame] | None
    incremental: Mapping[str, int]
    offenders: Mapping[int, Refusal]
    warnings: dict[str, int]


@contextmanager
def batch_catalog(
    warehouse: Warehouse, frames: Mapping[str, pl.DataFrame], *, built: list[tuple] | None = None
) -> Iterator[tuple[dict[str, int], list[tuple[str, str, int]]]]:
    """Attach the batch as a catalog of its own and build in it what checks and incremental models need.

    Yield the incremental models that were built there, with their rows; and its checks, severities and offenses.
    The models are those that the warehouse was built with, or `built`: name, is_incremental, severity, reads, sql.
    """
    con = warehouse.con
    main = identifier(con.execute("SELECT current_database()").fetchone()[0])
    con.execute(f"ATTACH ':memory:' AS {CATALOG} (READ_WRITE)")  # also beside one that is only read
    try:
        warehouse.begin_batch(CATALOG)  # before the models are read: they may be built anew between the two
        built = built or con.execute(_BUILT).fetchall()
        con.execute(f"USE {CATALOG}")  # before anything is registered: in a lake it would be looked up in the catalog
        for layer in LAYERS:
            con.execute(f"CREATE SCHEMA {layer}")
        rows = run_statements(con, list(_statements(main, frames, built)), catalog=CATALOG)
        con.execute(f"USE {main}")
        checks = [(row[0], row[2], rows[row[0]]) for row in built if row[2]]
        yield {row[0]: rows[row[0]] for row in built if row[1]}, checks
    finally:
        # After a fatal error (a full disk in COMMIT) DuckDB answers nothing more: the first error is the one to hear.
        with suppress(duckdb.Error):
            con.execute(f"USE {main}")
            con.execute(f"DETACH {CATALOG}")


def _statements(main: str, frames: Mapping[str, pl.DataFrame], built: list[tuple]) -> Iterator[Statement]:
    """Yield what makes the tables of raw that models read, then what builds the models that are asked for.

    A large table that no model reads any more is dropped for its memory.
    """
    built = [*((f"raw.{name}", False, None, query.split(), query) for name, query in DERIVED.items()), *built]
    asked = _asked(built)
    given = {f"raw.{table}": frame for table, frame in frames.items()}
    kept = {_DUMPS, *(name for name, is_incremental, severity, *_ in built if is_incremental or severity)}
    stored = kept | given.keys() | {name for name, *_ in built if asked.get(name, 0) > 1}
    behind = _behind(built, stored)
    models = [model for model in built if model[0] in asked]
    stored_models = [name for name, *_ in models if name in stored]
    last_reader = {table: name for name in stored_models for table in behind[name] - kept}
    # What a dump was seen with may be another tomorrow: nothing that is kept with the dump can depend on it.
    for name in [f"raw.{table}" for table in ("observations", *SETS, "packings") if f"raw.{table}" in asked]:
        yield Statement(name, (), f"CREATE TABLE {name} AS FROM {main}.{name} LIMIT 0")
    for name, frame in given.items():
        if name in asked or name in kept:
            yield Statement(name, (), f"CREATE TABLE {name} AS SELECT * FROM given", given=frame)
    for name, _, severity, reads, sql in models:
        if name not in stored:
            yield Statement(name, reads, f"CREATE VIEW {name} AS\n{sql}")
        elif severity:
            # Of empty tables a check finds nothing, and need not be planned.
            yield Statement(name, reads, f"CREATE TABLE {name} AS\n{sql}", of=reads, least=1, otherwise=_NOTHING % name)
        else:
            yield Statement(name, reads, f"CREATE TABLE {name} AS\n{sql}")
        for table in [table for table, last in last_reader.items() if last == name]:
            readers = [other for other in stored_models if table in behind[other]]
            yield Statement(f"no {table}", readers, f"DROP TABLE {table}", of=[table], least=_MANY_ROWS + 1)


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
    """Return the first offense of each dump against a check of severity error, and offenses per check that warns."""
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


def copy_in(
    warehouse: Warehouse, frames: Mapping[str, pl.DataFrame], bad: set[int], incremental: Mapping[str, int]
) -> dict[str, int]:
    """Copy a batch into the warehouse but for some bad dumps: its frames, and what its catalog has of the models.

    Return the rows added by table, and by view of raw.
    """
    excluded = f" WHERE dump_id NOT IN ({', '.join(map(str, bad))})" if bad else ""
    con, rows = warehouse.con, dict.fromkeys(COLUMNS, 0)
    stored = {table: warehouse.stored(table) for table in COLUMNS if len(frames[table])}
    for table, place in stored.items():
        names = ", ".join(COLUMNS[table])
        condition = f" WHERE shape_id NOT IN (SELECT shape_id FROM {place})" if table == "shapes" else excluded
        sql = f"INSERT INTO {place} ({names}) SELECT {names} FROM given{condition}"
        rows[table] = execute_over(con, frames[table], sql)[0]
    of_frames = pl.SQLContext({f"raw.{table}": frame for table, frame in frames.items()}, eager=True)
    for view, query in DERIVED.items():
        rows[view] = of_frames.execute(f"SELECT COUNT(*) FROM ({query}) AS derived{excluded}").item()
    for name in (name for name, count in incremental.items() if count):
        con.execute(f"INSERT INTO {name} BY NAME SELECT * FROM {CATALOG}.{name}{excluded}")
    warehouse.end_batch(CATALOG, bad)
    return rows


def run_statements(con: duckdb.DuckDBPyConnection, statements: Sequence[Statement], *, catalog: str) -> dict[str, int]:
    """Carry out statements on a connection and a second one beside it, which uses `catalog`; each commits by itself.

    Return how many rows each has made, where it makes a table. What a statement needs must stand before it. After one
    that fails no other is begun; its error is raised when none is under way any more.
    """
    with _beside(con, catalog) as other, _Queue(statements, (con, other)) as queue:
        Thread(target=queue.work, args=(other,), daemon=True).start()
        queue.work(con)
    if queue.failure is not None:
        with suppress(duckdb.Error):  # an interrupt may have met the end of what was streamed
            con.execute("DROP VIEW IF EXISTS temp.main.given")
        raise queue.failure
    return queue.rows


@contextmanager
def _beside(con: duckdb.DuckDBPyConnection, catalog: str) -> Iterator[duckdb.DuckDBPyConnection]:
    other = con.cursor()
    settle(other)
    try:
        other.execute(f"USE {catalog}")
        yield other
    finally:
        interrupts.forget(other)
        other.close()


class _Queue:
    """Statements that wait, those that are done with the rows they made, the first error; how many are `working`.

    A context: at its end nothing is under way on the connections, which may be closed then, whatever Ctrl-C cut short.
    """

    def __init__(self, statements: Sequence[Statement], connections: Sequence[duckdb.DuckDBPyConnection]) -> None:
        names = {statement.name for statement in statements}
        self.waiting = [(statement, names.intersection(statement.needs)) for statement in statements]
        self.connections = connections
        self.done: set[str] = set()
        self.rows: dict[str, int] = {}
        self.failure: BaseException | None = None
        self.working = 0
        self.is_closed = False
        self.changed = Condition()

    def __enter__(self) -> "_Queue":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        while not self.is_closed or self.working:
            try:
                if error is not None:
                    self._fail(error)
                with self.changed:
                    self.is_closed = True
                    self._wait()
            except KeyboardInterrupt as interrupt:
                error = interrupt
        return True

    def work(self, con: duckdb.DuckDBPyConnection) -> None:
        """Carry out on a connection what the other does not, until both are at the end."""
        with self.changed:
            if self.is_closed:  # a thread that begins when it is all over
                return
            self.working += 1
        try:
            while statement := self._next():
                made = self._carry_out(statement, con)
                with self.changed:
                    self.rows.update(made)
                    self.done.add(statement.name)
                    self.changed.notify_all()
        except BaseException as error:
            con.interrupt()  # at Ctrl-C DuckDB gives up waiting for a statement, which goes on in its threads
            self._fail(error)
        finally:
            with self.changed:
                self.working -= 1
                self.changed.notify_all()
        with self.changed:
            self._wait()

    def _fail(self, error: BaseException) -> None:
        with self.changed:
            # A statement is stopped because of something else: Ctrl-C reaches both, and only one of them says so.
            is_stopped = self.failure is None or isinstance(self.failure, duckdb.InterruptException)
            if is_stopped or isinstance(error, KeyboardInterrupt):  # which is said whatever else has failed
                self.failure = error
            self.changed.notify_all()

    def _wait(self) -> None:
        """Wait until nobody works; after a failure stop the statements that are under way."""
        while self.working:
            if self.failure is not None:
                for con in self.connections:
                    with suppress(duckdb.ConnectionException):  # closed, where Ctrl-C came while one waited for it
                        con.interrupt()  # again and again: its statement may have been about to begin
            self.changed.wait(interrupts.AGAIN_SECONDS)

    def _carry_out(self, statement: Statement, con: duckdb.DuckDBPyConnection) -> dict[str, int]:
        sql: str | None = statement.sql
        if statement.of and all(table in self.rows for table in statement.of):
            sql = sql if sum(map(self.rows.get, statement.of)) >= statement.least else statement.otherwise
        if sql is None:
            return {}
        made = con.execute(sql).fetchone() if statement.given is None else execute_over(con, statement.given, sql)
        return {statement.name: made[0]} if made else {}

    def _next(self) -> Statement | None:
        with self.changed:
            while self.waiting and self.failure is None:
                for place, (statement, needs) in enumerate(self.waiting):
                    if needs <= self.done:
                        del self.waiting[place]
                        return statement
                self.changed.wait()
        return None
