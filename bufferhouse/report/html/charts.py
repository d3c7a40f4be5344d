"""Charts, as Vega-Lite specifications without data: the page joins them with the answers it embeds."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.report.fleet.data import Space
from bufferhouse.report.text.figures import human_bytes, printable

SERIES_IN_CHART = 8  # as many colours as can be told apart
_RUN_LENGTH, _PROGRAM_LENGTH = 40, 34  # characters
_TICKS = 5
_HEIGHT, _LOW_HEIGHT = 260, 170  # pixels; low for one or two lines
_FEW_RUNS = 30
_WIDE_RANGE = 8  # from this ratio on, programs share an axis only if it is logarithmic


@dataclass(frozen=True, slots=True)
class Chart:
    """A specification and its data: the rows of answer `source` that equal `where`.

    `texts` adds columns: from a new column's name to the column it looks up and the text for each value of that.
    `description` is the text of the chart for screen readers.
    """

    spec: dict[str, Any]
    source: str
    where: dict[str, str | int | None]
    texts: dict[str, tuple[str, dict[str, str]]]
    description: str


def trend_chart(space: Space, title: str) -> Chart | None:
    """Return reserved bytes (solid) and the occupied peak (dashed) over the runs; None where no program changed.

    The chart shows the first SERIES_IN_CHART series of a table.
    """
    movers = [series for series in space.series if series.has_moved][:SERIES_IN_CHART]
    if not movers:
        return None
    seen = {run_id for series in movers for run_id in series.by_run}
    runs = [run for run in space.runs if run["run_id"] in seen]
    run_texts = distinct({str(run["run_id"]): printable(run["run_name"], _RUN_LENGTH) for run in runs})
    labels = distinct({str(series.rank): printable(series.label, _PROGRAM_LENGTH) for series in movers})
    values = [
        row[column]
        for series in movers
        for row in series.by_run.values()
        for column in ("reserved_bytes", "occupied_peak_bytes")
        if row[column] is not None
    ]
    spec = _lines(list(run_texts.values()), list(labels.values()), bytes_axis(values))
    return Chart(
        spec={
            key: value for key, value in spec.to_dict(validate=False).items() if key != "$schema"
        },  # no address in the page
        source="fleet_trend",
        where={"platform": space.platform, "track": space.track, "memory_space": space.memory_space},
        texts={"run": ("run_id", run_texts), "program": ("series_rank", labels)},
        description=f"Line chart, {title}: reserved bytes and occupied peak of {', '.join(labels.values())}, "
        f"over {counted(len(runs), 'run')}. The table that follows has the same figures.",
    )


def distinct(texts: dict[str, str]) -> dict[str, str]:
    """Return the texts, made unique by their keys where two are equal: the chart identifies its marks by them."""
    again = {text for text, count in Counter(texts.values()).items() if count > 1}
    return {key: f"{text} ({key})" if text in again else text for key, text in texts.items()}


def bytes_axis(values: Sequence[int]) -> alt.Y:
    """Return a vertical axis for bytes, its ticks at powers of two: linear, or logarithmic for a wide range."""
    low, high = min(values), max(values)
    smallest = min((value for value in values if value > 0), default=1)
    if high <= smallest * _WIDE_RANGE:
        # At least half of the axis stays empty of change, or eight bytes would look like a cliff.
        low = max(min(low, high // 2), 0)
        step = 2 ** max(math.ceil(math.log2(max((high - low) / _TICKS, 1))), 0)
        ticks = list(range(low // step * step, high + step, step))
        scale = alt.Scale(domain=[ticks[0], ticks[-1]], nice=False, zero=False)
    else:
        first, last = math.floor(math.log2(smallest)), math.ceil(math.log2(high))
        ticks = [2**power for power in range(first, last + 1, max(round((last - first) / _TICKS), 1))]
        domain = [0 if low == 0 else min(ticks[0], low), max(ticks[-1], high)]
        ticks = [0, *ticks] if low == 0 else ticks
        kind = {"type": "symlog", "constant": smallest} if low == 0 else {"type": "log", "base": 2}
        scale = alt.Scale(domain=domain, nice=False, **kind)
    return _axis("reserved_bytes:Q", scale, ticks)


def bytes_axis_from_zero(high: int) -> alt.Y:
    """Return a linear axis from 0 for occupied bytes up to `high`, its ticks at multiples of a power of two."""
    step = 2 ** max(math.ceil(math.log2(max(high / _TICKS, 1))), 0)
    ticks = list(range(0, high + step, step))
    return _axis("occupied_bytes:Q", alt.Scale(domain=[0, ticks[-1]], nice=False), ticks)


def _axis(column: str, scale: alt.Scale, ticks: list[int]) -> alt.Y:
    texts = ", ".join(f'"{tick}": "{human_bytes(tick).replace(".0 ", " ")}"' for tick in ticks)
    axis = alt.Axis(values=ticks, labelExpr=f"({{{texts}}})[datum.value]", domain=False, ticks=False)
    return alt.Y(column, scale=scale, title=None, axis=axis)


def _lines(runs: list[str], programs: list[str], reserved: alt.Y) -> alt.LayerChart:
    picked = alt.selection_point(fields=["program"], bind="legend")
    shown = alt.Chart(alt.NamedData("rows")).transform_filter("isValid(datum.program)")
    shown = shown.encode(
        x=alt.X("run:O", sort=runs, title=None, scale=alt.Scale(padding=0.4), axis=_run_axis(runs)),
        color=alt.Color("program:N", sort=programs, scale=alt.Scale(domain=programs), legend=_legend()),
        detail="series_rank:N",
        opacity=alt.condition(picked, alt.value(1), alt.value(0.12)),
        tooltip=[
            alt.Tooltip("program:N"),
            alt.Tooltip("run:N"),
            alt.Tooltip("reserved_bytes:Q", title="reserved (bytes)", format=",d"),
            alt.Tooltip("reserved_change_bytes:Q", title="change (bytes)", format="+,d"),
            alt.Tooltip("occupied_peak_bytes:Q", title="occupied peak (bytes)", format=",d"),
            alt.Tooltip("layout_padding_bytes:Q", title="layout padding (bytes)", format=",d"),
        ],
    )
    occupied = reserved.copy()
    occupied.shorthand = "occupied_peak_bytes:Q"
    return alt.layer(
        shown.mark_line(strokeWidth=1.2, strokeDash=[3, 3]).encode(y=occupied),
        shown.mark_line(strokeWidth=1.8).encode(y=reserved),
        shown.mark_circle(size=36 if len(runs) <= _FEW_RUNS else 10).encode(y=reserved).add_params(picked),
    ).properties(width="container", height=_HEIGHT if len(programs) > 2 else _LOW_HEIGHT)


def _run_axis(runs: list[str]) -> alt.Axis:
    crowded = sum(map(len, runs)) > 110
    return alt.Axis(
        labelAngle=-35 if crowded else 0,
        labelOverlap="greedy",
        labelLimit=220,
        domain=False,
        ticks=False,
        labelPadding=8,
    )


def _legend() -> alt.Legend:
    return alt.Legend(title=None, orient="bottom", columns=4, labelLimit=260, symbolType="stroke", symbolStrokeWidth=3)
