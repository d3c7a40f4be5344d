"""Balances of allocations and owners at the peak against brute force: each byte once, and every sum exact.

tests/models/test_marts.py compares both for dumps whose values share bytes in every way.
"""

import re
from collections import Counter
from itertools import pairwise

import pytest

from bufferhouse.warehouse.warehouse import Warehouse
from tests import oracle
from tests.models.readings import alive_in, by_dump, oracle_dumps, owned_parts
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

BALANCE = """
    SELECT dump_id, allocation_index, memory_space, kind, size_bytes, occupied_peak_position, occupied_peak_bytes,
        element_bytes, layout_padding_bytes, slack_bytes, tuple_table_bytes, other_moments_bytes,
        without_live_range_bytes, stride_bytes, unused_bytes
    FROM marts.allocation_balance_v1 ORDER BY dump_id, allocation_index
"""
OWNERS = """
    SELECT dump_id, memory_space, value_id, allocation_index, kind, instruction_name, opcode, shape_text,
        start_position, end_position, occupied_peak_position, size_bytes, owned_bytes, element_bytes,
        layout_padding_bytes, slack_bytes, tuple_table_bytes, peak_share
    FROM marts.peak_buffers_v1 ORDER BY dump_id, memory_space, value_id
"""
OPCODE = re.compile(r"([a-z][a-z0-9-]*)\(")


def union(slots: list[tuple[int, int]]) -> int:
    """Bytes in the union of slots, each of which is its first byte and the one behind its last."""
    edges = sorted({edge for slot in slots for edge in slot})
    return sum(right - left for left, right in pairwise(edges) if any(a <= left and right <= b for a, b in slots))


def air_of(slots: list[tuple[int, int]]) -> int:
    """Bytes between slots whose offsets stand at the most frequent distance, if that comes up twice."""
    offsets = sorted({left for left, right in slots if right > left})
    distances = Counter(b - a for a, b in pairwise(offsets))
    if not distances or max(distances.values()) < 2:
        return 0
    stride = min(distance for distance, times in distances.items() if times == max(distances.values()))
    air = 0
    for a, b in pairwise(offsets):
        if b - a == stride:
            air += stride - union([(max(a, left), min(b, right)) for left, right in slots if left < b and right > a])
    return air


def balance_of(dump: dict, allocation: dict) -> tuple:
    """The row of an allocation, from its own values alone."""
    values = [dump["values"][number] for number in allocation["values"]]
    alone = {**dump, "allocations": [allocation], "values": {value["id"]: value for value in values}}
    kind, space = oracle.kind_of(allocation).replace("_", "-"), allocation["memory_space"]
    head = (allocation["index"], space, kind, allocation["size"])
    if dump["live_ranges"] is None:
        return (*head, *[None] * 10)
    occupied, position = oracle.peak(oracle.occupied(alone, space))
    owned = {} if position is None else oracle.owners(alone, space, position)
    parts = [owned_parts(dump["values"][number], count) for number, count in owned.items()]
    at_peak = tuple(map(sum, zip(*parts, strict=True))) or (0,) * 5
    assert occupied == at_peak[0]
    slots = [(value["offset"], value["offset"] + value["size"]) for value in values]
    lived = [slot for slot, value in zip(slots, values, strict=True) if value["live_range"] and kind != "thread-local"]
    covered, air = union(slots), air_of(slots)
    tail = (union(lived) - occupied, covered - union(lived), air, allocation["size"] - covered - air)
    return (*head, position, *at_peak, *tail)


def assert_closed(row: tuple) -> None:
    """Eight parts sum to the size; none is negative, slack at the peak no more than the others."""
    size, parts = row[3], row[6:]
    assert size == sum(parts)
    assert min(parts) >= 0


def test_balances_of_the_fleet_are_those_of_brute_force(example, fleet):
    """Every allocation of every dump: where its bytes go at its own occupied peak, exact to the byte."""
    found, dumps = by_dump(example, BALANCE), oracle_dumps(example, fleet)
    assert dumps.keys() == found.keys()
    for dump_id, dump in dumps.items():
        assert [balance_of(dump, allocation) for allocation in dump["allocations"]] == found[dump_id]
        for row in found[dump_id]:
            assert_closed(row)
    everything = [row for rows in found.values() for row in rows]
    assert all(any(row[part] for row in everything) for part in (5, 6, 7, 9, 10, 11, 12))


def balances(laboratory: Warehouse, text: bytes) -> list[tuple]:
    [dump_id] = load_texts(laboratory, [text])
    return by_dump(laboratory.con, BALANCE)[dump_id]


def test_tables_at_a_constant_stride_by_hand(laboratory):
    """Four tables of 512 bytes at 16 KiB, one of which lives alone: the air up to the last of them is stride."""
    kib = 16 * 1024
    tables = [Slot(number, number + (number < 2), number * kib, 512) for number in range(4)]
    expected = (0, 0, "temp", 3 * kib + 512, 1, 1024, 1024, 0, 0, 0, 1024, 0, 3 * (kib - 512), 0)
    assert [expected] == balances(laboratory, dump_text(tables))


def test_air_that_comes_up_once_is_not_a_stride(laboratory):
    """Between two slots there is one distance only, and the bytes between them are unused."""
    slots = [Slot(0, 2, 0, 16), Slot(0, 2, 64, 16)]
    assert [(0, 0, "temp", 80, 0, 32, 32, 0, 0, 0, 0, 0, 0, 48)] == balances(laboratory, dump_text(slots))


def test_without_live_ranges_the_parts_are_unknown(laboratory):
    """A dump that stops behind its allocations has sizes and nulls, and the check is silent."""
    text = dump_text([Slot(0, 1, 0, 72)]).split(b"\n\n")[0] + b"\n"
    assert [(0, 0, "temp", 72, *[None] * 10)] == balances(laboratory, text)
    assert [] == laboratory.con.execute("FROM checks.balances_close").fetchall()


def test_all_of_a_thread_local_allocation_is_without_a_live_range(laboratory):
    """Its bytes are taken inside instructions, also where a dump gives its values a range."""
    text = dump_text([Slot(0, 2, 0, 56), Slot(1, 2, 0, 8, 1)], [", thread-local", ", preallocated-temp"])
    assert (0, 0, "thread-local", 56, None, 0, 0, 0, 0, 0, 0, 56, 0, 0) == balances(laboratory, text)[0]


def test_a_shape_that_is_split_over_cores_has_no_negative_padding(laboratory):
    """Its slot holds the largest piece, which is less than its elements: all owned bytes are elements."""
    text = dump_text([Slot(0, 2, 0, 32, shape="f32[16]{0:T(8)SC(0:8)}")])
    assert [(0, 0, "temp", 32, 0, 32, 32, 0, 0, 0, 0, 0, 0, 0)] == balances(laboratory, text)


def owners_of(dump: dict) -> list[tuple]:
    """A row for each value alive at the first position of the occupied peak of its memory space."""
    expected = []
    kinds = {a["index"]: oracle.kind_of(a) for a in dump["allocations"]}
    for space in sorted(oracle.reserved(dump)):
        peak, position = oracle.peak(oracle.occupied(dump, space))
        if position is None:
            continue
        owned = oracle.owners(dump, space, position)
        for value in sorted(alive_in(dump, space, position), key=lambda value: value["id"]):
            # A phi has no text of its own in some dialects; the opcode follows the result's shape.
            text = value["instruction_text"]
            opcode = None if text is None else OPCODE.search(text.split(" = ", 1)[1])[1]
            parts = owned_parts(value, owned.get(value["id"], 0))
            head = (space, value["id"], value["allocation"], kinds[value["allocation"]], value["name"], opcode)
            lived = (value["shape"], *value["live_range"], position, value["size"])
            expected.append((*head, *lived, *parts, parts[0] / peak))
    return expected


def test_owners_at_the_peaks_of_the_fleet_are_those_of_brute_force(example, fleet):
    """Who is alive at each occupied peak, and how many bytes are whose."""
    found = by_dump(example, OWNERS)
    for dump_id, dump in oracle_dumps(example, fleet).items():
        assert owners_of(dump) == found[dump_id]


def test_owned_bytes_sum_to_the_peak_and_shares_to_one(example):
    """Per dump and memory space, each byte has exactly one owner."""
    sums = example.execute(
        "SELECT p.occupied_peak_bytes, SUM(b.owned_bytes), SUM(b.peak_share) FROM marts.peak_memory_v1 AS p"
        " LEFT JOIN marts.peak_buffers_v1 AS b USING (dump_id, memory_space)"
        " GROUP BY p.dump_id, p.memory_space, p.occupied_peak_bytes"
    ).fetchall()
    assert [peak for peak, _, _ in sums] == [owned or 0 for _, owned, _ in sums]
    assert [float(peak > 0) for peak, _, _ in sums] == pytest.approx([share or 0.0 for _, _, share in sums])


def test_owners_know_the_framework_operation_and_the_source_line(example, fleet):
    """Both are what the metadata of the instruction's text says, and null where it says nothing."""
    found = by_dump(example, "SELECT dump_id, value_id, op_name, source_file, source_line FROM marts.peak_buffers_v1")
    named = 0
    for dump_id, dump in oracle_dumps(example, fleet).items():
        for value_id, op_name, source_file, source_line in found.get(dump_id, []):
            text = dump["values"][value_id]["instruction_text"] or ""
            metadata = text.rpartition(" metadata={")[2]
            assert [op_name] == (quoted("op_name", metadata) or [None])
            assert [source_file] == (quoted("source_file", metadata) or [None])
            assert [source_line] == ([int(line) for line in re.findall(r"source_line=(\d+)", metadata)] or [None])
            named += op_name is not None
    assert 300 < named


def quoted(field: str, metadata: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", text) for text in re.findall(rf'{field}="((?:[^"\\]|\\.)*)"', metadata)]
