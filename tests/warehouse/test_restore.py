"""Rows back to dumps: whatever the dialect, the bytes that were read."""

from collections.abc import Iterator

import duckdb
import pytest

from bufferhouse.dump.identity import content_of
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.restore import chunks, rendered, stored_frames
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import load_texts

ODD = [
    small_dump(1) + b"\n\n",  # line feeds too many
    small_dump(2).replace(b" custom-call()", b' custom-call(), metadata={op_name="\xff\xfe"}', 1),  # no UTF-8
    dump_text([]),  # no value at all
    dump_text([Slot(0, 1, 0, 8, shape="(f32[2]{0}, s32[])")]),
    b"BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <0 v @0> (size=8,offset=0): u8[8]{0}\n",
]


@pytest.fixture(scope="module")
def loaded() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a warehouse of odd dumps and a usual one, in one load."""
    with writing(None) as warehouse:
        load_texts(warehouse, [*ODD, small_dump(9)])
        yield warehouse.con


@pytest.mark.parametrize("text", ODD, ids=["line feeds", "latin-1", "empty", "tuple", "allocations only"])
def test_odd_dumps_render_to_what_was_read(loaded, text):
    """What is rare is kept, too."""
    [one] = rendered(stored_frames(loaded, [content_of({"combined": text}).dump_id]))
    assert {"combined": text} == one.files


def test_a_dump_that_cannot_be_rendered_says_why_and_stops_no_other():
    """A row that points at nothing is the fault of one dump."""
    with writing(None) as warehouse:
        ids = load_texts(warehouse, [small_dump(number) for number in range(3)])
        warehouse.con.execute("DELETE FROM raw.instructions WHERE dump_id = ? AND instruction_id = 0", [ids[1]])
        warehouse.con.execute("UPDATE raw.hlo_values SET size_bytes = size_bytes + 1 WHERE dump_id = ?", [ids[2]])
        found = {one.dump_id: one for one in rendered(stored_frames(warehouse.con, ids))}
    assert {"combined": small_dump(0)} == found[ids[0]].files
    assert "cannot be rendered: KeyError: 0" == found[ids[1]].fault
    assert found[ids[2]].fault.startswith("renders to ")
    assert [{}, {}] == [found[ids[1]].files, found[ids[2]].files]


@pytest.fixture(scope="module")
def five() -> Iterator[tuple[duckdb.DuckDBPyConnection, list[int]]]:
    """A connection to a warehouse of five dumps of about equal size, and their ids."""
    with writing(None) as warehouse:
        ids = load_texts(warehouse, [small_dump(number) for number in range(5)])
        yield warehouse.con, ids


@pytest.mark.parametrize(
    ("dumps", "size", "expected"), [(2, 1 << 20, [2, 2, 1]), (500, 1100, [2, 2, 1]), (500, 1, [1] * 5)]
)
def test_chunks_are_bounded_by_number_and_bytes(five, dumps, size, expected):
    """So many dumps, or so many bytes of text, whichever comes first; one at least."""
    con, ids = five
    assert expected == [len(frames["dumps"]) for frames in chunks(con, ids, dump_count=dumps, text_bytes=size)]
