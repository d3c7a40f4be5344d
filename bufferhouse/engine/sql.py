"""What statements stand in: names of tables, tables of memory that they read by name, and transactions."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

import duckdb

from bufferhouse.engine.journal import commit
from bufferhouse.engine.literals import quoted


class Rows(Protocol):
    """What gives rows as a stream of Arrow: a frame of Polars, a table or a reader of PyArrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with the stream."""


def tables_of(con: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    """Return the tables and views of a schema of the current database, in order, without the schema before them.

    `duckdb_columns()` has them, too, but binds every view of the database before it answers: seconds in a lake.
    """
    where = f"WHERE schema_name = {quoted(schema)} AND database_name = current_database()"
    found = con.execute(
        f"SELECT table_name FROM duckdb_tables() {where}"
        f" UNION ALL SELECT view_name FROM duckdb_views() {where} ORDER BY 1"
    ).fetchall()
    return [name for (name,) in found]


def kinds_of(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Return the types of the columns of a table or view by their names, in order."""
    return {name: kind for name, kind, *_ in con.execute(f"DESCRIBE {table}").fetchall()}


@contextmanager
def streamed(con: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> Iterator[None]:
    """Give rows a name for one statement inside, which reads them once; they go through without a copy.

    To be read more often DuckDB needs pyarrow.dataset, and that imports pandas where it is installed: a second.
    """
    con.register(name, rows.__arrow_c_stream__())
    try:
        yield
    except BaseException:
        con.unregister(name)
        # By the bare name alone DuckDB finds nothing while the catalog of a lake is away: it would stay for good.
        with suppress(duckdb.Error):  # in a transaction that is lost anyway
            con.execute(f"DROP VIEW IF EXISTS temp.main.{name}")
        raise
    con.unregister(name)


@contextmanager
def registered(con: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> Iterator[None]:
    """Give rows a name inside, as a temporary table; afterwards it is free again, also where a statement failed."""
    with streamed(con, "rows_to_register", rows):
        con.execute(f"CREATE TEMPORARY TABLE {name} AS FROM rows_to_register")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # in a transaction that is lost, and the table with it
            con.execute(f"DROP TABLE IF EXISTS temp.main.{name}")


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection, *, keep_journal: bool = True) -> Iterator[None]:
    """Commit what is done inside, or roll it back when it raises; with a journal (`journal`) where it is a file."""
    con.execute("BEGIN")
    try:
        yield
        commit(con) if keep_journal else con.execute("COMMIT")
    except BaseException:
        # After a fatal error (a full disk in COMMIT) DuckDB answers nothing more, and the file has the old state: the
        # first error is the one to hear.
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
