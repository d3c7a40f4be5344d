"""Bar charts of programs: their size in a run, and their change between two runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.html.charts import Chart, distinct
from bufferhouse.report.text.figures import human_bytes, printable, tick_bytes

BARS = 15  # in a chart
ROW = 22  # pixels
_NAME_LENGTH = 34  # characters
_TICKS = 6


def size_chart(rows: Sequence[Record], where: Mapping[str, Any], title: str) -> Chart | None:
    """Return reserved bytes (pale) and the occupied peak in them (full) of the first programs; None for a single one.

    `rows` are records of `run_programs`, those that equal `where`.
    """
    shown = rows[:BARS]
    if len(shown) < 2 or not shown[0]["reserved_bytes"]:
        return None
    labels = _labels(shown, "size_rank")
    at = bytes_at("reserved_bytes:Q", 0, max(row["reserved_bytes"] for row in shown))
    occupied = at.copy()
    occupied.shorthand = "occupied_peak_bytes:Q"
    bars = _bars(labels, reserved_bytes="reserved", occupied_peak_bytes="occupied peak")
    spec = alt.layer(
        bars.mark_bar(style="occupied", opacity=0.3).encode(x=at),
        bars.mark_bar(style="occupied", size=8).encode(x=occupied),
    )
    largest = f"{next(iter(labels.values()))} reserves {human_bytes(shown[0]['reserved_bytes'])}"
    return _chart(spec, len(shown), "run_programs", where, ("size_rank", labels), f"{title}: {largest}")


def change_chart(rows: Sequence[Record], where: Mapping[str, Any], title: str) -> Chart | None:
    """Return the changes of the programs that changed most; None for fewer than two.

    `rows` are records of `compare_programs`, those that equal `where`.
    """
    shown = [row for row in rows[:BARS] if row["delta_bytes"]]
    if len(shown) < 2:
        return None
    labels = _labels(shown, "status_rank")
    changes = [row["delta_bytes"] for row in shown]
    at = bytes_at("delta_bytes:Q", min(*changes, 0), max(*changes, 0))
    bars = _bars(labels, before_bytes="before", after_bytes="after", delta_bytes="change")
    spec = alt.layer(
        bars.transform_filter("datum.delta_bytes > 0").mark_bar(style="rise").encode(x=at),
        bars.transform_filter("datum.delta_bytes < 0").mark_bar(style="fall").encode(x=at),
    )
    most = f"{next(iter(labels.values()))} changed by {human_bytes(changes[0], signed=True)}"
    return _chart(spec, len(shown), "compare_programs", where, ("status_rank", labels), f"{title}: {most}")


def _labels(rows: Sequence[Record], rank: str) -> dict[str, str]:
    return distinct({str(row[rank]): printable(row["program_label"], _NAME_LENGTH) for row in rows})


def bytes_at(column: str, low: int, high: int) -> alt.X:
    """Return a linear axis from `low` to `high`, its ticks at multiples of a power of two."""
    step = 2 ** max(math.ceil(math.log2(max((high - low) / _TICKS, 1))), 0)
    ticks = list(range(math.floor(low / step) * step, high + step, step))
    texts = ", ".join(f'"{tick}": "{tick_bytes(tick)}"' for tick in ticks)
    axis = alt.Axis(values=ticks, labelExpr=f"({{{texts}}})[datum.value]", domain=False, ticks=False, grid=True)
    return alt.X(column, scale=alt.Scale(domain=[ticks[0], ticks[-1]], nice=False), title=None, axis=axis)


def _bars(labels: Mapping[str, str], **figures: str) -> alt.Chart:
    tooltip = [alt.Tooltip("program:N")]
    for column, name in figures.items():
        form = "+,d" if name == "change" else ",d"
        tooltip.append(alt.Tooltip(f"{column}:Q", title=f"{name} (bytes)", format=form))
    axis = alt.Axis(labelLimit=260, domain=False, ticks=False, labelPadding=8)
    place = alt.Y("program:N", sort=list(labels.values()), title=None, axis=axis)
    named = alt.Chart(alt.NamedData("rows")).transform_filter("isValid(datum.program)")
    return named.encode(y=place, tooltip=tooltip)


def _chart(
    spec: alt.LayerChart,
    count: int,
    source: str,
    where: Mapping[str, Any],
    label: tuple[str, dict[str, str]],
    description: str,
) -> Chart:
    written = spec.properties(width="container", height=count * ROW).to_dict(validate=False)
    return Chart(
        spec={key: value for key, value in written.items() if key != "$schema"},  # no address in the page
        source=source,
        where=dict(where),
        texts={"program": label},
        description=f"Bar chart of {counted(count, 'program')}, {description}. "
        "The table that follows has the same figures.",
    )
