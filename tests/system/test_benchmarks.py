"""The benchmarks run: small fleets, one turn each. What they measure is no matter here."""

import shutil
from pathlib import Path

import duckdb
import pytest

from benchmarks import __main__ as page
from benchmarks import big_fleet, naive, rates, reader, scaling, siblings
from benchmarks.corpus import dumps_of
from benchmarks.places import Places
from benchmarks.targets import HEAD, Row, as_table
from bufferhouse.commands.ingest_run import run_ingest


@pytest.fixture
def places(fleet: Path, tmp_path: Path) -> Places:
    """One build of the example fleet, as a fleet and as distinct contents."""
    (tmp_path / "scratch").mkdir()
    shutil.copytree(fleet / "jaxlib-0.10.0", tmp_path / "fleet" / "jaxlib-0.10.0")
    return Places("small", tmp_path / "fleet", tmp_path / "fleet", None, tmp_path / "scratch")


@pytest.mark.soak
def test_the_rates_are_measured(places):
    """Every work is done on every folder: ours, ours without models and checks, and the naive ingest."""
    rows = list(rates.rows(places, turns=1))
    assert 4 == len(rows)
    assert {"ours", "bare", "naive"} == rates.cold(places.fleet, places.scratch, 1).keys()


def test_every_reader_is_measured(places):
    """Ours, its frames and the references read the same dumps, none of them with what another left in memory."""
    dumps = dumps_of(places.fleet)
    [(_, count, _, seconds)] = reader.measure([(places.name, dumps)], turns=1)
    assert (len(dumps), len(reader.READERS)) == (count, len(seconds))


def test_the_naive_ingest_reads_what_ours_reads(places, tmp_path):
    """The reference is honest: it stores as many dumps, allocations, values, positions and uses as the warehouse."""
    assert naive.ingest(places.fleet, tmp_path / "naive.duckdb") == len(list(places.fleet.rglob(f"*{naive.SUFFIX}")))
    run_ingest([str(places.fleet)], tmp_path / "ours.duckdb")
    with duckdb.connect(str(tmp_path / "naive.duckdb")) as con:
        con.execute(f"ATTACH '{tmp_path / 'ours.duckdb'}' AS ours (READ_ONLY)")
        tables = {"dump": "dumps", "allocations": "allocations", "values": "hlo_values", "positions": "positions",
                  "uses": "uses", "schedule": "schedule", "live_ranges": "live_ranges"}  # fmt: skip
        for mine, own in tables.items():
            counts = [
                con.execute(f"SELECT COUNT(*) FROM {name}").fetchone() for name in (f"ours.raw.{own}", f'"{mine}"')
            ]
            assert counts[0] == counts[1], mine


def test_a_bare_warehouse_takes_dumps_and_has_no_marts(places, tmp_path):
    """Without models and checks means: the tables are filled, nothing is computed of them."""
    rates.bare_warehouse(tmp_path / "bare.duckdb")
    rates.bare_ingest(places.fleet, tmp_path / "bare.duckdb")
    with duckdb.connect(str(tmp_path / "bare.duckdb")) as con:
        assert con.execute("SELECT COUNT(*) > 0 FROM raw.hlo_values").fetchone()[0]
        kept = con.execute(
            "SELECT schema_name FROM duckdb_tables() WHERE schema_name NOT IN ('raw', 'meta')"
        ).fetchall()
    assert [] == kept


def test_siblings_are_those_of_distinct_contents(monkeypatch, tmp_path):
    """Each program as it is and called otherwise: text and proto still agree, and the texts alone are equal dumps."""
    monkeypatch.setattr(siblings, "CORPUS", tmp_path)  # the committed protos
    assert 6 == siblings.write(tmp_path, 2)
    found = {kind: run_ingest([str(tmp_path / kind)], tmp_path / f"{kind}.duckdb") for kind in ("none", "all")}
    assert [(6, 6, {})] * 2 == [(one.seen, one.new, one.warnings) for one in found.values()]
    assert 0 < found["all"].rows["alias_sets"] < found["all"].rows["heap_events"]
    assert 1 == len({(one.rows["dumps"], one.rows["hlo_values"], one.bytes) for one in found.values()})


@pytest.mark.soak
def test_siblings_are_measured(monkeypatch, tmp_path):
    """A line for each number of siblings, below the heads."""
    monkeypatch.setattr(siblings, "CORPUS", tmp_path)  # the committed protos
    assert 3 == len(siblings.table([1], 1).splitlines())


def test_a_big_fleet_has_the_observations_and_contents_that_were_asked_for(monkeypatch, tmp_path):
    """Programs × runs files, about a tenth of them contents of their own, all of which are taken."""
    monkeypatch.setattr(big_fleet, "CORPUS", tmp_path)  # made of the example fleet
    files, contents = big_fleet.write_big_fleet(tmp_path / "big", 100)
    assert 100 == files == len(list((tmp_path / "big").rglob("*.txt")))
    summary = run_ingest([str(tmp_path / "big")], tmp_path / "big.duckdb")
    assert (contents, files - contents, 0) == (summary.new, summary.known, summary.rejected)


@pytest.mark.soak
def test_growth_is_drawn(tmp_path):
    """A point for each size, and a picture of them."""
    points, rows = scaling.measure([100, 200], tmp_path, turns=1)
    assert [100, 200] == [point.observations for point in points]
    assert 5 == len(rows)
    scaling.draw(points, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")


def test_a_part_takes_the_place_of_the_one_before():
    """What is not measured anew stays on the page; the table of targets comes first."""
    old = "# Benchmarks\n\nHead.\n\n## Reader\n\nold\n\n## Clock\n\nkept\n"
    new = page.placed(page.placed(old, "Reader", "## Reader\n\nnew\n"), "Targets", "## Targets\n\nfirst\n")
    assert "# Benchmarks\n\nHead.\n\n## Targets\n\nfirst\n\n## Reader\n\nnew\n\n## Clock\n\nkept\n" == new


def test_a_row_says_whether_it_is_met_and_what_keeps_it_from_that():
    """A bound stands beside a target that is not met, and beside no other."""
    rows = [Row("a", "1", "2", "3", "4", True, "bound"), Row("b", "1", "2", "3", "4", False, "bound")]
    assert f"{HEAD}\n| a | 1 | 2 | 3 | 4 | yes |\n| b | 1 | 2 | 3 | 4 | **no**: bound |" == as_table(rows)
