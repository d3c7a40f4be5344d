"""Runs at a glance and the history of programs against brute force over the trend and over dumps written by hand."""

import json
from fractions import Fraction

from bufferhouse.commands.ingest_run import run_ingest
from tests.synthetic import Slot, dump_text
from tests.warehouses import rows

SUMMARY = """
    SELECT run_id, memory_space, platform, run_name, program_count, dump_count, variant_count, largest_reserved_bytes,
        median_reserved_bytes, p90_reserved_bytes, largest_occupied_peak_bytes, median_occupied_peak_bytes,
        p90_occupied_peak_bytes, largest_layout_padding_bytes, padded_program_count
    FROM marts.fleet_summary_v1
"""
PROGRAMS = """
    SELECT run_id, memory_space, platform, run_name, program_id, dump_count, variant_count, reserved_bytes,
        occupied_peak_bytes, layout_padding_bytes
    FROM marts.memory_space_trend_v1
"""
HISTORY = """
    SELECT run_name, program_name, compile_target, run_number, dump_count, variant_count, memory_space_count,
        reserved_bytes, reserved_change_bytes, occupied_peak_bytes, schedule_length, text_bytes, is_changed
    FROM marts.program_history_v1 ORDER BY program_name, compile_target, run_number
"""


def percentile(figures: list[int], share: Fraction) -> int | None:
    """The value that `share` of the figures lie below, between two of them in proportion, to the nearest byte."""
    if not figures:
        return None
    figures = sorted(figures)
    place = share * (len(figures) - 1)
    below = figures[int(place)]
    above = figures[min(int(place) + 1, len(figures) - 1)]
    return round(below + (above - below) * (place - int(place)))


def summary_of(key: tuple, programs: list[tuple]) -> tuple:
    """The row of a run, memory space and platform, from its rows of the trend."""
    counts = (len({row[0] for row in programs}), sum(row[1] for row in programs), sum(row[2] for row in programs))
    figures = []
    for column in (3, 4):
        known = [row[column] for row in programs if row[column] is not None]
        figures += [max(known, default=None), percentile(known, Fraction(1, 2)), percentile(known, Fraction(9, 10))]
    padding = [row[5] for row in programs if row[5] is not None]
    return (*key, *counts, *figures, max(padding, default=None), sum(bytes_ > 0 for bytes_ in padding))


def test_runs_of_the_fleet_are_summed_up_as_by_brute_force(example):
    """Counts, largest program, median and 90th percentile of every run, memory space and platform."""
    by_key: dict[tuple, list[tuple]] = {}
    for row in example.execute(PROGRAMS).fetchall():
        by_key.setdefault(row[:4], []).append(row[4:])
    expected = {summary_of(key, programs) for key, programs in by_key.items()}
    found = example.execute(SUMMARY).fetchall()
    assert len(expected) == len(found)
    assert expected == set(found)
    assert any(row[-1] for row in found)


def test_history_of_the_fleet_is_the_trend_of_memory_space_0(example):
    """Run numbers, reserved bytes and their changes are the trend's; a run whose dump moved is changed."""
    trend = example.execute(
        "SELECT program_id, compile_target, track, run_number, run_name, dump_id, reserved_bytes,"
        " reserved_change_bytes, occupied_peak_bytes FROM marts.memory_space_trend_v1 WHERE memory_space = 0"
        " ORDER BY 1, 2, 3, 4"
    ).fetchall()
    lengths = dict(example.execute("SELECT dump_id, COUNT(*) FROM raw.schedule GROUP BY dump_id").fetchall())
    text_bytes = dict(example.execute("SELECT dump_id, text_bytes FROM raw.dumps").fetchall())
    spaces: dict[tuple, int] = {}
    for run_name, program_id in example.execute(
        "SELECT run_name, program_id FROM marts.memory_space_trend_v1"
    ).fetchall():
        spaces[run_name, program_id] = spaces.get((run_name, program_id), 0) + 1
    expected, previous = [], {}
    for row in trend:
        series, run_name, dump_id = row[:3], row[4], row[5]
        is_changed = None if series not in previous else dump_id != previous[series]
        previous[series] = dump_id
        expected.append((*row, lengths[dump_id], text_bytes[dump_id], spaces[run_name, row[0]], is_changed))
    found = example.execute(
        "SELECT program_id, compile_target, track, run_number, run_name, dump_id, reserved_bytes,"
        " reserved_change_bytes, occupied_peak_bytes, schedule_length, text_bytes, memory_space_count, is_changed"
        " FROM marts.program_history_v1 ORDER BY 1, 2, 3, 4"
    ).fetchall()
    assert expected == found
    assert {None, True} <= {row[-1] for row in found}


def program(size: int, in_space_1: int | None) -> bytes:
    """A program of one temporary in memory space 0, and of one in space 1 if it is given."""
    slots = [Slot(0, 1, 0, size)] + ([] if in_space_1 is None else [Slot(0, 1, 0, in_space_1, 1)])
    return dump_text(slots, [", preallocated-temp", ", color 1, preallocated-temp"][: len(slots)])


def test_history_and_summary_done_by_hand(tmp_path):
    """Three runs of one program: as it was, changed in memory space 1 alone, and smaller with two variants."""
    runs = {
        "first": [program(64, None)],
        "second": [program(64, None)],
        "third": [program(64, 8), program(48, None), program(48, None)],
        "fourth": [program(48, None)],
    }
    for number, (name, texts) in enumerate(runs.items(), 1):
        directory = tmp_path / "runs" / name
        directory.mkdir(parents=True)
        (directory / "run.json").write_text(json.dumps({"started_at": f"2026-01-0{number}T00:00:00Z"}))
        for module, text in enumerate(texts):
            path = directory / f"module_{module:04}.jit_step.cpu_after_optimizations-buffer-assignment.txt"
            path.write_bytes(text)
    warehouse = tmp_path / "by_hand.duckdb"
    assert 0 == run_ingest([str(tmp_path / "runs")], warehouse).exit_code
    plain, wide, small = len(runs["first"][0]), len(runs["third"][0]), len(runs["fourth"][0])
    assert [
        ("first", "jit_step", "cpu", 1, 1, 1, 1, 64, None, 64, 1, plain, None),
        ("second", "jit_step", "cpu", 2, 1, 1, 1, 64, 0, 64, 1, plain, False),
        ("third", "jit_step", "cpu", 3, 3, 2, 2, 64, 0, 64, 2, wide, True),
        ("fourth", "jit_step", "cpu", 4, 1, 1, 1, 48, -16, 48, 1, small, True),
    ] == rows(warehouse, HISTORY)
    third = [row[4:] for row in sorted(rows(warehouse, SUMMARY)) if row[3] == "third"]
    assert [(1, 3, 2, 64, 64, 64, 64, 64, 64, 0, 0), (1, 1, 1, 8, 8, 8, 8, 8, 8, 0, 0)] == third
