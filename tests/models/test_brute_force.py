"""The quick brute force of `make corpus` against the slow one, and the replay of a heap trace by hand."""

from itertools import accumulate

import pytest

from tests import oracle
from tests.dump.facts import oracle_facts
from tests.models.brute_force import figures, occupied_peak, values_in
from tests.models.heap_trace import replayed_peak, trace_of
from tests.models.sharing import SHARING
from tests.samples import of_fleet
from tests.synthetic import dump_text

FLEET = [sample for sample in of_fleet() if sample.name.split("/")[0] in ("seeds", "jaxlib-0.4.25", "jaxlib-0.10.0")]
ALLOC, FREE, SHARE_WITH = range(3)


def assert_as_the_oracle(dump: dict) -> None:
    spaces, peaks = figures(dump)
    for space, rows in spaces.items():
        assert oracle.occupied(dump, space) == [occupied for occupied, _, _ in rows]
    assert oracle.listed(dump) == [sum(row[1] for row in at) for at in zip(*spaces.values(), strict=True)]
    for allocation in dump["allocations"]:
        alone = {**dump, "allocations": [allocation]}
        assert max(oracle.occupied(alone, allocation["memory_space"]), default=0) == peaks[allocation["index"]]


@pytest.mark.parametrize("name", SHARING)
def test_shared_bytes_are_as_the_oracle_counts_them(name):
    """However values share bytes, strictly or in passing, segments and spans give what counting each position gives."""
    assert_as_the_oracle(oracle.read_dump(dump_text(SHARING[name]).decode()))


@pytest.mark.parametrize("sample", FLEET, ids=lambda sample: sample.name)
def test_real_dumps_are_as_the_oracle_counts_them(sample):
    """Every position and every allocation of dumps of three dialects."""
    dump = oracle_facts(sample.files)
    assert_as_the_oracle(dump)
    assert sum(len(values_in(dump, allocation)) for allocation in dump["allocations"]) <= len(dump["values"])


def events(*pairs: tuple[int, int]) -> list[dict]:
    return [{"kind": kind, "buffer_id": number} for kind, number in pairs]


def test_a_replayed_trace_counts_shared_bytes_once():
    """A buffer that shares another's slot adds nothing; what belongs to no slot of the allocation is passed over."""
    slots = {1: (0, 64), 2: (64, 96), 3: (0, 64), 4: (32, 80)}
    begun = events((ALLOC, 1), (ALLOC, 9), (SHARE_WITH, 3), (FREE, 1), (ALLOC, 2), (FREE, 2), (ALLOC, 4))
    assert [0, 64, 64, 64, 64, 96, 96, 96] == list(
        accumulate((replayed_peak(begun[:count], slots) for count in range(len(begun) + 1)), max)
    )
    assert 80 == replayed_peak(events((ALLOC, 1), (ALLOC, 4)), slots)


def test_the_trace_of_an_allocation_is_that_of_its_buffers():
    """Whatever allocation a trace names, its buffers say where it belongs; no buffer with an event is no trace."""
    allocation = {"assigned": [{"logical_buffer_id": number, "offset": 8 * number, "size": 8} for number in range(3)]}
    traces = [{"events": events((ALLOC, 7))}, {"events": events((ALLOC, 0), (ALLOC, 2))}]
    assert (16, {0, 2}) == trace_of({"heap_simulator_traces": traces}, allocation)
    assert trace_of({"heap_simulator_traces": traces[:1]}, allocation) is None
    values = [{"size": 8, "offset": 0, "live_range": (0, 1)}, {"size": 8, "offset": 4, "live_range": (1, 2)}]
    assert 12 == occupied_peak(values)
