"""The tables of a lake: those that the migrations make, without features that DuckLake lacks, and the histories.

Rows of a lake are only added, because DuckLake repeats appends of several writers, but not updates or deletions. So
facts that change (facts of a run, the state of a reject) and rows that must be unique (shapes, and the sets of what
lies beside dumps) are histories in the schema `appended`, and `raw` has views of their current state.

A new lake begins with the newest schema. An older one gets the tables and columns that it lacks; the columns are null
in old rows. A migration that also moves rows needs a file of the same number in `sql/migrations/lake/`, which is run
after the tables are made and before the views.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import duckdb

from bufferhouse.engine.sql import column_types, execute, quoted, table_names, transaction
from bufferhouse.errors import WarehouseError
from bufferhouse.models.project import LAYERS
from bufferhouse.paths import MIGRATIONS
from bufferhouse.sources.run import SOURCES
from bufferhouse.warehouse.lake.attach import LAKE
from bufferhouse.warehouse.migrate import applied_version, check_empty, check_version, migrate, migrations
from bufferhouse.warehouse.stored_sets import SETS


class Column(NamedTuple):
    """A column of a table, with its comment."""

    name: str
    kind: str
    is_nullable: bool
    comment: str | None


class Table(NamedTuple):
    """A table with its schema before its name, and its comment."""

    name: str
    comment: str | None
    columns: Sequence[Column]


LAKE_MIGRATIONS = MIGRATIONS / "lake"
_ONCE = ("shapes", *SETS)  # two writers may have stored them twice, in equal rows: views show them once
HISTORIES = ("runs", "rejects", *_ONCE)
_BESIDE = "__"  # in no name of a model
_ANY = {"TIMESTAMP WITH TIME ZONE": "epoch", "BIGINT[]": "[]", "VARCHAR[]": "[]"}  # a value of a type; else 0 is one
_CHANGED_ID = Column("changed_id", "BIGINT", False, "Orders the changes: later ones have a larger number.")
_IS_WHOLE = Column("is_whole", "BOOLEAN", False, "Takes the place of all that was said of the run before.")
_STATES = Table(
    "appended.reject_states",
    "What became of rejects: each row is a change of state.",
    (
        Column("reject_id", "BIGINT", False, "The reject."),
        Column("state", "VARCHAR", False, "Its state from then on."),
        _CHANGED_ID,
    ),
)
MODEL_LOADS = Table(
    "appended.model_loads",
    "The loads whose dumps a stored model, or a table that is to become one, has its rows for.",
    (
        Column("model_name", "VARCHAR", False, "The model, or the table."),
        Column("fingerprint", "VARCHAR", False, "Its text, and that of all models beneath it, as a hash."),
        Column("load_id", "BIGINT", False, "The load."),
    ),
)


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables of a lake of this version, read from a database in memory with all migrations."""
    with duckdb.connect() as con:
        migrate(con)
        found = tables_in(con)
    stored = []
    for table in found:
        schema, name = table.name.split(".")
        if schema == "raw" and name in HISTORIES:
            more = (_CHANGED_ID, _IS_WHOLE) if name == "runs" else ()
            table = Table(f"appended.{name}", table.comment, (*table.columns, *more))
        stored.append(table)
    return (*stored, _STATES, MODEL_LOADS)


def tables_in(con: duckdb.DuckDBPyConnection) -> list[Table]:
    """Return the tables of raw, meta and appended that a database has."""
    names = con.execute(
        "SELECT schema_name || '.' || table_name, comment FROM duckdb_tables()"
        " WHERE schema_name IN ('raw', 'meta', 'appended') AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    columns: dict[str, list[Column]] = {}
    for table, *column in con.execute(
        "SELECT schema_name || '.' || table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        " WHERE schema_name IN ('raw', 'meta', 'appended') AND database_name = current_database()"
        " ORDER BY column_index"
    ).fetchall():
        columns.setdefault(table, []).append(Column(*column))
    return [Table(name, comment, tuple(columns[name])) for name, comment in names]


def table_beside(model: str, fingerprint: str) -> str:
    """Return the name of the table in which new rows of a stored model are computed before it replaces the old."""
    return f"{model}{_BESIDE}{fingerprint[:12]}"


def tables_beside(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the tables that will become models, half filled by a worker that still works or was stopped."""
    rows = execute(
        con,
        "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE database_name = current_database()"
        " AND schema_name NOT IN ('raw', 'meta', 'appended') AND contains(table_name, $word) ORDER BY 1",
        word=_BESIDE,
    ).fetchall()
    return [name for (name,) in rows]


def comments(table: Table) -> list[str]:
    """Return the statements that comment on a table and its columns."""
    said = [f"COMMENT ON TABLE {table.name} IS {quoted(table.comment)}"] if table.comment else []
    return said + [
        f"COMMENT ON COLUMN {table.name}.{column.name} IS {quoted(column.comment)}"
        for column in table.columns
        if column.comment
    ]


def views(stored: Sequence[Table]) -> list[str]:
    """Return the statements that create the views of raw, over the histories and over what is stored once."""
    from schemas import DERIVED  # and with it Polars, which a reader does without

    columns = {table.name: [column.name for column in table.columns] for table in stored}
    return [
        f"CREATE OR REPLACE VIEW raw.runs AS {_runs(columns['appended.runs'])}",
        f"CREATE OR REPLACE VIEW raw.rejects AS {_rejects(columns['appended.rejects'])}",
        # Two writers may have added the same row.
        *(
            f"CREATE OR REPLACE VIEW raw.{name} AS SELECT DISTINCT {', '.join(columns[f'appended.{name}'])}"
            f" FROM appended.{name}"
            for name in _ONCE
        ),
        *(f"CREATE OR REPLACE VIEW raw.{name} AS {query}" for name, query in DERIVED.items()),
    ]


def _runs(columns: Sequence[str]) -> str:
    """Return the query for the runs: the last value of each fact, and the start that `complete_runs` would choose."""
    trust = f"list_position([{', '.join(map(quoted, SOURCES))}], started_at_source)"
    # The strongest source decides. Where several starts come from it, the last one counts if it was given by hand or
    # in run.json, else the earliest.
    rank = f"({trust}, CASE WHEN {trust} <= 2 THEN -changed_id ELSE epoch_us(started_at) END)"
    facts = [
        f"arg_min({name}, {rank}) AS {name}"
        if name.startswith("started_at")
        else f"arg_max({name}, changed_id) AS {name}"
        for name in columns
        if name not in ("run_id", "changed_id", "is_whole", "labels")
    ]
    # Two loads may give labels to a new run at the same time: they are merged, and the earlier value of a name stays.
    facts.append(
        "CASE WHEN COUNT(DISTINCT labels) = 1 THEN MAX(labels) ELSE CAST(list_reduce("
        "list(labels ORDER BY changed_id DESC), lambda later, earlier: json_merge_patch(later, earlier)"
        ") AS VARCHAR) END AS labels"
    )
    return (
        "WITH whole AS (SELECT run_id, MAX(CASE WHEN is_whole THEN changed_id END) AS since FROM appended.runs"
        " GROUP BY run_id), said AS (SELECT r.* FROM appended.runs AS r INNER JOIN whole AS w ON r.run_id = w.run_id"
        f" WHERE r.changed_id >= COALESCE(w.since, r.changed_id)) SELECT run_id, {', '.join(facts)}"
        " FROM said GROUP BY run_id"
    )


def _rejects(columns: Sequence[str]) -> str:
    cells = ["COALESCE(s.state, r.state) AS state" if name == "state" else f"r.{name}" for name in columns]
    return (
        f"SELECT {', '.join(cells)} FROM appended.rejects AS r LEFT JOIN (SELECT reject_id, arg_max(state, changed_id)"
        " AS state FROM appended.reject_states GROUP BY reject_id) AS s ON r.reject_id = s.reject_id"
    )


def migrate_lake(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Apply the missing migrations in one transaction.

    Raises:
        WarehouseError: the lake was written by a newer version, or holds tables that are not a warehouse's.
        duckdb.Error: it failed; nothing was changed.
    """
    version = applied_version(con)
    check_version(version, name, is_reader=False)
    missing = [number for number in migrations() if number > version]
    if not missing:
        return
    if version == 0:
        try:
            check_empty(con, name)
        except WarehouseError:
            if applied_version(con) == 0:
                raise
            migrate_lake(con, name)  # another worker has made them between the two checks
            return
    with transaction(con):
        for statement in _statements(con):
            con.execute(statement)
        for path in sorted(LAKE_MIGRATIONS.glob("*.sql")):
            if 0 < version < int(path.name[:4]):
                con.execute(path.read_text(encoding="utf-8"))
        for statement in views(tables()):
            con.execute(statement)
        for number in missing:
            title = migrations()[number].stem[5:]
            con.execute(f"INSERT INTO meta.migrations VALUES ({number}, {quoted(title)}, now())")
    if version == 0:
        # DuckLake keeps small appends in the catalog until they are compacted; rejects may hold large files.
        where = "schema => 'appended', table_name => 'rejects'"
        con.execute(f"CALL ducklake_set_option('{LAKE}', 'data_inlining_row_limit', 0, {where})")


def check_models(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Refuse to read a lake without models: the process that makes it is still running, or was stopped.

    Raises:
        WarehouseError: it has none.
    """
    # The catalog has the answer; reading meta.models would fetch a file each time.
    has_models = execute(
        con,
        "SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = $layer",
        layer=LAYERS[-1],
    ).fetchall()
    if not has_models:
        raise WarehouseError(
            f"{name} has no models yet: the command that makes it was stopped, or is still running; any ingest builds "
            "them, as does bufferhouse build"
        )


def _counted(table: Table) -> list[str]:
    """Return the statements after which DuckLake has statistics of a new table: they insert a row and delete it.

    For a table that never had rows DuckLake asks the catalog again for each column of each plan (duckdb/ducklake pull
    request 1313), which a query of a mart does hundreds of times. `raw.dumps` is left out: it gets rows soon, and only
    a worker with claims may add some (sql/lake/claims.sql).
    """
    if table.name == "raw.dumps":
        return []
    values = ["NULL" if column.is_nullable else quoted(_ANY.get(column.kind, "0")) for column in table.columns]
    return [f"INSERT INTO {table.name} VALUES ({', '.join(values)})", f"DELETE FROM {table.name}"]


def _statements(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the statements that turn the existing tables into those of this version."""
    there = {f"{schema}.{table}" for schema in ("raw", "meta", "appended") for table in table_names(con, schema)}
    statements = [f"CREATE SCHEMA IF NOT EXISTS {schema}" for schema in ("raw", "meta", "appended")]
    for table in tables():
        if table.name not in there:
            columns = ", ".join(f"{c.name} {c.kind}{'' if c.is_nullable else ' NOT NULL'}" for c in table.columns)
            statements += [f"CREATE TABLE {table.name} ({columns})", *comments(table), *_counted(table)]
            continue
        old = column_types(con, table.name)
        new = [column for column in table.columns if column.name not in old]
        statements += [f"ALTER TABLE {table.name} ADD COLUMN {column.name} {column.kind}" for column in new]
        statements += comments(Table(table.name, None, new))
    return statements
