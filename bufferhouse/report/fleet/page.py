"""The fleet report as one HTML page: what moved, what is padding, what was ingested."""

import html
from collections.abc import Sequence
from typing import Any

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.fleet.data import Fleet, Series, Space
from bufferhouse.report.fleet.tables import fleet_tables
from bufferhouse.report.fleet.terminal import advice, cause_said, left_out, moved_line, reject_line, title
from bufferhouse.report.html.blocks import footer, note, tiles
from bufferhouse.report.html.charts import SERIES_IN_CHART, Chart, trend_chart
from bufferhouse.report.html.page import chart_place, page, text
from bufferhouse.report.html.sections import section_html
from bufferhouse.report.html.tables import NAME_LENGTH, bytes_cell, html_table
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable

RUNS_IN_TABLE = 8  # and the change and trend of all runs beside them still fit the page
RUNS_BESIDE_CAUSES = 6


def fleet_page(fleet: Fleet) -> str:
    """Return the whole page."""
    charts: list[Chart] = []
    parts = [_head(fleet)]
    if fleet.spaces:
        parts.append("<h2>What moved</h2>")
        parts.append(
            '<p class="soft">Reserved bytes of each program, run by run, the biggest movers first. Bytes of several '
            "programs are never added up: they do not run at the same time.</p>"
        )
        parts += [_space(space, charts) for space in fleet.spaces]
        parts.append(_padding(fleet.spaces))
    tables: dict[str, Any] = {}
    parts += [section_html(section, tables) for section in fleet_tables(fleet)]
    if fleet.runs:
        parts.append(_ingested(fleet))
    parts.append(footer(fleet.warehouse, fleet.asked_at, fleet.overview["loaded_at"]))
    name = html.escape(printable(fleet.warehouse))
    return page(
        f"Fleet memory: {name}",
        "\n".join(parts),
        fleet.answers,
        charts,
        tables=tables,
        shared_texts=("fleet_programs", "fleet_trend"),
    )


def _head(fleet: Fleet) -> str:
    facts = fleet.overview
    parts = ["<h1>Memory of the fleet</h1>"]
    if fleet.note:
        parts.append(note(fleet.note))
    if facts["run_count"]:
        parts.append(
            f'<p class="soft">Newest run: {text(facts["newest_run_name"], NAME_LENGTH)}, '
            f"{facts['newest_started_at']:%Y-%m-%d %H:%M} UTC ({text(facts['newest_started_at_source'])})</p>"
        )
        names = {
            "run_count": "runs",
            "dump_count": "dumps",
            "content_count": "distinct contents",
            "program_count": "programs",
            "reject_count": "rejects",
        }
        parts.append(tiles([(name, f"{facts[key]:,}") for key, name in names.items()]))
    else:
        parts.append(note("The warehouse holds no runs yet."))
    parts += [note(line) for line in advice(fleet) if not line.startswith("rejected: ")]
    return "\n".join(parts)


def _space(space: Space, charts: list[Chart]) -> str:
    parts = [f"<h3>{text(title(space))}</h3>", f'<p class="soft">{moved_line(space)}</p>']
    if chart := trend_chart(space, title(space)):
        charts.append(chart)
        parts.append(chart_place(len(charts), chart))
        first = f" The first {SERIES_IN_CHART} of the table." if space.shown_moved_count > SERIES_IN_CHART else ""
        parts.append(f'<p class="soft">Solid: reserved. Dashed: occupied peak.{first}</p>')
    if space.series:
        parts.append(_movers(space))
    if rest := left_out(space):
        parts.append(f'<p class="soft">{rest}</p>')
    return "\n".join(parts)


def _movers(space: Space) -> str:
    has_cause = any(series.main_cause for series in space.series)
    runs = space.runs[-(RUNS_BESIDE_CAUSES if has_cause else RUNS_IN_TABLE) :]
    has_trend, has_net = len(space.runs) > 2, len(space.runs) > 1
    headings = [text(run["run_name"], NAME_LENGTH) for run in runs]
    headings += ["trend"] * has_trend + ["net change"] * has_net + ["main cause"] * has_cause
    rows = []
    for series in space.series:
        cells = [_bytes(series.by_run.get(run["run_id"])) for run in runs]
        if has_trend:
            cells.append(f"<td>{_trend(series, space.runs)}</td>")
        if has_net:
            cells.append(_net(series))
        if has_cause:
            cells.append(_cause(series))
        rows.append((series.label, cells))
    hidden = len(space.runs) - len(runs)
    caption = f"The newest {len(runs)} of {counted(len(space.runs), 'run')}" if hidden else ""
    return html_table(f"What moved: {title(space)}", ["program", *headings], rows, caption, last_texts=has_cause)


def _bytes(record: Record | None) -> str:
    if record is None:
        return '<td class="soft">·</td>'
    reserved, change = record["reserved_bytes"], record["reserved_change_bytes"]
    exact, mark = exact_bytes(reserved), ""
    if change:
        exact += f", {exact_bytes(change, signed=True)}"
        mark = f'<span class="change {_way(change)}">{human_bytes(change, signed=True)}</span>'
    return f'<td data-key="{reserved}" title="{exact}">{human_bytes(reserved)}{mark}</td>'


def _count(count: int) -> str:
    return f'<td data-key="{count}">{count:,}</td>'


def _net(series: Series) -> str:
    if not series.has_moved:
        return '<td class="soft" data-key="">one run</td>'
    change = series.net_change_bytes
    shown = human_bytes(change, signed=True) if change else "±0 B"
    return f'<td class="{_way(change)}" data-key="{change}" title="{exact_bytes(change, signed=True)}">{shown}</td>'


def _cause(series: Series) -> str:
    if not series.main_cause:
        return '<td class="text soft" data-key="">–</td>'
    exact = exact_bytes(series.main_cause[1], signed=True)
    return f'<td class="text words" title="{exact}">{text(cause_said(series, human_bytes))}</td>'


def _way(change: int) -> str:
    return "rise" if change > 0 else "fall" if change < 0 else "soft"


def _trend(series: Series, runs: Sequence[Record]) -> str:
    """Return a line over all runs of the table, drawn from the lowest to the highest value of the series."""
    points = [
        (place, series.by_run[run["run_id"]]["reserved_bytes"])
        for place, run in enumerate(runs)
        if run["run_id"] in series.by_run
    ]
    if len(points) < 2:
        return ""
    low, high = min(value for _, value in points), max(value for _, value in points)
    scale = 16 / (high - low) if high > low else 0
    line = " ".join(f"{100 * place / (len(runs) - 1):.1f},{18 - (value - low) * scale:.1f}" for place, value in points)
    return (
        '<svg class="trend" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">'
        f'<polyline points="{line}"/></svg>'
    )


def _padding(spaces: Sequence[Space]) -> str:
    parts = [
        "<h2>Padding</h2>",
        '<p class="soft">What the newest run of each program holds at its occupied peak: elements, what tiles add '
        "(layout padding), slack (alias sets and alignment) and tuple tables, which together are the occupied bytes. "
        "The programs with most layout padding; on CPU and GPU there are no tiles, and all waste is slack.</p>",
    ]
    columns = ("occupied", "element", "layout_padding", "slack", "tuple_table")
    headings = ["program", "run", "occupied", "elements", "layout padding", "slack", "tuple tables", "padded"]
    for space in spaces:
        rows = []
        for record in space.padding:
            cells = [f'<td class="text">{text(record["run_name"], 60)}</td>']
            cells += [bytes_cell(record[f"{column}_bytes"]) for column in columns]
            share = record["layout_padding_bytes"] / record["occupied_bytes"]
            cells.append(f'<td data-key="{share:.6f}">{share:.1%}</td>')
            rows.append((record["label"], cells))
        if rows:
            table = html_table(f"Padding: {title(space)}", headings, rows, texts=2)
            parts += [f"<h3>{text(title(space))}</h3>", table]
    if bare := [text(title(space)) for space in spaces if not space.padding]:
        parts.append(f'<p class="soft">No layout padding, or no live ranges to know it by: {"; ".join(bare)}.</p>')
    return "\n".join(parts)


def _ingested(fleet: Fleet) -> str:
    headings = ["run", "compiler", "version", "platform", "track", "started (UTC)", "time from"]
    headings += ["dumps", "distinct contents", "programs", "rejects"]
    rows = []
    for run in fleet.runs:
        words = (run["compiler"], run["compiler_version"], run["platform"], run["track"])
        cells = [f'<td class="text">{text(word, 60) if word else "–"}</td>' for word in words]
        cells.append(f'<td class="text">{run["started_at"]:%Y-%m-%d %H:%M}</td>')
        cells.append(f'<td class="text">{text(run["started_at_source"])}</td>')
        cells += [_count(run[f"{thing}_count"]) for thing in ("dump", "content", "program", "reject")]
        rows.append((run["run_name"], cells))
    parts = ["<h2>What was ingested</h2>", html_table("What was ingested", headings, rows, texts=7)]
    rejects = fleet.answers["fleet_rejects"].records
    if rejects:
        total = fleet.overview["reject_count"]
        which = f"The last {len(rejects)} of {counted(total, 'reject')}" if total > len(rejects) else "Rejects"
        lines = "\n".join(f"<li>{text(reject_line(reject).removeprefix('rejected: '))}</li>" for reject in rejects)
        parts.append(f"<h3>{which}</h3>\n<ul>\n{lines}\n</ul>")
    return "\n".join(parts)
