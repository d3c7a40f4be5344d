"""What a program would need at its peak without one of its values: the second-highest moment caps it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from bufferhouse.compare.values import Value


def worth(value: Value, values: Sequence[Value], occupied: Mapping[int, int]) -> int:
    """Return by how many bytes the occupied peak falls without a value, schedule and all other values kept.

    `values` are those of the memory space, `occupied` its bytes by schedule position. Exact for the occupied peak; the
    arena falls by about as much, as the compiler would place the other values anew.
    """
    peak = max(occupied.values(), default=0)
    others = [
        other
        for other in values
        if other.allocation_index == value.allocation_index
        and other.value_id != value.value_id
        and other.offset_bytes < value.offset_bytes + value.size_bytes
        and value.offset_bytes < other.offset_bytes + other.size_bytes
        and other.start_position <= value.end_position
        and value.start_position <= other.end_position
    ]
    rest = 0
    for position, size in occupied.items():
        own = 0
        if value.start_position <= position <= value.end_position:
            own = _own_bytes(value, [o for o in others if o.start_position <= position <= o.end_position])
        rest = max(rest, size - own)
    return peak - rest


def _own_bytes(value: Value, others: Sequence[Value]) -> int:
    """Return the bytes of a slot that no other slot covers."""
    begin, end = value.offset_bytes, value.offset_bytes + value.size_bytes
    slots = sorted((max(o.offset_bytes, begin), min(o.offset_bytes + o.size_bytes, end)) for o in others)
    ends = accumulate((stop for _, stop in slots), max, initial=begin)
    return value.size_bytes - sum(
        max(stop - max(start, reached), 0) for (start, stop), reached in zip(slots, ends, strict=False)
    )
