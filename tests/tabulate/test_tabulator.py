"""Parsed dumps to frames: the columns of the contracts, names and shapes stored once."""

from pathlib import Path

import polars as pl
import pytest

from bufferhouse.dump import parse
from bufferhouse.dump.identity import content_of, key_of
from bufferhouse.tabulate.batch import COLUMNS, Batch, breaches, merged
from bufferhouse.tabulate.shape import ShapeError
from bufferhouse.tabulate.tabulator import Tabulator
from schemas import TABLES
from tests.synthetic import Slot, dump_text, small_dump

BLOCKS = """\
BufferAssignment:
allocation 0: size 64, preallocated-temp:
 value: <3 add.3 @0> (size=64,offset=0): f32[16]{0}
 value: <5 pair{0} @0> (size=32,offset=0): f32[8]{0}
 reused by buffers of a different color:
  value: <5 pair{0} @0> (color=2)
  value: <3 add.3 @0> (color=1)
allocation 1: size 8, preallocated-temp:
 value: <7 pair{1} @0> (size=8,offset=0): f32[2]{0}
 reused by buffers of a different color:
  value: <7 pair{1} @0> (color=1)

Total bytes used: 72 (72B)

Used values:
<3 add.3 @0>
 positions:
  add.3
 uses:
  pair, operand 0
  reader, operand 1 {0}
 from instruction: %add.3 = f32[16]{0} add(%outer, f32[16]{0} %late)
<5 pair{0} @0>
 positions:
  pair {0}
  outer {1,0}
 uses:
 from instruction: %pair = (f32[8]{0}, f32[2]{0}) tuple()
<7 pair{1} @0>
 positions:
  pair {1}
 uses are not initialized yet.
 from instruction: %pair = (f32[8]{0}, f32[2]{0}) tuple()


HloLiveRange (max 2):
  InstructionSequence:
    0:pair
    1:add.3
  BufferLiveRange:
    add.3{}:1-2
    pair{0}:0-2
    pair{1}:0-0
  Peak memory could not be determined due to unbounded dynamic shape.
"""


def batch_of(*texts: bytes) -> Batch:
    tabulator = Tabulator()
    for text in texts:
        content = content_of({"combined": text})
        tabulator.add(parse(text), content, {"combined": len(text)})
    return tabulator.finish()


def rows_of(batch: Batch, table: str, *columns: str) -> list[tuple]:
    return batch.frames[table].select(columns).rows()


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_are_those_of_the_contract(table):
    """A tabulated batch has the names, order and types that schemas/ declares, also of tables without a row."""
    assert list(TABLES[table].types.items()) == list(batch_of(small_dump(1)).frames[table].schema.items())


def test_a_batch_meets_the_contracts():
    """What is tabulated passes validation, empty tables included."""
    assert ({}, {}, {}) == tuple(
        map(breaches, (batch_of(BLOCKS.encode()), batch_of(), batch_of(*map(small_dump, range(9)))))
    )


def test_names_are_interned_with_the_schedule_first():
    """Instruction ids of scheduled instructions are their positions; every name mentioned anywhere has one."""
    batch = batch_of(BLOCKS.encode())
    expected = [(0, "pair", 0), (1, "add.3", 1), (2, "outer", None), (3, "reader", None), (4, "late", None)]
    assert expected == rows_of(batch, "instructions", "instruction_id", "instruction_name", "schedule_position")


def test_lists_belong_to_their_values_and_blocks_in_order():
    """Further positions, uses and cross-color lines keep their order, their owner and what is not printed."""
    batch = batch_of(BLOCKS.encode())
    positions = rows_of(batch, "further_positions", "value_id", "ordinal", "instruction_id", "shape_index")
    assert [(5, 1, 2, "{1,0}")] == positions
    uses = rows_of(batch, "uses", "value_id", "ordinal", "instruction_id", "operand_number", "operand_shape_index")
    assert [(3, 0, 0, 0, None), (3, 1, 3, 1, "{0}")] == uses
    assert [("listed",), ("empty",), ("uninitialized",)] == rows_of(batch, "hlo_values", "uses_state")
    cross = rows_of(batch, "cross_color_values", "allocation_index", "ordinal", "value_id", "memory_space")
    assert [(0, 0, 5, 2), (0, 1, 3, 1), (1, 0, 7, 1)] == cross


def test_equal_instruction_texts_are_stored_once():
    """Values of one instruction share its text; what can be read in it stands beside it."""
    batch = batch_of(BLOCKS.encode())
    columns = ("instruction_text_id", "instruction_id", "opcode", "operand_instruction_ids", "result_shape_id")
    assert [(0, 1, "add", [2, 4], 0), (1, 0, "tuple", [], 3)] == rows_of(batch, "instruction_texts", *columns)
    assert [(0,), (1,), (1,)] == rows_of(batch, "hlo_values", "instruction_text_id")


def test_shapes_are_stored_once_for_all_dumps():
    """Equal shape texts of different dumps, of values or results, are one row; values carry the bytes of theirs."""
    batch = batch_of(BLOCKS.encode(), BLOCKS.replace("add.3", "sub.1").encode())
    shapes = [(0, "f32[16]{0}"), (1, "f32[8]{0}"), (2, "f32[2]{0}"), (3, "(f32[8]{0}, f32[2]{0})")]
    assert shapes == rows_of(batch, "shapes", "shape_id", "shape_text")
    assert [(0, 64, 64), (1, 32, 32), (2, 8, 8)] * 2 == rows_of(
        batch, "hlo_values", "shape_id", "logical_bytes", "physical_bytes"
    )


def test_merged_batches_number_shapes_anew():
    """Batches of several processes are one batch, as if one process had read everything but for the order of shapes."""
    texts = [BLOCKS.encode(), small_dump(1), BLOCKS.replace("add.3", "sub.1").encode(), small_dump(2)]
    whole, together = batch_of(*texts), merged([batch_of(*texts[:1]), batch_of(*texts[1:2]), batch_of(*texts[2:])])
    shapes = [batch.frames["shapes"]["shape_text"] for batch in (whole, together)]
    assert set(shapes[0]) == set(shapes[1])
    places = pl.Series([list(shapes[0]).index(text) for text in shapes[1]], dtype=pl.Int64)
    same_ids = together.with_shape_ids(places)
    assert whole.frames["shapes"].rows() == same_ids.frames["shapes"].sort("shape_id").rows()
    assert {table: frame.rows() for table, frame in whole.frames.items() if table != "shapes"} == {
        table: frame.rows() for table, frame in same_ids.frames.items() if table != "shapes"
    }


def test_a_dump_with_a_shape_that_is_none_leaves_no_row():
    """`add` takes a whole dump or nothing of it."""
    tabulator = Tabulator()
    bad = dump_text([Slot(0, 1, 0, 8), Slot(0, 1, 8, 8, shape="f32[4")])
    with pytest.raises(ShapeError):
        tabulator.add(parse(bad), content_of({"combined": bad}), {"combined": len(bad)})
    frames = tabulator.finish().frames
    assert {} == {table: len(frame) for table, frame in frames.items() if len(frame) and table != "shapes"}


def test_files_and_features_of_a_dump(fleet):
    """A split dump has a row for each of its files, with their own hashes, and a text as long as all of them."""
    stem = next((fleet / "jaxlib-0.10.0").glob("*scalar_add*-buffer-assignment.txt"))
    base = str(stem).removesuffix("-buffer-assignment.txt")
    suffixes = ("-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt")
    files = {
        role: Path(base + suffix).read_bytes()
        for role, suffix in zip(("allocations", "values", "live_range"), suffixes, strict=True)
    }
    content = content_of(files)
    sizes = {role: len(data) for role, data in files.items()}
    tabulator = Tabulator()
    signature_id = tabulator.add(parse(files), content, sizes)
    batch = tabulator.finish()
    expected = [(role, content.file_sha256[role], sizes[role], 0) for role in files]
    assert expected == rows_of(batch, "dump_files", "role", "sha256", "text_bytes", "trailing_newlines")
    [row] = batch.frames["dumps"].to_dicts()
    assert ("split", sum(sizes.values()), content.sha256) == (row["file_layout"], row["text_bytes"], row["sha256"])
    assert key_of("(f32[])->(f32[])") == signature_id == row["signature_id"]
