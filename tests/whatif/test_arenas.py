"""The packings that a warehouse keeps: between what no placement can go below and what XLA took, each arena once."""

import json
import random
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bufferhouse.warehouse.open import reading, writing
from bufferhouse.whatif.arenas import Packed, pack_arenas
from bufferhouse.whatif.packing import pack
from bufferhouse.whatif.slots import Slots
from tests.command_line import call
from tests.ingests import write_dumps
from tests.synthetic import Slot, dump_text

NULLS = "lower_bound_bytes IS NULL AND packed_bytes IS NULL AND packer IS NULL AND is_cut_short IS NULL"


def asked(path, sql: str) -> list[tuple]:
    with reading(path) as warehouse:
        return warehouse.con.execute(sql).fetchall()


@pytest.fixture(scope="module")
def packed_fleet(example_warehouse, tmp_path_factory):
    """The example fleet, whose arenas were packed, and what the verb said of it. To be copied, never written."""
    path = Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("packed") / "fleet.duckdb"))
    outcome = call("pack", "--warehouse", path, "--format", "json")
    assert 0 == outcome.code
    return path, json.loads(outcome.out)


@pytest.fixture
def packed(packed_fleet, tmp_path):
    """A copy of it that the test may change, and what the verb said."""
    path, summary = packed_fleet
    return Path(shutil.copy(path, tmp_path / "packed.duckdb")), summary


def test_each_arena_is_packed_once_and_its_bounds_hold(example_warehouse, packed):
    """Before, the mart has no placement; then each lies between the most bytes alive and what XLA reserved."""
    total = "SELECT COUNT(*) FROM marts.fragmentation_v2"
    assert asked(example_warehouse, total) == asked(example_warehouse, f"{total} WHERE {NULLS}")
    path, summary = packed
    bounds = "occupied_peak_bytes <= lower_bound_bytes AND lower_bound_bytes <= packed_bytes AND packed_bytes"
    [(arenas,)] = asked(path, f"{total} WHERE packed_bytes IS NOT NULL")
    assert [(arenas,)] == asked(path, f"{total} WHERE {bounds} <= size_bytes")
    assert [(arenas, summary["proved_count"], summary["savable_bytes"])] == asked(
        path,
        "SELECT COUNT(packed_bytes), COUNT(*) FILTER (unproved_bytes = 0), CAST(SUM(savable_bytes) AS BIGINT)"
        " FROM marts.fragmentation_v2",
    )
    assert arenas == summary["arena_count"]
    assert summary["proved_count"] >= 0.95 * arenas
    again = json.loads(call("pack", "--warehouse", path, "--format", "json").out)
    assert {**summary, "arena_count": 0} == again


def test_new_dumps_are_packed_and_old_ones_stay(packed, fleet, tmp_path):
    """What an ingest adds is waiting; what a prune takes away has no packing left."""
    path, _ = packed
    before = asked(path, "SELECT * FROM raw.packings ORDER BY ALL")
    (tmp_path / "run").mkdir()
    new = tmp_path / "run" / "module_0001.jit_new.cpu_after_optimizations-buffer-assignment.txt"
    new.write_bytes(dump_text([Slot(0, 2, 0, 64), Slot(1, 3, 128, 64), Slot(4, 5, 0, 64)]))
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", path).code
    assert "1 arena packed" in call("pack", "--warehouse", path).out
    after = asked(path, "SELECT * FROM raw.packings ORDER BY ALL")
    [added] = set(after) - set(before)
    assert (64, 128, 128, False) == (*added[2:5], added[6])
    assert 0 == call("runs", "rm", "run", "--yes", "--warehouse", path).code
    assert before == asked(path, "SELECT * FROM raw.packings ORDER BY ALL")


def test_arenas_without_live_ranges_are_counted(warehouse, tmp_path):
    """What nobody can pack is told: of two arenas, one in a dump without live ranges, one is packed."""
    text = dump_text([Slot(0, 2, 0, 64)])
    write_dumps(tmp_path / "job", [1, 2], lambda number: text if number == 1 else text.split(b"\n\n")[0] + b"\n")
    assert 0 == call("ingest", tmp_path / "job", "--warehouse", warehouse).code
    done = call("pack", "--warehouse", warehouse).out.splitlines()
    assert ("1 arena packed", "1 arena cannot be packed: no live ranges") == (done[0], done[-1])
    again = json.loads(call("pack", "--warehouse", warehouse, "--format", "json").out)
    assert (0, 1, 1) == (again["arena_count"], again["proved_count"], again["unknown_count"])


def test_a_search_without_time_says_so(monkeypatch):
    """With no work allowed, XLA's own placement stands, and that the search was cut short."""
    monkeypatch.setitem(sys.modules, "omnimalloc", None)
    slots = Slots([0, 1], [0, 1], [0, 8], [4, 4], [0, 5], [1, 6], [True, True])
    best = pack(slots, 4, given=True)
    assert (4, 4, False) == (best.high_bytes, best.low_bytes, best.is_cut)
    cut = pack(slots, 4, given=True, work=0)
    assert (12, 4, "xla", True) == (cut.high_bytes, cut.low_bytes, cut.packer, cut.is_cut)


def test_a_warehouse_without_arenas_has_nothing_to_pack(warehouse):
    """No dump, no packing, no error."""
    with writing(warehouse) as writer:
        assert Packed(0, 0, 0, 0, 0) == pack_arenas(writer)


@pytest.mark.soak
@pytest.mark.corpus
@pytest.mark.slow
def test_the_arenas_of_the_corpus_are_proved(corpus, tmp_path):
    """Of the arenas of all builds, bounds meet in at least 95 of 100."""
    archives = [path for path in sorted((corpus / "builds").glob("*.tar.gz")) if not path.stem.endswith("-hlo.tar")]
    call("ingest", *archives, "--warehouse", tmp_path / "corpus.duckdb")
    done = json.loads(call("pack", "--warehouse", tmp_path / "corpus.duckdb", "--format", "json").out)
    assert done["arena_count"] > 600
    assert done["proved_count"] >= 0.95 * done["arena_count"]
    assert 0 == done["cut_count"]


@pytest.mark.skipif(find_spec("omnimalloc") is None, reason="needs the extra packing")
def test_omnimalloc_places_what_best_fit_does_not(monkeypatch):
    """Its placements are verified like ours, and the smaller of the two is taken."""
    random_ = random.Random(3)
    rows = [(random_.randint(1, 9) * 4, start := random_.randint(0, 40), start + random_.randint(0, 20))
            for _ in range(60)]  # fmt: skip
    numbers = list(range(60))
    slots = Slots(numbers, numbers, [0] * 60, *map(list, zip(*rows, strict=True)), [True] * 60)
    best = pack(slots, 4)
    monkeypatch.setitem(sys.modules, "omnimalloc", None)
    assert best.high_bytes <= pack(slots, 4).high_bytes
