"""A peak that is reached several times is compared where both sides are most alike."""

from bufferhouse.compare.moments import closest, moment_at, moments
from tests.compare.values import value

X, Y, Z = ({"shape_text": f"f32[{n}]{{0}}", "opcode": "add"} for n in (16, 17, 18))


def test_live_ranges_are_closed():
    """A value is alive at its first and at its last position."""
    one = value(64, 3, 5)
    assert [[], [one], [one], []] == [moment_at([one], position).alive for position in (2, 3, 5, 6)]
    assert {one.value_id: 64} == moment_at([one], 4).owned


def test_positions_with_the_same_values_are_one_moment():
    """Of the tied positions at which the same values are alive the first is looked at."""
    values = [value(64, 0, 3), value(64, 6, 9)]
    assert [0, 6] == [moment.position for moment in moments(values, [0, 1, 2, 3, 6, 7])]
    assert [0, 4, 6] == [moment.position for moment in moments(values, [6, 0, 4, 5])]


def test_of_tied_peaks_those_most_alike_are_compared():
    """Which of several moments is compared makes no difference: the pair with most bytes in common is."""
    before = [value(64, 0, 0, **X), value(64, 2, 2, **Y), value(64, 4, 4, **Z)]
    after = [value(64, 1, 1, **Z), value(64, 3, 3, opcode="mul"), value(64, 5, 5, **Y)]
    one, other = closest(moments(before, [0, 2, 4]), moments(after, [1, 3, 5]))
    assert (2, 5) == (one.position, other.position)
    back = closest(moments(after, [1, 3, 5]), moments(before, [0, 2, 4]))
    assert 0 == sum(back[0].owned.values()) - sum(back[1].owned.values())
    assert {(4, 1), (2, 5)} >= {(back[1].position, back[0].position)}


def test_of_equally_like_moments_the_first_are_compared():
    """Where nothing is in common, or the same at several positions, it is the earliest."""
    before, after = [value(64, 0, 0, **X), value(64, 2, 2, **X)], [value(64, 1, 1, **Y), value(64, 3, 3, **Y)]
    assert [0, 1] == [moment.position for moment in closest(moments(before, [0, 2]), moments(after, [1, 3]))]


def test_of_very_many_moments_some_are_looked_at():
    """Peaks tied a thousand times do not take a million comparisons; the first moment is among them."""
    values = [value(64, position, position) for position in range(1000)]
    found = moments(values, range(1000))
    assert 50 <= len(found) <= 100
    assert 0 == found[0].position
