"""The fleet report as one HTML page: what moved, what is padding, what was ingested."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.fleet.data import Fleet, Series, Space
from bufferhouse.report.fleet.tables import fleet_reshaped, fleet_tables, ingested_table, padding_table
from bufferhouse.report.fleet.text import advice, cause_said, counted_for, left_out, moved_line, newest_said, title
from bufferhouse.report.html.charts import PROGRAM_LENGTH, RUN_LENGTH, Chart, bytes_axis, distinct, over_runs, same_axis
from bufferhouse.report.html.frame import Frame
from bufferhouse.report.html.page import page
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import human_bytes, printable
from bufferhouse.report.text.sections import Section

RUNS_IN_TABLE = 8  # and the change and trend of all runs beside them still fit the page
RUNS_BESIDE_CAUSES = 6
_SERIES_IN_CHART = 8  # as many colors as can be told apart
_HEIGHT, _LOW_HEIGHT = 260, 170  # pixels; low for one or two lines
_COLUMNS = "max(1, min(4, floor(width / 270)))"  # of a legend, so that a telephone shows each name
_FEW_RUNS = 30


def fleet_page(
    fleet: Fleet,
    frame: Frame | None = None,
    runs: Mapping[str, str] | None = None,
    functions: Mapping[str, str] | None = None,
) -> str:
    """Return the whole page; in a site with the addresses of runs and functions by their names."""
    runs, functions = runs or {}, functions or {}
    return page(
        "fleet.html",
        f"Fleet memory: {fleet.warehouse}",
        fleet.answers,
        **fleet.provenance,
        loaded_at=fleet.overview["loaded_at"],
        shared_texts=("fleet_programs", "fleet_trend"),
        frame=frame,
        run_links=runs,
        function_links=functions,
        fleet=fleet,
        advice=advice(fleet, rejects=0),
        newest_said=newest_said(fleet),
        tables=[_table(space, runs, functions) for space in fleet.spaces],
        first=fleet_reshaped(fleet),
        sections=fleet_tables(fleet),
        ingested=ingested_table([run | {"run_link": runs.get(run["run_name"])} for run in fleet.runs]),
        rejects=fleet.answers["fleet_rejects"].records,
    )


def _table(space: Space, run_links: Mapping[str, str], function_links: Mapping[str, str]) -> Record:
    """Return what the page shows of a memory space: `runs` are the newest, which have a column each."""
    has_cause = any(series.main_cause for series in space.series)
    runs = space.runs[-(RUNS_BESIDE_CAUSES if has_cause else RUNS_IN_TABLE) :]
    hidden = len(space.runs) - len(runs)
    return {
        "title": title(space),
        "moved": ". ".join(filter(None, [moved_line(space), counted_for(space)])),
        "chart": trend_chart(space, title(space)),
        "drawn": f" The first {_SERIES_IN_CHART} of the table." if space.shown_moved_count > _SERIES_IN_CHART else "",
        "runs": runs,
        "caption": f"The newest {len(runs)} of {counted(len(space.runs), 'run')}" if hidden else "",
        "has_trend": len(space.runs) > 2,
        "has_net": len(space.runs) > 1,
        "has_cause": has_cause,
        "rows": [_row(series, space) for series in space.series],
        "left_out": left_out(space),
        "padding": _padding(space, run_links, function_links),
    }


def _padding(space: Space, run_links: Mapping[str, str], function_links: Mapping[str, str]) -> Section:
    records = [
        row
        | {
            "run_link": run_links.get(row["run_name"]),
            "function_link": function_links.get(row["program_name"]),
            "padded_share": row["layout_padding_bytes"] / row["occupied_bytes"],
        }
        for row in space.padding
    ]
    table = padding_table(title(space), records)
    return replace(table, columns=[*table.columns, Column("padded_share", "padded", "share")])


def _row(series: Series, space: Space) -> Record:
    """Return a series, the function that it is of, the points of its trend, and the text of its main cause."""
    return {
        "series": series,
        "function_name": next(iter(series.by_run.values()))["program_name"],
        "trend": _points(series, space.runs),
        "cause": cause_said(series, human_bytes),
    }


def _points(series: Series, runs: Sequence[Record]) -> str:
    """Return a line over all runs of the table, drawn from the lowest to the highest value of the series."""
    points = [(place, value) for place, value in enumerate(series.reserved(runs)) if value is not None]
    if len(points) < 2:
        return ""
    low, high = min(value for _, value in points), max(value for _, value in points)
    scale = 16 / (high - low) if high > low else 0
    return " ".join(f"{100 * place / (len(runs) - 1):.1f},{18 - (value - low) * scale:.1f}" for place, value in points)


def trend_chart(space: Space, title: str) -> Chart | None:
    """Return reserved bytes (solid) and the occupied peak (dashed) over the runs; None where no program changed.

    The chart shows the first series of a table, as many as it has colors.
    """
    movers = [series for series in space.series if series.has_moved][:_SERIES_IN_CHART]
    if not movers:
        return None
    seen = {run_id for series in movers for run_id in series.by_run}
    runs = [run for run in space.runs if run["run_id"] in seen]
    run_texts = distinct({str(run["run_id"]): printable(run["run_name"], RUN_LENGTH) for run in runs})
    labels = distinct({str(series.rank): printable(series.label, PROGRAM_LENGTH) for series in movers})
    values = [
        row[column]
        for series in movers
        for row in series.by_run.values()
        for column in ("reserved_bytes", "occupied_peak_bytes")
        if row[column] is not None
    ]
    return Chart.of(
        _lines(list(run_texts.values()), list(labels.values()), bytes_axis(values)),
        _HEIGHT if len(labels) > 2 else _LOW_HEIGHT,
        source="fleet_trend",
        where={name: space.facts[name] for name in ("platform", "track", "memory_space")},
        texts={"run": ("run_id", run_texts), "program": ("series_rank", labels)},
        description=f"Line chart, {title}: reserved bytes and occupied peak of {', '.join(labels.values())}, "
        f"over {counted(len(runs), 'run')}. The table that follows has the same figures.",
    )


def _lines(runs: list[str], programs: list[str], reserved: alt.Y) -> alt.LayerChart:
    picked = alt.selection_point(fields=["program"], bind="legend")
    legend = alt.Legend(
        title=None,
        orient="bottom",
        columns=alt.ExprRef(_COLUMNS),
        labelLimit=260,
        symbolType="stroke",
        symbolStrokeWidth=3,
    )
    shown = over_runs(
        alt.Chart(alt.NamedData("rows")).transform_filter("isValid(datum.program)"),
        runs,
        ["program"],
        padding=8,
        color=alt.Color("program:N", sort=programs, scale=alt.Scale(domain=programs), legend=legend),
        detail="series_rank:N",
        opacity=alt.condition(picked, alt.value(1), alt.value(0.12)),
    )
    occupied = same_axis(reserved, "occupied_peak_bytes")
    return alt.layer(
        shown.mark_line(strokeWidth=1.2, strokeDash=[3, 3]).encode(y=occupied),
        shown.mark_line(strokeWidth=1.8).encode(y=reserved),
        shown.mark_circle(size=36 if len(runs) <= _FEW_RUNS else 10).encode(y=reserved).add_params(picked),
    )
