"""The fleet report on a terminal, in Markdown and as JSON: the figures of the page, without its pictures."""

from bufferhouse.query.statements import Record
from bufferhouse.report.fleet.data import Fleet, Series, Space
from bufferhouse.report.fleet.tables import fleet_tables
from bufferhouse.report.fleet.terminal import (
    advice,
    cause_said,
    fleet_screen,
    left_out,
    moved_line,
    overview_lines,
    title,
)
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable, sparkline
from bufferhouse.report.text.sections import Section, json_text, markdown_text

_RUNS = 8  # columns of a table, the newest
_NAME = 60  # characters of a run's name
_PADDING = [
    Column("label", "program"),
    Column("run_name", "run"),
    Column("occupied_bytes", "occupied", "bytes"),
    Column("element_bytes", "elements", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("slack_bytes", "slack", "bytes"),
    Column("tuple_table_bytes", "tuple tables", "bytes"),
]
_INGESTED = [
    Column("run_name", "run"),
    Column("compiler", "compiler"),
    Column("compiler_version", "version"),
    Column("platform", "platform"),
    Column("track", "track"),
    Column("started", "started (UTC)"),
    Column("started_at_source", "time from"),
    Column("dump_count", "dumps", "count"),
    Column("content_count", "distinct contents", "count"),
    Column("program_count", "programs", "count"),
    Column("reject_count", "rejects", "count"),
]


def fleet_text(fleet: Fleet, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    JSON is one object: what it is about, and the answers by the names of their statements, each a list of records with
    bytes as numbers.
    """
    if form == "json":
        return json_text({"warehouse": fleet.warehouse, "asked_at": fleet.asked_at}, fleet.answers)
    if form == "table":
        return fleet_screen(fleet, exact=exact)
    return markdown_text("Memory of the fleet", _sections(fleet, exact), exact=exact)


def _sections(fleet: Fleet, exact: bool) -> list[Section]:
    parts = [Section("", [*overview_lines(fleet), *advice(fleet)])]
    parts += [_movers(space, exact) for space in fleet.spaces]
    parts += [
        Section(f"Padding: {title(space)}", [], _PADDING, space.padding) for space in fleet.spaces if space.padding
    ]
    parts += fleet_tables(fleet)
    if fleet.runs:
        runs = [{**run, "started": f"{run['started_at']:%Y-%m-%d %H:%M}"} for run in fleet.runs]
        parts.append(Section("What was ingested", [], _INGESTED, runs))
    return parts


def _movers(space: Space, exact: bool) -> Section:
    runs = space.runs[-_RUNS:]
    hidden = len(space.runs) - len(runs)
    newest = f"; the newest {len(runs)} of {len(space.runs)} runs" if hidden else ""
    lines = [f"Reserved bytes: {moved_line(space)}{newest}.", *filter(None, [left_out(space)])]
    columns = [Column("label", "program")]
    columns += [Column(str(run["run_id"]), printable(run["run_name"], _NAME), "bytes") for run in runs]
    if len(space.runs) > 1:
        columns += [Column("trend", "trend"), Column("net_change_bytes", "net change", "change")]
    if any(series.main_cause for series in space.series):
        columns.append(Column("main_cause", "main cause"))
    rows = [_row(series, space.runs, exact) for series in space.series]
    return Section(f"What moved: {title(space)}", lines, columns if rows else [], rows)


def _row(series: Series, runs: list[Record], exact: bool) -> Record:
    reserved = [series.by_run.get(run["run_id"], {}).get("reserved_bytes") for run in runs]
    return {
        "label": series.label,
        **{str(run["run_id"]): count for run, count in zip(runs, reserved, strict=True)},
        "trend": sparkline(reserved),
        "net_change_bytes": series.net_change_bytes if series.has_moved else None,
        "main_cause": cause_said(series, exact_bytes if exact else human_bytes),
    }
