"""Suggestions: behind DuckDB's messages about unknown tables and columns, and where an answer has no row."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

import duckdb

from bufferhouse.engine.faults import is_closed
from bufferhouse.engine.sql import execute
from bufferhouse.errors import LOADING, counted
from bufferhouse.models.build import is_current
from bufferhouse.paths import MODELS

_TABLE = re.compile(
    r'Table with name "?([\w.]+?)"? does not exist(?:!| because schema "?(\w+)"? does not exist)', re.IGNORECASE
)
_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_OWN_SUGGESTION = re.compile(r'Did you mean "[^"\n]*"\?\n*')
_SHOWN = 4
REJECTS = "bufferhouse rejects ls"
_DUMPS = "bufferhouse query --from SOURCE --ask find_dump"
_NAMES = """
    SELECT schema_name || '.' || view_name AS name FROM duckdb_views()
    WHERE NOT internal AND schema_name IN ('marts', 'staging', 'intermediate', 'checks', 'raw')
    UNION ALL
    SELECT schema_name || '.' || table_name FROM duckdb_tables()
    WHERE NOT internal AND schema_name IN ('marts', 'staging', 'intermediate', 'raw', 'meta')
"""
_OF_A_COLUMN = """
    SELECT DISTINCT schema_name || '.' || table_name AS name, schema_name
    FROM duckdb_columns()
    WHERE NOT internal AND lower(column_name) = lower($column) AND schema_name IN ('marts', 'staging', 'raw')
    ORDER BY CASE schema_name WHEN 'marts' THEN 0 WHEN 'staging' THEN 1 ELSE 2 END, name
"""
_HELD = """
    SELECT
        (SELECT COUNT(*) FROM raw.runs), (SELECT COUNT(*) FROM raw.dumps),
        (SELECT COUNT(*) FROM raw.rejects WHERE state = 'open')
"""
_IS_IN_MEMORY = "SELECT path IS NULL FROM duckdb_databases() WHERE database_name = current_database()"
# The parameters of the cookbook that name something: whether there is one, what it is, and where all are listed: those
# of a warehouse, and those of dumps that are in none.
_KNOWN = {
    "program": (
        "SELECT 1 FROM marts.observations_v1 WHERE program_name LIKE CAST($value AS VARCHAR) LIMIT 1",
        "program like",
        ("bufferhouse programs", _DUMPS),
    ),
    "run": (
        "SELECT 1 FROM raw.runs WHERE run_name = CAST($value AS VARCHAR)",
        "run",
        ("bufferhouse runs ls", _DUMPS),
    ),
    "memory_space": (
        "SELECT 1 FROM raw.allocations WHERE memory_space = TRY_CAST($value AS INTEGER) LIMIT 1",
        "allocation in memory space",
        ("bufferhouse query --ask memory_spaces_of_programs", "bufferhouse query --from SOURCE --ask memory_by_run"),
    ),
}
_WITHOUT_LIVE_RANGES = """
    SELECT COUNT(*), COUNT(*) FILTER (live_range_state NOT IN ('present', 'unbounded'))
    FROM staging.contents
    WHERE dump_id IN (
        SELECT dump_id FROM marts.observations_v1
        WHERE ($program IS NULL OR program_name LIKE $program) AND ($run IS NULL OR run_name = $run)
    )
"""
# The layers in the order in which people should read them.
_LAYERS = ("marts", "staging", "intermediate", "raw", "checks", "meta")


def explained(con: duckdb.DuckDBPyConnection, error: duckdb.Error, parameters: Mapping[str, object] | None) -> str:
    """Return the message of an error, with suggestions for an unknown name, and for a text given as a number."""
    message = str(error).strip()
    if isinstance(error, duckdb.ConversionException) and "from source column" in message:
        numbers = [name for name, value in (parameters or {}).items() if type(value) in (int, float)]
        if numbers:
            message += (
                f"\n\n${numbers[0]} is given as a number; in single quotes it is text: --param \"{numbers[0]}='…'\""
            )
        return message
    if found := _TABLE.search(message):
        # DuckDB names the table without its schema, and quotes the line it stands in.
        written = re.search(rf"\w+\.{re.escape(found[1])}\b", message)
        near = tables_like(con, written[0] if written else found[1])
        message = _OWN_SUGGESTION.sub("", message)
        hint = f"Did you mean {' or '.join(near)}?" if near else "SHOW ALL TABLES lists them."
        if not is_current(con, MODELS):
            hint += " An older bufferhouse built the models; renew them with: bufferhouse build"
        return f"{message.strip()}\n\n{hint}"
    if found := _COLUMN.search(message):
        owners = tables_with(con, found[1])
        if owners:
            more = ", …" if len(owners) > _SHOWN else ""
            message += f"\n\n{found[1]} is a column of {', '.join(owners[:_SHOWN])}{more}"
        return message
    if is_closed(message):
        message += "\n\nquery reads only the warehouse; query dumps without one with --from SOURCE"
    return message


def tables_like(con: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Return up to two tables and views with names similar to `name`, given with or without a schema."""
    known = [row[0] for row in con.execute(_NAMES).fetchall()]
    schema, _, stem = name.lower().rpartition(".")
    stems: dict[str, list[str]] = {}
    for full in sorted(known, key=lambda full: _LAYERS.index(full.split(".")[0])):
        stems.setdefault(full.split(".")[1], []).append(full)
    near = [full for found in get_close_matches(stem, stems, 3, 0.7) for full in stems[found]]
    # Those of the schema that was written come first, those of the steps in between last.
    near.sort(key=lambda full: (full.split(".")[0] != schema, full.startswith("intermediate.")))
    return near[:2]


def tables_with(con: duckdb.DuckDBPyConnection, column: str) -> list[str]:
    """Return the tables and views that have a column, marts first; of a mart the name without its version."""
    names = [row[0] for row in execute(con, _OF_A_COLUMN, column=column).fetchall()]
    return [name for name in names if name.rpartition("_v")[0] not in names]


def why_empty(con: duckdb.DuckDBPyConnection, parameters: Mapping[str, object] | None = None) -> str:
    """Return why an answer has no row and the way out, as far as the warehouse and the parameters tell; else ''."""
    given = parameters or {}
    runs, dumps, rejects = con.execute(_HELD).fetchone()
    if not runs:  # of dumps in no warehouse it is said already what was read
        return "" if _is_in_memory(con) else f"the warehouse has no runs yet; {LOADING}"
    if not dumps:
        return none_read(con, rejects)
    for name, (sql, what, ways_out) in _KNOWN.items():
        value = given.get(name)
        if value is not None and not execute(con, sql, value=value).fetchone():
            return f"there is no {what} {value!r}; list them with: {ways_out[_is_in_memory(con)]}"
    return ""


def lister_of_programs(con: duckdb.DuckDBPyConnection) -> str:
    """Return the command that lists all programs there are: of a warehouse, or of dumps that are in none."""
    return _KNOWN["program"][2][_is_in_memory(con)]


def without_live_ranges(con: duckdb.DuckDBPyConnection, parameters: Mapping[str, object]) -> str:
    """Return how many of the dumps that a question is asked of have no live ranges, if any, and so no row."""
    names = {name: parameters.get(name) for name in ("program", "run")}
    [(asked, without)] = execute(con, _WITHOUT_LIVE_RANGES, **names).fetchall()
    if not without:
        return ""
    return f"{without:,} of {counted(asked, 'dump')} left out: no live ranges"


def cut_off(row_count: int, most_rows: int | None) -> str:
    """Return that an answer ends where nobody asked it to; '' where all of its rows are there."""
    if most_rows is None or row_count < most_rows:
        return ""
    return f"{counted(most_rows, 'row')}, as many as rows={most_rows} allows: there may be more"


def none_loaded(con: duckdb.DuckDBPyConnection) -> str:
    """Return that there is no run, and the command that loads some; not for dumps in no warehouse."""
    return "no dump was found" if _is_in_memory(con) else f"no runs yet; {LOADING}"


def none_read(con: duckdb.DuckDBPyConnection, rejects: int) -> str:
    """Return that every dump was refused, and what lists the rejects; those of dumps in no warehouse are said."""
    way_out = "" if _is_in_memory(con) else f"; list them with: {REJECTS}"
    return f"no dump could be read, {counted(rejects, 'reject')}{way_out}"


def _is_in_memory(con: duckdb.DuckDBPyConnection) -> bool:
    [(found,)] = con.execute(_IS_IN_MEMORY).fetchall()
    return found
