"""The causes of a difference between two moments: their bytes sum to it, exactly."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from bufferhouse.compare.dimensions import explanation
from bufferhouse.compare.match import Elsewhere, Match, look_up, match, rest_of
from bufferhouse.compare.moments import Moment
from bufferhouse.compare.signature import Step
from bufferhouse.compare.values import Value

# A matched pair of values may differ in these.
LOGICAL_SIZE = "changed shape or element type"
LAYOUT_PADDING = "layout padding"
SLOT_SLACK = "slot bytes beyond the buffer"
SHARING = "sharing with other buffers"
KIND = "temporary in one run only"
# A value may be alive at one of the two peaks only.
LIVES_TO_PEAK = "now alive at the peak"
FREED_BEFORE = "no longer alive at the peak"
MOVED_IN = "moved from another memory space"
MOVED_OUT = "moved to another memory space"
ONLY_AFTER = "new buffer"
ONLY_BEFORE = "removed buffer"
# These have no values: reserved bytes beyond the occupied ones, and all bytes of a dump without live ranges.
PACKING = "fragmentation and padding between buffers"
NO_LIVE_RANGES = "no live ranges in a dump"
# A lock holds sums of the largest values at a peak. Of these nobody knows which values changed, or how.
OWN_OTHERS = "its values own other bytes"
NOT_LISTED = "values that the lock does not list"

# Bytes at the peak that pass from value to value: where a name, an owner or an order changes, they come and go.
_COME_AND_GO = frozenset(
    {LIVES_TO_PEAK, FREED_BEFORE, MOVED_IN, MOVED_OUT, ONLY_AFTER, ONLY_BEFORE, SHARING, OWN_OTHERS, NOT_LISTED}
)

# What a table writes where a cause shares its cell with bytes.
_SHORT = {PACKING: "fragmentation"}
# What `cause`, `main_cause` and `group` still hold in JSON, for one release; `cause_label` etc. hold the words above.
_FORMER = {
    LOGICAL_SIZE: "logical size",
    SLOT_SLACK: "slot slack",
    SHARING: "sharing",
    KIND: "kind of allocation",
    LIVES_TO_PEAK: "lives to the peak only after",
    FREED_BEFORE: "freed before the peak after",
    MOVED_IN: "moved from memory space",
    MOVED_OUT: "moved to memory space",
    ONLY_AFTER: "only after",
    ONLY_BEFORE: "only before",
    PACKING: "packing",
    NO_LIVE_RANGES: "no live ranges",
}


def short(cause: str) -> str:
    """Return a cause in the words of a narrow column."""
    return _SHORT.get(cause, cause)


def former(cause: str) -> str:
    """Return a cause in the words of earlier releases, which scripts may know."""
    return _FORMER.get(cause, cause)


class Cause(NamedTuple):
    """Some bytes of a difference: what happened, to which value, and by which tier its two sides were matched."""

    cause: str
    size_bytes: int
    tier: str | None = None
    before: Value | None = None
    after: Value | None = None


class Blame(NamedTuple):
    """The causes that were found between two moments, the pairs that were matched there, and what was not."""

    causes: list[Cause]
    matches: list[Match]
    gone: list[Elsewhere]
    new: list[Elsewhere]


def main_cause(found: Iterable[Cause], delta_bytes: int) -> tuple[str, int] | None:
    """Return the cause with the most bytes in the direction of a change, and these bytes; None without a change.

    Bytes at the peak that come and those that go are set off against each other first, and such a cause has at most the
    bytes that are left: a buffer that took the place of an equal one explains nothing.
    """
    sums: defaultdict[str, int] = defaultdict(int)
    for one in found:
        sums[one.cause] += one.size_bytes
    way = 1 if delta_bytes > 0 else -1
    left = way * sum(size for cause, size in sums.items() if cause in _COME_AND_GO)
    sizes = {cause: min(way * size, left) if cause in _COME_AND_GO else way * size for cause, size in sums.items()}
    main = max(sizes, key=lambda cause: (sizes[cause], way * sums[cause]), default=None)
    return (main, way * sizes[main]) if delta_bytes and main is not None and sizes[main] > 0 else None


def blame(
    before: Moment,
    after: Moment,
    before_values: Sequence[Value],
    after_values: Sequence[Value],
    memory_space: int,
    kinds: Collection[str] | None = None,
    changes: Sequence[Step] = (),
) -> Blame:
    """Return why other bytes are occupied at the moment after than at the moment before.

    `before_values` and `after_values` are all values of both programs, of all memory spaces. Only bytes in allocations
    of `kinds` are split into causes; None stands for all kinds. `changes` are those of `match`.
    """
    matches, gone, new = match(before.alive, after.alive, before_values, after_values, changes)
    causes = [cause for pair in matches for cause in _differences(pair, before.owned, after.owned, kinds)]
    old_rest = rest_of(before_values, memory_space, before.alive)
    new_rest = rest_of(after_values, memory_space, after.alive)
    grows = partial(explanation, changes=changes) if changes else None
    shrinks = (lambda new, old: explanation(old, new, changes)) if changes else None
    gone, new = look_up(gone, old_rest, new_rest, grows), look_up(new, new_rest, old_rest, shrinks)
    for found in gone:
        if owned := _counted(found.value, before.owned, kinds):
            causes.append(Cause(gone_to(found), -owned, found.tier, found.value, found.like))
    for found in new:
        if owned := _counted(found.value, after.owned, kinds):
            causes.append(Cause(new_from(found), owned, found.tier, found.like, found.value))
    return Blame(causes, matches, gone, new)


def _counted(value: Value, owned: dict[int, int], kinds: Collection[str] | None) -> int:
    return owned[value.value_id] if kinds is None or value.kind in kinds else 0


def _differences(
    pair: Match, before_owned: dict[int, int], after_owned: dict[int, int], kinds: Collection[str] | None
) -> Iterable[Cause]:
    """Yield the causes in a pair of matched values: the parts of their slots that differ, and shared bytes."""
    before, after, tier = pair
    before_bytes, after_bytes = _counted(before, before_owned, kinds), _counted(after, after_owned, kinds)
    if kinds is not None and (before.kind in kinds) != (after.kind in kinds):
        parts = {KIND: after_bytes - before_bytes}
    elif kinds is not None and before.kind not in kinds:
        return
    else:
        parts = {
            LOGICAL_SIZE: after.logical_bytes - before.logical_bytes,
            LAYOUT_PADDING: after.layout_padding_bytes - before.layout_padding_bytes,
            SLOT_SLACK: after.slack_bytes - before.slack_bytes,
            SHARING: (after_bytes - after.size_bytes) - (before_bytes - before.size_bytes),
        }
    yield from (Cause(cause, size, tier, before, after) for cause, size in parts.items() if size)


def gone_to(found: Elsewhere) -> str:
    """Return the cause of a value that is alive at the peak before only."""
    if found.like is None:
        return ONLY_BEFORE
    return FREED_BEFORE if found.is_here else MOVED_OUT


def new_from(found: Elsewhere) -> str:
    """Return the cause of a value that is alive at the peak after only."""
    if found.like is None:
        return ONLY_AFTER
    return LIVES_TO_PEAK if found.is_here else MOVED_IN
