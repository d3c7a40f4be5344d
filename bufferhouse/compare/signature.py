"""What changed between two entry signatures, in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from bufferhouse.errors import counted
from bufferhouse.tabulate.signature import LEAF, read_signature

_SHOWN = 3  # shapes that changed; a line counts the others
_NAMES = ("leading", "second", "third", "fourth", "fifth")


class Step(NamedTuple):
    """One change of a dimension: its place, counted from 0, in how many dimensions, and its size before and after."""

    place: int
    rank: int
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.name} {self.factor}"

    @property
    def name(self) -> str:
        """Which dimension it is: `leading dimension`."""
        if self.rank == 1:
            return "the only dimension"
        if self.place == self.rank - 1:
            return "last dimension"
        name = _NAMES[self.place] if self.place < len(_NAMES) else f"{self.place + 1}th"
        return f"{name} dimension"

    @property
    def factor(self) -> str:
        """How the size changed: `×2`, `÷2`, else `32 → 48`."""
        if self.before and self.after % self.before == 0:
            return f"×{self.after // self.before}"
        if self.after and self.before % self.after == 0:
            return f"÷{self.before // self.after}"
        return f"{self.before:,} → {self.after:,}"


def signature_words(before: str, after: str) -> list[str]:
    """Return what differs between two signatures, the number of parameters first; nothing if they are equal.

    Shapes are matched where they differ least: no words depend on the order of parameters, which a new layer shifts.
    """
    old, new = read_signature(before), read_signature(after)
    words = [
        f"{name} {len(olds):,} → {len(news):,}"
        for name, olds, news in (("parameters", old.parameters, new.parameters), ("outputs", old.output, new.output))
        if len(olds) != len(news)
    ]
    changed = changed_shapes(old.parameters, new.parameters)
    of = ""
    if not changed and not (words and old.parameters != new.parameters):
        changed, of = changed_shapes(old.output, new.output), "output "
    words += [f"{of}{shapes[0]} → {shapes[1]}{_times(count)}" for shapes, count in changed.most_common(_SHOWN)]
    if len(changed) > _SHOWN:
        words.append(counted(len(changed) - _SHOWN, "more shape"))
    if step := common_step(changed):
        words.append(step)
    if not words and old != new:
        words.append("the order of the parameters" if old.parameters != new.parameters else "the order of the outputs")
    return words


def _times(count: int) -> str:
    return f" ({count:,} times)" if count > 1 else ""


def changed_shapes(before: Sequence[str], after: Sequence[str]) -> Counter[tuple[str, str]]:
    """Return the pairs of leaves that became one another, with their counts; leaves that only one side has are left.

    Of the leaves that the other side lacks, those are paired that differ in the fewest dimensions, or in their type.
    """
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    candidates = sorted(
        (unlikeness, one, other)
        for one in gone
        for other in come
        if (unlikeness := _unlikeness(one, other)) is not None
    )
    found: Counter[tuple[str, str]] = Counter()
    for _, one, other in candidates:
        if count := min(gone[one], come[other]):
            found[one, other] += count
            gone[one] -= count
            come[other] -= count
    if len(before) == len(after):
        # As many as before: what is left has become what is left, whatever its rank.
        found.update(zip(_left(before, gone), _left(after, come), strict=True))
    return found


def _left(leaves: Sequence[str], counts: Counter[str]) -> Iterator[str]:
    """Yield leaves in their order, each as often as it is counted."""
    for leaf in leaves:
        if counts[leaf]:
            counts[leaf] -= 1
            yield leaf


def _unlikeness(before: str, after: str) -> int | None:
    """Return in how many dimensions two leaves of one rank differ; None for leaves that have too little in common."""
    (one, old), (other, new) = map(_parts, (before, after))
    differing = sum(a != b for a, b in zip(old, new, strict=False))
    if len(old) != len(new) or (one != other and differing) or (differing == len(old) > 1):
        return None
    return differing


@lru_cache(1 << 12)
def _parts(leaf: str) -> tuple[str, tuple[str, ...]]:
    found = LEAF.fullmatch(leaf)
    return found["type"], tuple(filter(None, found["dims"].split(",")))


def steps(before: str, after: str) -> list[Step]:
    """Return the dimensions that differ between two leaves of one rank, the leading one first."""
    (_, old), (_, new) = map(_parts, (before, after))
    if len(old) != len(new):
        return []
    return [
        Step(place, len(old), int(a), int(b))
        for place, (a, b) in enumerate(zip(old, new, strict=True))
        if a != b and a.isdigit() and b.isdigit()
    ]


def common_step(changed: Counter[tuple[str, str]]) -> str | None:
    """Return what all changed shapes have in common: `leading dimension ×2`, or `every changed dimension ×2`."""
    found = [steps(*shapes) for shapes in changed]
    if not found or any(len(one) != 1 for one in found):
        return None
    each = [one[0] for one in found]
    if len({step.factor for step in each}) > 1:
        return None
    if all(step.place == 0 and step.rank > 1 for step in each):
        return f"leading dimension {each[0].factor}"
    said = {str(step) for step in each}
    return said.pop() if len(said) == 1 else f"dimensions {each[0].factor}"
