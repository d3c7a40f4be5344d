"""The main cause of a change: what explains most of it, once bytes that come are set off against bytes that go."""

import pytest

from bufferhouse.compare.causes import (
    FREED_BEFORE,
    LAYOUT_PADDING,
    LIVES_TO_PEAK,
    ONLY_AFTER,
    ONLY_BEFORE,
    PACKING,
    SHARING,
    Cause,
    main_cause,
)


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ([], None),
        ([(ONLY_AFTER, 500), (ONLY_BEFORE, -500)], None),
        ([(ONLY_AFTER, 500), (ONLY_BEFORE, -500), (PACKING, 4)], (PACKING, 4)),
        ([(ONLY_BEFORE, -9), (LIVES_TO_PEAK, 300), (SHARING, -300), (PACKING, -8)], (SHARING, -9)),
        ([(ONLY_AFTER, 500), (FREED_BEFORE, -300), (PACKING, 100)], (ONLY_AFTER, 200)),
        ([(ONLY_AFTER, 500), (FREED_BEFORE, -300), (LAYOUT_PADDING, 250)], (LAYOUT_PADDING, 250)),
        ([(ONLY_BEFORE, -50), (FREED_BEFORE, -40), (ONLY_AFTER, 10), (PACKING, 5)], (ONLY_BEFORE, -50)),
        ([(LIVES_TO_PEAK, 50), (ONLY_AFTER, 60), (ONLY_BEFORE, -100)], (ONLY_AFTER, 10)),
    ],
)
def test_a_buffer_in_the_place_of_an_equal_one_explains_nothing(causes: list, expected: tuple[str, int] | None):
    """A cause of values that come or go has at most what is left of all of them; the larger one names the rest."""
    delta = sum(size for _, size in causes)
    assert expected == main_cause([Cause(cause, size) for cause, size in causes], delta)
