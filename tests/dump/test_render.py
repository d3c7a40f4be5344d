"""Layout toggles: the same facts written in another dialect are read back as the same facts.

The dialects are independent features, so a real dump rewritten with any of them is one that some version could have
printed: this is how dialects that no real dump at hand shows are tested with real content.
"""

import contextlib
from collections.abc import Callable
from dataclasses import fields
from itertools import accumulate

import pytest

from bufferhouse.dump import Dump, DumpError, parse, render
from bufferhouse.dump.columns import PeakBuffers
from tests import oracle
from tests.dump.facts import assert_read_back, facts
from tests.samples import of_fleet

SAMPLES = {sample.name: sample.files for sample in of_fleet()}
# Small dumps of every dialect the examples have, and the seeds.
VICTIMS = [name for name in SAMPLES if "seeds/" in name or "donate_swap" in name or "jit_fft" in name]
PAIRED = [
    name
    for name in VICTIMS
    if name.startswith(("seeds/000", "seeds/004"))
    or ("donate_swap" in name and name.startswith(("jaxlib-0.4.25", "jaxlib-0.8.0", "jaxlib-0.10.0", "tpu")))
]
# One for each layout of files, and the dialect with pointers.
FIRST = [
    name for name in PAIRED if name.startswith(("jaxlib-0.4.25", "jaxlib-0.10.0", "seeds/000", "tpu-v5e-jaxlib-0.8.3"))
]
Toggle = Callable[[Dump], object]


def refuse_unless(condition: bool) -> None:
    """Leave a toggle that makes no sense for a dump: it would be another dump, or none."""
    if not condition:
        raise NotImplementedError


def pointers(dump: Dump) -> None:
    dump.allocations.pointer = [f"0x{0x55D0C8E0 + row:x}" for row in range(len(dump.allocations.pointer))]


def no_pointers(dump: Dump) -> None:
    dump.allocations.pointer = [None] * len(dump.allocations.pointer)


def pages(dump: Dump) -> None:
    dump.allocations.page = [row % 3 for row in range(len(dump.allocations.page))]


def no_pages(dump: Dump) -> None:
    dump.allocations.page = [None] * len(dump.allocations.page)


def no_human(dump: Dump) -> None:
    dump.total_human = None


def human(dump: Dump) -> None:
    refuse_unless(dump.total_bytes is not None)
    dump.total_human = "18.5KiB"


def no_total(dump: Dump) -> None:
    refuse_unless(dump.file_layout == "combined")
    dump.total_bytes = dump.total_human = None


def glue(dump: Dump) -> None:
    refuse_unless(dump.has_instruction_texts and dump.file_layout == "combined")
    dump.is_glued = True


def no_glue(dump: Dump) -> None:
    dump.is_glued = False


def space(dump: Dump) -> None:
    refuse_unless(dump.has_instruction_texts)
    dump.has_instruction_space = True


def no_space(dump: Dump) -> None:
    refuse_unless(dump.has_instruction_texts)
    dump.has_instruction_space = False


def no_texts(dump: Dump) -> None:
    dump.values.instruction_text = []
    dump.has_instruction_texts = dump.is_glued = False
    dump.has_instruction_space = None


def empty_lists(dump: Dump) -> None:
    refuse_unless(dump.none_form is not None)
    dump.none_form = "empty"


def none_lists(dump: Dump) -> None:
    refuse_unless(dump.none_form is not None)
    dump.none_form = "none"


def unknown_uses(dump: Dump) -> None:
    """Nothing is known of any use: not the same facts, but a form no real dump shows."""
    dump.values.uses_state = ["uninitialized"] * len(dump.values.uses_state)
    dump.uses.count = [0] * len(dump.uses.count)
    dump.uses.instruction, dump.uses.operand_number, dump.uses.operand_shape_index = [], [], []
    dump.none_form = None


def value_bytes(dump: Dump) -> dict[tuple[str, str], int]:
    """The logical bytes of every value, as peak lines list them since D8b."""
    v = dump.values
    columns = zip(v.instruction, v.shape_index, v.shape, strict=True)
    return {(name, index or "{}"): oracle.logical_bytes(shape) for name, index, shape in columns}


def shape_of(text: str) -> str:
    """The shape in an instruction text, followed bracket by bracket."""
    start = end = text.index(" = ") + len(" = ")
    depth = 0
    while depth or text[end] != " ":
        depth += (text[end] in "([{") - (text[end] in ")]}")
        end += 1
    return text[start:end]


def instruction_bytes(dump: Dump) -> dict[str, int]:
    """The logical bytes of the whole shape of every defining instruction, as peak lines list them before D8b."""
    v = dump.values
    return {
        name: oracle.logical_bytes(shape_of(text)) for name, text in zip(v.instruction, v.instruction_text, strict=True)
    }


def list_peak(dump: Dump, form: str, rows: list[tuple[str, str, int]]) -> None:
    refuse_unless(dump.live_range_state == "present" and bool(rows))
    listed = [row[2] for row in rows]
    totals = list(accumulate(listed)) if form == "cumulative" else [None] * len(rows)
    dump.peak_form = form
    dump.peak_buffers = PeakBuffers([row[0] for row in rows], [row[1] for row in rows], listed, totals)
    dump.stack_trace = dump.stack_trace if form == "cumulative" else None


def alive_at_peak(dump: Dump) -> list[tuple[str, str]]:
    refuse_unless(dump.live_range_state == "present")
    r, peak = dump.live_ranges, dump.reported_peak_position
    columns = zip(r.instruction, r.shape_index, r.start_position, r.end_position, strict=True)
    return [(name, index) for name, index, start, end in columns if start <= peak <= end]


def peak_by_name(dump: Dump) -> None:
    """D4 to D8a: the bytes of the whole defining instruction, in the order of the ranges, without an index."""
    refuse_unless(dump.has_instruction_texts)
    sizes = instruction_bytes(dump)
    list_peak(dump, "name", [(name, index, sizes[name]) for name, index in alive_at_peak(dump)])


def peak_by_index(dump: Dump) -> None:
    """D8b: the bytes of the value, in the order of the ranges."""
    sizes = value_bytes(dump)
    list_peak(dump, "indexed", [(*key, sizes[key]) for key in alive_at_peak(dump)])


def peak_by_size(dump: Dump) -> None:
    """D9 and later: sorted by bytes, and cumulative."""
    sizes = value_bytes(dump)
    rows = [(*key, sizes[key]) for key in alive_at_peak(dump)]
    list_peak(dump, "cumulative", sorted(rows, key=lambda row: (-row[2], row[0], row[1])))


def no_trace(dump: Dump) -> None:
    dump.stack_trace = None


def split(dump: Dump) -> None:
    refuse_unless(not dump.is_glued and dump.total_bytes is not None)
    dump.file_layout = "split"
    dump.trailing_newlines = {"allocations": 0, "values": 0, "live_range": 0}
    if dump.live_range_state == "absent":
        del dump.trailing_newlines["live_range"]


def combined(dump: Dump) -> None:
    refuse_unless(dump.live_range_state != "not available")
    refuse_unless(dump.live_range_state != "absent" or not dump.has_instruction_texts)
    dump.file_layout = "combined"
    dump.trailing_newlines = {"combined": 0}


def drop_peak(dump: Dump) -> None:
    dump.reported_peak_position = dump.peak_form = dump.stack_trace = None
    dump.peak_buffers = PeakBuffers()


def unbounded(dump: Dump) -> None:
    refuse_unless(dump.live_range_state == "present")
    drop_peak(dump)
    dump.live_range_state = "unbounded"


def drop_live_range(dump: Dump) -> None:
    drop_peak(dump)
    dump.max_position, dump.schedule = None, []
    dump.live_ranges = type(dump.live_ranges)()


def not_available(dump: Dump) -> None:
    refuse_unless(dump.file_layout == "split" and "live_range" in dump.trailing_newlines)
    drop_live_range(dump)
    dump.live_range_state = "not available"


def no_live_range(dump: Dump) -> None:
    refuse_unless(not dump.has_instruction_texts or dump.file_layout == "split")
    drop_live_range(dump)
    dump.live_range_state = "absent"
    dump.trailing_newlines.pop("live_range", None)


def line_feeds(dump: Dump) -> None:
    dump.trailing_newlines = {role: number + 1 for number, role in enumerate(dump.trailing_newlines)}


TOGGLES: tuple[Toggle, ...] = (
    pointers, no_pointers, pages, no_human, human, no_total, glue, no_glue, space, no_space, no_texts, none_lists,
    unknown_uses, peak_by_name, peak_by_index, peak_by_size, no_trace, split, combined, unbounded, not_available,
    no_live_range, line_feeds,
)  # fmt: skip
# No example has these features to lose: only a toggle before them gives them something to do.
UNDOING: tuple[Toggle, ...] = (no_pages, empty_lists)


def toggled(files: dict[str, bytes], *toggles: Toggle) -> Dump:
    """Read a dump and change its layout, as far as each change is one of this dump."""
    dump = parse(files)
    for toggle in toggles:
        with contextlib.suppress(NotImplementedError):  # raised before anything is changed
            toggle(dump)
    return dump


@pytest.mark.parametrize("names", [VICTIMS, pytest.param([*SAMPLES], marks=pytest.mark.soak)], ids=["small", "all"])
@pytest.mark.parametrize("toggle", TOGGLES, ids=lambda toggle: toggle.__name__)
def test_a_dump_in_another_layout_holds_the_same_facts(toggle: Toggle, names: list[str]):
    """An example with one feature changed is read back to the changed columns and to all others unchanged."""
    changed = 0
    for name in names:
        other = toggled(SAMPLES[name], toggle)
        changed += render(other) != SAMPLES[name]
        assert_read_back(other)
    assert changed > 0


@pytest.mark.parametrize("names", [FIRST, pytest.param(PAIRED, marks=pytest.mark.soak)], ids=["some", "all"])
@pytest.mark.parametrize("first", [*TOGGLES, *UNDOING], ids=lambda toggle: toggle.__name__)
def test_two_changes_of_the_layout_are_independent(first: Toggle, names: list[str]):
    """Any feature beside any other is a layout as well, whichever comes first."""
    for name in names:
        for second in (*TOGGLES, *UNDOING):
            assert_read_back(toggled(SAMPLES[name], first, second))


def test_all_old_features_at_once():
    """A dump of today as the versions of 2019, 2021, 2023 and 2024 would have printed it."""
    for name in VICTIMS:
        files = SAMPLES[name]
        assert_read_back(toggled(files, no_trace, combined, no_texts, no_live_range, no_total, pointers, empty_lists))
        assert_read_back(toggled(files, combined, peak_by_name, no_human, no_texts, pointers, no_pages))
        assert_read_back(toggled(files, combined, peak_by_name, human, no_space, no_pointers, empty_lists))
        assert_read_back(toggled(files, combined, peak_by_name, human, space, glue))
        assert_read_back(toggled(files, no_glue, peak_by_size, split, none_lists, pages, line_feeds))


def test_an_index_that_is_not_printed_is_recovered():
    """Peak lines by name alone give the same (name, index) rows as those with an index."""
    recovered = 0
    for files in SAMPLES.values():
        dump = toggled(files, peak_by_name)
        if dump.peak_form == "name":
            again = parse(render(dump))
            assert alive_at_peak(dump) == list(
                zip(again.peak_buffers.instruction, again.peak_buffers.shape_index, strict=True)
            )
            recovered += len({name for name, _ in alive_at_peak(dump)}) < len(alive_at_peak(dump))
    assert recovered > 0  # some name stands on several lines


TRACE = "  Stack trace breakdown for peak usage: 0 bytes\n"


def other_cell(cell: object, column: str) -> object:
    """Return another value of the same kind: one that the format could print."""
    if isinstance(cell, bool):
        return not cell
    if isinstance(cell, int):
        return cell + 1
    if cell is None:
        texts = {"pointer": "0x1", "total_human": "1B", "stack_trace": TRACE}
        return texts.get(column, "{7}" if "index" in column else 1)
    return {
        "empty": "none", "none": "empty", "name": "indexed", "indexed": "name", "cumulative": "indexed",
        "utf-8": "latin-1", "latin-1": "utf-8", "combined": "split", "split": "combined", "present": "unbounded",
        "listed": "empty",
    }.get(cell, f"{cell[:-1]}9}}" if cell.startswith("{") and column != "instruction_text" else f"{cell}9")  # fmt: skip


def notices(dump: Dump, files: dict[str, bytes]) -> bool:
    """Return whether a changed dump is told from the one it was: by its bytes, or because they are read otherwise."""
    try:
        written = render(dump)
        return written != files or parse(written) != dump
    except (DumpError, ValueError, StopIteration, IndexError, KeyError, UnicodeError):
        return True


TABLES = ("allocations", "values", "cross_color_values", "positions", "uses", "live_ranges", "peak_buffers")


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_cell_of_any_column_is_noticed(table: str):
    """No column is a copy that rebuilding does not look at: another cell gives other bytes or another reading."""
    seen = set()
    for name in VICTIMS:
        dump = parse(SAMPLES[name])
        if table == "cross_color_values":
            dump.cross_color_values = type(dump.cross_color_values)([0], [0], [3])
        files = render(dump)
        for column in fields(getattr(dump, table)):
            cells = getattr(getattr(dump, table), column.name)
            for row in range(0, len(cells), 1 + len(cells) // 20):
                cell, cells[row] = cells[row], other_cell(cells[row], column.name)
                assert notices(dump, files), f"{name}: {table}.{column.name}[{row}]"
                cells[row] = cell
                seen.add(column.name)
    assert {column.name for column in fields(type(getattr(Dump(), table)))} == seen


def test_a_changed_feature_is_noticed():
    """So it is with the fields that stand for the whole dump."""
    seen = set()
    for name in VICTIMS:
        files = SAMPLES[name]
        for field in fields(Dump):
            dump = parse(files)
            value = getattr(dump, field.name)
            if field.name in TABLES:
                continue
            if isinstance(value, list):
                changed = [*value, "more"]
            elif isinstance(value, dict):
                changed = {role: count + 1 for role, count in value.items()}
            else:
                changed = other_cell(value, field.name)
            setattr(dump, field.name, changed)
            assert notices(dump, files), f"{name}: {field.name}"
            seen.add(field.name)
    assert {field.name for field in fields(Dump)} - set(TABLES) == seen


def test_facts_do_not_depend_on_the_layout():
    """What the slow reader would say of both is equal where the change is one of layout alone."""
    layout_alone = (no_human, no_glue, none_lists, glue, space, no_space, line_feeds, no_trace)
    for name in VICTIMS:
        files = SAMPLES[name]
        assert facts(parse(files)) == facts(parse(render(toggled(files, *layout_alone))))
