"""The trend of memory from run to run against brute force: runs in every order, tracks, targets, variants."""

import json
import random
import re
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.dump.identity import content_of
from bufferhouse.warehouse.open import writing
from tests import oracle
from tests.synthetic import Slot, dump_text
from tests.warehouses import rows, run_called

TREND = """
    SELECT run_name, program_name, compile_target, platform, track, memory_space, dump_id, variant_count, dump_count,
        run_number, previous_run_name, reserved_bytes, reserved_change_bytes, occupied_peak_bytes,
        occupied_change_bytes
    FROM marts.memory_space_trend_v1 ORDER BY ALL
"""
TARGETS = {"cpu": "cpu_after_optimizations", "sm_8.0": "sm_8.0_gpu_after_optimizations"}


def natural(name: str) -> list:
    """A name with its numbers as numbers, as people sort."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def write_runs(directory: Path) -> list[dict]:
    """Write runs most of which are of one moment, so that names order them; return each with its programs' dumps."""
    rng = random.Random(7)
    names = [f"run_{number}" for number in (1, 2, 9, 10, 100, 20251231235959, 20260101000000)]
    runs = []
    for name in rng.sample(names, len(names)):
        moment = datetime(2026, 1, 2, tzinfo=UTC) + timedelta(days={"run_100": -1, "run_1": 1}.get(name, 0))
        run = {"name": name, "started_at": moment, "track": rng.choice([None, "nightly"]), "dumps": []}
        (directory / name).mkdir(parents=True)
        facts = {"started_at": moment.isoformat(), "track": run["track"]}
        (directory / name / "run.json").write_text(json.dumps(facts))
        for number in range(12):
            program, target = rng.choice(["step", "loss"]), rng.choice(list(TARGETS))
            sizes = [rng.choice([64, 96]) for _ in range(2)]
            # Some variants reserve the same and occupy more, some are the same dump once more.
            text = dump_text(
                [Slot(0, rng.choice([1, 2]), 0, sizes[0]), Slot(2, 3, sizes[0], sizes[1]), Slot(0, 3, 0, 32, 1)],
                [", preallocated-temp", ", color 1, preallocated-temp"],
            )
            file_name = f"module_{number:04}.jit_{program}.{TARGETS[target]}-buffer-assignment.txt"
            (directory / name / file_name).write_bytes(text)
            run["dumps"].append((f"jit_{program}", target, text))
        runs.append(run)
    return runs


def trend_of(runs: list[dict]) -> list[tuple]:
    """The mart by brute force: the largest dump for each run of a series, runs in order, differences in bytes."""
    series: dict[tuple, dict[str, list]] = {}
    for run in sorted(runs, key=lambda run: (run["started_at"], natural(run["name"]))):
        for program, target, text in run["dumps"]:
            dump = oracle.read_dump(text.decode())
            platform = "cpu" if target == "cpu" else "gpu"
            for space, reserved in oracle.reserved(dump).items():
                occupied = oracle.peak(oracle.occupied(dump, space))[0]
                row = (-reserved, -occupied, content_of({"combined": text}).dump_id)
                key = (program, target, platform, run["track"], space)
                series.setdefault(key, {}).setdefault(run["name"], []).append(row)
    expected = []
    for (program, target, platform, track, space), by_run in series.items():
        before = None
        for number, (name, found) in enumerate(by_run.items(), 1):
            reserved, occupied, dump_id = min(found)
            now = (name, -reserved, -occupied)
            changes = (now[1] - before[1], now[2] - before[2]) if before else (None, None)
            series_and_run = (name, program, target, platform, track, space)
            figures = (before and before[0], now[1], changes[0], now[2], changes[1])
            expected.append((*series_and_run, dump_id, len(set(found)), len(found), number, *figures))
            before = now
    return expected


def test_trend_follows_each_series_from_run_to_run(tmp_path):
    """Order, previous run, changes, representative, variants and the split of series are those of brute force."""
    runs = write_runs(tmp_path / "runs")
    warehouse = tmp_path / "trend.duckdb"
    run_ingest([str(tmp_path / "runs")], warehouse)
    expected = trend_of(runs)
    key = [(row[1:6], row[9]) for row in expected]
    assert len(key) == len(set(map(str, key)))
    assert sorted(expected, key=str) == sorted(rows(warehouse, TREND), key=str)


def test_a_memory_space_that_comes_and_goes_has_0_bytes(warehouse, tmp_path):
    """A run in which a program has nothing in a memory space of its series is a row, unknown where there is no peak.

    Another track or device is another series: a memory space that is used there only is none of this one.
    """
    sizes = {"run1": (64,), "run2": (64, 8), "run3": (64,), "run4": (64,), "run5": (64, 16), "run6": (72,)}
    facts = {"run5": {"device_kind": "v4"}, "run6": {"device_kind": "v4"}}
    for name, in_spaces in sizes.items():
        slots = [Slot(0, 2, 0, size, allocation=space) for space, size in enumerate(in_spaces)]
        text = dump_text(
            slots,
            ["".join((f", color {space}" * bool(space), ", preallocated-temp")) for space in (0, 1)][: len(slots)],
        )
        if name == "run4":
            text = text.split(b"\n\n")[0] + b"\n"  # without live ranges
        directory = tmp_path / "runs" / name
        directory.mkdir(parents=True)
        moment = f"2026-01-0{name[-1]}T00:00:00Z"
        (directory / "run.json").write_text(json.dumps({"started_at": moment, **facts.get(name, {})}))
        (directory / f"module_0001.jit_f.{TARGETS['cpu']}-buffer-assignment.txt").write_bytes(text)
    run_ingest([str(tmp_path / "runs")], warehouse)
    trend = (
        "SELECT run_name, run_number, reserved_bytes, reserved_change_bytes, occupied_peak_bytes, previous_run_name"
        " FROM marts.memory_space_trend_v2 WHERE memory_space = 1 ORDER BY run_name"
    )
    assert [
        ("run1", 1, 0, None, 0, None),
        ("run2", 2, 8, 8, 8, "run1"),
        ("run3", 3, 0, -8, 0, "run2"),
        ("run4", 4, 0, 0, None, "run3"),
        ("run5", 1, 16, None, 16, None),
        ("run6", 2, 0, -16, 0, "run5"),
    ] == rows(warehouse, trend)
    held = "SELECT run_name, reserved_bytes FROM marts.memory_space_trend_v1 WHERE memory_space = 1 ORDER BY 1"
    assert [("run2", 8), ("run5", 16)] == rows(warehouse, held)


def test_natural_names_sort_as_people_sort(warehouse):
    """run_9 comes before run_10, and a name that is a time stamp before a later one."""
    names = ["run_10", "run_9", "run_20251231235959", "run_20260101000000", "run_9b", "run", "2_10", "2_9", "10_1"]
    with writing(warehouse) as writer:
        for number, name in enumerate(names):
            row = run_called(name).row(number)
            marks = ", ".join("?" for _ in row)
            writer.con.execute(f"INSERT INTO raw.runs ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    found = rows(warehouse, "SELECT run_name FROM staging.runs ORDER BY natural_name")
    assert sorted(names, key=natural) == [name for (name,) in found]


def test_changes_of_the_fleet_follow_the_runs_before(example):
    """Over the example fleet every change is the difference to the run before it in its series."""
    found = example.execute(
        "SELECT program_id, compile_target, platform, track, memory_space, run_number, run_name, previous_run_name,"
        " reserved_bytes, reserved_change_bytes, occupied_peak_bytes, occupied_change_bytes, layout_padding_bytes,"
        " layout_padding_change_bytes, started_at FROM marts.memory_space_trend_v1 ORDER BY ALL"
    ).fetchall()
    for _, series in groupby(found, key=lambda row: row[:5]):
        before = None
        for number, row in enumerate(series, 1):
            *_, run_number, name, previous, reserved, change, occupied, moved, padding, padded, moment = row
            assert number == run_number
            if before is None:
                assert (None, None, None, None) == (previous, change, moved, padded)
            else:
                assert before == (
                    previous,
                    reserved - change,
                    occupied - moved,
                    padding - padded,
                    min(before[4], moment),
                )
            before = (name, reserved, occupied, padding, moment)
    assert 100 < len(found)
