"""One program on a terminal, in Markdown and as JSON: the figures of the page, without its pictures."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from bufferhouse.report.figures import counted, exact_bytes, human_bytes, printable, sparkline
from bufferhouse.report.program import Program, Space
from bufferhouse.report.program_words import balance_rows, map_note, notes, peak_note, space_heading, subtitle
from bufferhouse.tables import formatted

FORMATS = ("table", "markdown", "json")
_BARS = 60  # of a timeline
_SHOWN_OWNERS = 15
_NAME = 28  # characters of a value's name and of a shape
_SHOWN_RUNS = 20  # of each series, the newest

Bytes = Callable[..., str]  # human_bytes or exact_bytes


@dataclass(frozen=True, slots=True)
class _Section:
    title: str
    lines: list[str]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()


def program_text(program: Program, form: str, *, exact: bool = False) -> str:
    """Return the report in one of FORMATS; `exact` writes all bytes to the byte.

    JSON is one object: what it is about, and the answers by the names of their statements, each a list of records
    with bytes as numbers.
    """
    if form == "json":
        return _json(program)
    sections = list(_sections(program, exact_bytes if exact else human_bytes))
    if form == "markdown":
        return "\n\n".join([f"# {_marked(program.name)}", *(_markdown(section) for section in sections)])
    return "\n\n".join([program.name, *(_plain(section) for section in sections)])


def _sections(program: Program, shown: Bytes) -> list[_Section]:
    sections = [_Section("", [*subtitle(program), *notes(program)])]
    for space in program.spaces:
        heading = space_heading(program, space)
        sections.append(_Section(heading, [*_timeline(space)], ("", "bytes", "position"), _peaks(space, shown)))
        sections.append(_balance(space, heading, shown))
        if space.peak:
            sections.append(_owners(space, heading, shown))
        if line := map_note(program, space):
            sections.append(_Section("", [line]))
        sections += _history(program, space, heading, shown)
    if warnings := program.answers["program_warnings"].records:
        rows = [(row["rule"], row["occurrence_count"], row["expected"][:80], row["found"][:80]) for row in warnings]
        sections.append(_Section("Warnings", [], ("rule", "times", "expected first", "found there"), rows))
    return sections


def _timeline(space: Space) -> list[str]:
    """Return the occupied bytes over the schedule as bars, each the most of its stretch."""
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


def _balance(space: Space, heading: str, shown: Bytes) -> _Section:
    """Return the balance with its kinds of allocation side by side, without the parts that none of them has."""
    names, kinds = balance_rows(space)
    lines = [(names[1], *(f"{count:,}" for _, count, _ in kinds))]
    for name, figures in zip(names[2:], zip(*(figures for *_, figures in kinds), strict=True), strict=True):
        if any(figures):
            lines.append((name, *map(shown, figures)))
    return _Section(f"{heading}: where the bytes go", [], (names[0], *(kind for kind, *_ in kinds)), lines)


def _owners(space: Space, heading: str, shown: Bytes) -> _Section:
    # What is left of the line for the last column, behind two names and the figures.
    room = max(shutil.get_terminal_size((120, 24)).columns - 2 * _NAME - 30, _NAME)
    rows = [
        (
            printable(row["value_name"], _NAME),
            printable(row["shape_text"], _NAME),
            shown(row["owned_bytes"]),
            f"{row['peak_share']:.1%}",
            printable(row["op_name"] or row["source_place"] or "", room),
        )
        for row in space.peak[:_SHOWN_OWNERS]
    ]
    lines = [peak_note(space)]
    if space.peak_value_count > len(rows):
        lines.append(f"The {len(rows)} that own most:")
    return _Section(f"{heading}: who fills the peak", lines, ("value", "shape", "owned", "share", "op_name"), rows)


def _history(program: Program, space: Space, heading: str, shown: Bytes) -> list[_Section]:
    runs = program.series(space.memory_space)
    if len(runs) < 2:
        return []
    rows = [
        (
            printable(run["run_name"], 40),
            shown(run["reserved_bytes"]),
            "" if run["reserved_change_bytes"] is None else shown(run["reserved_change_bytes"], signed=True),
            shown(run["occupied_peak_bytes"]),
        )
        for run in runs[-_SHOWN_RUNS:]
    ]
    lines = [f"reserved: {sparkline([run['reserved_bytes'] for run in runs])} over {counted(len(runs), 'run')}"]
    if len(runs) > len(rows):
        lines.append(f"The newest {len(rows)}:")
    return [_Section(f"{heading}: history over runs", lines, ("run", "reserved", "change", "occupied peak"), rows)]


def _plain(section: _Section) -> str:
    table = formatted(section.columns, _right(section), "table") if section.columns else ""
    return "\n".join(filter(None, [section.title, *section.lines, table]))


def _right(section: _Section) -> list[list[Any]]:
    """Return the rows with figures and their units set to the right, as numbers are."""
    columns = list(zip(*section.rows, strict=True))
    for place, cells in enumerate(columns):
        if section.columns[place] not in _TEXTS:
            width = max(len(str(cell)) for cell in [*cells, section.columns[place]])
            columns[place] = tuple(str(cell).rjust(width) for cell in cells)
    return [list(row) for row in zip(*columns, strict=True)]


_TEXTS = ("", "value", "shape", "op_name", "run", "allocations", "rule", "expected first", "found there")


def _markdown(section: _Section) -> str:
    parts = [f"## {section.title}"] if section.title else []
    parts += [_marked(line) for line in section.lines]
    if section.columns:
        rows = [[_marked(str(cell)) for cell in row] for row in section.rows]
        parts.append(formatted(section.columns, rows, "markdown"))
    return "\n\n".join(parts)


def _marked(text: str) -> str:
    """Return text as Markdown that shows it and does nothing else. Table cells have their bars escaped later."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#&~" else char for char in text)


def _json(program: Program) -> str:
    about = {"warehouse": program.warehouse, "asked_at": program.asked_at, "dump": program.dump}
    answers = {name: answer.records for name, answer in program.answers.items()}
    return json.dumps({**about, "answers": answers}, indent=1, ensure_ascii=False, default=_iso)


def _iso(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a report")
