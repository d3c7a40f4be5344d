"""Bring the models of a warehouse up to date: plan what must be built, and build it.

A view is replaced. An incremental model is computed again over all dumps, a range of them at a time, when its text or
that of a model beneath it changed. Everything happens in one transaction: readers see the old models or the new ones.
"""

import hashlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import column_types, identifier, literal, literals, quoted, table_names, transaction
from bufferhouse.models import project
from bufferhouse.models.project import LAYERS, Model
from bufferhouse.paths import MODELS

BACKFILL_DUMPS = 2000  # about so many dumps are computed at a time
_ID_END = 1 << 63

Progress = Callable[[str, int, int], None]
"""Called with a model, dumps back-filled and dumps to back-fill."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model to build, with its reason, and for a stored model the number of dumps. `reason` gone drops it."""

    name: str
    is_incremental: bool
    reason: str
    dump_count: int

    @property
    def kind(self) -> str:
        """Return view, table or check."""
        return "table" if self.is_incremental else "check" if self.name.startswith("checks.") else "view"


def plan(con: duckdb.DuckDBPyConnection, directory: Path = MODELS, *, force: bool = False) -> list[Step]:
    """Return the steps of `build`, in order, without writing. Reasons: new, changed, a model beneath it, gone.

    Raises:
        ModelError: a model is not written as models are, or names what is not there.
    """
    if is_current(con, directory) and not force:
        return []
    return steps_to(con, read(con, directory), force=force)


def build(
    con: duckdb.DuckDBPyConnection, directory: Path = MODELS, *, force: bool = False, progress: Progress | None = None
) -> list[str]:
    """Build what changed and back-fill it, in one transaction; return the names of the models that were built.

    Raises:
        ModelError: as `plan`; nothing was changed.
        duckdb.Error: a model fails on what is in the warehouse; nothing was changed.
    """
    if is_current(con, directory) and not force:
        return []
    known = read(con, directory)
    with transaction(con):
        return take_place(con, known, directory, force=force, progress=progress)


def take_place(
    con: duckdb.DuckDBPyConnection,
    known: list[Model],
    directory: Path,
    *,
    force: bool,
    progress: Progress | None = None,
    ready: Mapping[str, str] | None = None,
    pattern: str | None = None,
) -> list[str]:
    """Do what `build` does with the models that were read from `directory`, in a transaction of the caller's.

    `ready` names tables that already hold the rows of stored models; these tables become the models. `pattern` names an
    attached database with the same models and no rows, of the caller's own: whatever else is built is copied from it,
    and the rest of it is dropped. Columns of views that are copied have no comments.
    """
    by_name = {model.name: model for model in known}
    newest = project.newest_marts(known)
    steps = steps_to(con, known, force=force)
    made = [by_name[step.name] for step in steps if step.reason != "gone"]
    dump_counts = {step.name: step.dump_count for step in steps}
    ready = ready or {}
    if pattern is not None:
        _keep(con, pattern, ({model.name for model in made} | newest.keys()) - ready.keys())
    make_schemas(con)
    for name, kind in _kinds(con).items():
        # A mart's name without a version may show one that is gone.
        if name in dump_counts or (kind == "VIEW" and name.startswith("marts.") and name not in by_name):
            _drop(con, kind, name)
    for model in made:
        if model.name in ready:
            con.execute(f"ALTER TABLE {ready[model.name]} RENAME TO {model.name.split('.')[1]}")
        elif pattern is None:
            _create(con, model, dump_counts[model.name], progress)
    if pattern is None:
        for name, model in newest.items():
            con.execute(f"CREATE VIEW {name} AS SELECT * FROM {model.name}")
    else:
        # DuckDB does not plan a view that it copies; to create one, it plans all views beneath it, too.
        (database,) = con.execute("SELECT current_database()").fetchone()
        con.execute(f"COPY FROM DATABASE {pattern} TO {database} (SCHEMA)")
    for name, model in [*((model.name, model) for model in made), *newest.items()]:
        is_table = model.is_incremental and name == model.name
        _comment(con, name, model, is_table=is_table, has_columns=is_table or pattern is None)
    _write_down(con, known, fingerprint(directory))
    return [model.name for model in made]


def make_schemas(con: duckdb.DuckDBPyConnection) -> None:
    """Make the schemas of all layers of models, where they are not there yet."""
    for layer in LAYERS[1:]:
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {layer}")


def fingerprint(directory: Path) -> str:
    """Return a hash over all model files: equal means that nothing has to be built."""
    digest = hashlib.sha256()
    for path in sorted(directory.glob("*/*.sql")):
        digest.update(f"{path.parent.name}/{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_current(con: duckdb.DuckDBPyConnection, directory: Path) -> bool:
    """Return whether the models of a warehouse are those of `directory`."""
    stored = con.execute("SELECT value FROM meta.settings WHERE name = 'models'").fetchone()
    return stored == (fingerprint(directory),)


def read(con: duckdb.DuckDBPyConnection, directory: Path) -> list[Model]:
    """Return the models of `directory`, qualified against the tables of a warehouse, in the order of building."""
    columns = tuple((table, tuple(column_types(con, f"raw.{table}").items())) for table in table_names(con, "raw"))
    return list(_qualified(directory, fingerprint(directory), columns))


@lru_cache(maxsize=2)  # a process may open many warehouses: one for each pass, one for each question of --from
def _qualified(directory: Path, _fingerprint: str, columns: tuple[tuple[str, tuple], ...]) -> tuple[Model, ...]:
    known = project.read(directory)
    project.qualify(known, {table: dict(kinds) for table, kinds in columns})
    return tuple(known)


def steps_to(con: duckdb.DuckDBPyConnection, known: list[Model], *, force: bool) -> list[Step]:
    """Return what `plan` does, for models that were read."""
    built = {
        name: (deep, hashlib.sha256(sql.encode()).hexdigest(), is_incremental)
        for name, deep, sql, is_incremental in con.execute(
            "SELECT model_name, fingerprint, model_sql, is_incremental FROM meta.models ORDER BY ordinal"
        ).fetchall()
    }
    deep = deep_fingerprints(known)
    dumps = con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()[0]
    steps = [Step(name, was[2], "gone", 0) for name, was in built.items() if name not in deep]
    for model in known:
        before, own, _ = built.get(model.name, (None, None, None))
        if before is None:
            reason = "new"
        elif own != model.fingerprint:
            reason = "changed"
        elif before != deep[model.name]:
            reason = "a model beneath it"
        elif force:
            reason = "forced"
        else:
            continue
        steps.append(Step(model.name, model.is_incremental, reason, dumps if model.is_incremental else 0))
    return steps


def deep_fingerprints(known: list[Model]) -> dict[str, str]:
    """Return a hash per model over its own text and those of all models beneath it."""
    deep: dict[str, str] = {}
    for model in known:
        below = "".join(deep[table] for table in model.reads if table in deep)
        deep[model.name] = hashlib.sha256((model.fingerprint + below).encode()).hexdigest()
    return deep


def _kinds(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return VIEW or TABLE for each table and view, by name."""
    return dict(
        con.execute(
            "SELECT table_schema || '.' || table_name, CASE WHEN table_type = 'VIEW' THEN 'VIEW' ELSE 'TABLE' END"
            " FROM information_schema.tables WHERE table_catalog = current_database()"
        ).fetchall()
    )


def _drop(con: duckdb.DuckDBPyConnection, kind: str, name: str) -> None:
    con.execute(f"DROP {kind} {'.'.join(map(identifier, name.split('.', 1)))}")  # somebody's own may have any name


def _create(con: duckdb.DuckDBPyConnection, model: Model, dump_count: int, progress: Progress | None) -> None:
    if not model.is_incremental:
        con.execute(f"CREATE VIEW {model.name} AS\n{model.sql}")
        return
    con.execute(f"CREATE TABLE {model.name} AS SELECT * FROM (\n{model.sql}\n) AS model WHERE FALSE")
    # Ids are hashes: equal ranges hold about equally many dumps. A range of literals is pushed down into the views
    # beneath a model; a list of ids, or a join, would not be.
    count = -(-dump_count // BACKFILL_DUMPS)
    for number in range(count):
        low, high = _ID_END * number // count, _ID_END * (number + 1) // count - 1
        con.execute(
            f"INSERT INTO {model.name} SELECT * FROM (\n{model.sql}\n) AS model WHERE dump_id BETWEEN {low} AND {high}"
        )
        if progress:
            progress(model.name, dump_count * (number + 1) // count, dump_count)


def _keep(con: duckdb.DuckDBPyConnection, database: str, names: Set[str]) -> None:
    """Drop all other tables and views of a database, into which the transaction of `con` has not looked yet."""
    with con.cursor() as other:  # a transaction writes to one database, and sees others as it met them
        other.execute(f"USE {database}")
        for name, kind in _kinds(other).items():
            if name not in names:
                _drop(other, kind, name)


def _comment(con: duckdb.DuckDBPyConnection, name: str, model: Model, *, is_table: bool, has_columns: bool) -> None:
    comments = [f"COMMENT ON {'TABLE' if is_table else 'VIEW'} {name} IS {quoted(model.purpose)}"]
    if has_columns:
        comments += [f"COMMENT ON COLUMN {name}.{column} IS {quoted(text)}" for column, text in model.columns.items()]
    con.execute("; ".join(comments))


def _write_down(con: duckdb.DuckDBPyConnection, known: list[Model], current: str) -> None:
    """Store the built models in the warehouse, so that a load can run their statements without reading a file."""
    deep = deep_fingerprints(known)
    con.execute("DELETE FROM meta.models")
    rows = [
        (
            model.name, model.layer, ordinal, model.is_incremental, model.severity, model.purpose,
            list(model.grain), list(model.reads), model.sql, deep[model.name],
        )
        for ordinal, model in enumerate(known)
    ]  # fmt: skip
    if rows:
        lines = map(literals, rows)
        con.execute(f"INSERT INTO meta.models VALUES {', '.join(f'({line}, now())' for line in lines)}")
    con.execute("DELETE FROM meta.settings WHERE name = 'models'")
    con.execute(f"INSERT INTO meta.settings VALUES ('models', {literal(current)})")
