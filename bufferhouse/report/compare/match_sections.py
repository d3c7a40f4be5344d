"""What was matched between the peaks of two compilations of a program, and what was not: tables of a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from bufferhouse.query.statements import Record
from bufferhouse.report.run.sections import space_key
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import counted, human_bytes, printable, space_title
from bufferhouse.report.text.sections import Section

LISTED = 200  # rows of a program: of five programs a page stays small
MATCHES, UNMATCHED = "compare_matches", "compare_unmatched"
_NAME = 40  # characters of an instruction
_MATCHES = [
    Column("before_instruction", "before", limit=_NAME),
    Column("after_instruction", "after", limit=_NAME),
    Column("difference_bytes", "difference", "change"),
    Column("before_owned_bytes", "owned before", "bytes"),
    Column("after_owned_bytes", "owned after", "bytes"),
    Column("before_slot_bytes", "slot before", "bytes"),
    Column("after_slot_bytes", "slot after", "bytes"),
    Column("shape", "shape"),
    Column("before_start_position", "from, before", "count"),
    Column("before_end_position", "to, before", "count"),
    Column("after_start_position", "from, after", "count"),
    Column("after_end_position", "to, after", "count"),
    Column("tier", "matched by"),
]
_UNMATCHED = [
    Column("instruction", "instruction", limit=_NAME),
    Column("side", "at the peak"),
    Column("difference_bytes", "difference", "change"),
    Column("slot_bytes", "slot", "bytes"),
    Column("shape", "shape"),
    Column("start_position", "from", "count"),
    Column("end_position", "to", "count"),
    Column("cause", "cause"),
    Column("like_instruction", "on the other side", limit=_NAME),
    Column("like_memory_space", "memory space there", "count"),
    Column("like_start_position", "from there", "count"),
    Column("like_end_position", "to there", "count"),
    Column("tier", "found by"),
]


def matched_section(row: Record, where: Mapping[str, Any], records: Sequence[Record]) -> Section:
    """Return the values of a program side by side; `records` are all of `match_records`, of which it lists the first.

    `row` is the record of `compare_programs`. A section of which nothing is left out holds all records.
    """
    differing = sum(bool(one["difference_bytes"]) for one in records)
    lines = [
        f"{counted(len(records), 'pair')} of values at both peaks: {differing:,} differ, {len(records) - differing:,} "
        "own equal bytes. The biggest differences first. Each byte that several values share is owned by one of them.",
        *_left(records, "after_owned_bytes"),
    ]
    name = f"matched-{space_key(row)}-{row['status_rank']}"
    title = f"Matched at the peaks of {_of(row)}"
    return Section(title, lines, _MATCHES, records[:LISTED], name, MATCHES, where)


def unmatched_section(row: Record, where: Mapping[str, Any], records: Sequence[Record]) -> Section:
    """Return the values that are at one of the peaks only; `records` are all of `unmatched_records`."""
    befores = sum(one["side"] == "before" for one in records)
    lines = [
        f"Without a partner are {befores:,} of the peak before and {len(records) - befores:,} of the peak after. With "
        "the matched ones their differences sum to the change of the occupied peak.",
        *_left(records, "difference_bytes"),
    ]
    name = f"unmatched-{space_key(row)}-{row['status_rank']}"
    title = f"Unmatched at the peaks of {_of(row)}"
    return Section(title, lines, _UNMATCHED, records[:LISTED], name, UNMATCHED, where)


def _of(row: Record) -> str:
    return f"{printable(row['program_label'], 80)} in {space_title(row['platform'], row['memory_space'])}"


def _left(records: Sequence[Record], column: str) -> list[str]:
    """Return what is said of the rows that are not in the page."""
    left = records[LISTED:]
    if not left:
        return []
    differing = sum(bool(one["difference_bytes"]) for one in left)
    size = human_bytes(sum(abs(one[column]) for one in left))
    return [
        f"The first {LISTED} are listed; {len(left):,} more with {size} are left out, {differing:,} of which differ."
    ]
