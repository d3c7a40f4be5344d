"""The live-range section: its states, its schedule and ranges, and the printed peak in its three forms."""

import pytest

from bufferhouse.dump import Dump, DumpError, parse, render

START = "BufferAssignment:\n\nUsed values:\n\n\n"
SECTION = """\
HloLiveRange (max 3):
  InstructionSequence:
    0:p.0
    1:copy-start
    2:add.remat.clone.1
  BufferLiveRange:
    p.0{}:0-3
    copy-start{0}:1-2
    copy-start{1}:1-1
    copy-start{2,1}:1-3
    add.remat.clone.1{}:2-3
  Live ranges at 2 (peak):
"""
PEAKS = {
    "name": """\
    p.0: 64 bytes
    copy-start: 24 bytes
    copy-start: 24 bytes
    add.remat.clone.1: 4 bytes
""",
    "indexed": """\
    p.0{}: 64 bytes
    copy-start{0}: 64 bytes
    copy-start{2,1}: 4 bytes
    add.remat.clone.1{}: 4 bytes
""",
    "cumulative": """\
    copy-start{0}: 64 bytes (cumulative: 64 bytes)
    p.0{}: 64 bytes (cumulative: 128 bytes)
    add.remat.clone.1{}: 4 bytes (cumulative: 132 bytes)
    copy-start{2,1}: 4 bytes (cumulative: 136 bytes)
""",
}
UNBOUNDED = "  Peak memory could not be determined due to unbounded dynamic shape.\n"
SENTENCE = "HloLiveRange not available (finalized or constructed from proto)"
EMPTY = "HloLiveRange (max 0):\n  InstructionSequence:\n  BufferLiveRange:\n  Live ranges at 0 (peak):\n"


def read(section: str) -> Dump:
    """Read the section in one file with an empty dump before it, and alone, as it stands in a split dump."""
    combined = parse((START + section).encode())
    assert {"combined": (START + section).encode()} == render(combined)
    files = {"allocations": b"BufferAssignment:\n", "live_range": section.encode()}
    split = parse(files)
    assert files == render(split)
    assert (combined.schedule, combined.live_ranges, combined.peak_buffers) == (
        split.schedule,
        split.live_ranges,
        split.peak_buffers,
    )
    return split


def refusal(section: str) -> str:
    with pytest.raises(DumpError) as caught:
        parse((START + section).encode())
    return caught.value.rule


@pytest.mark.parametrize("form", PEAKS)
def test_the_three_forms_of_peak_lines(form: str):
    """By name alone, by name and index, sorted with cumulative bytes: the same values in each."""
    dump = read(SECTION + PEAKS[form])
    peak = dump.peak_buffers
    assert (form, 2) == (dump.peak_form, dump.reported_peak_position)
    expected = {("p.0", "{}"), ("copy-start", "{0}"), ("copy-start", "{2,1}"), ("add.remat.clone.1", "{}")}
    assert expected == set(zip(peak.instruction, peak.shape_index, strict=True))
    assert (None if form != "cumulative" else 136) == peak.cumulative_bytes[-1]


def test_an_index_that_is_not_printed_is_that_of_the_range():
    """The k-th line of a name is the k-th of its ranges that covers the peak."""
    peak = read(SECTION + PEAKS["name"]).peak_buffers
    assert ["{}", "{0}", "{2,1}", "{}"] == peak.shape_index


def test_lines_by_name_alone_may_stand_in_any_order():
    """Only the order among lines of one name says which is which."""
    lines = PEAKS["name"].splitlines(keepends=True)
    peak = read(SECTION + "".join([lines[1], lines[3], lines[2], lines[0]])).peak_buffers
    assert ["{0}", "{}", "{2,1}", "{}"] == peak.shape_index


def test_schedule_and_ranges_are_columns():
    """Sequence numbers are places in the list; names end at the first brace, ranges are closed."""
    dump = read(SECTION + PEAKS["indexed"])
    assert (3, ["p.0", "copy-start", "add.remat.clone.1"]) == (dump.max_position, dump.schedule)
    r = dump.live_ranges
    assert [("p.0", "{}", 0, 3), ("copy-start", "{0}", 1, 2)] == list(
        zip(r.instruction, r.shape_index, r.start_position, r.end_position, strict=True)
    )[:2]
    assert "present" == dump.live_range_state


def test_a_peak_without_a_bound_has_no_position_and_no_lines():
    """The sentence stands in place of the peak; schedule and ranges are there."""
    dump = read(SECTION.replace("  Live ranges at 2 (peak):\n", UNBOUNDED))
    assert ("unbounded", None, None, []) == (
        dump.live_range_state,
        dump.reported_peak_position,
        dump.peak_form,
        dump.peak_buffers.instruction,
    )
    assert (3, 5) == (len(dump.schedule), len(dump.live_ranges.instruction))


def test_a_program_without_a_schedule_has_an_empty_section():
    """`(max 0)`, no lines, a peak at 0 with nothing alive."""
    dump = read(EMPTY)
    assert ("present", 0, 0, None) == (
        dump.live_range_state,
        dump.max_position,
        dump.reported_peak_position,
        dump.peak_form,
    )
    assert [] == dump.schedule == dump.live_ranges.instruction == dump.peak_buffers.instruction


@pytest.mark.parametrize("line_feeds", [0, 1, 2])
def test_a_live_range_that_is_not_available_is_said_in_one_sentence(line_feeds: int):
    """The sentence is the whole file, and has no line feed of its own."""
    files = {"allocations": b"BufferAssignment:\n", "live_range": (SENTENCE + "\n" * line_feeds).encode()}
    dump = parse(files)
    assert files == render(dump)
    assert ("not available", line_feeds) == (dump.live_range_state, dump.trailing_newlines["live_range"])


def test_a_range_needs_no_used_value():
    """Constants that the backend does not allocate have a range and no allocation."""
    assert 5 == len(read(SECTION + PEAKS["indexed"]).live_ranges.instruction)


@pytest.mark.parametrize(
    "name", ["_", "a-b.1-2", "constant_1_2_0", "add.remat.clone.1", "x-0", "A" * 400, "bytes", "max"]
)
def test_names_are_cut_at_the_first_brace(name: str):
    """A name may hold dashes, dots and digits, as numbers and ranges do."""
    lines = ["HloLiveRange (max 1):", "  InstructionSequence:", f"    0:{name}", "  BufferLiveRange:"]
    dump = read("\n".join([*lines, f"    {name}{{1,0}}:0-1", UNBOUNDED]))
    assert ([name], [name], ["{1,0}"]) == (dump.schedule, dump.live_ranges.instruction, dump.live_ranges.shape_index)


def test_a_peak_of_the_largest_size_is_read():
    """Sizes are whole numbers up to 2^53 bytes."""
    section = SECTION.replace("at 2", "at 0") + f"    p.0{{}}: {2**53} bytes (cumulative: {2**53} bytes)\n"
    assert [2**53] == read(section).peak_buffers.listed_bytes


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("max_position", "(max 3)", "(max 2)"),
        ("sequence", "    1:copy-start", "    3:copy-start"),
        ("sequence", "    1:copy-start", "    1:p.0"),
        ("live_range", "    p.0{}:0-3", "    p.1{}:0-3"),
        ("live_range", "    p.0{}:0-3", "    p.0{}:3-2"),
        ("live_range", "    p.0{}:0-3", "    p.0{}:0-4"),
        ("live_range", "copy-start{1}", "copy-start{0}"),
        ("peak_position", "at 2", "at 4"),
        ("peak_set", "at 2", "at 1"),
        ("peak_set", "    p.0{}: 64 bytes (cumulative: 128", "    copy-start{1}: 64 bytes (cumulative: 128"),
        ("peak_set", "    p.0{}: 64 bytes (cumulative: 128", "    copy-start{0}: 64 bytes (cumulative: 128"),
        ("cumulative_bytes", "cumulative: 128", "cumulative: 127"),
        ("peak_form", " (cumulative: 132 bytes)", ""),
        ("grammar", "    p.0{}: 64 bytes", "    p.0{}: 9007199254740993 bytes"),
        ("grammar", "(max 3)", "(max 03)"),
        ("grammar", "0-3\n    copy-start{0}", "0-3 \n    copy-start{0}"),
    ],
)
def test_assertions_are_named_by_the_rule_they_break(rule: str, old: str, new: str):
    """Every hard assertion on the section is a refusal of its own."""
    section = SECTION + PEAKS["cumulative"]
    assert old in section
    assert rule == refusal(section.replace(old, new, 1))
