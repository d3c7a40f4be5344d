"""Sizes as libtpu prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bufferhouse.messages.figures import bytes_shown, printed, range_of, shows

SIZES = st.integers(0, 1 << 50)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0B"), (1023, "1023B"), (1024, "1.0K"), (30 << 10, "30.0K"), (258 << 20, "258.00M"),
        (18_624_053_760, "17.34G"),  # 17.345: whole MiB are counted before it is rounded
        (41_280_012_800, "38.44G"), (17_314_316_800, "16.12G"), ((16 << 30) - (258 << 20), "15.75G"),
    ],
)  # fmt: skip
def test_sizes_are_printed_as_in_the_specimens(size_bytes: int, text: str):
    """Two digits, one for K; what is cut off in whole numbers on the way is not rounded up."""
    assert text == printed(size_bytes)
    assert shows(text, size_bytes)


@given(SIZES)
def test_a_printed_size_stands_for_its_bytes(size_bytes: int):
    """The bytes lie in the range of what is printed, and nothing that lies outside is printed so."""
    text = printed(size_bytes)
    low, high = range_of(text)
    assert low <= size_bytes <= high
    for other in (low - 1, high + 1):
        assert other < 0 or text != printed(other)


@pytest.mark.parametrize("text", ["", "G", "1.5", "-3G", "1,5G", "19.07 G", "19.07Gi", "unknown size"])
def test_what_is_no_size_is_refused(text: str):
    """A number without a unit counts bytes, and has no fraction."""
    with pytest.raises(ValueError, match="expected a size"):
        range_of(text)


@given(st.integers(0, 1 << 50), st.integers(-2000, 2000))
def test_the_bytes_that_are_printed_so_are_one_range(size_bytes: int, off: int):
    """A size lies in the range of what it is printed as, and any other exactly if it is printed so, too."""
    for text in (printed(size_bytes), f"{size_bytes / (1 << 30):.2f}GiB", f"{size_bytes / (1 << 20):.2f}MiB"):
        least, most = bytes_shown(text)
        other = max(size_bytes + off * max(size_bytes >> 16, 1), 0)
        assert shows(text, other) == (least <= other <= most)
        for edge in (least, most):
            assert shows(text, edge)
