"""Numbers and names as people read them."""

import pytest

from bufferhouse.errors import counted
from bufferhouse.report.text.figures import (
    exact_bytes,
    human_bytes,
    human_seconds,
    percent,
    printable,
    space_title,
    space_word,
    sparkline,
    tick_bytes,
)


@pytest.mark.parametrize(
    ("expected", "count"),
    [
        ("–", None),
        ("0 B", 0),
        ("1023 B", 1023),
        ("1.0 KiB", 1024),
        ("18.5 KiB", 18980),
        ("1023.9 KiB", 1024 * 1024 - 52),
        ("1.0 MiB", 1024 * 1024 - 51),
        ("1.0 MiB", 1024 * 1024 - 1),
        ("16.0 GiB", 2**34),
        ("-3.0 MiB", -3 * 2**20),
        ("8192.0 EiB", 2**73),
    ],
)
def test_bytes_in_the_largest_unit(expected: str, count: int | None):
    """Bytes keep at least one digit before the point and never read 1024 of a unit that has a larger one."""
    assert expected == human_bytes(count)


@pytest.mark.parametrize(
    ("expected", "seconds"),
    [("0 s", 0), ("0.5 s", 0.5), ("1 s", 1), ("59.9 s", 59.94), ("1 min", 60), ("1.5 min", 90), ("1 h", 3600),
     ("23.5 h", 84600), ("1 d", 86400), ("7 d", 7 * 86400), ("36500 d", 36500 * 86400)],
)  # fmt: skip
def test_a_time_in_the_unit_that_fits(expected: str, seconds: float):
    """A threshold of seconds is not told as a millionth of hours."""
    assert expected == human_seconds(seconds)


def test_signed_bytes():
    """A change shows its sign, and no change shows none."""
    assert ["+192 B", "-192 B", "0 B", "–"] == [human_bytes(n, signed=True) for n in (192, -192, 0, None)]
    assert ["+1,361,380 B", "-192 B", "0 B", "–"] == [exact_bytes(n, signed=True) for n in (1361380, -192, 0, None)]
    assert "6,691,772 B" == exact_bytes(6691772)


def test_ticks_lose_nothing():
    """A tick is written whole: in the largest unit that keeps a digit before the point, or in bytes."""
    ticks = (0, 512, -(256 << 10), 5 << 18, 3 << 29, 6_691_772)
    assert ["0 B", "512 B", "-256 KiB", "1.25 MiB", "1.5 GiB", "6,691,772 B"] == [tick_bytes(tick) for tick in ticks]


def test_counts_have_their_plural():
    """One is one run, any other number is of runs, with separators."""
    assert ["0 runs", "1 run", "1,200 runs"] == [counted(n, "run") for n in (0, 1, 1200)]


def test_no_text_gives_orders():
    """Control characters, marks that turn text and lone surrogates become escapes; letters of any script stay."""
    assert r"a\x1b[31m\u202e\n\x00\u2028\ud800" == printable("a\x1b[31m\u202e\n\x00\u2028\ud800")
    assert "fn ↦ שלום 模型 <b>" == printable("fn ↦ שלום 模型 <b>")


@pytest.mark.parametrize("limit", [5, 6, 20, 4000])
def test_long_names_lose_their_middle(limit: int):
    """A text is never longer than its limit, escapes counted, and keeps its beginning and its end."""
    for text in ("ab" + "x" * 4000 + "yz", "ab" + "\x1b" * 4000 + "yz"):
        cut = printable(text, limit)
        assert limit == len(cut)
        assert ("ab", "yz") == (cut[:2], cut[-2:])
    assert "short" == printable("short", 5)


def test_sparkline():
    """The lowest value is the lowest bar, the highest the highest; what is missing is a space, what stands is flat."""
    assert "▁█ ▄" == sparkline([10, 80, None, 45])
    assert "▄▄▄" == sparkline([7, 7, 7])
    assert "  " == sparkline([None, None])
    assert "" == sparkline([])


def test_memory_spaces_are_named_where_the_platform_names_them():
    """The number always stands there; a name only on the platform that gives it."""
    assert "memory space 0 (default: HBM)" == space_title("tpu", 0)
    assert "memory space 1 (VMEM)" == space_title("tpu", 1)
    assert "memory space 6 (SMEM of scalars)" == space_title("tpu", 6)
    assert "memory space 0 (default: device)" == space_title("gpu", 0)
    assert "memory space 7 (collective)" == space_title("gpu", 7)
    assert "memory space 0 (default)" == space_title("cpu", 0)
    assert "memory space 1" == space_title("cpu", 1)
    assert "memory space 0 (default)" == space_title(None, 0)
    assert "memory space 1" == space_title(None, 1)


def test_memory_spaces_have_the_names_of_the_mart(example):
    """Reports say the preferred name of marts.memory_spaces, and a name of their own only where that has none."""
    sql = "SELECT DISTINCT platform, memory_space, preferred_name FROM marts.memory_spaces_v1"
    preferred = {(platform, space): name for platform, space, name in example.execute(sql).fetchall()}
    expected = preferred | {("cpu", 6): "unpinned host", ("gpu", 7): "collective"}
    named = {(one, space): space_word(one, space) for one in ("cpu", "gpu", "tpu") for space in range(16)}
    assert expected == {place: name for place, name in named.items() if name != str(place[1])}


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (-0.0004, ("0.0%", "+0.0%")),
        (0.0004, ("0.0%", "+0.0%")),
        (-0.0006, ("-0.1%", "-0.1%")),
        (1.5, ("150.0%", "+150.0%")),
    ],
)
def test_a_share_that_is_rounded_to_nothing_has_no_minus(share: float, expected: tuple[str, str]):
    """`-0.0%` would say that something became less by nothing."""
    assert expected == (percent(share), percent(share, signed=True))
