"""A program from run to run: where its bytes changed, and why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import duckdb

from bufferhouse.compare.compare import Compared, compare_pairs, joined_pairs
from bufferhouse.compare.flags import FlagChange, changed_flags
from bufferhouse.compare.groups import by
from bufferhouse.compare.pairing import Dump, Pair
from bufferhouse.compare.sizes import SizesOfDumps, metric_bytes
from bufferhouse.query.statements import Answer, Record, ask

_SERIES = ("program_id", "compile_target", "platform", "track", "device_kind", "memory_space")


@dataclass(frozen=True, slots=True)
class Series:
    """The runs of a program, of one compile target, platform, track, device and memory space, in their order.

    `runs` are the records of `program_trend`, each with its `metric_bytes`, and one of 0 bytes for each run that has
    the program without anything in the memory space. `changes` holds the change points: the first run whose bytes
    differ from those of the run before it, that run, and their comparison; runs whose bytes are not known are passed
    over. `flags` has for each of them the options that differ between the compilations.
    """

    key: Record
    runs: Sequence[Record]
    changes: Sequence[tuple[Record, Record, Compared]]
    flags: Sequence[Sequence[FlagChange]] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """A step from run to run in which a program became another one: reshaped or renamed.

    `before` and `after` are the records of `fleet_runs` of both runs, `rows` hold a comparison for each memory space.
    """

    before: Record
    after: Record
    rows: Sequence[Compared]


def read_joined(
    con: duckdb.DuckDBPyConnection, trends: Mapping[int, Answer], *, metric: str, memory_space: int | None
) -> list[Joined]:
    """Return the steps in which one of some programs became another one or was one, in the order of the runs.

    `trends` are as in `read_history`. A step goes from a run with dumps to the next one of its platform, track and
    device, and over runs that have nothing of a function: one that is away for a night and comes back with another
    signature has changed.
    """
    seen: list[set[int]] = []
    of_functions: dict[str, set[int]] = {}
    for trend in trends.values():
        seen.append({record["run_id"] for record in trend.records})
        for record in trend.records:
            of_functions.setdefault(record["program_name"], set()).add(record["run_id"])
    found = []
    runs_with_dumps = [run for run in ask(con, "fleet_runs").records if run["dump_count"]]
    for runs in by(itemgetter("platform", "track", "device_kind"), runs_with_dumps).values():
        for before, after, functions in _steps(runs, of_functions):
            # A program in both runs or in neither became nothing else.
            if all((before["run_id"] in one) == (after["run_id"] in one) for one in seen):
                continue
            pairs, sizes = joined_pairs(con, before["run_id"], after["run_id"])
            # Another compile target is another series. Of other functions the runs between may have something.
            pairs = [
                pair
                for pair in pairs
                if {dump.program_id for dump in pair[:2]} & trends.keys()
                and pair.before.compile_target == pair.after.compile_target
                and (functions is None or {dump.program_name for dump in pair[:2]} <= functions)
            ]
            if rows := compare_pairs(con, pairs, sizes, metric=metric, memory_space=memory_space):
                found.append(Joined(before, after, rows))
    return found


def _steps(
    runs: Sequence[Record], of_functions: Mapping[str, Collection[int]]
) -> list[tuple[Record, Record, set[str] | None]]:
    """Return the steps in the order of the runs they go to: before, after, and the functions that no run between has.

    A step to the very next run has None for these: it is one of all functions.
    """
    steps: dict[tuple[int, int], set[str] | None] = {(place, place + 1): None for place in range(len(runs) - 1)}
    for function, run_ids in of_functions.items():
        for step in pairwise(place for place, run in enumerate(runs) if run["run_id"] in run_ids):
            if (functions := steps.setdefault(step, set())) is not None:
                functions.add(function)
    ordered = sorted(steps, key=itemgetter(1))
    return [(runs[before], runs[after], steps[before, after]) for before, after in ordered]


def read_history(
    con: duckdb.DuckDBPyConnection, trends: Mapping[int, Answer], *, metric: str, memory_space: int | None
) -> list[Series]:
    """Return all series of some programs, those with the most bytes first; `metric` is one of `threshold.METRICS`.

    `trends` are their answers of `program_trend`.
    """
    series: dict[tuple, list[Record]] = {}
    for program_id, trend in trends.items():
        for record in trend.records:
            series.setdefault((program_id, *(record[name] for name in _SERIES[1:])), []).append(record)
    series = {key: runs for key, runs in series.items() if memory_space in (None, key[-1])}
    sizes = SizesOfDumps(con, {record["dump_id"] for runs in series.values() for record in runs})
    for (*_, space), runs in series.items():
        for record in runs:
            record["metric_bytes"] = metric_bytes(sizes.of(record["dump_id"], space), metric)
    points = {key: _change_points(runs) for key, runs in series.items()}
    pairs = {_pair(key, *point) for key, found in points.items() for point in found}
    compared = {(row.pair, row.memory_space): row for row in compare_pairs(con, pairs, sizes, metric=metric)}
    found = [
        Series(
            dict(zip(_SERIES, key, strict=True)),
            runs,
            [(old, new, compared[_pair(key, old, new), key[-1]]) for old, new in points[key]],
            [changed_flags(con, old["run_id"], new["run_id"], [_pair(key, old, new)]) for old, new in points[key]],
        )
        for key, runs in series.items()
    ]
    return sorted(found, key=lambda one: -max(run["metric_bytes"] or 0 for run in one.runs))


def _change_points(runs: Sequence[Record]) -> list[tuple[Record, Record]]:
    known = [run for run in runs if run["metric_bytes"] is not None]
    return [(old, new) for old, new in pairwise(known) if old["metric_bytes"] != new["metric_bytes"]]


def _pair(key: tuple, old: Record, new: Record) -> Pair:
    program_id, compile_target, platform, *_ = key
    before, after = (
        Dump(run["dump_id"], program_id, run["program_name"], platform, compile_target, run["dump_count"])
        for run in (old, new)
    )
    return Pair(before, after, max(old["variant_count"], new["variant_count"]) > 1)
