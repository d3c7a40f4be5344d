"""Bring the models of a lake up to date while others load into it.

A new or changed incremental model is computed beside the existing one, a load at a time, in the same way as a load
computes it. `appended.model_loads` says which loads a table has, so that a worker that takes over continues from there.
When the table has all loads, one transaction replaces the old models by the new ones: readers see either the old ones
or the new ones, each with all of its rows. Meanwhile loads continue with the old ones.

This is correct because DuckLake checks what other transactions did; nothing depends on a session:

- a load adds to `appended.model_loads`. The transaction that replaces models alters that table and deletes from it: of
  the two, the one that commits last fails and is repeated;
- a worker that builds models, or fills them for earlier loads, writes the row of the models in `meta.settings`: of two
  such workers one fails.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import literal, literals, transaction
from bufferhouse.errors import WarehouseBusy
from bufferhouse.models import build
from bufferhouse.models.build import Progress
from bufferhouse.models.project import Model
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.batch_catalog import CATALOG, batch_catalog
from bufferhouse.warehouse.file import blank
from bufferhouse.warehouse.lake.attach import LAKE
from bufferhouse.warehouse.lake.postgres import alone
from bufferhouse.warehouse.lake.schema import MODEL_LOADS, table_beside, tables_beside
from bufferhouse.warehouse.migrate import migrate
from bufferhouse.warehouse.restore import stored_frames
from bufferhouse.warehouse.template import fill_from_blank
from bufferhouse.warehouse.warehouse import Warehouse

_TRIES = 10
_PATTERN = "bufferhouse_pattern"


def build_lake(
    lake: Warehouse, directory: Path = MODELS, *, force: bool = False, progress: Progress | None = None
) -> list[str]:
    """Build changed models, and compute stored models for loads that they lack; return the names of what was built.

    If other workers commit, too, this worker holds the turn to commit while the new models replace the old ones.

    Raises:
        WarehouseBusy: another worker builds models; loads can use the old ones until it is done.
        ModelError, duckdb.Error: as `models.build.build`.
    """
    con = lake.con
    with alone(lake.address, "models") as is_alone:
        if not is_alone:
            raise WarehouseBusy(
                f"another worker builds the models of {lake.address}; loads use the old ones until then"
            )
        known = build.read(con, directory)
        deep = build.deep_fingerprints(known)
        stored = {model.name: model.name for model in known if model.is_incremental}
        built: list[str] = []
        for tries_left in reversed(range(_TRIES)):
            try:
                if force or not build.is_current(con, directory):
                    built, force = _rebuild(lake, known, deep, directory, force, progress), False
                _drop_others(con, ())
                _fill(lake, known, deep, stored, progress)
                break
            except duckdb.TransactionException:  # another worker committed something in between: continue from there
                if not tries_left:
                    raise
    return built


def _rebuild(
    lake: Warehouse,
    known: list[Model],
    deep: Mapping[str, str],
    directory: Path,
    force: bool,
    progress: Progress | None,
) -> list[str]:
    """Compute changed stored models beside the existing ones, and then replace these.

    Raises:
        duckdb.TransactionException: a load was committed in between, or another worker built models.
    """
    con = lake.con
    steps = build.steps_to(con, known, force=force)
    changed = {step.name for step in steps if step.is_incremental and step.reason != "gone"}
    ready = {name: table_beside(name, deep[name]) for name in sorted(changed)} if _has_dumps(con) else {}
    _drop_others(con, ready.values())
    if ready:
        build.make_schemas(con)  # they are missing if dumps came before any models
    _fill(lake, known, deep, ready, progress)  # it may take hours, and nobody waits
    with _pattern(con, directory) as pattern, lake.turn():
        _fill(lake, known, deep, ready, progress)  # loads that came meanwhile; no more come during our turn
        with transaction(con):
            # The turn and the lock may have ended unnoticed, with the session that held them.
            if not force and build.is_current(con, directory):
                raise duckdb.TransactionException("another worker came first")
            if ready.keys() != (changed if _has_dumps(con) else set()) or _missing(con, deep, ready):
                raise duckdb.TransactionException("a load came between")
            built = build.take_place(con, known, directory, force=force, ready=ready, pattern=pattern)
            _note_place(con, [step.name for step in steps if step.is_incremental], ready)
    return built


@contextmanager
def _pattern(con: duckdb.DuckDBPyConnection, directory: Path) -> Iterator[str]:
    """Attach a database in memory with the models of `directory`, and no rows; yield its name."""
    # A stopped build may have left one.
    con.execute(f"ATTACH OR REPLACE ':memory:' AS {_PATTERN}; USE {_PATTERN}")
    try:
        fill_from_blank(blank(build_models=directory == MODELS), con)  # if not possible, the next lines make everything
        migrate(con)
        build.build(con, directory)
        con.execute(f"USE {LAKE}")
        yield _PATTERN
    finally:
        with suppress(duckdb.Error):  # the connection is lost: the first error says why
            con.execute(f"USE {LAKE}; DETACH {_PATTERN}")


def _note_place(con: duckdb.DuckDBPyConnection, names: list[str], ready: Mapping[str, str]) -> None:
    """Note which loads the new models have, and make loads fail that were computed with the old models."""
    con.execute(f"COMMENT ON TABLE {MODEL_LOADS.name} IS '{MODEL_LOADS.comment}'")
    con.execute(f"DELETE FROM {MODEL_LOADS.name} WHERE list_contains(CAST({literal(names)} AS VARCHAR[]), model_name)")
    for name, table in ready.items():
        con.execute(f"UPDATE {MODEL_LOADS.name} SET model_name = {literal(name)} WHERE model_name = {literal(table)}")


def _has_dumps(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("SELECT 1 FROM raw.dumps LIMIT 1").fetchall())


def _drop_others(con: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> None:
    """Drop tables that were begun for other texts of the models; half-filled tables of these texts stay."""
    for table in set(tables_beside(con)) - set(wanted):
        with transaction(con):
            con.execute(f"DROP TABLE {table}")
            con.execute(f"DELETE FROM {MODEL_LOADS.name} WHERE model_name = {literal(table)}")


def _fill(
    lake: Warehouse, known: list[Model], deep: Mapping[str, str], tables: Mapping[str, str], progress: Progress | None
) -> None:
    """Compute models for the loads that their tables lack, each load in a transaction with the row that notes it."""
    con = lake.con
    missing = _missing(con, deep, tables)
    # Checks are computed only if a model reads them.
    built = [(model.name, model.is_incremental, None, list(model.reads), model.sql) for model in known]
    done = dict.fromkeys(missing, 0)
    for load_id, names in _by_load(missing).items():
        ids = con.execute(f"SELECT dump_id FROM raw.dumps WHERE load_id = {load_id} ORDER BY rowid").fetchall()
        frames = stored_frames(con, [dump_id for (dump_id,) in ids])
        with batch_catalog(lake, frames, built=built), transaction(con):
            con.execute("UPDATE meta.settings SET value = value WHERE name = 'models'")
            there = con.execute(
                f"SELECT model_name, fingerprint FROM {MODEL_LOADS.name} WHERE load_id = {load_id}"
            ).fetchall()
            for name in names:
                if (tables[name], deep[name]) in there:
                    continue  # another worker was quicker
                con.execute(f"CREATE TABLE IF NOT EXISTS {tables[name]} AS SELECT * FROM {CATALOG}.{name} LIMIT 0")
                con.execute(f"INSERT INTO {tables[name]} BY NAME SELECT * FROM {CATALOG}.{name}")
                con.execute(f"INSERT INTO {MODEL_LOADS.name} VALUES ({literals([tables[name], deep[name], load_id])})")
        for name in names:
            done[name] += len(ids)
            if progress:
                progress(name, done[name], sum(missing[name].values()))


def _missing(
    con: duckdb.DuckDBPyConnection, deep: Mapping[str, str], tables: Mapping[str, str]
) -> dict[str, dict[int, int]]:
    """Return, by model, the loads for whose dumps its table has no rows, with the number of their dumps."""
    if not tables:
        return {}
    asked = ", ".join(f"('{name}', '{table}', '{deep[name]}')" for name, table in tables.items())
    found: dict[str, dict[int, int]] = {}
    for name, load_id, count in con.execute(
        f"SELECT a.name, d.load_id, d.dump_count FROM (VALUES {asked}) AS a(name, model_name, fingerprint)"
        " CROSS JOIN (SELECT load_id, COUNT(*) AS dump_count FROM raw.dumps GROUP BY load_id) AS d"
        f" ANTI JOIN {MODEL_LOADS.name} AS l ON a.model_name = l.model_name AND a.fingerprint = l.fingerprint"
        " AND d.load_id = l.load_id ORDER BY ALL"
    ).fetchall():
        found.setdefault(name, {})[load_id] = count
    return found


def _by_load(missing: Mapping[str, Mapping[int, int]]) -> dict[int, list[str]]:
    models: dict[int, list[str]] = {}
    for name, loads in missing.items():
        for load_id in loads:
            models.setdefault(load_id, []).append(name)
    return models
