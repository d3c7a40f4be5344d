"""Values in statements, as literals of SQL.

Parameters of DuckDB's own would do, but each value, and each item of a list, makes it import pandas: where that is
installed it takes a second, and where it is not, all folders are looked through for every single item.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import duckdb

Value = str | int | float | bool | datetime | Sequence | None

# What stands in quotes or in a comment is passed over.
_PLACE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$([a-z_]+)""")


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    if "\0" in text:  # where DuckDB would take the statement for ended
        return f"({' || chr(0) || '.join(map(quoted, text.split(chr(0))))})"
    return "'" + text.replace("'", "''") + "'"


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
