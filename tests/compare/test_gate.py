"""A gate lets through what was accepted and nothing else, and complains about what nobody needs any more."""

from dataclasses import replace
from pathlib import Path

import pytest

from bufferhouse.compare.compare import CHANGED, GONE, NEW, NOT_COMPARED, UNCHANGED, Compared
from bufferhouse.compare.gate import Accepted, Headroom, judge, read_accepted
from bufferhouse.compare.pairing import RESHAPED, Dump, Pair
from bufferhouse.compare.sizes import Sizes
from bufferhouse.config.threshold import parse_threshold
from bufferhouse.errors import UsageError

MIB = 2**20
LIMIT = parse_threshold("5%,1MiB")


def row(name: str, before: int | None, after: int | None, memory_space: int = 0, status: str = CHANGED) -> Compared:
    """A program of two dumps, whose id is the length of its name."""
    dump = Dump(1, len(name), name, "cpu", "cpu", 1)
    pair, on_device = Pair(dump, dump._replace(dump_id=2), False), (None, None) if memory_space else (before, after)
    return Compared(pair, memory_space, status, None, None, None, before, after, on_device=on_device)


@pytest.mark.parametrize(
    ("before", "after", "is_refused"),
    [(100 * MIB, 105 * MIB, True), (100 * MIB, 105 * MIB - 1, False), (MIB, 2 * MIB - 1, False), (0, MIB, True),
     (100 * MIB, MIB, False), (100 * MIB, 100 * MIB, False)],
)  # fmt: skip
def test_growth_over_the_limit_is_refused(before: int, after: int, is_refused: bool):
    """The share and the bytes have to be reached, to the byte; what fell is no offense."""
    verdict = judge([row("jit_f", before, after)], LIMIT)
    assert (is_refused, not is_refused, 1) == (bool(verdict.offenders), verdict.is_passed, verdict.compared_count)


def test_a_comparison_of_nothing_is_not_passed():
    """Where no program is known on both sides there is nothing to trust; one that is equal is enough."""
    nothing = [row("jit_new", None, MIB, status=NEW), row("jit_unknown", None, None, status=NOT_COMPARED)]
    for rows in ([], nothing):
        assert (False, 0) == (judge(rows, LIMIT).is_passed, judge(rows, LIMIT).compared_count)
    assert judge([*nothing, row("jit_f", 1, 1, status=UNCHANGED)], LIMIT).is_passed


def test_what_was_accepted_passes():
    """A program, by name or id, in its memory space and up to its bytes; one byte more is refused again."""
    grown = row("jit_f", 100 * MIB, 200 * MIB)
    entry = Accepted("jit_f", 0, 200 * MIB, "a larger batch")
    for one in (entry, entry._replace(program="5")):
        verdict = judge([grown], LIMIT, [one])
        assert ([], [(grown, one)], [], True) == (*verdict[:3], verdict.is_passed)
    for other in (entry._replace(program="jit"), entry._replace(memory_space=1)):
        verdict = judge([grown], LIMIT, [other])
        assert ([grown], [], [other], False) == (*verdict[:3], verdict.is_passed)
    verdict = judge([grown], LIMIT, [entry._replace(up_to_bytes=200 * MIB - 1)])
    assert ([grown], [], []) == verdict[:3]


def test_an_entry_that_nothing_needs_is_stale():
    """It would hide the next growth, so it is named; the gate is passed all the same."""
    entry = Accepted("jit_f", 0, 200 * MIB, "a larger batch")
    for rows in ([row("jit_f", 100 * MIB, 100 * MIB)], [row("jit_other", MIB, MIB)]):
        verdict = judge(rows, LIMIT, [entry])
        assert ([], [], [entry], True) == (*verdict[:3], verdict.is_passed)


def test_an_entry_that_a_refused_dump_may_need_is_not_stale():
    """Whether a program grew is not known where its dump was refused, or where its bytes are not known."""
    entry = Accepted("jit_f", 0, 200 * MIB, "a larger batch")
    other, gone = row("jit_other", MIB, MIB), row("jit_f", MIB, None, status=GONE)
    for rows in ([other], [gone, other]):
        assert [] == judge(rows, LIMIT, [entry], is_partial=True).stale
        assert [entry] == judge(rows, LIMIT, [entry]).stale
    assert [entry] == judge([row("jit_f", MIB, MIB)], LIMIT, [entry], is_partial=True).stale
    nothing = Sizes(MIB, None, None, 0, 0, 0, 0)
    assert [] == judge([replace(row("jit_f", MIB, None), before=nothing, after=nothing)], LIMIT, [entry]).stale


def test_what_a_refused_dump_may_hold_passes_no_gate():
    """A program whose dump was refused may have grown; a memory space that its dump does not use is not missing."""
    gone = row("jit_f", MIB, None, status=GONE)
    missing, other = replace(gone, pair=gone.pair._replace(after=None)), row("jit_other", MIB, MIB)
    lent = row("jit_f", 2 * MIB, MIB)
    same = replace(lent, pair=lent.pair._replace(before=lent.pair.after), status=UNCHANGED)

    smaller = row("jit_f", MIB, MIB - 1)
    joined = replace(smaller, pair=smaller.pair._replace(change=RESHAPED), status=RESHAPED)

    def with_twice(one: Compared) -> Compared:
        return replace(one, pair=one.pair._replace(after=one.pair.after._replace(dump_count=2)))

    for rows, is_partial, found in (
        ([missing, other], True, [missing]),
        ([missing, other], False, []),
        ([gone, other], True, []),
        # The largest of two dumps is compared with the partner of the other one, unless the run has that one twice.
        ([same, lent], True, [lent]),
        ([same, lent], False, []),
        ([same, replace(lent, memory_space=1)], True, []),
        ([with_twice(same), with_twice(lent)], True, []),
        # Another signature or name was paired only as the program is not there: its dump may be the refused one.
        ([joined, other], True, [joined]),
        ([joined, other], False, []),
    ):
        verdict = judge(rows, LIMIT, is_partial=is_partial)
        assert (found, not found) == (verdict.missing, verdict.is_passed)
    entry = Accepted("jit_f", 0, 200 * MIB, "a larger batch")
    for is_partial, stale in ((True, []), (False, [entry])):
        assert stale == judge([same, lent], LIMIT, [entry], is_partial=is_partial).stale


def test_what_may_be_cut_short_passes_no_gate():
    """Of a dump with allocations alone nobody knows whether these are all; one without a peak before is like it."""
    whole, peakless = Sizes(MIB, MIB, 0, 0, 0, 0, 0), Sizes(MIB, None, None, 0, 0, 0, 0)
    other = row("jit_other", MIB, MIB)

    def alone(before: int, after: int, size: Sizes = whole, **about: object) -> Compared:
        one = row("jit_f", before, after)
        pair = one.pair._replace(after=one.pair.after._replace(has_allocations_alone=True))
        return replace(one, pair=pair, before=size, after=peakless, **about)

    fewer, grown = alone(3 * MIB, MIB), alone(MIB, 3 * MIB)
    assert ([fewer], False, 1) == (
        (found := judge([fewer, other], LIMIT)).maybe_cut,
        found.is_passed,
        found.compared_count,
    )
    assert ([], [grown]) == ((found := judge([grown, other], LIMIT)).maybe_cut, found.offenders)
    entry = Accepted("jit_f", 0, 200 * MIB, "a larger batch")
    assert ([grown], [], []) == (
        (found := judge([grown, other], LIMIT, [entry])).maybe_cut,
        found.accepted,
        found.stale,
    )
    assert judge([alone(3 * MIB, MIB, peakless), other], LIMIT).is_passed
    ignored = alone(3 * MIB, MIB, status=RESHAPED)
    assert judge([ignored, other], LIMIT, reshaped="ignore").is_passed


def test_an_accept_file_is_read(tmp_path: Path):
    """One table for each entry."""
    path = tmp_path / "accepted.toml"
    path.write_text('[[accept]]\nprogram = "jit_f"\nmemory_space = 1\nup_to_bytes = 5\nwhy = "known"\n' * 2)
    assert [Accepted("jit_f", 1, 5, "known")] * 2 == read_accepted(path)
    path.write_text("")
    assert [] == read_accepted(path)


ENTRY = 'program = "jit_f"\nmemory_space = 1\nup_to_bytes = 5\nwhy = "known"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[accept]]\n" + ENTRY.replace("why", "because"), "entry 1: expected program"),
        ("[[accept]]\n" + ENTRY + "[[accept]]\n" + ENTRY.replace("5", '"5"'), ":6:1: entry 2: .*look at up_to_bytes"),
        ("[[accept]]\n" + ENTRY.replace("1", "true"), "look at memory_space"),
        ("[[accept]]\n" + ENTRY.replace("known", " "), "look at why"),
        ("[[accept]]\n" + ENTRY + "more = 1\n", "look at more"),
        ("[accept]\n" + ENTRY, "expected tables"),
        ("accept = [1]\n", "entry 1"),
        ("[[accepted]]\n" + ENTRY, "expected tables .*accepted"),
        ("\naccept = ", r"accepted\.toml:2:10: expected TOML, found: Invalid value"),
    ],
)  # fmt: skip
def test_a_malformed_accept_file_is_refused(tmp_path: Path, text: str, said: str):
    """The message names the file, the entry and what to look at."""
    path = tmp_path / "accepted.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as refused:
        read_accepted(path)
    assert str(path) in str(refused.value)


def test_an_accept_file_that_is_not_there_is_named(tmp_path: Path):
    """So is one that is no text."""
    with pytest.raises(UsageError, match=r"none\.toml: No such file"):
        read_accepted(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"bytes\.toml:1:1: expected UTF-8, found byte 0xff"):
        read_accepted(tmp_path / "bytes.toml")


@pytest.mark.parametrize(("after", "is_tight"), [(95 * MIB, False), (95 * MIB + 1, True)])
def test_a_program_must_leave_headroom(after: int, is_tight: bool):
    """To the byte, in the default memory space, whether it grew or is new; accepted growth needs room, too."""
    room = Headroom(0.05, 100 * MIB)
    entry = Accepted("jit_f", 0, 200 * MIB, "a larger batch")
    other = row("jit_other", 1, 1, status=UNCHANGED)
    for one in (row("jit_f", after, after, status=UNCHANGED), row("jit_f", None, after, status=NEW)):
        verdict = judge([one, other], LIMIT, [entry], headroom=room)
        assert ([one] * is_tight, not is_tight) == (verdict.tight, verdict.is_passed)
    assert [] == judge([row("jit_f", after, after, memory_space=1)], LIMIT, headroom=room).tight
