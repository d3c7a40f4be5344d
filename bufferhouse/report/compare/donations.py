"""Donations that the run before took and this one does not: as records, and as a table."""

from collections.abc import Sequence

from bufferhouse.compare.donations import LostDonation
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.records import key_of
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.sections import Section

_COLUMNS = [
    Column("program", "program", limit=60),
    Column("parameter", "parameter"),
    Column("shape", "shape", limit=60, is_whole=True),
    Column("bytes", "bytes", "bytes"),
    Column("memory_space", "memory space", "count", rank=1),
    Column("reason", "why", limit=60, is_prose=True),
]
_SHOWN = 12  # on a terminal and in Markdown


def donation_records(lost: Sequence[LostDonation], programs: Sequence[Record]) -> list[Record]:
    """Return a record for each donation that is lost, the largest first; a `reason` of None is not known."""
    labels = {key_of(row)[:3]: row["program_label"] for row in programs}
    return [
        {
            "program": labels[one.program_id, one.before_dump_id, one.after_dump_id],
            "program_id": one.program_id,
            "parameter": f"{one.parameter_number}{one.parameter_shape_index}".removesuffix("{}"),
            "shape": one.parameter_shape,
            "bytes": one.size_bytes,
            "memory_space": one.memory_space,
            "reason": one.reason,
        }
        for one in lost
    ]


def donation_section(records: Sequence[Record]) -> list[Section]:
    """Return the table of the donations that are lost between two runs; none where none is."""
    if not records:
        return []
    lines = ["Outputs that were placed on these parameters have memory of their own now."]
    return [Section("Donations taken before and not now", lines, _COLUMNS, records, "donations", shown=_SHOWN)]
