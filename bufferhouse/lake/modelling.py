"""Bring the models of a lake up to date while others load into it.

A new or changed incremental model is computed beside the one that is there, a piece of the dumps at a time, in the
same way as a load computes it; which loads it has is kept in `appended.model_loads`, so that a worker that takes over
goes on from there. When it has them all, one transaction puts the new models in the place of the old: readers see
the old ones or the new ones. Meanwhile loads go on with the old ones.
"""

from collections.abc import Mapping
from pathlib import Path

import duckdb

from bufferhouse import building
from bufferhouse.batch_catalog import CATALOG, batch_catalog
from bufferhouse.building import Progress
from bufferhouse.errors import WarehouseBusy
from bufferhouse.lake.address import LakeAddress
from bufferhouse.lake.exclusive import alone
from bufferhouse.layout import MODELS
from bufferhouse.models import Model
from bufferhouse.restore import stored_frames
from bufferhouse.transaction import transaction


def build_lake(
    con: duckdb.DuckDBPyConnection,
    address: LakeAddress,
    directory: Path = MODELS,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> list[str]:
    """Build what changed, and compute stored models for loads that they have not; return what was built.

    Raises:
        WarehouseBusy: another worker is at it, and there are models to go on with until it is done.
        ModelError, duckdb.Error: as `building.build`.
    """
    with alone(address, "models") as is_alone:
        if not is_alone:
            raise WarehouseBusy(f"another worker builds the models of {address}; loads go on with those of before")
        known = building.read(con, directory)
        steps = building.plan(con, directory, force=force)
        deep = building.deep_fingerprints(known)
        if force:
            con.execute("DELETE FROM appended.model_loads")
        changed = {step.name for step in steps if step.is_incremental and step.reason != "gone"}
        ready = {}
        for name in sorted(changed) if _has_dumps(con) else ():
            ready[name] = _beside(con, name, deep[name])
        _fill(con, known, {name: deep[name] for name in ready}, ready, progress)
        built = building.build(con, directory, force=force, ready=ready)
        # What was loaded with the old models until the new ones stood.
        stored = {model.name: model.name for model in known if model.is_incremental}
        _fill(con, known, {name: deep[name] for name in stored}, stored, progress)
    return built


def _has_dumps(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("SELECT 1 FROM raw.dumps LIMIT 1").fetchall())


def _beside(con: duckdb.DuckDBPyConnection, name: str, fingerprint: str) -> str:
    """Return the table that is to take a model's place; what was begun by another text of it is dropped.

    The table of this text may be there, half filled by a worker that was stopped.
    """
    table = f"{name}__{fingerprint[:12]}"
    schema, stem = name.split(".")
    begun = con.execute(
        "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE database_name = current_database()"
        " AND schema_name = $schema AND starts_with(table_name, $stem)",
        {"schema": schema, "stem": f"{stem}__"},
    ).fetchall()
    for (other,) in begun:
        if other != table:
            con.execute(f"DROP TABLE {other}")
    if (table,) not in begun:  # what an earlier table of this text had, before another took its place
        con.execute("DELETE FROM appended.model_loads WHERE model_name = ? AND fingerprint = ?", [name, fingerprint])
    return table


def _fill(
    con: duckdb.DuckDBPyConnection,
    known: list[Model],
    fingerprints: Mapping[str, str],
    tables: Mapping[str, str],
    progress: Progress | None,
) -> None:
    """Compute models for the loads they have not, each load in a transaction with the row that says so."""
    if not fingerprints:
        return
    missing = _missing(con, fingerprints)
    # Checks are computed where a model reads them, and nowhere else.
    built = [(model.name, model.is_incremental, None, list(model.reads), model.sql) for model in known]
    done = dict.fromkeys(missing, 0)
    for load_id, names in _by_load(missing).items():
        ids = con.execute("SELECT dump_id FROM raw.dumps WHERE load_id = ? ORDER BY rowid", [load_id]).fetchall()
        frames = stored_frames(con, [dump_id for (dump_id,) in ids])
        with batch_catalog(con, frames, built=built), transaction(con):
            for name in names:
                con.execute(f"CREATE TABLE IF NOT EXISTS {tables[name]} AS SELECT * FROM {CATALOG}.{name} LIMIT 0")
                con.execute(f"INSERT INTO {tables[name]} BY NAME SELECT * FROM {CATALOG}.{name}")
                con.execute("INSERT INTO appended.model_loads VALUES (?, ?, ?)", [name, fingerprints[name], load_id])
        for name in names:
            done[name] += len(ids)
            if progress:
                progress(name, done[name], sum(missing[name].values()))


def _missing(con: duckdb.DuckDBPyConnection, fingerprints: Mapping[str, str]) -> dict[str, dict[int, int]]:
    """Return the loads whose dumps a model has no rows for, with the number of their dumps, by model."""
    found: dict[str, dict[int, int]] = {}
    for name, fingerprint in fingerprints.items():
        rows = con.execute(
            "SELECT load_id, COUNT(*) FROM raw.dumps WHERE load_id NOT IN (SELECT load_id FROM appended.model_loads"
            " WHERE model_name = ? AND fingerprint = ?) GROUP BY load_id ORDER BY load_id",
            [name, fingerprint],
        ).fetchall()
        if rows:
            found[name] = dict(rows)
    return found


def _by_load(missing: Mapping[str, Mapping[int, int]]) -> dict[int, list[str]]:
    models: dict[int, list[str]] = {}
    for name, loads in missing.items():
        for load_id in loads:
            models.setdefault(load_id, []).append(name)
    return models
