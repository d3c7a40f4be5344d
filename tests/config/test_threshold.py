"""Limits are read from words, and reckoned exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bufferhouse.config.threshold import RELEVANT, Threshold, parse_threshold
from bufferhouse.errors import UsageError


@pytest.mark.parametrize(
    ("word", "share", "size", "said"),
    [
        ("5%", 0.05, 0, "5 %"),
        ("0.5 %", 0.005, 0, "0.5 %"),
        ("16MiB", 0, 2**24, "16 MiB"),
        ("1.5 KiB", 0, 1536, "1,536 B"),
        ("1234567B", 0, 1234567, "1,234,567 B"),
        ("5%,16MiB", 0.05, 2**24, "5 % and 16 MiB"),
        ("16MiB, 5%", 0.05, 2**24, "5 % and 16 MiB"),
        ("0%", 0, 0, "1 B"),
        ("2048TiB", 0, 2**51, "2,048 TiB"),
    ],
)
def test_words_of_limits(word: str, share: float, size: int, said: str):
    """A share, bytes in binary units, or both; and as it is written."""
    limit = parse_threshold(word)
    assert (Threshold(share, size), said) == (limit, str(limit))


@pytest.mark.parametrize(
    "word",
    ["", "5", "%", "5MB", "5%,", "5%,7%", "1B,2B", "-5%", "5%5%", "1e3%", "nan%", "9" * 400 + "GiB", "5mib"],
)
def test_what_is_no_limit_is_refused(word: str):
    """The message says what is expected, and quotes what was found."""
    with pytest.raises(UsageError, match=r"expected a limit such as 5%, 16MiB or 5%,16MiB, found"):
        parse_threshold(word)


@given(st.integers(0, 10**6), st.integers(0, 2**50))
def test_a_limit_is_reached_to_the_byte(hundredths: int, before: int):
    """The least growth that reaches a share does, and one byte less does not, whatever floats make of it."""
    limit = parse_threshold(f"{hundredths / 100:.2f}%")
    least = max(-(-before * hundredths // 10_000), 1)
    assert limit.is_crossed(before, least)
    assert limit.is_crossed(before, -least)
    assert not limit.is_crossed(before, least - 1)


def test_both_limits_have_to_be_reached():
    """A large share of little is not relevant, nor a small share of much; from nothing bytes alone count."""
    assert not RELEVANT.is_crossed(2**20, 2**20 - 1)
    assert RELEVANT.is_crossed(2**20, 2**20)
    assert not RELEVANT.is_crossed(2**30, 2**20)
    assert RELEVANT.is_crossed(0, 2**20)
    assert not Threshold(0, 0).is_crossed(5, 0)
