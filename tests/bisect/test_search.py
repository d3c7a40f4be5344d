"""The search of a bisection, against every list there can be."""

from itertools import product
from math import ceil, log2

import pytest

from bufferhouse.bisect.environments import in_order
from bufferhouse.bisect.search import BAD, GOOD, SKIPPED, search


@pytest.mark.parametrize("count", range(2, 26))
def test_every_step_is_found_with_few_measurements(count: int):
    """Wherever the step is, or nowhere: at most log2(n) + 1 measurements, rounded up, the good end counted."""
    for step in range(1, count + 1):
        asked: list[int] = []

        def verdict(at: int, step: int = step, asked: list[int] = asked) -> str:
            asked.append(at)
            return BAD if at >= step else GOOD

        found = search(count, verdict)
        assert (step - 1, step if step < count else None) == (found.last_good, found.first_bad)
        assert len(asked) == len(set(asked))
        assert 1 + len(asked) <= ceil(log2(count)) + 1


def test_what_is_found_is_a_step_whatever_the_list():
    """Over all lists of six: the last good and the first bad have only skipped points between them, all told."""
    for verdicts in product((GOOD, BAD, SKIPPED), repeat=6):
        points = [GOOD, *verdicts]
        found = search(len(points), points.__getitem__)
        high = len(points) if found.first_bad is None else found.first_bad
        assert GOOD == points[found.last_good]
        assert found.first_bad is None or points[found.first_bad] == BAD
        between = range(found.last_good + 1, high)
        assert list(between) == list(found.unknown)
        assert {SKIPPED} >= {points[at] for at in between}


def test_known_points_are_asked_first():
    """Where all but the step is known, two points at most are measured."""
    measured: list[int] = []

    def verdict(at: int) -> str:
        if at not in range(0, 100, 10):
            measured.append(at)
        return BAD if at >= 57 else GOOD

    found = search(100, verdict, lambda at: at % 10 == 0)
    assert (56, 57) == (found.last_good, found.first_bad)
    assert {at for at in range(51, 60)} >= set(measured)
    assert 4 >= len(measured)


def test_releases_are_ordered_by_their_numbers():
    """0.10.0 comes behind 0.9.0.1, and that behind 0.9.0."""
    expected = ["0.4.9", "0.4.38", "0.9.0", "0.9.0.1", "0.9.1", "0.10.0"]
    assert expected == sorted(reversed(expected), key=in_order)
