"""The values matched between the peaks of two compilations of a program, and the unmatched: tables of a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.run.sections import space_key
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import human_bytes, printable, space_title
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
    Column("cause_label", "cause"),
    Column("like_instruction", "on the other side", limit=_NAME),
    Column("like_memory_space", "memory space there", "count"),
    Column("like_start_position", "from there", "count"),
    Column("like_end_position", "to there", "count"),
    Column("tier", "found by"),
]


def matched_section(row: Record, where: Mapping[str, Any], records: Sequence[Record]) -> Section:
    """Return the values of a program side by side: the first of `records`, which are all of `match_records`.

    `row` is the record of `compare_programs`.
    """
    differing = sum(bool(one["difference_bytes"]) for one in records)
    lines = [
        f"{counted(len(records), 'pair')} of values at both peaks, the biggest differences first: {differing:,} with "
        f"different bytes, {len(records) - differing:,} with equal bytes. A shared byte is owned by one value.",
        *_left(records, "after_owned_bytes"),
    ]
    name = f"matched-{space_key(row)}-{row['status_rank']}"
    title = f"Matched at the peaks of {_of(row)}"
    return Section(title, lines, _MATCHES, records[:LISTED], name, MATCHES, where)


def unmatched_section(row: Record, where: Mapping[str, Any], records: Sequence[Record]) -> Section:
    """Return the values at one of the peaks only: the first of `records`, which are all of `unmatched_records`."""
    befores = sum(one["side"] == "before" for one in records)
    lines = [
        f"{counted(befores, 'value')} of the peak before and {len(records) - befores:,} of the peak after without a "
        "partner at the other peak. Their differences and those of the matched values sum to the change of the peak.",
        *_left(records, "difference_bytes"),
    ]
    name = f"unmatched-{space_key(row)}-{row['status_rank']}"
    title = f"Unmatched at the peaks of {_of(row)}"
    return Section(title, lines, _UNMATCHED, records[:LISTED], name, UNMATCHED, where)


def _of(row: Record) -> str:
    return f"{printable(row['program_label'], 80)} in {space_title(row['platform'], row['memory_space'])}"


def _left(records: Sequence[Record], column: str) -> list[str]:
    """Return the sentence about the rows that the page leaves out."""
    left = records[LISTED:]
    if not left:
        return []
    differing = sum(bool(one["difference_bytes"]) for one in left)
    size = human_bytes(sum(abs(one[column]) for one in left))
    return [
        f"The page lists the first {LISTED} and leaves out {len(left):,} with {size}; {differing:,} of these differ."
    ]
