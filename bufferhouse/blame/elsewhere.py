"""Where a value that has no partner at the peak is in the rest of the other program."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from bufferhouse.blame.matching import by_key
from bufferhouse.blame.tiers import TIERS, Tier
from bufferhouse.blame.values import Value


class Elsewhere(NamedTuple):
    """A value without a partner at the peak, its like in the other program, and the tier by which that was found."""

    value: Value
    like: Value | None
    tier: str | None


class Rest(NamedTuple):
    """The values of a program that are not alive at the moment of the peak: of its memory space, and of all others."""

    same_space: list[Value]
    other_spaces: list[Value]


def rest_of(values: Sequence[Value], memory_space: int, alive: Sequence[Value]) -> Rest:
    """Return what is not alive at the moment, of one program."""
    living = {value.value_id for value in alive}
    same = [v for v in values if v.memory_space == memory_space and v.value_id not in living]
    return Rest(same, [v for v in values if v.memory_space != memory_space])


def look_up(leftovers: Sequence[Value], own: Rest, other: Rest) -> list[Elsewhere]:
    """Return each of the leftovers of one program with its like in the other.

    A like counts only where the other program has more of its kind there than the own one has: what both have at a
    place belongs to its own partner there, not to a leftover. It is the like of one leftover only.
    """
    found: list[Elsewhere] = []
    left, taken = list(leftovers), set()
    for tier in (tier for tier in TIERS if not tier.is_once):
        for have, theirs in ((own.same_space, other.same_space), (own.other_spaces, other.other_spaces)):
            if left:
                free = (value for value in theirs if value.value_id not in taken)
                likes = _surplus(tier, have, free, {tier.key(value) for value in left})
                now = [(value, _take(likes, tier.key(value))) for value in left]
                found += [Elsewhere(value, like, tier.name) for value, like in now if like]
                left = [value for value, like in now if not like]
                taken |= {like.value_id for _, like in now if like}
    return found + [Elsewhere(value, None, None) for value in left]


def _surplus(
    tier: Tier, own: Iterable[Value], other: Iterable[Value], keys: set[Hashable]
) -> dict[Hashable, list[Value]]:
    have = Counter((tier.key(value), value.memory_space) for value in own)
    surplus: dict[Hashable, list[Value]] = {}
    for key, values in by_key(tier, other).items():
        if key in keys:
            for value in values:
                if have[key, value.memory_space]:
                    have[key, value.memory_space] -= 1
                else:
                    surplus.setdefault(key, []).append(value)
    return surplus


def _take(likes: dict[Hashable, list[Value]], key: Hashable | None) -> Value | None:
    return likes[key].pop(0) if likes.get(key) else None
