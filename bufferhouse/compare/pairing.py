"""The pairs of dumps of two runs that are compared."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from bufferhouse.compare.groups import by

# What may be between two programs that are paired: another signature of one function, or another name.
RESHAPED, RENAMED = CHANGES = ("reshaped", "renamed")
Paths = frozenset[str] | None
"""The files of a run that are looked at; None for all of them."""
WHOLE: tuple[Paths, Paths] = (None, None)


class Dump(NamedTuple):
    """A content of a program in a run: a row of `compare_dumps`; the signature is empty where nobody asked for it.

    `did_not_fit` is None where nothing says that it did not. `has_allocations_alone`: it has no values and no live
    ranges, so nothing says that its allocations are all.
    """

    dump_id: int
    program_id: int
    program_name: str
    platform: str | None
    compile_target: str | None
    dump_count: int
    signature: str = ""
    did_not_fit: bool | None = None
    has_allocations_alone: bool = False


class Pair(NamedTuple):
    """Two dumps of a program; one of them is None if the program is new or gone.

    `is_ambiguous`: several dumps of the program could be in the pair, and only sizes or counts decided. `change` is one
    of `CHANGES` if the dumps are of two programs (`functions.join`), which is a guess where it is ambiguous.
    """

    before: Dump | None
    after: Dump | None
    is_ambiguous: bool
    change: str | None = None

    @property
    def any(self) -> Dump:
        """The dump after, or the dump before if there is none after."""
        return self.after or self.before


def pair_up(before: Iterable[Dump], after: Iterable[Dump], reserved_bytes: Mapping[int, int]) -> list[Pair]:
    """Return the pairs of dumps of two runs, by `program_id`; `reserved_bytes` holds the size of each dump.

    Dumps of a program with equal content are paired first. The others are paired by size, the largest first: within a
    compile target, then across compile targets. A dump that still has no partner is compared with a content that the
    other run has more often, as it may come from one of these; if it is the largest of a compile target, with the
    largest of the other run, as these stand for the program in its history. Dumps without any partner are new or gone.
    """

    def by_size(dump: Dump) -> tuple:
        return -reserved_bytes.get(dump.dump_id, 0), dump.dump_id

    befores, afters = (by(attrgetter("program_id"), sorted(side, key=by_size)) for side in (before, after))
    return [
        pair
        for program_id in sorted({*befores, *afters})
        for pair in pairs_of_program(befores.get(program_id, []), afters.get(program_id, []))
    ]


def pairs_of_program(before: Sequence[Dump], after: Sequence[Dump]) -> Iterable[Pair]:
    """Yield the pairs of the dumps of one program, or of two that are taken for one; the largest dumps come first."""
    target_of = attrgetter("compile_target")
    largest = [{target: dumps[0] for target, dumps in by(target_of, side).items()} for side in (before, after)]
    contents = {dump.dump_id: dump for dump in before}
    equal = [Pair(contents[dump.dump_id], dump, False) for dump in after if dump.dump_id in contents]
    yield from equal
    known = {pair.after.dump_id for pair in equal}
    before = [dump for dump in before if dump.dump_id not in known]
    after = [dump for dump in after if dump.dump_id not in known]
    is_ambiguous = bool(before and after) and max(len(before), len(after)) > 1
    befores, afters = by(target_of, before), by(target_of, after)
    for target in sorted(befores.keys() & afters.keys(), key=str):
        yield from _in_order(befores[target], afters[target])
    before = [dump for dump in before if dump in befores[dump.compile_target]]
    after = [dump for dump in after if dump in afters[dump.compile_target]]
    yield from _in_order(before, after)
    counts = [(pair, pair.after.dump_count - pair.before.dump_count) for pair in equal]
    yield from _in_order(before, [pair.after for pair, more in counts for _ in range(more)], is_ambiguous=True)
    yield from _in_order([pair.before for pair, more in counts for _ in range(-more)], after, is_ambiguous=True)
    for dump in before:
        partner = _largest(dump, *largest)
        yield Pair(dump, partner, is_ambiguous or partner is not None)
    for dump in after:
        partner = _largest(dump, *reversed(largest))
        yield Pair(partner, dump, is_ambiguous or partner is not None)


def _largest(dump: Dump, own: Mapping[str | None, Dump], other: Mapping[str | None, Dump]) -> Dump | None:
    """Return the largest dump of the other side for the largest of its own, by compile target; None for others."""
    return other.get(dump.compile_target) if own[dump.compile_target] == dump else None


def _in_order(before: list[Dump], after: list[Dump], *, is_ambiguous: bool = False) -> Iterable[Pair]:
    """Yield pairs of the first dumps, and take them out of the lists."""
    is_ambiguous = is_ambiguous or max(len(before), len(after)) > 1
    while before and after:
        yield Pair(before.pop(0), after.pop(0), is_ambiguous)
