"""One program on a terminal, in Markdown and as JSON: the figures of the page, without its pictures."""

from collections.abc import Callable, Sequence
from typing import Any

from bufferhouse.errors import counted
from bufferhouse.report.program.data import Program, Space
from bufferhouse.report.program.words import balance_rows, map_note, notes, peak_note, space_heading, subtitle
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable, sparkline
from bufferhouse.report.text.screen import terminal_text
from bufferhouse.report.text.sections import Section, json_text, markdown_text

_BARS = 60  # of a timeline
_SHOWN_OWNERS = 15
_NAME = 28  # characters of a value's name and of a shape
_LONG = 80  # of an op_name
_SHOWN_RUNS = 20  # of each series, the newest

Bytes = Callable[..., str]  # human_bytes or exact_bytes


def program_text(program: Program, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    JSON is one object: what it is about, and the answers by the names of their statements, each a list of records
    with bytes as numbers.
    """
    if form == "json":
        about = {"warehouse": program.warehouse, "asked_at": program.asked_at, "dump": program.dump}
        return json_text(about, program.answers)
    sections = list(_sections(program, exact_bytes if exact else human_bytes))
    return (markdown_text if form == "markdown" else terminal_text)(program.name, sections, exact=exact)


def _sections(program: Program, shown: Bytes) -> list[Section]:
    sections = [Section("", [*subtitle(program), *notes(program)])]
    for space in program.spaces:
        heading = space_heading(program, space)
        sections.append(_section(heading, [*_timeline(space)], ("", "bytes", "position"), _peaks(space, shown)))
        sections.append(_balance(space, heading, shown))
        if space.peak:
            sections.append(_owners(space, heading, shown))
        if line := map_note(program, space):
            sections.append(Section("", [line]))
        sections += _history(program, space, heading, shown)
    if warnings := program.answers["program_warnings"].records:
        rows = [
            (row["rule"], f"{row['occurrence_count']:,}", row["expected"][:80], row["found"][:80]) for row in warnings
        ]
        sections.append(_section("Warnings", [], ("rule", "times", "first expected", "first found"), rows))
    return sections


def _timeline(space: Space) -> list[str]:
    """Return the occupied bytes over the schedule as bars; a bar shows the maximum of its stretch."""
    values = [row["occupied_bytes"] for row in space.timeline]
    if not any(values):
        return []
    end = space.timeline[-1]["schedule_position"] + 1
    stretches: list[int | None] = [None] * min(_BARS, end)
    for row in space.timeline:
        place = row["schedule_position"] * len(stretches) // end
        stretches[place] = max(row["occupied_bytes"], stretches[place] or 0)
    return [f"occupied: {sparkline(stretches)}"]


def _peaks(space: Space, shown: Bytes) -> list[tuple[str, str, str]]:
    facts = space.facts
    names = {
        "occupied_peak": "occupied peak",
        "listed_peak": "listed peak",
        "dump_listed_peak": "listed peak, all memory spaces",
        "dump_reported_peak": "XLA's (peak), all memory spaces",
    }
    peaks = [
        (name, shown(facts[f"{key}_bytes"]), _position(facts[f"{key}_position"]))
        for key, name in names.items()
        if facts[f"{key}_bytes"] is not None
    ]
    return [("reserved", shown(facts["reserved_bytes"]), ""), *peaks]


def _position(position: int | None) -> str:
    return "" if position is None else f"{position:,}"


def _balance(space: Space, heading: str, shown: Bytes) -> Section:
    """Return the balance with one column a kind of allocation, without the parts that are 0 in all kinds."""
    names, kinds = balance_rows(space)
    lines = [(names[1], *(f"{count:,}" for _, count, _ in kinds))]
    for name, figures in zip(names[2:], zip(*(figures for *_, figures in kinds), strict=True), strict=True):
        if any(figures):
            lines.append((name, *map(shown, figures)))
    return _section(f"{heading}: where the bytes go", [], (names[0], *(kind for kind, *_ in kinds)), lines)


def _owners(space: Space, heading: str, shown: Bytes) -> Section:
    rows = [
        (
            printable(row["value_name"], _NAME),
            printable(row["shape_text"], _NAME),
            shown(row["owned_bytes"]),
            f"{row['peak_share']:.1%}",
            printable(row["op_name"] or row["source_place"] or "", _LONG),
        )
        for row in space.peak[:_SHOWN_OWNERS]
    ]
    lines = [peak_note(space)]
    if space.peak_value_count > len(rows):
        lines.append(f"The {counted(len(rows), 'largest owner')}:")
    return _section(f"{heading}: values at the peak", lines, ("value", "shape", "owned", "share", "op_name"), rows)


def _history(program: Program, space: Space, heading: str, shown: Bytes) -> list[Section]:
    runs = program.series(space.memory_space)
    if len(runs) < 2:
        return []
    rows = [
        (
            printable(run["run_name"], 40),
            shown(run["reserved_bytes"]),
            run["reserved_change_bytes"],
            shown(run["occupied_peak_bytes"]),
        )
        for run in runs[-_SHOWN_RUNS:]
    ]
    lines = [f"reserved: {sparkline([run['reserved_bytes'] for run in runs])} over {counted(len(runs), 'run')}"]
    if len(runs) > len(rows):
        lines.append(f"The newest {counted(len(rows), 'run')}:")
    return [_section(f"{heading}: history over runs", lines, ("run", "reserved", "change", "occupied peak"), rows)]


def _section(title: str, lines: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> Section:
    """Return a section of rows whose bytes are text already."""
    columns = [
        Column(heading, heading, _KINDS.get(heading, "figure"), rank=_RANKS.get(heading, 0)) for heading in headings
    ]
    return Section(title, lines, columns, [dict(zip(headings, row, strict=True)) for row in rows])


_TEXTS = ("", "value", "shape", "op_name", "run", "allocations", "rule", "first expected", "first found")
_KINDS = {**dict.fromkeys(_TEXTS, "text"), "change": "change"}
_RANKS = {"op_name": 2, "shape": 1, "first found": 1}
