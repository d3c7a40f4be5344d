"""What a worker does alone at a lake in a real PostgreSQL, after another one was alone before it."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from bufferhouse.warehouse.address import LakeAddress
from bufferhouse.warehouse.lake.lake import Lake
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.reparse import dumps_of, reparse
from bufferhouse.warehouse.retention import prune, remove_runs
from bufferhouse.warehouse.runs import pin, set_facts
from bufferhouse.warehouse.verify import chosen_dumps, verify
from bufferhouse.whatif.arenas import pack_arenas
from tests.flows.clock import until
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import answer, asked, copied, needs_lake
from tests.warehouses import load_parsed, parsed

psycopg = pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = [needs_lake, pytest.mark.slow]

_WAITING = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
_TWICE = "SELECT dump_id FROM raw.packings GROUP BY dump_id, allocation_index HAVING COUNT(*) > 1"


def load_two(address: LakeAddress) -> LakeAddress:
    """Load a dump in each of two runs."""
    with writing(address, build_models=False) as warehouse:
        for number, name in enumerate(("old", "new")):
            load_parsed(warehouse, parsed([small_dump(number)], name), name)
    return address


@pytest.fixture(scope="module")
def lake_of_two(shared_lake) -> LakeAddress:
    """A lake with these two and small models. To be copied, never opened."""
    return load_two(shared_lake)


@pytest.fixture(scope="module")
def whole_lake_of_two(whole_lake) -> LakeAddress:
    """A lake with these two and all models. To be copied, never opened."""
    return load_two(whole_lake)


@pytest.fixture
def address(postgres, lake_of_two, tmp_path) -> LakeAddress:
    """A lake of two dumps for each test, to be opened with `build_models=False`."""
    return copied(postgres, lake_of_two, tmp_path / "files")


@pytest.fixture
def whole(postgres, whole_lake_of_two, tmp_path) -> LakeAddress:
    """The same for what asks models that only a whole lake has."""
    return copied(postgres, whole_lake_of_two, tmp_path / "files")


def after(address: LakeAddress, before: Callable, then: Callable) -> None:
    """Do something as a worker that must wait for the one that does the second thing, and is alone before it."""
    with (
        psycopg.connect(address.connection_string, autocommit=True) as con,
        ThreadPoolExecutor(1) as pool,
        writing(address, wait=60, build_models=False) as other,
    ):
        with writing(address, wait=60, build_models=False) as worker:
            done = pool.submit(before, other)
            until(lambda: con.execute(_WAITING).fetchone() == (1,) or done.done(), "a worker that waits")
            then(worker)
        done.result()


def test_what_was_removed_meanwhile_is_not_written_again(address):
    """A dump that was read before its run was removed has no rows afterwards, though it is parsed again."""
    runs = answer(address, "SELECT run_id, run_name FROM raw.runs WHERE run_name = 'old'")
    after(
        address,
        lambda other: remove_runs(other, runs),
        lambda worker: reparse(worker, dumps_of(worker.con)),
    )
    assert [(1,)] == answer(address, "SELECT COUNT(*) FROM raw.dumps")


def test_files_of_a_load_that_is_under_way_are_no_orphans(address, monkeypatch):
    """Whoever compacts meanwhile and keeps no snapshot leaves them; once alone it removes what is in no snapshot."""
    end_batch, compacted = Lake.end_batch, []

    def compact() -> None:
        with writing(address, build_models=False) as warehouse:
            compacted.append(warehouse.compact(keep_seconds=0))

    def end(self, *batch) -> None:
        end_batch(self, *batch)
        compact()

    with writing(address, build_models=False) as worker, monkeypatch.context() as patch:
        patch.setattr(Lake, "end_batch", end)
        load_parsed(worker, parsed([small_dump(2)], "new"), "new")
    assert 1 == len(compacted)
    orphan = next(Path(address.data_path).rglob("*.parquet")).with_name(f"ducklake-{uuid4()}.parquet")
    orphan.write_bytes(b"")
    compact()
    assert not orphan.exists()
    with asked(address) as con:
        ids = chosen_dumps(con)
        assert (3, []) == (len(ids), verify(con, ids))


def test_two_that_pack_at_once_keep_one_packing_of_an_arena(whole):
    """Whoever comes second leaves what the first one kept."""
    after(whole, pack_arenas, pack_arenas)
    assert [] == answer(whole, _TWICE)
    assert [(True,)] == answer(whole, "SELECT COUNT(*) > 0 FROM raw.packings")


def test_no_arena_of_a_dump_that_was_removed_meanwhile_is_kept(whole):
    """It would stay for ever: nothing that removes dumps looks at it again."""
    runs = answer(whole, "SELECT run_id, run_name FROM raw.runs WHERE run_name = 'old'")
    after(whole, lambda other: remove_runs(other, runs), pack_arenas)
    assert [] == answer(whole, "SELECT dump_id FROM raw.packings ANTI JOIN raw.dumps USING (dump_id)")


def test_a_run_that_is_pinned_meanwhile_stays(whole):
    """Which runs go is asked when nobody else writes any more."""
    after(whole, lambda other: prune(other, keep_runs=0), lambda worker: pin(worker, ["old"]))
    assert [("old",)] == answer(whole, "SELECT run_name FROM raw.runs")


def test_facts_that_are_set_at_once_are_all_kept(whole):
    """A run is read and written while nobody else commits, so no label takes the place of another."""
    with ThreadPoolExecutor(3) as pool, ExitStack() as stack:
        workers = [stack.enter_context(writing(whole, wait=60, build_models=False)) for _ in range(3)]
        for number in range(2):
            facts = [{f"label.w{worker}_{number}": "yes"} for worker in range(3)]
            list(pool.map(lambda one: set_facts(one[0], "old", one[1]), zip(workers, facts, strict=True)))
    [(text,)] = answer(whole, "SELECT labels FROM raw.runs WHERE run_name = 'old'")
    assert {f"w{worker}_{number}" for worker in range(3) for number in range(2)} == json.loads(text).keys()
