"""The fleet report on a terminal, in Markdown and as JSON: the figures of the page, without its pictures.

On a terminal its tables are fitted to the width, with color only where there is a terminal that wants it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bufferhouse.compare.causes import short
from bufferhouse.errors import LOADING, counted
from bufferhouse.query.statements import Record
from bufferhouse.report.fleet.data import Fleet, Series, Space
from bufferhouse.report.fleet.tables import fleet_reshaped, fleet_tables, ingested_table, padding_table
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import Bytes, bytes_form, printable, reject_line, space_title, sparkline
from bufferhouse.report.text.screen import (
    FALL,
    RISE,
    console,
    distinct,
    is_fitted,
    line,
    lines_of,
    print_left_out,
    print_section,
)
from bufferhouse.report.text.sections import Section, json_text, markdown_text

_GAP = 2
_NAME_SHARE = 3  # the names take at most a third of the width
_NARROWEST_NAME = 14
_HEADING_LINES = 5
_HEADING_WIDTHS = (60, 20, 9)  # the widest with which all runs fit, else the narrowest
_TREND_WIDTH = 16  # bars; over more runs, each stands for the last of several
_TREND_HEADING = "trend"
_NET_HEADING = "net change"
_CAUSE_HEADING = "main cause"
_RUNS_BESIDE_CAUSE = 2  # or all, where there are fewer: a cause says more than a third run
_SHOWN = 10  # rows of a table over all programs
_RUNS = 8  # columns of a table in Markdown, the newest
_LONGEST_NAME = 60  # characters of a run's name above its column


def fleet_text(fleet: Fleet, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    JSON is one object: what it is about, and the answers by the names of their statements, each a list of records with
    bytes as numbers.
    """
    if form == "json":
        return json_text(fleet.provenance, fleet.answers)
    if form == "table":
        return fleet_screen(fleet, exact=exact)
    return markdown_text("Memory of the fleet", _sections(fleet, exact), exact=exact)


def _sections(fleet: Fleet, exact: bool) -> list[Section]:
    parts = [Section("", [*overview_lines(fleet), *advice(fleet)])]
    parts += fleet_reshaped(fleet, exact=exact)
    parts += [_movers(space, exact) for space in fleet.spaces]
    parts += [padding_table(title(space), space.padding) for space in fleet.spaces if space.padding]
    return [*parts, *fleet_tables(fleet), *([ingested_table(fleet.runs)] if fleet.runs else [])]


def _movers(space: Space, exact: bool) -> Section:
    runs = space.runs[-_RUNS:]
    newest = f"; the newest {len(runs)} of {len(space.runs)} runs" if len(runs) < len(space.runs) else ""
    lines = [f"Reserved bytes: {moved_line(space)}{newest}.", *filter(None, [counted_for(space), left_out(space)])]
    columns = [Column("label", "program")]
    columns += [Column(str(run["run_id"]), printable(run["run_name"]), "bytes") for run in runs]
    if len(space.runs) > 1:
        columns += [Column("trend", "trend"), Column("net_change_bytes", "net change", "change")]
    if any(series.main_cause for series in space.series):
        columns.append(Column("main_cause", "main cause"))
    rows = [_row(series, space.runs, exact) for series in space.series]
    return Section(f"What moved: {title(space)}", lines, columns if rows else [], rows)


def _row(series: Series, runs: list[Record], exact: bool) -> Record:
    reserved = series.reserved(runs)
    return {
        "label": series.label,
        **{str(run["run_id"]): count for run, count in zip(runs, reserved, strict=True)},
        "trend": sparkline(reserved),
        "net_change_bytes": series.net_change_bytes if series.has_moved else None,
        "main_cause": cause_said(series, bytes_form(exact=exact)),
    }


def fleet_screen(fleet: Fleet, *, exact: bool) -> str:
    """Return the report as lines that fit the terminal; `exact` writes all bytes to the byte."""
    screen, shown = console(), bytes_form(exact=exact)
    with screen.capture() as captured:
        for said in overview_lines(fleet):
            screen.print(line(said))
        for section in fleet_reshaped(fleet, exact=exact):
            screen.print()
            print_section(screen, section, exact)
        for space in fleet.spaces:
            screen.print()
            _print_space(screen, space, shown)
        for section in fleet_tables(fleet):
            screen.print()
            print_section(screen, replace(section, shown=_SHOWN), exact)
        for said in advice(fleet):
            screen.print()
            screen.print(line(said))
    return lines_of(captured.get())


def overview_lines(fleet: Fleet) -> list[str]:
    """Return what the warehouse holds, in two lines; in one where it holds nothing."""
    facts = fleet.overview
    if facts["run_count"] == 0:
        return [f"{fleet.warehouse} holds no runs yet"]
    rejects = counted(facts["reject_count"], "reject") if facts["reject_count"] else "no rejects"
    things = ("run", "dump", "distinct content", "program")
    counts = (facts[f"{thing.removeprefix('distinct ')}_count"] for thing in things)
    # The tables are of runs with dumps: what has not moved in them may have moved in this one.
    is_unread = not fleet.runs[-1]["dump_count"] and fleet.runs[-1]["refused_dump_count"]
    return [
        ", ".join([*map(counted, counts, things), rejects]),
        f"{newest_said(fleet)}: {printable(facts['newest_run_name'], 200)}, "
        f"{facts['newest_started_at']:%Y-%m-%d %H:%M} UTC ({facts['newest_started_at_source']})"
        + ("; no dump of it could be read" if is_unread else ""),
    ]


def newest_said(fleet: Fleet) -> str:
    """Return what the newest of all runs is called: most tables have a newest run of their own, where they are many."""
    return "newest run of all" if len(set(map(_place, fleet.spaces))) > 1 else "newest run"


def advice(fleet: Fleet, rejects: int = 3) -> list[str]:
    """Return the next step if the warehouse cannot show a trend yet, and some of the newest rejects."""
    facts = fleet.overview
    lines = []
    if facts["run_count"] == 0:
        lines.append(LOADING)
    elif facts["dump_count"] == 0:
        lines.append("no dump could be read, so there is nothing to show")
    elif not fleet.spaces:
        lines.append("no dump holds an allocation, so there is nothing to show")
    elif all(len(space.runs) == 1 for space in fleet.spaces):
        lines.append("a trend needs a second run: ingest the dumps of another compiler run into the same warehouse")
    lines += [f"rejected: {reject_line(reject)}" for reject in fleet.answers["fleet_rejects"].records[:rejects]]
    if facts["reject_count"]:
        lines.append("all rejects: bufferhouse rejects ls")
    return lines


def title(space: Space) -> str:
    """Return the title of a table: cpu · release · memory space 0 (default)."""
    return f"{_place(space)} · {space_title(space.facts['platform'], space.facts['memory_space'])}"


def _place(space: Space) -> str:
    """Return the platform and track of a table: cpu · release."""
    parts = space.facts["platform"] or "unknown platform", space.facts["track"]
    return " · ".join(printable(part, 60) for part in parts if part)


def moved_line(space: Space) -> str:
    """Return how many programs of a table moved.

    10 of 13 programs moved, 3 unchanged; 1 is not in the newest run of cpu.
    """
    facts = space.facts
    programs, alone, away = counted(facts["series_count"], "program"), facts["single_run_count"], facts["absent_count"]
    if len(space.runs) == 1:
        return f"{programs}, one run"
    devices = {run["device_kind"] for run in space.runs}
    newest = f"the newest run of {_place(space)}{', each kind of device by itself' if len(devices) > 1 else ''}"
    reshaped = f", {space.reshaped_count:,} reshaped in {newest}" if space.reshaped_count else ""
    single = f", {alone:,} in one run only" if alone else ""
    absent = f"; {away:,} {'is' if away == 1 else 'are'} not in {'it' if reshaped else newest}" if away else ""
    moved = f"{facts['moved_count']:,} of {programs} moved, {facts['unchanged_count']:,} unchanged"
    return f"{moved}{single}{reshaped}{absent}"


def counted_for(space: Space) -> str:
    """Return for what a program of a table counts more than once, as `determinism` says it; or nothing."""
    causes = [
        (space.facts["target_count"] > space.facts["program_count"], "compile target"),
        (space.facts["series_count"] > space.facts["target_count"], "kind of device"),
    ]
    things = " and ".join(thing for is_so, thing in causes if is_so)
    return f"A program counts once for each {things}." if things else ""


def left_out(space: Space) -> str:
    """Return what a table leaves out, such as `5 more programs not shown: 3 moved less, 2 unchanged`; or nothing."""
    shown_moved = space.shown_moved_count
    counts = [
        (space.facts["moved_count"] - shown_moved, "moved less"),
        (space.facts["unchanged_count"], "unchanged"),
        (space.facts["single_run_count"] - (len(space.series) - shown_moved), "in one run only"),
    ]
    parts = [(count, what) for count, what in counts if count]
    if not parts or not space.series:  # what is above the table says all of it
        return ""
    more = counted(sum(count for count, _ in parts), "more program")
    if len(parts) == 1:
        return f"{more} {parts[0][1]}"
    return f"{more} not shown: {', '.join(f'{count:,} {what}' for count, what in parts)}"


@dataclass(frozen=True, slots=True)
class _Column:
    """The texts of the column of a run."""

    heading: list[str]
    cells: list[str]

    @property
    def width(self) -> int:
        return max(map(cell_len, [*self.cells, *self.heading]))


@dataclass(frozen=True, slots=True)
class _Fit:
    """The parts of a table that fit: the width of the names, the newest runs, the trend, net changes and main causes.

    `nets` are the net changes, none where there is one run only. `causes` are their main causes.
    """

    name: int
    columns: list[_Column]
    has_trend: bool
    nets: list[str]
    causes: list[str]


def _print_space(screen: Console, space: Space, shown: Bytes) -> None:
    fit = _fit(space, screen.width, shown)
    screen.print(line(title(space), "bold"))
    hidden = len(space.runs) - len(fit.columns)
    newest = f"; the newest {len(fit.columns)} of {len(space.runs)} runs" if hidden else ""
    screen.print(Text(f"reserved bytes: {moved_line(space)}{newest}", style="dim"))
    if said := counted_for(space):
        screen.print(line(said, "dim"))
    if space.series:
        screen.print(_table(space, fit))
        lacks_trend = len(space.runs) > 2 and not fit.has_trend
        lacks_cause = not fit.causes and any(series.main_cause for series in space.series)
        print_left_out(screen, [_TREND_HEADING] * lacks_trend + [_CAUSE_HEADING] * lacks_cause)
    if rest := left_out(space):
        screen.print(line(rest, "dim"))


def _fit(space: Space, width: int, shown: Bytes) -> _Fit:
    longest = max((cell_len(series.label) for series in space.series), default=0)
    name = max(min(longest, width // _NAME_SHARE if is_fitted() else longest), _NARROWEST_NAME)
    nets = [_net(series, shown) for series in space.series] if len(space.runs) > 1 else []
    room = width - name - (_GAP + max(map(cell_len, [*nets, _NET_HEADING])) if nets else 0)
    if any(series.main_cause for series in space.series):
        causes = [cause_said(series, shown) for series in space.series]
        room_beside = room - _GAP - max(map(cell_len, [*causes, _CAUSE_HEADING]))
        columns, has_trend = _runs(space, room_beside, shown)
        if len(columns) >= min(len(space.runs), _RUNS_BESIDE_CAUSE) and has_trend == (len(space.runs) > 2):
            return _Fit(name, columns, has_trend, nets, causes)
    return _Fit(name, *_runs(space, room, shown), nets, [])


def _runs(space: Space, room: int, shown: Bytes) -> tuple[list[_Column], bool]:
    """Return the newest runs that fit, one at least, and whether a trend fits beside them."""
    has_trend = len(space.runs) > 2
    room_beside_trend = room - (_GAP + _trend_width(space) if has_trend else 0)
    for heading_width in _HEADING_WIDTHS:
        headings = _headings([printable(run["run_name"]) for run in space.runs], heading_width)
        columns = [_column(space, *told, shown) for told in zip(space.runs, headings, strict=True)]
        if _newest(columns, room_beside_trend) == len(columns):
            return columns, has_trend
    fitting = _newest(columns, room_beside_trend)
    if has_trend and fitting >= 2:
        return columns[-fitting:], True
    # Two figures say more than bars without any.
    return columns[-max(_newest(columns, room), 1) :], False


def _trend_width(space: Space) -> int:
    return max(min(len(space.runs), _TREND_WIDTH), len(_TREND_HEADING))


def _trend(series: Series, runs: Sequence[Record]) -> str:
    """Return bars over all runs of a table; a bar that stands for several shows the last of them."""
    values = series.reserved(runs)
    step = -(-len(values) // _TREND_WIDTH)
    first = len(values) % step or step  # counted from the newest run, so that it ends a bar
    groups = [values[max(end - step, 0) : end] for end in range(first, len(values) + 1, step)]
    return sparkline([next((value for value in reversed(group) if value is not None), None) for group in groups])


def _newest(columns: Sequence[_Column], room: int) -> int:
    """Return how many columns fit, counted from the last."""
    count = 0
    for column in reversed(columns):
        room -= _GAP + column.width
        if room < 0:
            break
        count += 1
    return count


def _column(space: Space, run: Record, heading: list[str], shown: Bytes) -> _Column:
    records = [series.by_run.get(run["run_id"]) for series in space.series]
    has_marks = any(record and record["reserved_change_bytes"] for record in records)
    return _Column(heading, [_figure(record, has_marks, shown) for record in records])


def _headings(names: Sequence[str], width: int) -> list[list[str]]:
    """Return the names of runs in lines, cut so that they stay distinct; whole where nothing is fitted."""
    if not is_fitted():
        return [[name] for name in names]
    names = distinct(names, _LONGEST_NAME)
    headings = [_heading(name, width, _HEADING_LINES) for name in names]
    if len(set(map(tuple, headings))) == len(set(names)):
        return headings
    return [_heading(name, width, len(name)) for name in names]


def _heading(name: str, width: int, most: int) -> list[str]:
    """Return a name in a limited number of lines, broken after separators; a long word is broken anywhere."""
    words = re.findall(rf"[^-_/: ]{{1,{width}}}[-_/: ]*|[-_/: ]+", name)
    lines = [""]
    for word in words:
        if lines[-1] and cell_len(lines[-1] + word) > width:
            lines.append("")
        lines[-1] += word
    return lines if len(lines) <= most else [*lines[: most - 2], "…", lines[-1]]


def _figure(record: Record | None, has_marks: bool, shown: Bytes) -> str:
    """Return a cell without its color: the bytes, and the way they went since the previous run of the series."""
    if record is None:
        return "·  " if has_marks else "·"
    change = record["reserved_change_bytes"] or 0
    mark = " ▲" if change > 0 else " ▼" if change < 0 else "  " if has_marks else ""
    return shown(record["reserved_bytes"]) + mark


def _net(series: Series, shown: Bytes) -> str:
    if not series.has_moved:
        return "one run"
    return shown(series.net_change_bytes, signed=True) if series.net_change_bytes else "±0 B"


def cause_said(series: Series, shown: Bytes) -> str:
    """Return the main cause of the net change of a series, with its bytes as `shown` writes them."""
    return f"{short(series.main_cause[0])} {shown(series.main_cause[1], signed=True)}" if series.main_cause else "–"


def _table(space: Space, fit: _Fit) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    # A name that no cut keeps apart from others runs over several lines.
    table.add_column("program", width=fit.name, overflow="fold", vertical="bottom")
    for column in fit.columns:
        heading = Text("\n".join(column.heading))
        table.add_column(heading, width=column.width, justify="right", no_wrap=True, vertical="bottom")
    if fit.has_trend:
        table.add_column(_TREND_HEADING, width=_trend_width(space), no_wrap=True)
    if fit.nets:
        net = max(map(cell_len, [*fit.nets, _NET_HEADING]))
        table.add_column(_NET_HEADING, width=net, justify="right", no_wrap=True)
    if fit.causes:
        table.add_column(_CAUSE_HEADING, no_wrap=True)
    names = distinct([printable(series.label) for series in space.series], fit.name)
    for row, series in enumerate(space.series):
        cells = [Text(names[row])]
        for figure in (column.cells[row] for column in fit.columns):
            cells.append(Text(figure, style=RISE if figure.endswith("▲") else FALL if figure.endswith("▼") else ""))
        if fit.has_trend:
            cells.append(Text(_trend(series, space.runs)))
        if fit.nets:
            change = (series.has_moved and series.net_change_bytes) or 0
            cells.append(Text(fit.nets[row], style=RISE if change > 0 else FALL if change else "dim"))
        if fit.causes:
            cells.append(line(fit.causes[row]))
        table.add_row(*cells)
    return table
