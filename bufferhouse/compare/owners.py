"""Who owns which bytes at a moment: each occupied byte belongs to one value."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from bufferhouse.compare.values import Value


def owned_bytes(alive: Sequence[Value]) -> dict[int, int]:
    """Return the bytes that each value owns, by value_id: they sum to the union of the slots.

    The value that starts first owns its slot whole, of those that start together the larger one; each later one owns
    what is still free. So a value owns the same in both compilations, whatever was put on top of it later.
    (`peak_buffers_v1` gives a shared byte to the value that starts last: that says who needs the memory now.)
    """
    allocations: dict[int, list[Value]] = {}
    for value in alive:
        allocations.setdefault(value.allocation_index, []).append(value)
    owned: dict[int, int] = {}
    for values in allocations.values():
        owned.update(_claim(sorted(values, key=lambda v: (v.start_position, -v.size_bytes, v.value_id))))
    return owned


def _claim(values: Iterable[Value]) -> Iterable[tuple[int, int]]:
    begins: list[int] = []  # what is taken already, as disjoint intervals in ascending order
    ends: list[int] = []
    for value in values:
        begin, end = value.offset_bytes, value.offset_bytes + value.size_bytes
        first = bisect_left(ends, begin)  # the first interval that ends at or behind our begin
        last, taken = first, 0
        low, high = begin, end
        while last < len(begins) and begins[last] <= end:
            taken += max(min(ends[last], end) - max(begins[last], begin), 0)
            low, high = min(low, begins[last]), max(high, ends[last])
            last += 1
        begins[first:last], ends[first:last] = [low], [high]
        yield value.value_id, value.size_bytes - taken
