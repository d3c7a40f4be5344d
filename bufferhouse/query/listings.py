"""What a warehouse holds, listed: its runs, its programs, and its tables and marts with their columns."""

from contextlib import suppress
from dataclasses import dataclass

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.errors import UsageError
from bufferhouse.query.guard import tables_of
from bufferhouse.query.hints import tables_like

RUNS = """
    SELECT r.run_name, r.started_at, r.started_at_source, r.compiler, r.compiler_version, r.platform, r.track,
        r.dump_count AS dumps, r.content_count AS contents, r.refused_dump_count AS refused, s.root
    FROM marts.runs_v2 AS r JOIN staging.runs AS s USING (run_id)
    ORDER BY r.run_order
"""
PROGRAMS = """
    SELECT o.program_id, MAX(o.program_name) AS program_name, COUNT(DISTINCT o.run_id) AS runs,
        CAST(MAX(t.reserved_bytes) AS BIGINT) AS most_reserved_bytes, MAX(d.entry_signature) AS entry_signature
    FROM marts.observations_v1 AS o JOIN raw.dumps AS d USING (dump_id)
    LEFT JOIN (
        SELECT program_id, MAX(reserved_bytes) AS reserved_bytes FROM marts.memory_space_trend_v1 GROUP BY program_id
    ) AS t ON o.program_id = t.program_id
    GROUP BY o.program_id ORDER BY most_reserved_bytes DESC NULLS LAST, program_name, o.program_id
"""
_COLUMNS = """
    SELECT column_name, data_type, COALESCE(comment, '') AS meaning
    FROM duckdb_columns() WHERE schema_name = $schema AND table_name = $name ORDER BY column_index
"""
_PURPOSE = """
    SELECT comment FROM duckdb_views() WHERE schema_name = $schema AND view_name = $name
    UNION ALL SELECT comment FROM duckdb_tables() WHERE schema_name = $schema AND table_name = $name
"""
# The name of a mart without a version shows the newest.
_MODEL = """
    SELECT model_name, array_to_string(grain, ', '), array_to_string(reads, ', ')
    FROM meta.models WHERE model_name = $name OR regexp_full_match(model_name, $name || '_v[0-9]+')
    ORDER BY ordinal DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view: `model` is the model that it shows, a mart with its version; None for a table of raw.

    `columns` are name, type and meaning of each.
    """

    schema: str
    name: str
    purpose: str
    columns: list[tuple[str, str, str]]
    model: str | None
    grain: str | None
    reads: str | None


def described(con: duckdb.DuckDBPyConnection, word: str) -> Table:
    """Return the table that a word means, with a schema or without; marts come before staging and raw.

    Raises:
        UsageError: there is none. The message names one with a similar name.
    """
    schema, name, columns = _named(con, word)
    purpose = execute(con, _PURPOSE, schema=schema, name=name).fetchone()
    model = execute(con, _MODEL, name=f"{schema}.{name}").fetchone() or (None, None, None)
    return Table(schema, name, (purpose or ("",))[0] or "", columns, *model)


def _named(con: duckdb.DuckDBPyConnection, word: str) -> tuple[str, str, list[tuple[str, str, str]]]:
    schema, _, name = word.lower().rpartition(".")
    for candidate in [schema] if schema else ["marts", "staging", "raw"]:
        if columns := execute(con, _COLUMNS, schema=candidate, name=name).fetchall():
            return candidate, name, columns
    near = tables_like(con, word)
    raise UsageError(
        f"there is no table {word}; " + (f"did you mean {near[0]}?" if near else "SHOW ALL TABLES lists them")
    )


def read_by(con: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    """Return the tables and views that a SELECT names, with their schemas, of marts the versions; as `tables_of`."""
    found = set()
    for name in tables_of(con, sql):
        with suppress(UsageError):  # a view of DuckDB's own catalog
            table = described(con, name.replace('"', ""))
            found.add(table.model or f"{table.schema}.{table.name}")
    return sorted(found)
