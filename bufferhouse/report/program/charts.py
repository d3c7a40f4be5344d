"""Charts of one program: its memory over the schedule, and its history over runs."""

from typing import Any

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.report.html.charts import Chart, bytes_axis, bytes_axis_from_zero, distinct
from bufferhouse.report.program.data import Program, Space
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable

_HEIGHT, _LOW_HEIGHT = 280, 180  # pixels
_WIDTH = 1200  # pixels that a chart has at most
_RUN_LENGTH = 40  # characters


def timeline_chart(space: Space, title: str) -> Chart | None:
    """Return occupied (filled) and listed (line) bytes over the schedule below the reserved ones (dashed).

    The occupied peak is marked, and XLA's printed peak where it stands at another position. None where nothing is known
    of any moment, or where nothing lives.
    """
    facts = space.facts
    if not space.timeline or not facts["occupied_peak_bytes"]:
        return None
    marks = [_mark(facts["occupied_peak_position"], f"peak: {human_bytes(facts['occupied_peak_bytes'])} occupied")]
    if has_other_printed_peak(space):
        said = f"XLA's (peak): {human_bytes(facts['dump_reported_peak_bytes'])} listed, all spaces"
        marks.append(_mark(facts["dump_reported_peak_position"], said))
    end = space.timeline[-1]["schedule_position"]
    high = max(row[name] for row in space.timeline for name in ("occupied_bytes", "listed_bytes"))
    spec = _timeline(
        end,
        bytes_axis_from_zero(max(high, facts["reserved_bytes"])),
        facts["reserved_bytes"],
        marks,
        len(space.timeline),
    )
    return Chart(
        spec=_without_address(spec),
        source="program_timeline",
        where={"memory_space": space.memory_space},
        texts={},
        description=f"Chart, {title}: occupied and listed bytes at positions 0 to {end} of the schedule. Occupied peak "
        f"{exact_bytes(facts['occupied_peak_bytes'])} at {facts['occupied_peak_position']}, "
        f"reserved {exact_bytes(facts['reserved_bytes'])}.",
    )


def has_other_printed_peak(space: Space) -> bool:
    """Whether XLA prints its peak at a position where this space is not at its occupied peak, as far as is known."""
    printed = space.facts["dump_reported_peak_position"]
    return printed is not None and printed != space.facts["occupied_peak_position"]


def history_chart(program: Program, space: Space, title: str) -> Chart | None:
    """Return reserved bytes (solid) and the occupied peak (dashed) over the runs of the series; None for one run."""
    runs = program.series(space.memory_space)
    if len(runs) < 2:
        return None
    texts = distinct({str(run["run_id"]): printable(run["run_name"], _RUN_LENGTH) for run in runs})
    columns = ("reserved_bytes", "occupied_peak_bytes")
    reserved = bytes_axis([run[column] for run in runs for column in columns if run[column] is not None])
    occupied = reserved.copy()
    occupied.shorthand = "occupied_peak_bytes:Q"
    crowded = sum(map(len, texts.values())) > 110
    axis = alt.Axis(labelAngle=-35 if crowded else 0, labelOverlap="greedy", labelLimit=220, domain=False, ticks=False)
    shown = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("run:O", sort=list(texts.values()), title=None, scale=alt.Scale(padding=0.4), axis=axis),
        tooltip=[
            alt.Tooltip("run:N"),
            alt.Tooltip("reserved_bytes:Q", title="reserved (bytes)", format=",d"),
            alt.Tooltip("reserved_change_bytes:Q", title="change (bytes)", format="+,d"),
            alt.Tooltip("occupied_peak_bytes:Q", title="occupied peak (bytes)", format=",d"),
            alt.Tooltip("layout_padding_bytes:Q", title="layout padding (bytes)", format=",d"),
        ],
    )
    spec = alt.layer(
        shown.mark_line(style="occupied", strokeWidth=1.2, strokeDash=[3, 3]).encode(y=occupied),
        shown.mark_line(style="occupied", strokeWidth=1.8).encode(y=reserved),
        shown.mark_circle(style="occupied", size=36).encode(y=reserved),
    ).properties(width="container", height=_LOW_HEIGHT)
    first = runs[0]
    return Chart(
        spec=_without_address(spec),
        source="program_trend",
        where={name: first[name] for name in ("platform", "track", "compile_target", "memory_space")},
        texts={"run": ("run_id", texts)},
        description=f"Line chart, {title}: reserved bytes and occupied peak over {counted(len(runs), 'run')}. "
        "The table that follows has the same figures.",
    )


def _mark(position: int, said: str) -> dict[str, Any]:
    return {"schedule_position": position, "said": said}


def _timeline(end: int, occupied: alt.Y, reserved: int, marks: list[dict[str, Any]], stripes: int) -> alt.LayerChart:
    """Return the chart; a value alive at a position takes its bytes until the next one begins, hence the steps."""
    at = alt.X(
        "schedule_position:Q",
        scale=alt.Scale(domain=[0, max(end, 1)], nice=False),
        title="position in the schedule",
        axis=alt.Axis(format=",d", tickMinStep=1, labelFlush=True),
    )
    listed = occupied.copy()
    listed.shorthand = "listed_bytes:Q"
    shown = alt.Chart(alt.NamedData("rows")).encode(x=at)
    # Of all marks stripes are pointed at most easily: what is nearest would lack texts in its tooltip (Vega-Lite 6.4).
    hover = alt.selection_point(fields=["schedule_position"], on="pointerover", clear="pointerout", empty=False)
    marked = alt.Chart(alt.Data(values=marks)).encode(x=at)
    tooltip = [
        alt.Tooltip("schedule_position:Q", title="position", format=",d"),
        alt.Tooltip("instruction_name:N", title="instruction"),
        alt.Tooltip("occupied_bytes:Q", title="occupied (bytes)", format=",d"),
        alt.Tooltip("listed_bytes:Q", title="listed (bytes)", format=",d"),
        alt.Tooltip("buffer_count:Q", title="values alive", format=",d"),
    ]
    return alt.layer(
        shown.mark_area(style="occupied", interpolate="step-after", fillOpacity=0.25).encode(y=occupied),
        shown.mark_line(style="occupied", interpolate="step-after", strokeWidth=1.4).encode(y=occupied),
        shown.mark_line(style="listed", interpolate="step-after", strokeWidth=1.2).encode(y=listed),
        alt.Chart(alt.Data(values=[{"reserved_bytes": reserved}]))
        .mark_rule(style="reserved", strokeDash=[6, 3])
        .encode(y=alt.Y("reserved_bytes:Q", scale=occupied["scale"])),
        marked.mark_rule(style="mark", strokeDash=[2, 2], y=-6, y2="height"),
        *(
            alt.Chart(alt.Data(values=[mark]))
            # Above the chart, on the side that has the room.
            .mark_text(
                style="note",
                align="left" if mark["schedule_position"] * 2 < end else "right",
                dx=5 if mark["schedule_position"] * 2 < end else -5,
                y=-8 - 15 * row,
            )
            .encode(x=at, text="said:N")
            for row, mark in enumerate(marks)
        ),
        shown.mark_circle(style="dot", size=40, aria=False).encode(
            y=occupied, opacity=alt.condition(hover, alt.value(1), alt.value(0))
        ),
        shown.mark_rule(opacity=0, strokeWidth=max(_WIDTH / stripes, 2), aria=False)
        .encode(tooltip=tooltip)
        .add_params(hover),
    ).properties(width="container", height=_HEIGHT)


def _without_address(spec: alt.LayerChart) -> dict[str, Any]:
    return {
        key: value for key, value in spec.to_dict(validate=False).items() if key != "$schema"
    }  # no address in the page
