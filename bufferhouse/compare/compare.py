"""Two runs, program by program: the bytes before and after, and the causes of the difference."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import duckdb

from bufferhouse.compare import causes
from bufferhouse.compare.causes import Blame, Cause, blame
from bufferhouse.compare.dimensions import changed_dimensions
from bufferhouse.compare.functions import OpNames, join
from bufferhouse.compare.groups import gathered
from bufferhouse.compare.moments import Moment, closest, moments
from bufferhouse.compare.pairing import RENAMED, RESHAPED, WHOLE, Dump, Pair, Paths, pair_up
from bufferhouse.compare.parameters import by_path
from bufferhouse.compare.peaks import Peaks, describe
from bufferhouse.compare.signature import Step
from bufferhouse.compare.sizes import FOOTPRINT_PARTS, Sizes, SizesOfDumps, metric_bytes
from bufferhouse.compare.values import Value, read_values
from bufferhouse.query.statements import ask
from bufferhouse.tabulate.memory import collector_paused

CHANGED, NEW, GONE, UNCHANGED, NOT_COMPARED = SAME_SIGNATURE = ("changed", "new", "gone", "unchanged", "not compared")
# A changed model is what people look for: it stands first, and is never mixed with what the compiler changed.
STATUSES = (RESHAPED, CHANGED, RENAMED, *SAME_SIGNATURE[1:])


class AtPeaks(NamedTuple):
    """The two compared moments, and the values matched between them."""

    before: Moment
    after: Moment
    found: Blame


@dataclass(frozen=True, slots=True)
class Compared:
    """One memory space of two dumps of a program. Bytes are those of the metric; None where they are not known.

    `before` and `after` hold all sizes; None on the side that lacks the program. The bytes of `causes` sum to
    `delta_bytes` unless it is None. `peaks` and `at_peaks` are None where no moments were compared. `on_device` is what
    the dumps before and after reserve in all memory spaces that lie in the memory of their device, in the first space
    that either has alone: in nearly all space 0.
    """

    pair: Pair
    memory_space: int
    status: str
    reason: str | None
    before: Sizes | None
    after: Sizes | None
    before_bytes: int | None
    after_bytes: int | None
    causes: Sequence[Cause] = ()
    peaks: Peaks | None = None
    at_peaks: AtPeaks | None = None
    on_device: tuple[int | None, int | None] = (None, None)

    @property
    def key(self) -> tuple[int, int | None, int | None, int]:
        """The program, the dump_ids before and after, None on the side that lacks it, and the memory space.

        Without the program it is no key: programs of other names may have equal dumps.
        """
        before, after = self.pair[:2]
        return self.pair.any.program_id, before and before.dump_id, after and after.dump_id, self.memory_space

    @property
    def delta_bytes(self) -> int | None:
        """Bytes after minus bytes before; None if the program is on one side only, or a side is not known."""
        if self.before_bytes is None or self.after_bytes is None:
            return None
        return self.after_bytes - self.before_bytes

    @property
    def main_cause(self) -> tuple[str, int] | None:
        """The main cause of the change, and its bytes."""
        return causes.main_cause(self.causes, self.delta_bytes or 0)

    @property
    def may_be_cut(self) -> bool:
        """Whether the dump after has allocations alone, where the peak of the one before is known.

        A file that was cut short among its allocations reads so: its bytes are then fewer than those of its program.
        """
        is_known = self.before is not None and self.before.occupied is not None
        return is_known and self.pair.after is not None and self.pair.after.has_allocations_alone

    @property
    def is_unknown(self) -> bool:
        """Whether both sides have the program, and the bytes of one of them are not known."""
        return self.before is not None and self.after is not None and self.delta_bytes is None


class Values(NamedTuple):
    """The values of some dumps, and by dump and memory space the positions at which the occupied peak is reached."""

    of: dict[int, list[Value]]
    peaks: dict[tuple[int, int], list[int]]


@collector_paused()
def compare_runs(
    con: duckdb.DuckDBPyConnection,
    before_run_id: int,
    after_run_id: int,
    *,
    metric: str = "reserved",
    program_ids: Sequence[int] | None = None,
    memory_space: int | None = None,
    within: tuple[Paths, Paths] = WHOLE,
) -> list[Compared]:
    """Return every memory space of every program of two runs: the biggest changes first, then the largest programs.

    Reshaped programs come before all others.

    `metric` is one of `METRICS`. `program_ids` and `memory_space` restrict the comparison; a pair of two programs is
    kept if either is asked for. `within` are the files of each run that are compared, so that a run can be compared
    with itself.
    """
    pairs, sizes = pairs_of_runs(con, before_run_id, after_run_id, within)
    if program_ids is not None:
        pairs = [pair for pair in pairs if any(dump and dump.program_id in program_ids for dump in pair[:2])]
    return compare_pairs(con, pairs, sizes, metric=metric, memory_space=memory_space)


def pairs_of_runs(
    con: duckdb.DuckDBPyConnection, before_run_id: int, after_run_id: int, within: tuple[Paths, Paths] = WHOLE
) -> tuple[list[Pair], SizesOfDumps]:
    """Return the pairs of the dumps of two runs, also of reshaped and renamed programs, and the sizes of the dumps."""
    return _paired(con, *_dumps(con, before_run_id, after_run_id, within))


def joined_pairs(
    con: duckdb.DuckDBPyConnection, before_run_id: int, after_run_id: int
) -> tuple[list[Pair], SizesOfDumps]:
    """Return the pairs of reshaped and renamed programs of two runs, and the sizes of their dumps."""
    before, after = _dumps(con, before_run_id, after_run_id)
    both = {dump.program_id for dump in before} & {dump.program_id for dump in after}
    gone, new = ([dump for dump in side if dump.program_id not in both] for side in (before, after))
    pairs, sizes = _paired(con, gone, new) if gone and new else ([], SizesOfDumps(con, []))
    return [pair for pair in pairs if pair.change], sizes


def _dumps(
    con: duckdb.DuckDBPyConnection, before_run_id: int, after_run_id: int, within: tuple[Paths, Paths] = WHOLE
) -> tuple[list[Dump], list[Dump]]:
    if within != WHOLE:
        before, after = (
            _dumps_of_files(con, run_id, paths)
            for run_id, paths in zip((before_run_id, after_run_id), within, strict=True)
        )
        return before, after
    runs: dict[int, list[Dump]] = {before_run_id: [], after_run_id: []}
    for run_id, program_id, dump_id, *about in ask(
        con, "compare_dumps", before_run_id=before_run_id, after_run_id=after_run_id
    ).rows:
        runs[run_id].append(Dump(dump_id, program_id, *about))
    return runs[before_run_id], runs[after_run_id]


def _dumps_of_files(con: duckdb.DuckDBPyConnection, run_id: int, paths: Paths) -> list[Dump]:
    """Return the different dumps of some files of a run: the rows that `compare_dumps` has of all of its files."""
    sighted: dict[tuple[int, int], list[tuple]] = {}
    for path, program_id, dump_id, *about in ask(con, "compare_files", run_id=run_id).rows:
        if paths is None or path in paths:
            sighted.setdefault((program_id, dump_id), []).append(tuple(about))
    dumps = []
    for (program_id, dump_id), rows in sighted.items():
        *about, signature, did_not_fit, is_alone = (
            max((word for word in column if word is not None), default=None) for column in zip(*rows, strict=True)
        )
        dumps.append(Dump(dump_id, program_id, *about, len(rows), signature, did_not_fit, is_alone))
    return dumps


def _paired(
    con: duckdb.DuckDBPyConnection, before: Sequence[Dump], after: Sequence[Dump]
) -> tuple[list[Pair], SizesOfDumps]:
    def op_names_of(dump_ids: list[int]) -> OpNames:
        found: dict[int, dict[str, int]] = {}
        for dump_id, op_name, count in ask(con, "compare_op_names", dump_ids=sorted(set(dump_ids))).rows:
            found.setdefault(dump_id, {})[op_name] = count
        return found

    sizes = SizesOfDumps(con, {dump.dump_id for dump in (*before, *after)})
    return join(pair_up(before, after, sizes.reserved()), op_names_of), sizes


def compare_pairs(
    con: duckdb.DuckDBPyConnection,
    pairs: Iterable[Pair],
    sizes: SizesOfDumps,
    *,
    metric: str,
    memory_space: int | None = None,
) -> list[Compared]:
    """Return every memory space of some pairs of dumps, in the order of `compare_runs`."""
    rows = []
    for pair in pairs:
        spaces = sizes.memory_spaces(*(dump.dump_id for dump in pair[:2] if dump))
        rows += [
            _judged(pair, space, sizes, metric, is_first=space == spaces[0])
            for space in spaces
            if memory_space in (None, space)
        ]
    changed = [row for row in rows if _has_changed(row)]
    taken_apart = [] if metric == "footprint" else [row for row in changed if not row.reason]
    values = _read({dump.dump_id for row in taken_apart for dump in (row.pair.before, row.pair.after)}, con)
    rows = [_blamed(row, metric, values) if _has_changed(row) else row for row in rows]
    return sorted(rows, key=_order)


def _judged(pair: Pair, memory_space: int, sizes: SizesOfDumps, metric: str, *, is_first: bool) -> Compared:
    before, after = (sizes.of(dump.dump_id, memory_space) if dump else None for dump in pair[:2])
    before_bytes, after_bytes = (metric_bytes(side, metric) if side else None for side in (before, after))
    unknown = [name for name, side in (("before", before), ("after", after)) if side and side.occupied is None]
    reason = f"no live ranges {' and '.join(unknown)}" if unknown else None
    if before is None or after is None:
        status = NEW if before is None else GONE
    elif pair.before.dump_id == pair.after.dump_id:
        status, reason = UNCHANGED, None
    elif before_bytes is None or after_bytes is None:
        status = NOT_COMPARED
    elif any(old != new for old, new in zip(before, after, strict=True) if None not in (old, new)):
        status = CHANGED
    else:
        # Without a known peak, equal other sizes do not prove that nothing changed.
        status = NOT_COMPARED if reason else UNCHANGED
    on_device = tuple(sizes.on_device(dump.dump_id, dump.platform) if dump and is_first else None for dump in pair[:2])
    return Compared(
        pair, memory_space, pair.change or status, reason, before, after, before_bytes, after_bytes, on_device=on_device
    )


def _has_changed(row: Compared) -> bool:
    if row.pair.change:
        return row.delta_bytes is not None and row.before != row.after
    return row.status == CHANGED


def _read(dump_ids: set[int], con: duckdb.DuckDBPyConnection) -> Values:
    ids = sorted(dump_ids)
    peaks = gathered((tuple(place), position) for *place, position in ask(con, "compare_moments", dump_ids=ids).rows)
    return Values(read_values(con, ids), peaks)


def _blamed(row: Compared, metric: str, values: Values) -> Compared:
    if metric == "footprint":
        parts = FOOTPRINT_PARTS.items()
        return _with(row, [Cause(said, getattr(row.after, part) - getattr(row.before, part)) for part, said in parts])
    if row.before.occupied is None or row.after.occupied is None:
        return _with(row, [Cause(causes.NO_LIVE_RANGES, row.delta_bytes)])
    kinds = {"temp"} if metric == "temp" else None
    programs = [values.of[dump.dump_id] for dump in row.pair[:2]]
    changes: Sequence[Step] = ()
    if row.pair.change == RESHAPED:
        programs = by_path(*programs)
        changes = changed_dimensions(row.pair.before.signature, row.pair.after.signature)
    here = [[value for value in program if value.memory_space == row.memory_space] for program in programs]
    peaks = [values.peaks.get((dump.dump_id, row.memory_space)) for dump in row.pair[:2]]
    before, after = closest(*map(_moments, here, peaks))
    found = blame(before, after, *programs, row.memory_space, kinds, changes)
    # The bytes of the metric beyond those that values own at these moments: none for the occupied peak.
    packing = _beyond(row.after_bytes, after, kinds) - _beyond(row.before_bytes, before, kinds)
    split = [*found.causes, Cause(causes.PACKING, packing)]
    about = describe(before, after, *here, found)
    return replace(_with(row, split), peaks=about, at_peaks=AtPeaks(before, after, found))


def _beyond(size_bytes: int, moment: Moment, kinds: Collection[str] | None) -> int:
    return size_bytes - sum(
        moment.owned[value.value_id] for value in moment.alive if kinds is None or value.kind in kinds
    )


def _moments(values: Sequence[Value], positions: Sequence[int] | None) -> list[Moment]:
    return moments(values, positions) if positions else [Moment(0, [], {})]


def _with(row: Compared, found: Iterable[Cause]) -> Compared:
    return replace(row, causes=sorted((one for one in found if one.size_bytes), key=lambda one: -abs(one.size_bytes)))


def _order(row: Compared) -> tuple:
    dump = row.pair.any
    return (
        STATUSES.index(row.status),
        -abs(row.delta_bytes or 0),
        -max(row.before_bytes or 0, row.after_bytes or 0),
        dump.program_name,
        dump.program_id,
        dump.dump_id,
        row.memory_space,
    )
