"""Tables of the fleet report over all programs, each held to what lies beneath it."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from bufferhouse.query.statements import ask, keep
from bufferhouse.report.fleet.data import KEPT, Fleet, read_fleet
from bufferhouse.report.fleet.tables import fleet_tables
from tests.command_line import CHECKOUT

FLEET = CHECKOUT / "examples" / "fleet"
NEWEST_AND_OLDER = ("jaxlib-0.10.0", "jaxlib-0.6.0")


@pytest.fixture(scope="module", autouse=True)
def kept(example) -> None:
    """What statements of the fleet report are made of, kept as the report does."""
    for name in KEPT:
        keep(example, name)


def newest(example) -> dict[tuple, tuple]:
    """The newest run of each program: (platform, track, space, program, target) to (dump_id, program_name)."""
    rows = example.execute(
        "SELECT platform, track, memory_space, program_id, compile_target, dump_id, program_name"
        " FROM marts.memory_space_trend_v1 ORDER BY run_number"
    ).fetchall()
    return {row[:5]: row[5:] for row in rows}


def test_tiles_are_those_of_the_program_with_most_padding(example):
    """Per layout the largest layout padding of one program's newest dump, and never a sum over programs."""
    most: dict[tuple, int] = defaultdict(int)
    programs: Counter = Counter()
    for (platform, track, space, *_), (dump_id, _) in newest(example).items():
        for *layout, padding in example.execute(
            "SELECT element_type, layout, tiles, layout_padding_bytes FROM marts.padding_by_tile_v1"
            " WHERE dump_id = $1 AND memory_space = $2 AND layout_padding_bytes > 0",
            [dump_id, space],
        ).fetchall():
            key = (platform, track, space, *layout)
            most[key] = max(most[key], padding)
            programs[key] += 1
    records = ask(example, "fleet_tiles", tiles=1_000_000).records
    names = ("platform", "track", "memory_space", "element_type", "layout", "tiles")
    found = {tuple(row[name] for name in names): (row["layout_padding_bytes"], row["program_count"]) for row in records}
    assert {key: (most[key], programs[key]) for key in most} == found
    assert len(records) == len(found) > 10


def test_sources_are_those_of_the_program_with_most_waste(example):
    """Per operation and line the largest sum of layout padding and slack of one program's newest dump."""
    most: dict[tuple, int] = defaultdict(int)
    for (platform, track, space, *_), (dump_id, _) in newest(example).items():
        for *line, wasted in example.execute(
            "SELECT op_name, source_file, source_line, layout_padding_bytes + slack_bytes"
            " FROM marts.padding_by_source_v1 WHERE dump_id = $1 AND memory_space = $2 AND op_name IS NOT NULL",
            [dump_id, space],
        ).fetchall():
            if wasted is not None and wasted > 0:
                key = (platform, track, space, *line)
                most[key] = max(most[key], wasted)
    records = ask(example, "fleet_sources", sources=1_000_000).records
    names = ("platform", "track", "memory_space", "op_name", "source_file", "source_line")
    assert most == {tuple(row[name] for name in names): row["wasted_bytes"] for row in records}
    assert all(row["wasted_bytes"] == row["layout_padding_bytes"] + row["slack_bytes"] for row in records)


def test_coverage_is_counted_in_the_files(example):
    """Source lines, live ranges and printed peaks are looked for in the texts, compilers in the files run.json."""
    texts = {text for path in FLEET.rglob("*.txt") if (text := path.read_text()).startswith("BufferAssignment:")}
    runs = [json.loads(path.read_text()) for path in FLEET.glob("*/run.json")]
    found = {
        row["figure"]: (row["covered_count"], row["total_count"]) for row in ask(example, "fleet_coverage").records
    }
    assert (len(texts), len(texts)) == found["reserved bytes, footprint"]
    assert sum('source_file="' in text for text in texts) == found["source lines"][0]
    assert sum("compiler_version" in run for run in runs) == found["compiler"][0]
    assert len([path for path in FLEET.iterdir() if path.is_dir()]) == found["compiler"][1]


def test_what_lacks_is_not_covered(tmp_path):
    """A dump without live ranges has no occupied peak, one without metadata no source line: shares fall.

    One without an allocation counts as any other content does.
    """
    newest, older = (next((FLEET / run).glob("*jit_fft*-buffer-assignment.txt")) for run in NEWEST_AND_OLDER)
    texts = {
        "jit_empty": "BufferAssignment:\n",
        "jit_unscheduled": newest.read_text(),  # its live ranges are a file of their own
        "jit_sourceless": older.read_text().replace("source_file=", "other_file="),
    }
    for name, text in texts.items():
        (tmp_path / f"module_0001.{name}.cpu_after_optimizations-buffer-assignment.txt").write_text(text)
    rows = read_fleet([str(tmp_path)]).answers["fleet_coverage"].records
    found = {row["figure"]: (row["covered_count"], row["total_count"]) for row in rows}
    figures = ("reserved bytes, footprint", "occupied peak, padding at the peak", "source lines")
    assert [(2, 3), (1, 3), (0, 3)] == [found[figure] for figure in figures]


def test_each_table_that_has_rows_is_in_the_report(example_fleet: Fleet):
    """All four that the example fleet has; none over a warehouse without runs, which has its own words."""
    titles = [section.title for section in fleet_tables(example_fleet)]
    assert [
        "Programs by size",
        "Padding by tiles",
        "Padding and slack by operation and source line",
        "What the figures cover",
    ] == titles


def test_an_empty_warehouse_has_none(blank_warehouse: Path):
    assert [] == fleet_tables(read_fleet(blank_warehouse))


def test_programs_by_size_are_those_of_their_newest_runs(example):
    """Every series stands once, in its newest run, with the bytes and the net change of the mart, the largest first."""
    rows = example.execute(
        "SELECT platform, track, memory_space, program_id, compile_target, run_name, reserved_bytes"
        " FROM marts.memory_space_trend_v1 ORDER BY run_number"
    ).fetchall()
    series: dict[tuple, list[tuple]] = defaultdict(list)
    for *key, run_name, reserved in rows:
        series[tuple(key)].append((run_name, reserved))
    expected = {
        key: (*runs[-1], runs[-1][1] - runs[0][1] if len(runs) > 1 else None, len(runs)) for key, runs in series.items()
    }
    records = ask(example, "fleet_programs", programs=1_000_000).records
    key = ("platform", "track", "memory_space", "program_id", "compile_target")
    figures = ("run_name", "reserved_bytes", "net_change_bytes", "run_count")
    assert expected == {tuple(row[n] for n in key): tuple(row[n] for n in figures) for row in records}
    sizes = [row["reserved_bytes"] for row in records]
    assert sorted(sizes, reverse=True) == sizes
    assert len(sizes) == len(expected)
    assert records[:5] == ask(example, "fleet_programs", programs=5).records


def test_programs_left_out_are_counted(example_warehouse: Path, monkeypatch: pytest.MonkeyPatch):
    """A table of programs that is cut says how many are in it and how many are not."""
    monkeypatch.setattr("bufferhouse.report.fleet.data.PROGRAMS", 7)
    fleet = read_fleet(example_warehouse)
    section = fleet_tables(fleet)[0]
    rest = sum(space.facts["series_count"] for space in fleet.spaces) - 7
    assert f"The largest 7; {rest} smaller ones are left out." == section.lines[1]
    assert 7 == len(section.records)
