"""Where padding comes from, by tile and by source, and footprints: sums to what other marts and the compiler say."""

import gzip
import json
import re
from collections import Counter

import pytest

from bufferhouse.paths import CHECKOUT
from tests import oracle
from tests.models.readings import oracle_dumps, owned_parts
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

TRUTH = CHECKOUT / "tests" / "data" / "truth"
LAYOUT = re.compile(r"(?P<type>[a-z][a-z0-9]*)\[[^\]]*\](?:\{(?P<layout>[0-9,]*)(?::T(?P<tiles>(?:\([^)]*\))+))?)?")
FIGURES = """value_count_all_values, slot_bytes_all_values, layout_padding_bytes_all_values, slack_bytes_all_values,
    occupied_bytes, layout_padding_bytes, slack_bytes"""
SAID = re.compile(r'(op_name|source_file)="((?:[^"\\]|\\.)*)"')


def figures_of(dump: dict):
    """Each value, its memory space, and its figures: one, slot, padding, slack; at the peak owned, padding, slack."""
    owned: dict[int, int] = {}
    for space in oracle.reserved(dump):
        position = oracle.peak(oracle.occupied(dump, space))[1]
        owned |= {} if position is None else oracle.owners(dump, space, position)
    for allocation in dump["allocations"]:
        for number in allocation["values"]:
            value = dump["values"][number]
            slot, _, padding, slack, _ = oracle.filling_of(value)
            own, _, own_padding, own_slack, _ = owned_parts(value, owned.get(number, 0))
            figures = {"count": 1, "slot": slot, "padding": padding, "slack": slack}
            at_peak = {"owned": own, "own_padding": own_padding, "own_slack": own_slack}
            yield allocation["memory_space"], value, Counter(figures | at_peak)


def grouped(dump_id: int, dump: dict, key_of) -> dict[tuple, tuple]:
    """Sums of figures by dump, memory space and key; values without a key are left out."""
    sums: dict[tuple, Counter] = {}
    for space, value, figures in figures_of(dump):
        if key := key_of(value):
            # Counter's + drops what is not positive; slack may be negative.
            sums.setdefault((dump_id, space, *key), Counter()).update(figures)
    return {key: tuple(figures.values()) for key, figures in sums.items()}


def tile_of(value: dict) -> tuple | None:
    if value["shape"].startswith("("):
        return None
    match = LAYOUT.match(value["shape"].removeprefix("b("))
    return match["type"], match["layout"], match["tiles"]


def source_of(value: dict) -> tuple:
    metadata = (value["instruction_text"] or "").rpartition(" metadata={")[2]
    said = {field: re.sub(r"\\(.)", r"\1", text) for field, text in SAID.findall(metadata)}
    line = re.search(r"source_line=(\d+)", metadata)
    return said.get("op_name"), said.get("source_file"), line and int(line[1])


@pytest.mark.parametrize(
    ("mart", "keys", "key_of"),
    [
        ("padding_by_tile_v1", ("element_type", "layout", "tiles"), tile_of),
        ("padding_by_source_v1", ("op_name", "source_file", "source_line"), source_of),
    ],
)
def test_padding_of_the_fleet_by_what_it_comes_from(example, fleet, mart, keys, key_of):
    """Every group of every dump and memory space, over all values and at the peak, is what brute force sums."""
    width = 2 + len(keys)
    rows = example.execute(f"SELECT dump_id, memory_space, {', '.join(keys)}, {FIGURES} FROM marts.{mart}").fetchall()
    found = {row[:width]: row[width:] for row in rows}
    assert len(rows) == len(found)
    expected = {}
    for dump_id, dump in oracle_dumps(example, fleet).items():
        expected |= grouped(dump_id, dump, key_of)
    assert expected == found


@pytest.mark.parametrize(
    ("mart", "left_out"), [("padding_by_tile_v1", "LIKE '(%'"), ("padding_by_source_v1", "IS NULL")]
)
def test_nothing_is_lost_between_the_marts_of_padding(example, mart, left_out):
    """Groups sum to padding_waste: layout padding, and what is owned at the peak but for tuples, which have no tile."""
    sums = "SUM(layout_padding_bytes_all_values), SUM(layout_padding_bytes), SUM(occupied_bytes)"
    lost = example.execute(
        f"""
        WITH whole AS (
            SELECT dump_id, memory_space, layout_padding_bytes_all_values, layout_padding_bytes, occupied_bytes
            FROM marts.padding_waste_v1
            UNION ALL
            SELECT dump_id, memory_space, 0, 0, -owned_bytes FROM marts.peak_buffers_v1 WHERE shape_text {left_out}
        )
        SELECT dump_id, memory_space, {sums} FROM whole
        WHERE (dump_id, memory_space) IN (SELECT dump_id, memory_space FROM marts.{mart}) GROUP BY ALL
        EXCEPT SELECT dump_id, memory_space, {sums} FROM marts.{mart} GROUP BY ALL
        """
    ).fetchall()
    assert [] == lost


def test_without_live_ranges_what_is_padding_at_the_peak_is_unknown(laboratory):
    """A dump that stops behind its allocations has padding over all values; at the peak it has nulls, not zeros."""
    text = dump_text([Slot(0, 1, 0, 4096, shape="f32[8,64]{1,0:T(8,128)}")]).split(b"\n\n")[0] + b"\n"
    [dump_id] = load_texts(laboratory, [text])
    for mart in ("padding_by_tile_v1", "padding_by_source_v1"):
        found = laboratory.con.execute(f"SELECT {FIGURES} FROM marts.{mart} WHERE dump_id = ?", [dump_id]).fetchall()
        assert [(1, 4096, 2048, 0, None, None, None)] == found


def test_padding_of_arguments_and_outputs_is_there(laboratory):
    """Half a tile of a parameter is padding, with the parameter's layout, though no instruction made it."""
    shape = "f32[8,64]{1,0:T(8,128)}"
    text = dump_text(
        [Slot(0, 3, 0, 4096, shape=shape), Slot(1, 3, 0, 8, 1)], [", maybe-live-out", ", preallocated-temp"]
    )
    [dump_id] = load_texts(laboratory, [text])
    found = laboratory.con.execute(
        "SELECT element_type, layout, tiles, layout_padding_bytes, slack_bytes FROM marts.padding_by_tile_v1"
        " WHERE dump_id = ? ORDER BY 1",
        [dump_id],
    ).fetchall()
    assert [("f32", "1,0", "(8,128)", 2048, 0), ("u8", "0", None, 0, 0)] == found


def kind_by_proto(allocation: dict) -> str:
    """The part of a footprint that an allocation of the proto belongs to."""
    if allocation["is_thread_local"]:
        return "thread-local"
    if allocation["is_entry_computation_parameter"]:
        return "parameter"
    if allocation["maybe_live_out"]:
        return "output"
    return "constant" if allocation["is_constant"] else "temp"


def test_footprints_of_the_fleet_are_those_of_the_compiler(example):
    """Parameters, outputs, constants, temporaries and thread-local bytes from BufferAssignmentProto; their sums."""
    rows = example.execute(
        "SELECT run_name, relative_path, memory_space, parameter_bytes, output_bytes, constant_bytes, temp_bytes,"
        " thread_local_bytes, footprint_bytes, increment_bytes FROM marts.footprint_v1"
        " JOIN raw.observations USING (dump_id) JOIN raw.runs USING (run_id) WHERE run_name <> 'seeds'"
    ).fetchall()
    expected = set()
    for path in TRUTH.glob("*/*.gz"):
        sums: dict[int, Counter] = {}
        for allocation in json.loads(gzip.decompress(path.read_bytes()))["allocations"]:
            sums.setdefault(allocation["color"], Counter())[kind_by_proto(allocation)] += allocation["size"]
        for space, kinds in sums.items():
            parts = [kinds[kind] for kind in ("parameter", "output", "constant", "temp")]
            name = str(path.relative_to(TRUTH)).removesuffix(".truth.json.gz").split("/")
            expected.add((*name, space, *parts, kinds["thread-local"], sum(parts), sum(parts[1:])))
    assert expected == set(rows)
    assert all(any(row[part] for row in rows) for part in range(3, 8))


def test_footprints_are_what_is_reserved(example):
    """In every memory space, the seeds included."""
    disagreeing = example.execute(
        "SELECT * FROM marts.footprint_v1 AS f FULL JOIN marts.peak_memory_v1 AS p USING (dump_id, memory_space)"
        " WHERE (f.footprint_bytes, f.thread_local_bytes) IS DISTINCT FROM (p.reserved_bytes, p.thread_local_bytes)"
        " OR f.increment_bytes + f.parameter_bytes <> f.footprint_bytes"
    ).fetchall()
    assert [] == disagreeing


def test_a_donated_parameter_counts_once(laboratory):
    """What is both a parameter and an output is a parameter: its bytes are resident before the call."""
    headers = [
        ", parameter 0, shape |u8[64]| at ShapeIndex {}, maybe-live-out",
        ", maybe-live-out",
        ", constant",
        ", preallocated-temp",
        ", thread-local",
    ]
    text = dump_text([Slot(0, 5, 0, 64 >> number, number) for number in range(5)], headers)
    [dump_id] = load_texts(laboratory, [text])
    found = laboratory.con.execute("SELECT * FROM marts.footprint_v1 WHERE dump_id = ?", [dump_id]).fetchall()
    assert [(dump_id, 0, 64, 32, 16, 8, 4, 120, 56)] == found


def test_fragmentation_is_of_temporaries_and_within_their_gap(example):
    """Size, peak and gap are the balance's; air and unused bytes lie inside the gap, the rest is for other moments."""
    rows = example.execute(
        "SELECT f.*, b.* FROM marts.fragmentation_v1 AS f FULL JOIN"
        " (SELECT * FROM marts.allocation_balance_v1 WHERE kind = 'temp') AS b USING (dump_id, allocation_index)"
        " WHERE f.gap_bytes IS DISTINCT FROM b.size_bytes - b.occupied_peak_bytes"
        " OR f.gap_bytes <> b.other_moments_bytes + b.without_live_range_bytes + f.stride_bytes + f.unused_bytes"
    ).fetchall()
    assert [] == rows
    temporaries = "SELECT COUNT(*) FROM staging.allocations WHERE kind = 'temp'"
    assert (
        example.execute(temporaries).fetchall()
        == example.execute("SELECT COUNT(*) FROM marts.fragmentation").fetchall()
    )
