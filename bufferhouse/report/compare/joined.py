"""Reshaped and renamed programs of a run and the run before it: what the reports of a fleet and of a run show first."""

from collections.abc import Sequence

import duckdb

from bufferhouse.compare.compare import compare_pairs, joined_pairs
from bufferhouse.compare.pairing import RESHAPED
from bufferhouse.config.threshold import RELEVANT
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.records import exactly, program_records
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.sections import Section
from bufferhouse.tabulate.memory import collector_paused

_KEPT = (
    "platform", "memory_space", "status", "program_id", "program_name", "program_label", "before_program_id",
    "before_program_name", "change_said", "is_ambiguous", "guess", "is_relevant", "before_dump_id", "after_dump_id",
    "before_bytes", "after_bytes", "delta_bytes", "change_percent", "main_cause_label", "main_cause_bytes",
    "main_cause_said",
)  # fmt: skip
COLUMNS = [
    Column("program_label", "program", is_whole=True, link="program_link"),
    Column("change_said", "what changed", limit=60),
    Column("guess", "pair", rank=2),
    Column("memory_space", "memory space", "count", rank=3),
    Column("before_bytes", "before", "bytes"),
    Column("after_bytes", "after", "bytes"),
    Column("delta_bytes", "change", "change"),
    Column("main_cause_said", "main cause", rank=1, is_whole=True),
]


def joined_records(con: duckdb.DuckDBPyConnection, before_run_id: int, after_run_id: int) -> list[Record]:
    """Return a record for each memory space of each pair of two programs, by reserved bytes: the relevant ones first.

    Renamed programs follow the reshaped ones; of each the biggest changes come first.
    """
    with collector_paused():
        rows = compare_pairs(con, *joined_pairs(con, before_run_id, after_run_id), metric="reserved")
    return [{name: row[name] for name in _KEPT} for row in program_records(rows, RELEVANT, [])]


def joined_section(
    records: Sequence[Record], before: str, after: str, name: str, *, exact: bool, **place: object
) -> Section:
    """Return the table of the records between two runs; `place` says where they are in the answer `name`."""
    reshaped = sum(row["status"] == RESHAPED for row in records)
    lines = [
        f"{counted(reshaped, 'row')} of the same function with another entry signature, "
        f"{len(records) - reshaped:,} of the same program under another name; reserved bytes."
    ]
    columns, rows = with_guesses(COLUMNS, records), [*map(exactly, records)] if exact else records
    title = f"Reshaped and renamed: {printable(before, 60)} → {printable(after, 60)}"
    return Section(title, lines, columns, rows, "-".join([name, *map(str, place.values())]), name, place, 15)


def with_guesses(columns: Sequence[Column], records: Sequence[Record]) -> list[Column]:
    """Return the columns of a table: that of guesses only where a pair is one."""
    return [column for column in columns if column.name != "guess" or any(record["guess"] for record in records)]
