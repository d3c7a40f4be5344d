"""Pairs of values that are taken for the same one in two compilations."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from bufferhouse.compare.op_names import without_layout
from bufferhouse.compare.tiers import TIERS, Tier
from bufferhouse.compare.values import Value


class Match(NamedTuple):
    """Two values, and the tier by which they were matched."""

    before: Value
    after: Value
    tier: str


def match(
    before: Sequence[Value], after: Sequence[Value], before_program: Sequence[Value], after_program: Sequence[Value]
) -> tuple[list[Match], list[Value], list[Value]]:
    """Return the pairs of `before` and `after`, which are parts of the programs, and what is left over of each.

    In each tier values with one key are paired, those of equal size first, then in the order in which they start.
    """
    matches: list[Match] = []
    for tier in TIERS:
        if not before or not after:
            break
        befores, afters = by_key(tier, before), by_key(tier, after)
        shared = [key for key in befores if key in afters]
        if tier.is_reshaped and shared:
            found = list(_reshaped(tier, befores, afters, shared, before_program, after_program))
        else:
            found = [Match(*pair, tier.name) for key in shared for pair in _pairs(befores[key], afters[key])]
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
    """Yield the pairs of values whose shape is all that differs between the programs, among those of their key."""
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
    """Return the values that have a key in a tier, by it."""
    groups: defaultdict[Hashable, list[Value]] = defaultdict(list)
    for key, value in zip(map(tier.key, values), values, strict=True):
        groups[key].append(value)
    groups.pop(None, None)
    groups.default_factory = None  # a question is no new group
    return groups


def _pairs(before: list[Value], after: list[Value]) -> Iterable[tuple[Value, Value]]:
    waiting: dict[int, list[Value]] = {}
    for value in sorted(after, key=_order, reverse=True):
        waiting.setdefault(value.size_bytes, []).append(value)
    rest = []
    for value in sorted(before, key=_order):
        if same := waiting.get(value.size_bytes):
            yield value, same.pop()
        else:
            rest.append(value)
    others = sorted((value for values in waiting.values() for value in values), key=_order)
    yield from zip(rest, others, strict=False)


def _order(value: Value) -> tuple:
    return value.start_position, -value.size_bytes, value.value_id
