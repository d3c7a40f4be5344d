"""A program from run to run: where its bytes changed, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import duckdb

from bufferhouse.compare.compare import Compared, compare_pairs, joined_pairs
from bufferhouse.compare.flags import FlagChange, changed_flags
from bufferhouse.compare.groups import by
from bufferhouse.compare.pairing import Dump, Pair
from bufferhouse.compare.sizes import SizesOfDumps, metric_bytes
from bufferhouse.query.statements import Record, ask

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
    con: duckdb.DuckDBPyConnection, program_ids: Sequence[int], *, metric: str, memory_space: int | None
) -> list[Joined]:
    """Return the steps in which one of some programs became another one or was one, in the order of the runs.

    A step goes from a run with dumps to the next one of its platform, track and device.
    """
    seen = [
        {record["run_id"] for record in ask(con, "program_trend", program_id=program_id).records}
        for program_id in program_ids
    ]
    found = []
    runs_with_dumps = [run for run in ask(con, "fleet_runs").records if run["dump_count"]]
    for runs in by(itemgetter("platform", "track", "device_kind"), runs_with_dumps).values():
        for before, after in pairwise(runs):
            # A program in both runs or in neither became nothing else.
            if all((before["run_id"] in one) == (after["run_id"] in one) for one in seen):
                continue
            pairs, sizes = joined_pairs(con, before["run_id"], after["run_id"])
            # Another compile target is another series.
            pairs = [
                pair
                for pair in pairs
                if {dump.program_id for dump in pair[:2]} & {*program_ids}
                and pair.before.compile_target == pair.after.compile_target
            ]
            if rows := compare_pairs(con, pairs, sizes, metric=metric, memory_space=memory_space):
                found.append(Joined(before, after, rows))
    return found


def read_history(
    con: duckdb.DuckDBPyConnection, program_ids: Sequence[int], *, metric: str, memory_space: int | None = None
) -> list[Series]:
    """Return all series of some programs, those with the most bytes first; `metric` is one of `threshold.METRICS`."""
    series: dict[tuple, list[Record]] = {}
    for program_id in program_ids:
        for record in ask(con, "program_trend", program_id=program_id).records:
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
