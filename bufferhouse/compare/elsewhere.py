"""Where a value that has no partner at the peak is in the rest of the other program."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bufferhouse.compare.match import by_key
from bufferhouse.compare.tiers import TIERS, Tier
from bufferhouse.compare.values import Value


class Elsewhere(NamedTuple):
    """A value without a partner at the peak, its like in the other program, and the tier by which that was found."""

    value: Value
    like: Value | None
    tier: str | None


@dataclass(frozen=True, slots=True)
class Rest:
    """The values of a program that are not alive at the moment of the peak: of its memory space, and of all others."""

    same_space: Sequence[Value]
    other_spaces: Sequence[Value]
    _groups: dict[tuple[str, bool], dict[Hashable, list[Value]]] = field(default_factory=dict)

    def of(self, tier: Tier, key: Hashable, *, is_here: bool) -> list[Value]:
        """Return the values with a key in a tier, of the same memory space or of the others."""
        place = tier.name, is_here
        if place not in self._groups:
            self._groups[place] = by_key(tier, self.same_space if is_here else self.other_spaces)
        return self._groups[place].get(key, [])


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
    taken: set[int] = set()
    left = list(leftovers)
    for tier in (tier for tier in TIERS if not tier.is_reshaped):
        for is_here in (True, False):
            likes: dict[Hashable, list[Value]] = {}
            still = []
            for value in left:
                if (key := tier.key(value)) is not None and key not in likes:
                    theirs = [like for like in other.of(tier, key, is_here=is_here) if like.value_id not in taken]
                    likes[key] = _surplus(own.of(tier, key, is_here=is_here), theirs) if theirs else theirs
                if likes.get(key):
                    like = likes[key].pop(0)
                    taken.add(like.value_id)
                    found.append(Elsewhere(value, like, tier.name))
                else:
                    still.append(value)
            left = still
    return found + [Elsewhere(value, None, None) for value in left]


def _surplus(own: Iterable[Value], other: Iterable[Value]) -> list[Value]:
    """Return those of the other program that are more than the own one has, by memory space."""
    have = Counter(value.memory_space for value in own)
    surplus = []
    for value in other:
        if have[value.memory_space]:
            have[value.memory_space] -= 1
        else:
            surplus.append(value)
    return surplus
