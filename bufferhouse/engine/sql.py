"""What statements are made of: values, names of tables, rows that lie in memory, transactions.

Values stand in them as literals. DuckDB's own parameters would do, but each value, and each item of a list, makes it
import pandas: where that is installed it takes a second, and where it is not, all folders are looked through for every
single item.
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

# What stands in quotes or in a comment is passed over.
_PLACE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$([a-z_][a-z_0-9]*)""")


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    if "\0" in text:  # where DuckDB would take the statement for ended
        return f"({' || chr(0) || '.join(map(quoted, text.split(chr(0))))})"
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name, which may hold any sign, as SQL takes it: a database is called like its file."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """Return a value as a literal of SQL; a datetime must have a zone."""
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
    """Return values as literals of SQL, side by side."""
    return ", ".join(map(literal, values))


def execute(con: duckdb.DuckDBPyConnection, sql: str, /, **values: Value) -> duckdb.DuckDBPyConnection:
    """Carry out a statement of ours with a literal in the place of each `$name`.

    Raises:
        KeyError: there is no value of a name.
    """
    return con.execute(_PLACE.sub(lambda place: literal(values[place[1]]) if place[1] else place[0], sql))


def words(sql: str) -> list[bytes]:
    """Return a text cut before each word that DuckDB reads in it; what stands before the first word comes first."""
    text = sql.encode()
    return [text[start:end] for start, end in pairwise([0, *(start for start, _ in duckdb.tokenize(sql)), len(text)])]


class Rows(Protocol):
    """What gives rows as a stream of Arrow: a frame of Polars, a table or a reader of PyArrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with the stream."""


def table_names(con: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    """Return the tables and views of a schema of the current database, in order, without the schema before them.

    `duckdb_columns()` has them, too, but binds every view of the database before it answers: seconds in a lake.
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


def execute_over(con: duckdb.DuckDBPyConnection, given: Rows, sql: str) -> tuple | None:
    """Carry out a statement that reads rows once, by the name `given`; return the first row of what it answers."""
    with streamed(con, "given", given):
        return con.execute(sql).fetchone()


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
