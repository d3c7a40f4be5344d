"""Programs that are gone and programs that are new, paired: reshaped within a function, renamed across functions.

A function is a module name, a program one entry signature of it. People change their models more often than their
compilers: without these pairs a training step with two more layers would be one program gone and another one new.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from bufferhouse.compare.groups import by, gathered
from bufferhouse.compare.pairing import RENAMED, RESHAPED, Dump, Pair, pairs_of_program
from bufferhouse.compare.tiers import normalized
from bufferhouse.tabulate.signature import read_signature

UNNAMED = "(unnamed)"  # what `dump.identity.program_name` calls a module without a name
_ALIKE = 0.5  # less in common than this, and even the only pair of a function is a guess
_CLEARLY = 0.05  # a pair that is alike by less than this more than another one is a guess
_NEARLY_ALL = 0.9  # of the op_names: what a program under another name must have in common

# `jit(train_step)/`: the function that was traced, which a new name changes in every op_name.
_TRACED = re.compile(r"^(?:jit|pjit|pmap|xmap)\([^()]*\)/")

OpNames = Mapping[int, Mapping[str, int]]  # of a dump: how many values bear an op_name


class _Program(NamedTuple):
    """A program that one of the runs lacks: its dumps, the largest first, and what it is recognized by."""

    dumps: Sequence[Dump]
    op_names: Counter[str]
    leaves: Counter[tuple[str, str]]

    @property
    def first(self) -> Dump:
        return self.dumps[0]


class _Couple(NamedTuple):
    before: _Program
    after: _Program
    is_ambiguous: bool


def join(pairs: Sequence[Pair], op_names_of: Callable[[list[int]], OpNames]) -> list[Pair]:
    """Return the pairs, with programs that are gone and programs that are new joined to pairs, which have a `change`.

    `op_names_of` reads the op_names of dumps: of one of each program that only one of the runs has.

    Within a function all are joined, the most alike by op_names and parameter paths first: *reshaped*. Of what is left,
    programs of equal content, then those of one signature and nearly all op_names are joined: *renamed*. Where another
    partner is as good, or a reshaped program has little in common with its partner, the pair is ambiguous. Pairs of
    programs that both runs have stay as they are.
    """
    gone_dumps, new_dumps = _alone(pairs)
    if not gone_dumps or not new_dumps:
        return list(pairs)
    op_names = op_names_of([dumps[0].dump_id for side in (gone_dumps, new_dumps) for dumps in side.values()])
    gone, new = ([_program(dumps, op_names) for dumps in side.values()] for side in (gone_dumps, new_dumps))
    reshaped = list(_reshaped(gone, new))
    gone, new = _left(gone, new, reshaped)
    equal = list(_equal(gone, new))
    gone, new = _left(gone, new, equal)
    renamed = [*equal, *_renamed(gone, new)]
    joined = {
        one.first.program_id
        for couple in (*reshaped, *renamed)
        for one in (couple.before, couple.after)
    }  # fmt: skip
    kept = [pair for pair in pairs if pair.any.program_id not in joined]
    return [
        *kept,
        *(pair for couple in reshaped for pair in _pairs(couple, RESHAPED)),
        *(pair for couple in renamed for pair in _pairs(couple, RENAMED)),
    ]


def _pairs(couple: _Couple, change: str) -> Iterable[Pair]:
    for pair in pairs_of_program(couple.before.dumps, couple.after.dumps):
        is_ambiguous = pair.is_ambiguous or couple.is_ambiguous
        yield pair._replace(is_ambiguous=is_ambiguous, change=change if pair.before and pair.after else None)


def _alone(pairs: Sequence[Pair]) -> tuple[dict[int, list[Dump]], dict[int, list[Dump]]]:
    """Return the dumps of programs that are gone and of those that are new, by program_id."""
    befores = {pair.before.program_id for pair in pairs if pair.before}
    afters = {pair.after.program_id for pair in pairs if pair.after}
    gone = (pair.before for pair in pairs if pair.after is None and pair.before.program_id not in afters)
    new = (pair.after for pair in pairs if pair.before is None and pair.after.program_id not in befores)
    return by(attrgetter("program_id"), gone), by(attrgetter("program_id"), new)


def _program(dumps: Sequence[Dump], op_names: OpNames) -> _Program:
    names: Counter[str] = Counter()
    for name, count in op_names.get(dumps[0].dump_id, {}).items():
        names[_TRACED.sub("", normalized(name))] += count
    # Parameters and outputs apart: the first step of an optimizer returns the state that the next ones take, too.
    signature = read_signature(dumps[0].signature)._asdict()
    return _Program(dumps, names, Counter((side, leaf) for side, leaves in signature.items() for leaf in leaves))


def _left(
    gone: Sequence[_Program], new: Sequence[_Program], couples: Sequence[_Couple]
) -> tuple[list[_Program], list[_Program]]:
    before = {couple.before.first.program_id for couple in couples}
    after = {couple.after.first.program_id for couple in couples}
    return (
        [one for one in gone if one.first.program_id not in before],
        [one for one in new if one.first.program_id not in after],
    )


def _reshaped(gone: Sequence[_Program], new: Sequence[_Program]) -> Iterable[_Couple]:
    # A missing name is no function.
    before, after = (by(attrgetter("first.program_name"), side) for side in (gone, new))
    for name in sorted(before.keys() & after.keys() - {UNNAMED}):
        yield from _couples(before[name], after[name], _likeness)


def _equal(gone: Sequence[_Program], new: Sequence[_Program]) -> Iterable[_Couple]:
    # Of equal programs nobody can say which became which, and it makes no difference to any bytes.
    before, after = (gathered((dump.dump_id, one) for one in side for dump in one.dumps) for side in (gone, new))
    taken: set[int] = set()
    for dump_id in sorted(before.keys() & after.keys()):
        olds, news = ([one for one in side[dump_id] if one.first.program_id not in taken] for side in (before, after))
        is_ambiguous = max(len(before[dump_id]), len(after[dump_id])) > 1
        for old, found in zip(olds, news, strict=False):
            taken |= {old.first.program_id, found.first.program_id}
            yield _Couple(old, found, is_ambiguous)


def _renamed(gone: Sequence[_Program], new: Sequence[_Program]) -> Iterable[_Couple]:
    before, after = (by(attrgetter("first.signature"), side) for side in (gone, new))
    for signature in sorted(before.keys() & after.keys()):
        yield from _couples(before[signature], after[signature], _op_names_alike, least=_NEARLY_ALL)


def _couples(
    gone: Sequence[_Program],
    new: Sequence[_Program],
    likeness: Callable[[_Program, _Program], tuple[float, ...]],
    least: float = 0.0,
) -> Iterable[_Couple]:
    """Yield as many pairs as there can be, the most alike first; each program is in one of them."""
    scores = {(i, j): likeness(one, other) for i, one in enumerate(gone) for j, other in enumerate(new)}
    by_before, by_after = by(lambda at: at[0], scores), by(lambda at: at[1], scores)
    done: tuple[set[int], set[int]] = set(), set()
    for i, j in sorted(scores, key=lambda at: (*(-part for part in scores[at]), at)):
        score = scores[i, j]
        if i in done[0] or j in done[1] or score[0] < least:
            continue
        done[0].add(i)
        done[1].add(j)
        rivals = [scores[at] for at in (*by_before[i], *by_after[j]) if at != (i, j)]
        is_ambiguous = score[0] < _ALIKE or any(not _is_clear(score, rival) for rival in rivals)
        yield _Couple(gone[i], new[j], is_ambiguous)


def _is_clear(score: tuple[float, ...], rival: tuple[float, ...]) -> bool:
    """Return whether a score is clearly better: the first parts that differ by enough decide."""
    differences = [one - other for one, other in zip(score, rival, strict=True)]
    decided = next((one for one in differences if abs(one) > _CLEARLY), 0)
    return decided > 0


def _likeness(one: _Program, other: _Program) -> tuple[float, ...]:
    """Return how alike two programs of a function are, 0 to 1: by op_names and parameter paths, then by signature.

    Older compilers print no op_names; then the signature alone decides.
    """
    signature = _common(one.leaves, other.leaves)
    names = _common(one.op_names, other.op_names) if one.op_names or other.op_names else signature
    return names, signature


def _op_names_alike(one: _Program, other: _Program) -> tuple[float, ...]:
    return (_common(one.op_names, other.op_names),)


def _common(one: Counter, other: Counter) -> float:
    """Return the share of what two programs have in common: twice the common things, of all things of both."""
    smaller, larger = sorted((one, other), key=len)
    common = sum(min(count, larger[name]) for name, count in smaller.items() if name in larger)
    return 2 * common / total if (total := one.total() + other.total()) else 0.0
