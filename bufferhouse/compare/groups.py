"""Things in groups, by what they have in common."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Thing, Key = TypeVar("Thing"), TypeVar("Key")


def by(key: Callable[[Thing], Key], things: Iterable[Thing]) -> dict[Key, list[Thing]]:
    """Return things in groups that have one key, in their order."""
    return gathered((key(one), one) for one in things)


def gathered(pairs: Iterable[tuple[Key, Thing]]) -> dict[Key, list[Thing]]:
    """Return the things of pairs of a key and a thing in groups that have one key, in their order."""
    groups: dict[Key, list[Thing]] = {}
    for key, one in pairs:
        groups.setdefault(key, []).append(one)
    return groups
