"""Things in groups, by what they have in common."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Thing, Key = TypeVar("Thing"), TypeVar("Key")


def by(key: Callable[[Thing], Key], things: Iterable[Thing]) -> dict[Key, list[Thing]]:
    """Return things in groups that have one key, in their order."""
    groups: dict[Key, list[Thing]] = {}
    for one in things:
        groups.setdefault(key(one), []).append(one)
    return groups
