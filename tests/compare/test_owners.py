"""Each occupied byte has one owner."""

from hypothesis import given, settings

from bufferhouse.compare.values import owned_bytes
from tests.compare.values import PROGRAMS, union, value


@settings(max_examples=50, deadline=None)
@given(PROGRAMS)
def test_owned_bytes_are_the_union(alive):
    """However values lie on each other, what they own sums to the bytes that are taken, counted one by one."""
    owned = owned_bytes(alive)
    assert {one.value_id for one in alive} == owned.keys()
    assert union(alive) == sum(owned.values())
    assert all(0 <= owned[one.value_id] <= one.size_bytes for one in alive)


@settings(max_examples=50, deadline=None)
@given(PROGRAMS)
def test_each_owns_what_was_free_when_it_came(alive):
    """Of the values in their order, each owns what it adds to the union of those before it."""
    owned = owned_bytes(alive)
    order = sorted(alive, key=lambda one: (one.start_position, -one.size_bytes, one.value_id))
    for count, one in enumerate(order):
        assert union(order[: count + 1]) - union(order[:count]) == owned[one.value_id]


def test_the_first_owns_all_its_bytes():
    """What starts first owns its slot; of those that start together the larger one; a later one what is left."""
    first = value(100, 0, allocation=0)
    small, large = value(50, 1, allocation=0, offset=90), value(60, 1, allocation=0, offset=80)
    elsewhere = value(10, 2, allocation=1)
    owned = owned_bytes([elsewhere, small, large, first])
    assert [100, 40, 0, 10] == [owned[one.value_id] for one in (first, large, small, elsewhere)]
    assert {} == owned_bytes([])
