"""Trying again, without a clock: how often, and which try is the last."""

from itertools import islice

from bufferhouse.engine.waiting import tries


def test_without_time_there_is_one_try():
    """The first try is the last one."""
    assert [True] == list(tries(0))


def test_there_is_always_a_last_try():
    """However long it may take: whoever fails in it can say so."""
    found = list(tries(0.05, 0.01))
    assert ([False] * (len(found) - 1), True) == (found[:-1], found[-1])
    assert len(found) > 1


def test_whoever_has_all_the_time_has_no_last_try():
    """Waiting without an end."""
    assert [False] * 3 == list(islice(tries(float("inf"), 0), 3))
