"""Programs for which the same compiler with the same flags gave different bytes: read, and written as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, ask
from bufferhouse.report.opening import opened
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.screen import terminal_text
from bufferhouse.report.text.sections import Section, json_text, markdown_text

_SHOWN = 40  # rows on a terminal and in Markdown
_COLUMNS = [
    Column("program_name", "program"),
    Column("program_id", "program_id", "figure", rank=3),
    Column("compile_target", "target", rank=2),
    Column("memory_space", "memory space", "count", rank=1),
    Column("content_count", "dumps", "count"),
    Column("run_count", "runs", "count", rank=1),
    Column("least_reserved_bytes", "least reserved", "bytes"),
    Column("most_reserved_bytes", "most reserved", "bytes"),
    Column("reserved_spread_bytes", "difference", "bytes"),
    Column("occupied_spread_bytes", "peak difference", "bytes", rank=2),
    Column("compiler_version", "compiler", rank=2),
    Column("least_run_name", "run with the least", rank=4),
    Column("most_run_name", "run with the most", rank=3),
]


@dataclass(frozen=True, slots=True)
class Determinism:
    """The programs that differ, and the number of runs: the answers of `determinism` and `determinism_runs`."""

    warehouse: str
    asked_at: datetime
    note: str | None
    answers: dict[str, Answer]


def read_determinism(path: Path | None, *, sources: Sequence[str] = (), wait: float = 0.0) -> Determinism:
    """Ask which programs differ.

    Raises:
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.read.reading`.
    """
    with opened(path, sources, wait) as (con, name, note):
        con.execute("SET TimeZone = 'UTC'")
        answers = {statement: ask(con, statement) for statement in ("determinism", "determinism_runs")}
    return Determinism(name, datetime.now(UTC), note, answers)


def determinism_text(found: Determinism, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte."""
    if form == "json":
        return json_text({"warehouse": found.warehouse, "asked_at": found.asked_at}, found.answers)
    runs = found.answers["determinism_runs"].records[0]
    rows = found.answers["determinism"].records
    lines = [f"{counted(runs['run_count'], 'run')}, {runs['versioned_run_count']:,} with a compiler version."]
    if runs["run_count"] > runs["versioned_run_count"]:
        lines.append(
            "A run without a compiler version is compared with itself only; bufferhouse runs set RUN "
            "compiler_version=… adds the version."
        )
    if not rows:
        lines.append("No program differs in bytes between dumps of one compiler with one set of flags.")
    else:
        lines.append(
            "Programs of one name and entry signature may differ in code; `bufferhouse export` writes their dumps."
        )
    section = Section("", lines, _COLUMNS if rows else (), rows, shown=_SHOWN)
    write = markdown_text if form == "markdown" else terminal_text
    return write("Programs with different bytes from the same compiler and flags", [section], exact=exact)
