"""The compiler's heap-simulator trace (`HeapSimulatorTrace`, hlo.proto), replayed over the buffers of one allocation.

The trace's own allocation index is not reliable, so every trace is replayed for every allocation, restricted to the
buffers that are assigned to it. Beside it, the replay of `ComputePeakMemory`, which looks at no allocation.
"""

from collections import Counter
from collections.abc import Collection
from itertools import pairwise

FREE = 1  # the others are ALLOC (0) and SHARE_WITH (2), which both begin a buffer's life
SHARE_WITH = 2


def union(slots: Collection[tuple[int, int]]) -> int:
    """Bytes in the union of slots, each of which is its first byte and the one behind its last."""
    total = reached = 0
    for left, right in sorted(slots):
        total += max(0, right - max(left, reached))
        reached = max(reached, right)
    return total


def replayed_peak(events: list[dict], slots: dict[int, tuple[int, int]]) -> int:
    """The most bytes in the union of live slots while a trace is replayed; `slots` by buffer id."""
    live: dict[int, tuple[int, int]] = {}
    states = []
    for event, following in pairwise([*(e for e in events if e["buffer_id"] in slots), {"kind": FREE}]):
        if event["kind"] == FREE:
            live.pop(event["buffer_id"], None)
        else:
            live[event["buffer_id"]] = slots[event["buffer_id"]]
            if following["kind"] == FREE:  # a state that more is added to cannot be the highest
                states.append(union(live.values()))
    return max(states, default=0)


def trace_of(truth: dict, allocation: dict) -> tuple[int, set[int]] | None:
    """The highest replayed peak of an allocation over all traces, and its buffers with an event; None without one."""
    slots = {row["logical_buffer_id"]: (row["offset"], row["offset"] + row["size"]) for row in allocation["assigned"]}
    traced = {e["buffer_id"] for trace in truth["heap_simulator_traces"] for e in trace["events"]} & slots.keys()
    if not traced:
        return None
    return max(replayed_peak(trace["events"], slots) for trace in truth["heap_simulator_traces"]), traced


def replayed_bytes(truth: dict) -> int:
    """The most bytes alive at once in all traces, one behind the other: what `ComputePeakMemory` puts on a static part.

    A buffer that shares another's bytes keeps them alive; it adds nothing of its own. All memory spaces are mixed.
    """
    sizes = {buffer["id"]: buffer["size"] for buffer in truth["logical_buffers"]}
    owners: dict[int, int] = {}
    holders: Counter[int] = Counter()
    alive = peak = 0
    for event in (event for trace in truth["heap_simulator_traces"] for event in trace["events"]):
        buffer = event["buffer_id"]
        if event["kind"] == FREE:
            owner = owners[buffer]
            holders[owner] -= 1
            alive -= 0 if holders[owner] else sizes[owner]
        else:
            owner = owners[buffer] = event["share_with"] if event["kind"] == SHARE_WITH else buffer
            alive += 0 if holders[owner] else sizes[owner]
            holders[owner] += 1
        peak = max(peak, alive)
    return peak
