"""Which dump of one run is compared with which of another."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Dump(NamedTuple):
    """A content of a program in a run: a row of `compare_dumps`."""

    dump_id: int
    program_id: int
    program_name: str
    platform: str | None
    compile_target: str | None
    dump_count: int


class Pair(NamedTuple):
    """Two dumps of a program; one of them is missing where the program is new or gone.

    `is_ambiguous`: the program had several dumps whose contents are not in the other run, so that only their sizes told
    which belongs to which.
    """

    before: Dump | None
    after: Dump | None
    is_ambiguous: bool

    @property
    def any(self) -> Dump:
        """The dump after, or where there is none the one before."""
        return self.after or self.before


def pair_up(before: Iterable[Dump], after: Iterable[Dump], reserved_bytes: Mapping[int, int]) -> list[Pair]:
    """Return the pairs of dumps of two runs, by `program_id`; `reserved_bytes` holds the size of each dump.

    Of a program first those with equal content are paired. What is left is paired by size, the largest first: within a
    compile target, then across compile targets. Dumps that are left over are new or gone.
    """
    pairs: list[Pair] = []
    after_programs = _by(after, "program_id")
    before_programs = _by(before, "program_id")
    for program_id in sorted({*before_programs, *after_programs}):
        pairs += _pairs(before_programs.get(program_id, []), after_programs.get(program_id, []), reserved_bytes)
    return pairs


def _pairs(before: Sequence[Dump], after: Sequence[Dump], reserved_bytes: Mapping[int, int]) -> Iterable[Pair]:
    contents = {dump.dump_id: dump for dump in before}
    yield from (Pair(contents[dump.dump_id], dump, False) for dump in after if dump.dump_id in contents)
    equal = contents.keys() & {dump.dump_id for dump in after}
    before = [dump for dump in before if dump.dump_id not in equal]
    after = [dump for dump in after if dump.dump_id not in equal]
    is_ambiguous = bool(before and after) and max(len(before), len(after)) > 1

    def by_size(dump: Dump) -> tuple:
        return -reserved_bytes.get(dump.dump_id, 0), dump.dump_id

    befores, afters = (
        _by(sorted(before, key=by_size), "compile_target"),
        _by(sorted(after, key=by_size), "compile_target"),
    )
    for target in sorted(befores.keys() & afters.keys(), key=str):
        while befores[target] and afters[target]:
            yield Pair(befores[target].pop(0), afters[target].pop(0), is_ambiguous)
    before = sorted((dump for dumps in befores.values() for dump in dumps), key=by_size)
    after = sorted((dump for dumps in afters.values() for dump in dumps), key=by_size)
    while before and after:
        yield Pair(before.pop(0), after.pop(0), is_ambiguous)
    yield from (Pair(dump, None, is_ambiguous) for dump in before)
    yield from (Pair(None, dump, is_ambiguous) for dump in after)


def _by(dumps: Iterable[Dump], field: str) -> dict:
    groups: dict = {}
    for dump in dumps:
        groups.setdefault(getattr(dump, field), []).append(dump)
    return groups
