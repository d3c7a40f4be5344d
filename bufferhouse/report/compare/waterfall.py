"""What made the bytes of a program before into those after, as one chart: cause by cause, up and down."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.html.charts import ROW, Chart, bytes_at, distinct, same_axis, tooltip
from bufferhouse.report.text.figures import human_bytes, printable, tick_bytes

STEPS = "compare_waterfall"  # the answer of the page that holds them
_CAUSES = 8  # bars; what is smaller is one bar up and one down
_LABEL, _ABOUT = 50, 160  # characters
_CUT = 4  # from this many times what the causes span on, the axis does not begin at 0


def waterfall_records(where: Mapping[str, Any], row: Record, causes: Sequence[Record]) -> list[Record]:
    """Return the steps of a program from its bytes before to those after: what rises first, then what falls.

    `row` is a record of `compare_programs`, `causes` are those of it, the biggest first. A step stands for
    `cause_count` causes; it goes from `start_bytes` to `end_bytes`, which is never less than nothing.
    """
    shown, rest = (causes, []) if len(causes) <= _CAUSES + 1 else (causes[:_CAUSES], causes[_CAUSES:])
    steps = [_step("total", "before", 0, row["before_bytes"])]
    for kind, way in (("rise", 1), ("fall", -1)):
        bars = [
            (one["cause_label"], one["shape"], 1, one["cause_bytes"]) for one in shown if one["cause_bytes"] * way > 0
        ]
        more = [one["cause_bytes"] for one in rest if one["cause_bytes"] * way > 0]
        if more:
            bars.append(
                (f"{counted(len(more), 'more cause')}, {'up' if way > 0 else 'down'}", None, len(more), sum(more))
            )
        for cause, shape, count, size in bars:
            level = steps[-1]["end_bytes"]
            steps.append(_step(kind, cause, level, level + size, shape, count))
    steps.append(_step("total", "after", 0, row["after_bytes"]))
    return [{**where, "step": number, **step} for number, step in enumerate(steps, 1)]


def _step(kind: str, cause: str, start: int, end: int, shape: str | None = None, count: int = 0) -> Record:
    return {
        "kind": kind,
        "cause": cause,
        "shape": shape,
        "cause_count": count,
        "size_bytes": end - start,
        "start_bytes": start,
        "end_bytes": end,
    }


def waterfall_chart(steps: Sequence[Record], where: Mapping[str, Any], title: str) -> Chart:
    """Return the chart of the records of one program, which are those of the answer that equal `where`."""
    labels = distinct({str(one["step"]): _label(one, _LABEL) for one in steps})
    abouts = {str(one["step"]): _label(one, _ABOUT) for one in steps}
    at = bytes_at("start_bytes:Q", _low(steps), max(one["end_bytes"] for one in steps))
    place = alt.Y(
        "label:N",
        sort=list(labels.values()),
        title=None,
        axis=alt.Axis(labelLimit=400, domain=False, ticks=False, labelPadding=8),
    )
    steps_drawn = alt.Chart(alt.NamedData("rows")).encode(y=place)
    bars = steps_drawn.encode(x=at, x2="end_bytes:Q")
    total = [alt.Tooltip("about:N", title="bytes"), tooltip("end_bytes", "in all (bytes)")]
    change = [
        alt.Tooltip("about:N", title="cause"),
        tooltip("size_bytes", "change (bytes)", "+,d"),
        tooltip("end_bytes", "then (bytes)"),
    ]
    drawn = alt.layer(
        # From 0 on a bar would begin far outside the chart, where numbers of single precision are off by many pixels.
        _of(bars, "total")
        .transform_calculate(shown_bytes=f"max(datum.start_bytes, {at['scale']['domain'][0]})")
        .mark_bar(style="occupied")
        .encode(x=same_axis(at, "shown_bytes"), tooltip=total),
        _of(bars, "rise").mark_bar(style="rise").encode(tooltip=change),
        _of(bars, "fall").mark_bar(style="fall").encode(tooltip=change),
        steps_drawn.mark_tick(style="reserved", thickness=1, size=ROW, aria=False).encode(x=same_axis(at, "end_bytes")),
    )
    return Chart.of(
        drawn,
        len(steps) * ROW,
        source=STEPS,
        where=dict(where),
        texts={"label": ("step", labels), "about": ("step", abouts)},
        description=_description(steps, title),
    )


def axis_said(chart: Chart) -> str:
    """Return what is to be known of the axis: where it begins, if that is not 0."""
    low = chart.spec["layer"][0]["encoding"]["x"]["scale"]["domain"][0]
    return f"The axis begins at {tick_bytes(low)}, not at 0. " if low else ""


def _of(bars: alt.Chart, kind: str) -> alt.Chart:
    return bars.transform_filter(f"datum.kind == '{kind}'")


def _low(steps: Sequence[Record]) -> int:
    """Return where the axis begins; from 0 on, causes that are small beside the total would be invisible."""
    levels = [one["end_bytes"] for one in steps]
    span = max(levels) - min(levels)
    return max(min(levels) - span // 4, 0) if span * _CUT < max(levels) else 0


def _label(step: Record, limit: int) -> str:
    return printable(f"{step['cause']} {step['shape'] or ''}".rstrip(), limit)


def _description(steps: Sequence[Record], title: str) -> str:
    before, *causes, after = steps
    biggest = max(causes, key=lambda one: abs(one["size_bytes"]))
    return (
        f"Waterfall, {title}: {human_bytes(before['end_bytes'])} before, {human_bytes(after['end_bytes'])} after, "
        f"{counted(sum(one['cause_count'] for one in causes), 'cause')}. The biggest step is "
        f"{_label(biggest, _LABEL)}, {human_bytes(biggest['size_bytes'], signed=True)}. "
        "The table that follows has the same figures."
    )
