"""The parts of statements: values, names of tables, rows in memory, transactions.

Values are written as literals. With DuckDB's own parameters, each value and each item of a list makes DuckDB import
pandas: if pandas is installed, that takes a second; if not, Python searches all folders for every single item.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import pairwise
from typing import Protocol

import duckdb

from bufferhouse.engine.journal import commit

Value = str | int | float | bool | datetime | Sequence | None

# Text in quotes or in a comment is skipped.
_PLACE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$([a-z_][a-z_0-9]*)""")


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    if "\0" in text:  # DuckDB would end the statement there
        return f"({' || chr(0) || '.join(map(quoted, text.split(chr(0))))})"
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an identifier of SQL; it may hold any character, because a database has the name of its file."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """Return a value as a literal of SQL.

    Raises:
        ValueError: a datetime has no zone.
    """
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"expected a moment with its zone, found: {value}")
        return f"CAST('{value.isoformat()}' AS TIMESTAMPTZ)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value) if value >= 0 else f"({value})"
    if value and all(type(item) is int for item in value):
        return f"CAST('[{', '.join(map(str, value))}]' AS BIGINT[])"  # a list of literals takes three times as long
    return f"[{literals(value)}]"


def literals(values: Iterable[Value]) -> str:
    """Return values as literals of SQL, separated by commas."""
    return ", ".join(map(literal, values))


def execute(con: duckdb.DuckDBPyConnection, sql: str, /, **values: Value) -> duckdb.DuckDBPyConnection:
    """Run a statement of ours with a literal in the place of each `$name`.

    Raises:
        KeyError: a name has no value.
    """
    return con.execute(_PLACE.sub(lambda place: literal(values[place[1]]) if place[1] else place[0], sql))


def words(sql: str) -> list[bytes]:
    """Return a text cut before each token that DuckDB reads in it; the first part is what precedes the first token."""
    text = sql.encode()
    return [text[start:end] for start, end in pairwise([0, *(start for start, _ in duckdb.tokenize(sql)), len(text)])]


class Rows(Protocol):
    """An object that gives rows as a stream of Arrow: a frame of Polars, a table or a reader of PyArrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with the stream."""


def table_names(con: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    """Return the names of the tables and views of a schema of the current database, sorted, without the schema.

    `duckdb_columns()` has them, too, but binds every view of the database first, which takes seconds in a lake.
    """
    where = f"WHERE schema_name = {quoted(schema)} AND database_name = current_database()"
    found = con.execute(
        f"SELECT table_name FROM duckdb_tables() {where}"
        f" UNION ALL SELECT view_name FROM duckdb_views() {where} ORDER BY 1"
    ).fetchall()
    return [name for (name,) in found]


def column_types(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Return the types of the columns of a table or view by their names, in order."""
    return {name: kind for name, kind, *_ in con.execute(f"DESCRIBE {table}").fetchall()}


@contextmanager
def streamed(con: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> Iterator[None]:
    """Give rows a name for one statement inside, which reads them once and without a copy.

    To read them more often DuckDB needs pyarrow.dataset, which imports pandas if that is installed: a second.
    """
    con.register(name, rows.__arrow_c_stream__())
    try:
        yield
    except BaseException:
        con.unregister(name)
        # DuckDB does not find the bare name while the catalog of a lake is away, and the view would stay.
        with suppress(duckdb.Error):  # the transaction is lost anyway
            con.execute(f"DROP VIEW IF EXISTS temp.main.{name}")
        raise
    con.unregister(name)


def execute_over(con: duckdb.DuckDBPyConnection, given: Rows, sql: str) -> tuple | None:
    """Run a statement that reads rows once, by the name `given`; return the first row of its answer."""
    with streamed(con, "given", given):
        return con.execute(sql).fetchone()


@contextmanager
def registered(con: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> Iterator[None]:
    """Give rows a name inside, as a temporary table; it is dropped afterwards, even if a statement failed."""
    with streamed(con, "rows_to_register", rows):
        con.execute(f"CREATE TEMPORARY TABLE {name} AS FROM rows_to_register")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # the transaction is lost, and the table with it
            con.execute(f"DROP TABLE IF EXISTS temp.main.{name}")


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection, *, keep_journal: bool = True) -> Iterator[None]:
    """Commit the work inside, or roll it back when it raises; a file is committed with a journal (`journal`)."""
    con.execute("BEGIN")
    try:
        yield
        commit(con) if keep_journal else con.execute("COMMIT")
    except BaseException:
        # After a fatal error (a full disk in COMMIT) DuckDB refuses all statements, and the file has the old state: the
        # first error is the one to raise.
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
