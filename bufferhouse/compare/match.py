"""Pairs of values that count as the same one in two compilations, and where a value without a partner went."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from bufferhouse.compare.dimensions import explanation
from bufferhouse.compare.groups import by
from bufferhouse.compare.signature import Step
from bufferhouse.compare.tiers import SCALED, TIERS, WITH_SCALED, Tier, without_layout
from bufferhouse.compare.values import Value


class Match(NamedTuple):
    """Two values, and the tier by which they were matched."""

    before: Value
    after: Value
    tier: str


def match(
    before: Sequence[Value],
    after: Sequence[Value],
    before_program: Sequence[Value],
    after_program: Sequence[Value],
    changes: Sequence[Step] = (),
) -> tuple[list[Match], list[Value], list[Value]]:
    """Return the pairs of `before` and `after`, which are parts of the programs, and the unmatched values of each.

    In each tier values with one key are paired: first those of equal size, then in the order of their starts. `changes`
    are those of dimensions between the signatures of the programs (`changed_dimensions`).
    """
    matches: list[Match] = []
    for tier in WITH_SCALED if changes else TIERS:
        if not before or not after:
            break
        befores, afters = by_key(tier, before), by_key(tier, after)
        shared = [key for key in befores if key in afters]
        if tier.is_reshaped and shared:
            found = list(_reshaped(tier, befores, afters, shared, before_program, after_program))
        else:
            pairs = partial(_scaled, changes=changes) if tier is SCALED else _pairs
            found = [Match(*pair, tier.name) for key in shared for pair in pairs(befores[key], afters[key])]
        matches += found
        done = {pair.before.value_id for pair in found}, {pair.after.value_id for pair in found}
        before = [value for value in before if value.value_id not in done[0]]
        after = [value for value in after if value.value_id not in done[1]]
    return matches, list(before), list(after)


def _reshaped(
    tier: Tier,
    before: Mapping[Hashable, Sequence[Value]],
    after: Mapping[Hashable, Sequence[Value]],
    keys: Iterable[Hashable],
    before_program: Sequence[Value],
    after_program: Sequence[Value],
) -> Iterable[Match]:
    """Yield the pairs of values that alone of their key differ in shape between the programs."""
    befores, afters = by_key(tier, before_program), by_key(tier, after_program)
    for key in keys:
        old, new = (Counter(without_layout(one.shape_text) for one in side[key]) for side in (befores, afters))
        gone, come = list((old - new).elements()), list((new - old).elements())
        if len(gone) == len(come) == 1:
            lost = [value for value in before[key] if without_layout(value.shape_text) == gone[0]]
            found = [value for value in after[key] if without_layout(value.shape_text) == come[0]]
            if lost and found:
                yield Match(min(lost, key=_order), min(found, key=_order), tier.name)


def by_key(tier: Tier, values: Sequence[Value]) -> dict[Hashable, list[Value]]:
    """Return the values that have a key in a tier, by this key."""
    groups: defaultdict[Hashable, list[Value]] = defaultdict(list)
    for key, value in zip(map(tier.key, values), values, strict=True):
        groups[key].append(value)
    groups.pop(None, None)
    groups.default_factory = None  # a look-up adds no group
    return groups


def _pairs(before: list[Value], after: list[Value]) -> Iterable[tuple[Value, Value]]:
    waiting = by(attrgetter("size_bytes"), sorted(after, key=_order, reverse=True))
    rest = []
    for value in sorted(before, key=_order):
        if same := waiting.get(value.size_bytes):
            yield value, same.pop()
        else:
            rest.append(value)
    others = sorted((value for values in waiting.values() for value in values), key=_order)
    yield from zip(rest, others, strict=False)


def _scaled(before: list[Value], after: list[Value], changes: Sequence[Step]) -> Iterable[tuple[Value, Value]]:
    """Yield the pairs of values whose shapes differ as the signatures do, in the order of their starts."""
    waiting = sorted(after, key=_order)
    for value in sorted(before, key=_order):
        for number, other in enumerate(waiting):
            if explanation(value.shape_text, other.shape_text, changes):
                yield value, waiting.pop(number)
                break


def _order(value: Value) -> tuple:
    return value.start_position, -value.size_bytes, value.value_id


class Elsewhere(NamedTuple):
    """A value without a partner at the peak, the value like it in the other program, and the tier that found it."""

    value: Value
    like: Value | None
    tier: str | None

    @property
    def is_here(self) -> bool:
        """Whether there is a value like it, in the same memory space."""
        return self.like is not None and self.like.memory_space == self.value.memory_space


@dataclass(frozen=True, slots=True)
class Rest:
    """The values of a program that are not alive at the peak: those of its memory space, and those of all others."""

    same_space: Sequence[Value]
    other_spaces: Sequence[Value]
    _groups: dict[tuple[str, bool], dict[Hashable, list[Value]]] = field(default_factory=dict)

    def of(self, tier: Tier, key: Hashable, *, is_here: bool) -> list[Value]:
        """Return the values with a key in a tier, in the same memory space or in the others."""
        place = tier.name, is_here
        if place not in self._groups:
            self._groups[place] = by_key(tier, self.same_space if is_here else self.other_spaces)
        return self._groups[place].get(key, [])


def rest_of(values: Sequence[Value], memory_space: int, alive: Sequence[Value]) -> Rest:
    """Return the values of one program that are not alive at the moment."""
    living = {value.value_id for value in alive}
    same = [v for v in values if v.memory_space == memory_space and v.value_id not in living]
    return Rest(same, [v for v in values if v.memory_space != memory_space])


def look_up(
    leftovers: Sequence[Value], own: Rest, other: Rest, becomes: Callable[[str, str], object] | None = None
) -> list[Elsewhere]:
    """Return each unmatched value of one program with the value like it in the other.

    Such a value counts only if the other program has more values of its kind in that place than its own program:
    values that both have belong to their partners there. It counts for one unmatched value only. `becomes` says whether
    the signatures of the programs explain that a shape of the own program is another one in the other; None where the
    signatures do not differ.
    """
    found: list[Elsewhere] = []
    taken: set[int] = set()
    left = list(leftovers)
    for tier in (tier for tier in (WITH_SCALED if becomes else TIERS) if not tier.is_reshaped):
        key_of = _scaled_key if tier is SCALED else tier.key
        for is_here in (True, False):
            likes: dict[Hashable, list[Value]] = {}
            still = []
            for value in left:
                if (key := key_of(value)) is not None and key not in likes:
                    theirs, ours = (rest.of(tier, tier.key(value), is_here=is_here) for rest in (other, own))
                    if tier is SCALED:
                        theirs = [like for like in theirs if becomes(value.shape_text, like.shape_text)]
                        ours = [one for one in ours if key_of(one) == key]
                    theirs = [like for like in theirs if like.value_id not in taken]
                    likes[key] = _surplus(ours, theirs) if theirs else theirs
                if likes.get(key):
                    like = likes[key].pop(0)
                    taken.add(like.value_id)
                    found.append(Elsewhere(value, like, tier.name))
                else:
                    still.append(value)
            left = still
    return found + [Elsewhere(value, None, None) for value in left]


def _scaled_key(value: Value) -> Hashable | None:
    # With the shape: what it becomes, the changes of the signatures say.
    key = SCALED.key(value)
    return None if key is None else (key, without_layout(value.shape_text))


def _surplus(own: Iterable[Value], other: Iterable[Value]) -> list[Value]:
    """Return the values that the other program has beyond those of its own program, by memory space."""
    have = Counter(value.memory_space for value in own)
    surplus = []
    for value in other:
        if have[value.memory_space]:
            have[value.memory_space] -= 1
        else:
            surplus.append(value)
    return surplus
