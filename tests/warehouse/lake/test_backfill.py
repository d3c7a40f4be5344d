"""A stored model of a lake that is brought along while others load, build and remove: no rows lost, none twice.

Each test stops one worker at a seam, lets another do all of its work there, on a connection of its own with the same
PostgreSQL, and compares with the models computed from scratch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bufferhouse.models import build
from bufferhouse.warehouse import load as loading
from bufferhouse.warehouse import retention
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.reparse import reparse
from bufferhouse.warehouse.warehouse import Warehouse
from tests.models.small_models import OBSERVATIONS, SIZES, write_models
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import needs_lake
from tests.warehouses import load_parsed, parsed

pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.lake import build as lake_build
from bufferhouse.warehouse.lake.claims import Claims

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = [needs_lake, pytest.mark.slow]

SOAK = pytest.mark.soak  # ten seconds each: two of them are enough for every day
NONE = SIZES.replace("FROM staging.contents AS d", "FROM staging.contents AS d WHERE FALSE")
TRIPLE = SIZES.replace("* 2", "* 3")
# What becomes of the models: a stored one is another, is new, or has rows where it had none.
CHANGES = {
    "another": ({}, {"intermediate__sizes": TRIPLE}),
    "new": ({}, {"intermediate__more": TRIPLE}),
    "rows at last": ({"intermediate__sizes": NONE}, {"intermediate__sizes": SIZES}),
}


@dataclass
class Workers:
    """Two workers at one lake, who do not bring the models along by themselves; `count` dumps are in it."""

    builder: Warehouse
    loader: Warehouse
    count: int = 0

    def add(self) -> None:
        """Load a dump, in a load of its own."""
        self.count += 1
        name = f"run-{self.count}"
        load_parsed(self.loader, parsed([small_dump(self.count)], name), name)


@contextmanager
def two_at(catalog: str) -> Iterator[Workers]:
    """Two workers at the lake of a catalog."""
    address = address_of(f"ducklake:postgres:{catalog}")
    with writing(address, build_models=False) as builder, writing(address, build_models=False) as loader:
        yield Workers(builder, loader)


@pytest.fixture
def workers(postgres, shared_lake):
    """Two workers at a lake of their own, which has most of the models of before already."""
    with two_at(postgres.make_database(shared_lake.connection_string)) as both:
        yield both


@pytest.fixture
def first_workers(postgres, empty_lake):
    """Two workers at a lake that has no models yet."""
    with two_at(postgres.make_database(empty_lake.connection_string)) as both:
        yield both


@pytest.fixture(params=[pytest.param(name, marks=[] if name == "new" else SOAK) for name in CHANGES])
def change(request, tmp_path):
    """The directories of the models of before and of those to come."""
    return written(tmp_path, *CHANGES[request.param])


@pytest.fixture
def another(tmp_path):
    """As `change`, where it does not matter which one."""
    return written(tmp_path, *CHANGES["another"])


def written(folder: Path, before: dict[str, str], after: dict[str, str]) -> tuple[Path, Path]:
    common = {"staging__observations": OBSERVATIONS}
    return (
        write_models(folder / "before", **common | before),
        write_models(folder / "after", **common | before | after),
    )


def bring(warehouse: Warehouse, directory: Path, **more) -> list[str]:
    """Bring the models along as this worker."""
    return lake_build.build_lake(warehouse, directory, **more)


def at(monkeypatch, module, name: str, what: Callable[[], object], call: int = 1) -> list[int]:
    """Do something when a function is called for the first time, or later; return a list with a place for each call."""
    told, calls = getattr(module, name), []

    def stopped(*words, **more):
        calls.append(1)
        if len(calls) == call:
            what()
        return told(*words, **more)

    monkeypatch.setattr(module, name, stopped)
    return calls


def assert_right(workers: Workers, directory: Path) -> None:
    """Every stored model has the rows that it has from scratch, notes each load once, and left no table behind."""
    con = workers.builder.con
    assert build.is_current(con, directory)
    assert workers.count == con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()[0]
    loads = con.execute("SELECT DISTINCT load_id FROM raw.dumps ORDER BY 1").fetchall()
    stored = con.execute("SELECT model_name, fingerprint, model_sql FROM meta.models WHERE is_incremental").fetchall()
    for name, fingerprint, sql in stored:
        scratch = con.execute(f"SELECT * FROM (\n{sql}\n) ORDER BY ALL").fetchall()
        assert scratch == con.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()
        noted = "SELECT load_id FROM appended.model_loads WHERE model_name = ? AND fingerprint = ? ORDER BY 1"
        noted_loads = con.execute(noted, [name, fingerprint]).fetchall()
        assert set(loads) <= set(noted_loads)
        assert len(noted_loads) == len(set(noted_loads))
    tables = con.execute("SELECT 'intermediate.' || table_name FROM duckdb_tables() WHERE schema_name = 'intermediate'")
    assert {(name,) for name, _, _ in stored} == set(tables.fetchall())


@pytest.fixture
def no_turns(monkeypatch):
    """Turns to commit are polite, and end with a session: nothing may hang on them."""

    @contextmanager
    def no_turn(self):
        yield

    monkeypatch.setattr(Claims, "commit_turn", no_turn)


def test_models_that_come_after_dumps(first_workers, another):
    """A lake may have dumps before it has any model: the first ones are built for all of them."""
    first_workers.add()
    first_workers.add()
    bring(first_workers.builder, another[0])
    assert_right(first_workers, another[0])


# Where the builder is stopped: a function, and which call of it.
SEAMS = {
    "while pieces are computed": (lake_build, "stored_frames", 1),
    "before the transaction that puts the new tables in place": (lake_build, "_has_dumps", 2),
    "at its begin": (build, "take_place", 1),
    "before its commit": (lake_build, "_note_place", 1),
}


@pytest.mark.parametrize(
    "seam", [pytest.param(name, marks=[] if name == "before its commit" else SOAK) for name in SEAMS]
)
def test_a_load_that_commits_while_a_model_is_built(workers, another, seam, no_turns, monkeypatch):
    """It is in the new tables when they stand, and not a moment later: that may be what a reader sees."""
    before, after = another
    bring(workers.builder, before)
    workers.add()
    module, name, call = SEAMS[seam]
    calls = at(monkeypatch, module, name, workers.add, call)
    bring(workers.builder, after)
    assert call <= len(calls)
    monkeypatch.undo()
    assert_right(workers, after)


@pytest.mark.parametrize("moment", [pytest.param("unseen", marks=SOAK), "copy_in"])
def test_a_load_that_was_computed_by_the_old_models(workers, change, moment, monkeypatch):
    """Before its transaction begins, and in it: it is refused, computed again by the new ones, and there once."""
    before, after = change
    bring(workers.builder, before)
    workers.add()
    calls = at(monkeypatch, loading, moment, lambda: bring(workers.builder, after))
    workers.add()
    assert 2 == len(calls)
    assert_right(workers, after)


@SOAK
@pytest.mark.parametrize("name", ["stored_frames", "_missing"])
def test_two_workers_that_build_at_once(workers, another, name, no_turns, monkeypatch):
    """One whose lock ended with its session goes on beside the other: what the other has done is done once."""
    before, after = another

    @contextmanager
    def never_mind(address, what):
        yield True

    monkeypatch.setattr(lake_build, "alone", never_mind)
    bring(workers.builder, before)
    workers.add()
    at(monkeypatch, lake_build, name, lambda: bring(workers.loader, after))
    bring(workers.builder, after)
    assert_right(workers, after)


@SOAK
def test_a_build_by_force_that_is_stopped(workers, another):
    """Half of the rows were computed again, beside those that are there: neither is lost or there twice."""

    def stop(name: str, count: int, total: int) -> None:
        raise KeyboardInterrupt

    before, after = another
    bring(workers.builder, before)
    workers.add()
    bring(workers.builder, after)
    with pytest.raises(KeyboardInterrupt):
        bring(workers.builder, after, force=True, progress=stop)
    bring(workers.builder, after)
    bring(workers.builder, after, force=True)
    assert_right(workers, after)


@SOAK
def test_dumps_that_go_while_a_model_is_half_built(workers, another, monkeypatch):
    """A run that is removed, and a dump that is parsed again, are gone from what a stopped worker has computed, too."""

    @contextmanager
    def with_the_other_one(self, wait=0.0):
        yield

    def stop(name: str, count: int, total: int) -> None:
        if count == 2:
            raise KeyboardInterrupt

    before, after = another
    bring(workers.builder, before)
    for _ in range(3):
        workers.add()
    with pytest.raises(KeyboardInterrupt):
        bring(workers.builder, after, progress=stop)
    monkeypatch.setattr(Claims, "alone", with_the_other_one)
    con = workers.builder.con
    (_, run_id, name), (again, _, _) = con.execute(
        "SELECT o.dump_id, o.run_id, r.run_name FROM raw.observations AS o JOIN raw.runs AS r USING (run_id)"
        " ORDER BY o.load_id LIMIT 2"
    ).fetchall()
    retention.remove_runs(workers.loader, [(run_id, name)])
    workers.count -= 1
    assert 1 == reparse(workers.loader, [again]).count
    bring(workers.builder, after)
    assert_right(workers, after)
