"""The stack-trace tree behind the peak lines: kept as printed, refused when it is not whole."""

import pytest

from bufferhouse.dump import DumpError, parse, render
from tests.fuzz import used_values
from tests.samples import of_fleet

TEXT = "%v = f32[] parameter(0)"


def node(rail: str, label: str, current: int, remaining: int, total: int = 100) -> str:
    return (
        f"{rail}{label} (12.5%, total: {spaced(total)} bytes, current: {spaced(current)} bytes,"
        f" remaining: {spaced(remaining)} bytes)\n"
    )


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def trace_of(total: int, *nodes: str) -> str:
    return f"  Stack trace breakdown for peak usage: {spaced(total)} bytes\n{''.join(nodes)}"


def read(trace: str) -> str:
    """Return the trace of a dump that ends in it, and has to come back byte for byte."""
    data = used_values(TEXT, behind=trace)
    dump = parse(data)
    assert {"combined": data} == render(dump)
    return dump.stack_trace


ROOT = node("    ", "main", 0, 1_179_648)
LEAF = node("      └── ", "w", 1_179_648, 0)
# Labels of one node of 7 bytes, when 1 179 648 remain before it.
LABELS = {
    "plain": "params",
    "with an index": "dot{0}",
    "with slashes": "jit(f)/jit(main)/transpose(jvp(g))/mul",
    "with what stands in a suffix": "a (b, total: 3 bytes, current: x",
    "empty": "",
    "with spaces at its start": "  x",
    "with quotes, tabs and other scripts": "d['a/b c']\t\"é│漢",
    "with a line feed": "first\nsecond",
    "with empty lines": "first\n\n\nsecond\n",
    "with a complete fake suffix": "x (10.0%, total: 5 bytes, current: 2 bytes, remaining: 0 bytes)/tile",
    "with a fake suffix at a line's end": "x (10.0%, total: 5 bytes, current: 2 bytes, remaining: 0 bytes)\n/tile",
    "with a whole fake node": "x (10.0%, total: 5 bytes, current: 2 bytes, remaining: 0 bytes)\n    └── y",
    "with a fake suffix that adds up": "x (1.0%, total: 5 bytes, current: 0 bytes, remaining: 1 179 648 bytes)\ntile",
    "with lines like peak lines": "x\n    main{}: 4 bytes (cumulative: 4 bytes)",
    "with a line like the live range": "x\n\n\nHloLiveRange (max 0):\n",
    "with another title": "x\n  Stack trace breakdown for peak usage: 5 bytes",
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("place", ["first", "inside", "last"])
def test_a_label_may_be_any_bytes(name: str, place: str):
    """Where a node ends is told by the bytes that remain and by the rail of the next, not by its label."""
    odd = node("      ├── ", LABELS[name], 7, 1_179_641)
    rest = node("      └── ", "w", 1_179_641, 0)
    nodes = {
        "first": [node("    ", LABELS[name], 7, 1_179_641), rest],
        "inside": [ROOT, odd, rest],
        "last": [ROOT, node("      ├── ", "w", 1_179_641, 7), node("      │   └── ", LABELS[name], 7, 0)],
    }[place]
    trace = trace_of(1_179_648, *nodes)
    assert trace == read(trace)


@pytest.mark.parametrize("total", [0, 1, 999, 1_000, 1_179_648, 2**53])
def test_numbers_are_grouped_by_three_digits(total: int):
    """Up to the largest size there may be; a tree of no bytes may have no node."""
    trace = trace_of(total, node("    ", "main", total, 0))
    assert trace == read(trace)
    if total == 0:
        assert trace_of(0) == read(trace_of(0))


def test_rails_of_any_depth():
    """Levels that go on, levels that are over, and both kinds of branches."""
    nodes = [
        node("    ", "main", 1, 9),
        node("      ├── ", "a", 1, 8),
        node("      │   ├── ", "b", 1, 7),
        node("      │   │   └── ", "c", 1, 6),
        node("      │   └── ", "d", 1, 5),
        node("      └── ", "e", 1, 4),
        node("          └── ", "f", 4, 0),
    ]
    assert trace_of(10, *nodes) == read(trace_of(10, *nodes))


def test_a_skipped_level_keeps_its_children():
    """An empty piece of a path prints no line, so a child may stand two levels below the line above."""
    trace = trace_of(5, node("    ", "main", 0, 5), node("      │   └── ", "w", 5, 0))
    assert trace == read(trace)


def test_rails_are_found_beside_bytes_that_are_no_utf_8():
    """A dump that is read as latin-1 has other characters for the same bytes of a rail."""
    data = used_values(
        '%v = f32[] add(), x="\N{LATIN SMALL LETTER E WITH ACUTE}"', behind=trace_of(1_179_648, ROOT, LEAF)
    )
    data = data.replace(b'x="', b'x="\xff')
    dump = parse(data)
    assert "latin-1" == dump.text_encoding
    assert trace_of(1_179_648, ROOT, LEAF).encode() == dump.stack_trace.encode("latin-1")
    assert {"combined": data} == render(dump)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_line_feeds_behind_the_tree_are_no_part_of_it(count: int):
    """They are counted like those behind any other end."""
    trace = trace_of(1_179_648, ROOT, LEAF)
    dump = parse(used_values(TEXT, behind=trace + "\n" * count))
    assert (trace, {"combined": count}) == (dump.stack_trace, dump.trailing_newlines)


@pytest.mark.parametrize(
    ("trace", "rule"),
    [
        (trace_of(1_179_648), "stack_trace"),
        (trace_of(1_179_648, ROOT), "stack_trace"),
        (trace_of(1_179_648, ROOT, LEAF, node("      └── ", "more", 1, 0)), "grammar"),
        (trace_of(1_179_649, ROOT, LEAF), "grammar"),
        (trace_of(1_179_648, ROOT, LEAF)[:-1], "grammar"),
        (trace_of(1_179_648, ROOT, LEAF) + "foo\n", "grammar"),
        (trace_of(1_179_648, ROOT.lstrip(" "), LEAF), "grammar"),
        (trace_of(5, node("    ", "main", 4, 1), node("      +── ", "w", 1, 0)), "grammar"),
        (trace_of(1_179_648, ROOT, LEAF.replace("1 179 648", "1179648")), "grammar"),
        (trace_of(1_179_648, ROOT, LEAF.replace("12.5%", "12%")), "grammar"),
        (trace_of(1_179_648, ROOT, LEAF.replace("bytes)", "bytes) ")), "grammar"),
        (trace_of(10**18, node("    ", "main", 10**18, 0)), "grammar"),
        (trace_of(0).replace("0 bytes", "00 bytes"), "grammar"),
        (trace_of(0).replace("0 bytes", "0 byte"), "grammar"),
    ],
)
def test_a_tree_that_is_not_whole_is_refused(trace: str, rule: str):
    """Bytes that do not add up, a foreign line, a missing rail or line feed."""
    with pytest.raises(DumpError) as caught:
        parse(used_values(TEXT, behind=trace))
    assert rule == caught.value.rule


def test_the_trees_of_the_examples_add_up():
    """Every real tree is kept; its title is the cumulative sum of the peak lines."""
    traces = 0
    for sample in of_fleet():
        dump = parse(sample.files)
        if dump.stack_trace is not None:
            title = dump.stack_trace.partition("\n")[0]
            assert title.endswith(f": {spaced(dump.peak_buffers.cumulative_bytes[-1])} bytes")
            traces += 1
    assert traces > 20
