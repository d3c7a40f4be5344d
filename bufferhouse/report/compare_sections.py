"""What is said of two runs: the sections, the same on a terminal, in Markdown and on the page."""

from bufferhouse.answers import Record
from bufferhouse.report.columns import Column
from bufferhouse.report.compare import Comparison
from bufferhouse.report.figures import counted, printable
from bufferhouse.report.run_sections import space_heading, space_key
from bufferhouse.report.screen import terminal_text
from bufferhouse.report.sections import Section, json_text, markdown_text

_SHOWN = 15  # rows of a table on a terminal and in Markdown
_PROGRAM = Column("program_label", "program")
_TOTALS = [
    Column("platform", "platform"),
    Column("memory_space", "memory space", "count"),
    Column("program_count", "programs", "count"),
    Column("changed_count", "changed", "count"),
    Column("risen_count", "reserve more", "count", rank=1),
    Column("fallen_count", "reserve less", "count", rank=1),
    Column("unchanged_count", "unchanged", "count"),
    Column("same_content_count", "same dump", "count", rank=2),
    Column("new_count", "new", "count"),
    Column("gone_count", "gone", "count"),
    Column("not_compared_count", "not compared", "count"),
]
_CHANGED = [
    _PROGRAM,
    Column("before_reserved_bytes", "reserved before", "bytes"),
    Column("after_reserved_bytes", "reserved after", "bytes"),
    Column("reserved_change_bytes", "change", "change"),
    Column("before_occupied_peak_bytes", "occupied peak before", "bytes", rank=3),
    Column("after_occupied_peak_bytes", "occupied peak after", "bytes", rank=3),
    Column("occupied_change_bytes", "change of occupied", "change", rank=1),
    Column("before_layout_padding_bytes", "layout padding before", "bytes", rank=5),
    Column("after_layout_padding_bytes", "layout padding after", "bytes", rank=5),
    Column("layout_padding_change_bytes", "change of padding", "change", rank=2),
    Column("reason", "not known", rank=4),
]
_BEFORE = [
    _PROGRAM,
    Column("before_reserved_bytes", "reserved", "bytes"),
    Column("before_occupied_peak_bytes", "occupied peak", "bytes"),
    Column("before_layout_padding_bytes", "layout padding", "bytes"),
]
_AFTER = [
    _PROGRAM,
    Column("after_reserved_bytes", "reserved", "bytes"),
    Column("after_occupied_peak_bytes", "occupied peak", "bytes"),
    Column("after_layout_padding_bytes", "layout padding", "bytes"),
]
_NOT_COMPARED = [
    _PROGRAM,
    Column("reason", "why", limit=100),
    Column("before_reserved_bytes", "reserved before", "bytes"),
    Column("after_reserved_bytes", "reserved after", "bytes"),
]
_PARTS = {
    "changed": ("Changed in {}", _CHANGED),
    "new": ("New in {}", _AFTER),
    "gone": ("Gone from {}", _BEFORE),
    "not compared": ("Not compared in {}", _NOT_COMPARED),
}


def title(comparison: Comparison) -> str:
    """Return both runs, as a person may see them."""
    return " → ".join(printable(side["run_name"], 80) for side in (comparison.before, comparison.after))


def compare_sections(comparison: Comparison) -> list[Section]:
    """Return all sections of the report; what the comparison does not have is left out."""
    parts = [Section("", [*subtitle(comparison), *notes(comparison)])]
    if totals := comparison.totals:
        lines = [
            "Programs are matched by name and entry signature, each compile target apart; the largest dump of a "
            "program stands for its run."
        ]
        parts.append(Section("Programs by what became of them", lines, _TOTALS, totals, "totals"))
    for status in _PARTS:
        parts += [status_section(comparison, space, status) for space in totals if _count(space, status)]
    return parts


def status_section(comparison: Comparison, space: Record, status: str) -> Section:
    """Return the programs of one status in one memory space."""
    heading, columns = _PARTS[status]
    rows = comparison.of(space["platform"], space["memory_space"], status)
    where = {"platform": space["platform"], "memory_space": space["memory_space"], "status": status}
    lines = []
    if status == "changed":
        moved = counted(space["risen_count"], "program")
        lines = [f"{moved} reserve more, {space['fallen_count']:,} less; the biggest changes first."]
        if not any(row["reason"] for row in rows):
            columns = columns[:-1]
    name = f"{status.replace(' ', '-')}-{space_key(space)}"
    return Section(heading.format(space_heading(space)), lines, columns, rows, name, "compare_programs", where, _SHOWN)


def subtitle(comparison: Comparison) -> list[str]:
    """Return what each run is."""
    return [f"{side['side']}: {_run(side)}" for side in (comparison.before, comparison.after)]


def _run(side: Record) -> str:
    compiler = " ".join(filter(None, (side["compiler"], side["compiler_version"])))
    words = [printable(word, 80) for word in (side["run_name"], compiler, side["platform"], side["track"]) if word]
    rejects = f", {counted(side['reject_count'], 'reject')}" if side["reject_count"] else ""
    started = f"started {side['started_at']:%Y-%m-%d %H:%M} UTC"
    return " · ".join([*words, started, f"{counted(side['program_count'], 'program')}{rejects}"])


def notes(comparison: Comparison) -> list[str]:
    """Return what should not be overlooked."""
    lines = [comparison.note] if comparison.note else []
    before, after = comparison.before, comparison.after
    if before["run_id"] == after["run_id"]:
        lines.append("Both sides are the same run.")
    for side in (before, after):
        if not side["dump_count"]:
            lines.append(f"No dump of the run {side['side']} could be read; see them with: bufferhouse rejects ls")
    if not comparison.programs:
        lines.append("Neither run has a dump with an allocation, so there is nothing to compare.")
    refused = [side["side"] for side in (before, after) if side["reject_count"] and side["dump_count"]]
    if refused:
        lines.append(
            f"Dumps of the run {' and of the run '.join(refused)} were refused: a program that is missing there may be "
            "among them."
        )
    several = sum(
        max(row["before_variant_count"] or 1, row["after_variant_count"] or 1) > 1 for row in comparison.programs
    )
    if several:
        lines.append(f"In {several:,} rows a program has several different dumps in a run: the largest are compared.")
    if comparison.programs and all(row["status"] == "unchanged" for row in comparison.programs):
        lines.append("Nothing that is compared has changed.")
    return lines


def _count(space: Record, status: str) -> int:
    return space[f"{status.replace(' ', '_')}_count"]


def compare_text(comparison: Comparison, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    JSON is one object: the two runs, the totals, and the answers by the names of their statements, each a list of
    records with bytes as numbers.
    """
    if form == "json":
        about = {"warehouse": comparison.warehouse, "asked_at": comparison.asked_at, "totals": comparison.totals}
        return json_text(about, comparison.answers)
    write = markdown_text if form == "markdown" else terminal_text
    return write(title(comparison), compare_sections(comparison), exact=exact)
