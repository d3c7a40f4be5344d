"""Programs that differ in one number, and how large that number can be until memory is full.

The number is a dimension of several shapes of the entry signature, or a factor of such dimensions (batch, sequence,
stacked layers), or how often a block of parameters is repeated (unrolled layers). Only measured points are facts:
between two of them the line is marked as interpolated, and beyond them there is no answer. Peaks are not monotonic,
and if the schedule changes between two points, the line between them may be far from the truth.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import combinations, pairwise
from math import gcd
from typing import NamedTuple

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record, ask
from bufferhouse.tabulate.signature import LEAF, read_signature

_MOST = 200  # programs of one function that are compared with one another
_SCHEDULES = """
SELECT dump_id, md5(string_agg(regexp_replace(instruction_name, '[.][0-9.]*$', ''), ' ' ORDER BY schedule_position))
FROM staging.schedule
WHERE dump_id IN (SELECT unnest(CAST($ids AS BIGINT[])))
GROUP BY dump_id
"""
_DONATED = """
SELECT DISTINCT dump_id
FROM staging.allocations
WHERE dump_id IN (SELECT unnest(CAST($ids AS BIGINT[]))) AND parameter_number IS NOT NULL AND is_maybe_live_out
"""


class Point(NamedTuple):
    """A program of a series: its number, and the bytes that its dump reserves. `schedule` tells schedules apart.

    `compiler` is empty if the run does not say it. `has_donation` is whether an output is placed on an argument,
    `has_other_spaces` whether the bytes are of several memory spaces in the memory of one device. `is_refused` is
    whether the program did not fit when it was compiled, as files beside the dump or a message say.
    """

    number: int
    reserved_bytes: int
    program_id: int
    dump_id: int
    run_name: str
    schedule: str | None
    compiler: str = ""
    has_donation: bool = False
    has_other_spaces: bool = False
    is_refused: bool = False


class Piece(NamedTuple):
    """The part between two neighboring points, where bytes are interpolated: `step_bytes` for each increase by one."""

    first: Point
    last: Point

    @property
    def step_bytes(self) -> float:
        """Bytes for each increase by one, on a straight line."""
        return (self.last.reserved_bytes - self.first.reserved_bytes) / (self.last.number - self.first.number)

    @property
    def has_other_schedule(self) -> bool:
        """Whether the instructions, or their order, differ: then the line says little."""
        return self.first.schedule != self.last.schedule or self.first.schedule is None

    def at(self, number: int) -> int:
        """Return the interpolated bytes of a number between the two."""
        return self.first.reserved_bytes + round(self.step_bytes * (number - self.first.number))


class Series(NamedTuple):
    """Programs of one function, target and device that differ in the number `what`, by which `points` are sorted.

    `compile_target` is empty if the file name does not say it, `device_kind` if the run does not.
    """

    program_name: str
    compile_target: str
    what: str
    points: Sequence[Point]
    device_kind: str = ""

    @property
    def pieces(self) -> list[Piece]:
        """The parts between neighboring points."""
        return [Piece(first, last) for first, last in pairwise(self.points)]

    @property
    def compilers(self) -> list[str]:
        """The compilers of the points, each once; an empty one stands for runs that do not say it."""
        return sorted({point.compiler for point in self.points})

    @property
    def donated(self) -> list[Point] | None:
        """The points with donated arguments, if others have none: then points differ in more than the number."""
        found = [point for point in self.points if point.has_donation]
        return found if 0 < len(found) < len(self.points) else None


class Fitting(NamedTuple):
    """How far a series fits a capacity.

    `largest` is the largest measured point that fits; `interpolated` the largest number that would fit on the line to
    the next point, None if there is no such line. `next` is the first measured point after `largest`, None if there is
    none, and `short_bytes` the bytes that it lacks, also None if the compiler refused it although its bytes fit.
    `is_monotonic` is whether all smaller points fit, too.
    """

    largest: Point | None
    interpolated: int | None
    next: Point | None
    short_bytes: int | None
    is_monotonic: bool


def fitting(series: Series, capacity_bytes: int, *, is_of_chip: bool = False) -> Fitting:
    """Return how far a series fits; `is_of_chip` is whether it was compiled for this capacity, so refusals count."""
    fits = [
        point
        for point in series.points
        if point.reserved_bytes <= capacity_bytes and not (is_of_chip and point.is_refused)
    ]
    largest = fits[-1] if fits else None
    behind = [point for point in series.points if largest is None or point.number > largest.number]
    following = behind[0] if behind else None
    short = None
    if following is not None and following.reserved_bytes > capacity_bytes:
        short = following.reserved_bytes - capacity_bytes
    interpolated = None
    if largest is not None and short is not None:
        room = (capacity_bytes - largest.reserved_bytes) * (following.number - largest.number)
        interpolated = largest.number + room // (following.reserved_bytes - largest.reserved_bytes)
    smaller = [point for point in series.points if largest is not None and point.number < largest.number]
    return Fitting(largest, interpolated, following, short, all(one in fits for one in smaller))


def read_series(con: duckdb.DuckDBPyConnection, word: str, *, memory_space: int, run_name: str) -> list[Series]:
    """Return the series among the programs whose name begins with `word`, those with most points first."""
    rows = ask(con, "fits_programs", word=word, memory_space=memory_space, run_name=run_name).records
    functions: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for row in rows:
        functions[row["program_name"], row["compile_target"] or "", row["device_kind"] or ""].append(row)
    chosen = {key: found[:_MOST] for key, found in functions.items() if len(found) > 1}
    ids = [row["dump_id"] for found in chosen.values() for row in found]
    schedules = dict(execute(con, _SCHEDULES, ids=ids).fetchall()) if ids else {}
    donated = {dump_id for (dump_id,) in execute(con, _DONATED, ids=ids).fetchall()} if ids else set()
    found = []
    for (name, target, device), programs in sorted(chosen.items()):
        for what, numbers in numbered([row["entry_signature"] for row in programs]):
            points = [
                Point(number, row["reserved_bytes"], row["program_id"], row["dump_id"], row["run_name"],
                      schedules.get(row["dump_id"]), row["compiler"], row["dump_id"] in donated,
                      row["has_other_spaces"], memory_space == 0 and row["is_refused"])
                for place, number in sorted(numbers.items(), key=lambda one: one[1])
                for row in [programs[place]]
            ]  # fmt: skip
            found.append(Series(name, target, what, points, device))
    return sorted(found, key=_order)


def _order(one: Series) -> tuple:
    return -len(one.points), one.program_name, one.compile_target, one.device_kind, one.what


def numbered(signatures: Sequence[str]) -> list[tuple[str, dict[int, int]]]:
    """Return what differs in each series of signatures, with the number of each signature in it, by its place.

    A series that is part of another one is left out.
    """
    found = [*_by_dimension(signatures), *_by_block(signatures)]
    found.sort(key=lambda one: (-len(one[1]), one[0]))
    kept: list[tuple[str, dict[int, int]]] = []
    for what, numbers in found:
        if len(set(numbers.values())) == len(numbers) and not any(numbers.keys() <= other.keys() for _, other in kept):
            kept.append((what, numbers))
    return kept


def _by_dimension(signatures: Sequence[str]) -> Iterable[tuple[str, dict[int, int]]]:
    """Yield series in which some dimensions are one number, or multiples of it, and all else is equal."""
    shapes: dict[tuple, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for place, text in enumerate(signatures):
        leaves = [LEAF.fullmatch(leaf) for side in read_signature(text) for leaf in side]
        dims = [[size for size in leaf[2].split(",") if size] for leaf in leaves]
        if all(size.isdigit() for sizes in dims for size in sizes):
            kinds = tuple((leaf[1], len(sizes)) for leaf, sizes in zip(leaves, dims, strict=True))
            shapes[kinds].append((place, tuple(int(size) for sizes in dims for size in sizes)))
    for kinds, alike in shapes.items():
        series: dict[tuple, dict[int, int]] = defaultdict(dict)
        for one, other in combinations(alike, 2):
            differing = tuple(at for at, sizes in enumerate(zip(one[1], other[1], strict=True)) if sizes[0] != sizes[1])
            for place, sizes in (one, other):
                varied = [sizes[at] for at in differing]
                common = reduce(gcd, varied, 0) or 1
                rest = tuple(size for at, size in enumerate(sizes) if at not in set(differing))
                series[differing, rest, tuple(size // common for size in varied)][place] = min(varied, default=0)
        dims = dict(alike)
        for (differing, _, ratios), numbers in series.items():
            if len(numbers) > 1:
                first = differing[ratios.index(min(ratios))]
                others = f", and in {counted(len(differing) - 1, 'other place')}" if len(differing) > 1 else ""
                yield f"N in {_with_number(kinds, dims[min(numbers)], first)}{others}", numbers


def _with_number(kinds: Sequence[tuple[str, int]], dims: Sequence[int], at: int) -> str:
    """Return the leaf of a dimension, with N in the place of the dimension: `f32[N,512]`."""
    begin = 0
    for element_type, rank in kinds:
        if at < begin + rank:
            sizes = ["N" if place == at else str(dims[place]) for place in range(begin, begin + rank)]
            return f"{element_type}[{','.join(sizes)}]"
        begin += rank
    raise AssertionError("a dimension that no leaf has")


def _by_block(signatures: Sequence[str]) -> Iterable[tuple[str, dict[int, int]]]:
    """Yield series in which a block of parameters is repeated more or less often, and all else is equal.

    Graphs of PyTorch/XLA have one name: what is left without the blocks, of the outputs, too, tells the steps of a
    training from its evaluation, and the first step of an optimizer, which takes no state, from later ones.
    """
    leaves, outputs = zip(*(map(Counter, read_signature(text)) for text in signatures), strict=True)
    series: dict[tuple, dict[int, int]] = defaultdict(dict)
    for one, other in combinations(range(len(leaves)), 2):
        more, fewer = leaves[one] - leaves[other], leaves[other] - leaves[one]
        block = more or fewer
        if (more and fewer) or not block:
            continue
        common = reduce(gcd, block.values())
        block = _times(block, 1, common)
        numbers = {place: min(leaves[place][leaf] // count for leaf, count in block.items()) for place in (one, other)}
        if not all(numbers.values()):  # what only one of the two has is nothing repeated
            continue
        rest = leaves[one] - _times(block, numbers[one])
        more, fewer = outputs[one] - outputs[other], outputs[other] - outputs[one]
        gain = None if more and fewer else _times(more or fewer, 1, common)
        if gain is not None and not _times(gain, numbers[one]) <= outputs[one]:
            continue
        rest_of_outputs = None if gain is None else outputs[one] - _times(gain, numbers[one])
        series[tuple(map(_key, (block, rest, gain, rest_of_outputs)))] |= numbers
    for (block, *_), numbers in series.items():
        yield f"N blocks of {counted(sum(count for _, count in block), 'parameter')}", numbers


def _times(leaves: Counter[str], factor: int, divisor: int = 1) -> Counter[str] | None:
    """Return leaves as often as a multiple of their counts says, None where that is no whole number."""
    if any(count * factor % divisor for count in leaves.values()):
        return None
    return Counter({leaf: count * factor // divisor for leaf, count in leaves.items()})


def _key(leaves: Counter[str] | None) -> tuple:
    return tuple(sorted((leaves or {}).items()))
