"""One program as one HTML page: timeline, allocation map, values at the peak, balance, history."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.html.charts import (
    RUN_LENGTH,
    Chart,
    bytes_axis,
    bytes_axis_from_zero,
    distinct,
    over_runs,
    same_axis,
    tooltip,
)
from bufferhouse.report.html.page import page
from bufferhouse.report.program.data import MAP_VALUES, PARTS, SERIES, Program, Space
from bufferhouse.report.program.kept import copies_note, copy_records, kept_records
from bufferhouse.report.program.savings import with_drawn_slots
from bufferhouse.report.program.text import (
    balance_rows,
    capacity_note,
    donation_section,
    map_note,
    notes,
    peak_note,
    space_heading,
    space_name,
    subtitle,
)
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable
from bufferhouse.report.text.sections import Section

BAR_WIDTH = 10_000  # units
_HEIGHT, _LOW_HEIGHT = 280, 180  # pixels
_IN_SIGHT = 10  # times what is reserved; beyond, the line of the capacity would press the chart flat
_WIDTH = 1200  # pixels that a chart has at most
_PEAK = [
    Column("value_name", "value"),
    Column("opcode", "operation", limit=24),
    Column("shape_text", "shape", limit=40),
    Column("owned_bytes", "owned", "bytes"),
    Column("peak_share", "share", "share"),
    Column("size_bytes", "slot", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("slack_bytes", "slack", "bytes"),
    Column("start_position", "from", "count"),
    Column("end_position", "to", "count"),
    Column("kind", "allocation kind"),
    Column("op_name", "op_name", limit=70),
    Column("source_place", "source", limit=40, link="source_link"),
]
_SAVINGS = [
    Column("worth_bytes", "worth", "bytes"),
    Column("edit", "edit", limit=12),
    Column("value_name", "value"),
    Column("shape_text", "shape", limit=40),
    Column("size_bytes", "slot", "bytes"),
    Column("label", "label", limit=12),
    Column("why", "why", limit=100),
    Column("peak_position", "then peak at", "count"),
    Column("op_name", "op_name", limit=70),
    Column("source_place", "source", limit=40),
]
_KEPT = [
    Column("value_name", "value"),
    Column("owned_bytes", "owned", "bytes"),
    Column("kept", "kept alive by", limit=80),
    Column("end_position", "until", "count"),
    Column("idle", "idle for", limit=24),
    Column("between", "between", limit=80),
    Column("last_user", "last user", limit=70),
]
_COPIES = [
    Column("source_instruction_name", "copied value"),
    Column("from_space", "from"),
    Column("to_space", "to"),
    Column("instruction_name", "copy"),
    Column("shape_text", "shape", limit=40),
    Column("copied_bytes", "bytes", "bytes"),
    Column("copy_position", "begins", "count"),
    Column("done_position", "done", "count"),
    Column("both_alive_position_count", "both alive for", "count"),
    Column("return_position", "back", "count"),
    Column("away_position_count", "away for", "count"),
    Column("saved_bytes", "off the peak", "bytes"),
]
_HISTORY = [
    Column("run_name", "run"),
    Column("compiler_version", "compiler", limit=30),
    Column("platform", "platform"),
    Column("track", "track", limit=30),
    Column("device_kind", "device", limit=30),
    Column("compile_target", "target", limit=20),
    Column("memory_space", "memory space", "count"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("reserved_change_bytes", "change", "change"),
    Column("occupied_peak_bytes", "occupied peak", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("variant_count", "contents", "count"),
    Column("dump_count", "dumps", "count"),
]


def program_page(program: Program) -> str:
    """Return the whole page."""
    has_map = any(space.mapped_count for space in program.spaces)
    copies = copy_records(program)
    return page(
        "program.html",
        f"Program memory: {program.name}",
        with_drawn_slots(program.answers),
        **program.provenance,
        scripts=["map", "map_view", "map_draw"] if has_map else [],
        shared_texts=("program_map", "program_peak"),
        program=program,
        subtitle=subtitle(program.dump),
        notes=notes(program),
        spaces=[_shown(program, space) for space in program.spaces],
        drawn_count=sum(space.mapped_count - space.left_out_count for space in program.spaces),
        map_values=MAP_VALUES,
        bar_width=BAR_WIDTH,
        run_count=len({row["run_id"] for row in program.trend}),
        copies=Section("Copies between memory spaces", (), _COPIES, copies, "copies-table") if copies else None,
        copies_note=copies_note(program, len(copies)) if copies else "",
        history=Section("History over runs", (), _HISTORY, program.trend, "history", "program_trend"),
        donations=donation_section(program) if program.donations else None,
        warnings=program.answers["program_warnings"].records,
    )


def shown(program: Program, space: Space) -> Record:
    """Return what every page of a program shows of a memory space: its name, its bytes, notes, tables and the bar."""
    heading = space_heading(program, space)
    return {
        "memory_space": space.memory_space,
        "name": space_name(program, space),
        "heading": heading,
        "is_small": False,
        "facts": space.facts,
        "has_live_ranges": space.has_live_ranges,
        "capacity_note": capacity_note(program, space),
        "mapped_count": space.mapped_count,
        "map_note": map_note(program, space),
        "peak": _section(space, heading, "Values at the peak", _PEAK, "peak"),
        "peak_note": peak_note(space) if space.peak else "",
        "savings": _section(space, heading, "What a change is worth", _SAVINGS, "savings"),
        "shares": shares_of(space),
        "balance": balance_rows(space),
    }


def _shown(program: Program, space: Space) -> Record:
    found, name = shown(program, space), f"kept-{space.memory_space}"
    heading = f"What keeps them alive: {found['heading']}"
    return found | {
        "timeline": timeline_chart(space, found["name"], program.limit(space)),
        "kept": Section(heading, (), _KEPT, kept_records(space), name) if space.kept else None,
        "history": history_chart(program, space, found["name"]),
    }


def _section(space: Space, heading: str, what: str, columns: Sequence[Column], name: str) -> Section | None:
    """Return a table of the answer `program_<name>` about a memory space; None where it has no row there."""
    records, number = getattr(space, name), space.memory_space
    where = {"memory_space": number}
    title = f"{what}: {heading}"
    return Section(title, (), columns, records, f"{name}-{number}", f"program_{name}", where) if records else None


def shares_of(space: Space) -> list[Record]:
    """Return the parts of the reserved bytes; none where they are not known."""
    parts = [(name, space.balance_total(part)) for part, name in PARTS.items()]
    reserved = space.facts["reserved_bytes"]
    return shares(parts, reserved) if reserved and all(count is not None for _, count in parts) else []


def shares(parts: Sequence[tuple[str, int]], total: int) -> list[Record]:
    """Return the parts of a bar that are not nothing, at most eight; the parts sum to the total.

    `left` and `width` are in units of the bar.

    Raises:
        ValueError: they do not.
    """
    if sum(count for _, count in parts) != total or any(count < 0 for _, count in parts):
        raise ValueError(f"a bar of {total} bytes does not close: {parts}")
    found, start = [], 0
    for color, (name, count) in enumerate(parts, 1):
        left, right = start * BAR_WIDTH / total, (start + count) * BAR_WIDTH / total
        about = {"color": color, "name": name, "count": count, "share": count / total}
        found.append({**about, "left": left, "width": right - left})
        start += count
    return [share for share in found if share["count"]]


def timeline_chart(space: Space, title: str, limit: Record | None) -> Chart | None:
    """Return occupied (filled) and listed (line) bytes over the schedule below the reserved ones (dashed).

    The capacity of the memory space, `limit`, is a full line where it is in sight.
    The occupied peak is marked, and XLA's printed peak where it stands at another position. None where nothing is known
    of any moment, or where nothing lives.
    """
    facts = space.facts
    if not space.timeline or not facts["occupied_peak_bytes"]:
        return None
    peak, printed = facts["occupied_peak_position"], facts["dump_reported_peak_position"]
    marks = [{"schedule_position": peak, "said": f"peak: {human_bytes(facts['occupied_peak_bytes'])} occupied"}]
    if printed not in (None, peak):
        said = f"XLA's (peak): {human_bytes(facts['dump_reported_peak_bytes'])} listed, all spaces"
        marks.append({"schedule_position": printed, "said": said})
    end = space.timeline[-1]["schedule_position"]
    high = max(row[name] for row in space.timeline for name in ("occupied_bytes", "listed_bytes"))
    high = max(high, facts["reserved_bytes"])
    line = limit["capacity_bytes"] if limit and limit["capacity_bytes"] <= _IN_SIGHT * high else None
    axis = bytes_axis_from_zero(max(high, line or 0))
    return Chart.of(
        _timeline(end, axis, facts["reserved_bytes"], marks, len(space.timeline), line),
        _HEIGHT,
        source="program_timeline",
        where={"memory_space": space.memory_space},
        texts={},
        description=f"Chart, {title}: occupied and listed bytes at positions 0 to {end} of the schedule. Occupied peak "
        f"{exact_bytes(facts['occupied_peak_bytes'])} at {facts['occupied_peak_position']}, "
        f"reserved {exact_bytes(facts['reserved_bytes'])}"
        + (f", capacity {exact_bytes(limit['capacity_bytes'])}." if limit else "."),
    )


def history_chart(program: Program, space: Space, title: str) -> Chart | None:
    """Return reserved bytes (solid) and the occupied peak (dashed) over the runs of the series; None for one run."""
    runs = program.series(space.memory_space)
    if len(runs) < 2:
        return None
    texts = distinct({str(run["run_id"]): printable(run["run_name"], RUN_LENGTH) for run in runs})
    columns = ("reserved_bytes", "occupied_peak_bytes")
    reserved = bytes_axis([run[column] for run in runs for column in columns if run[column] is not None])
    occupied = same_axis(reserved, "occupied_peak_bytes")
    shown = over_runs(alt.Chart(alt.NamedData("rows")), list(texts.values()))
    return Chart.of(
        alt.layer(
            shown.mark_line(style="occupied", strokeWidth=1.2, strokeDash=[3, 3]).encode(y=occupied),
            shown.mark_line(style="occupied", strokeWidth=1.8).encode(y=reserved),
            shown.mark_circle(style="occupied", size=36).encode(y=reserved),
        ),
        _LOW_HEIGHT,
        source="program_trend",
        where={name: runs[0][name] for name in (*SERIES, "memory_space")},
        texts={"run": ("run_id", texts)},
        description=f"Line chart, {title}: reserved bytes and occupied peak over {counted(len(runs), 'run')}. "
        "The table that follows has the same figures.",
    )


def _capacity(capacity: int, occupied: alt.Y) -> list[alt.Chart]:
    """Return the line of the capacity, and what it is."""
    at = alt.Chart(alt.Data(values=[{"capacity_bytes": capacity, "said": f"capacity: {human_bytes(capacity)}"}]))
    at = at.encode(y=alt.Y("capacity_bytes:Q", scale=occupied["scale"]))
    said = at.mark_text(style="note", align="right", x="width", dx=-5, dy=-7).encode(text="said:N")
    return [at.mark_rule(style="mark", strokeWidth=1.6), said]


def _timeline(
    end: int, occupied: alt.Y, reserved: int, marks: list[dict[str, Any]], stripes: int, capacity: int | None
) -> alt.LayerChart:
    """Return the chart; a value alive at a position takes its bytes until the next one begins, hence the steps."""
    at = alt.X(
        "schedule_position:Q",
        scale=alt.Scale(domain=[0, max(end, 1)], nice=False),
        title="position in the schedule",
        axis=alt.Axis(format=",d", tickMinStep=1, labelFlush=True),
    )
    listed = same_axis(occupied, "listed_bytes")
    shown = alt.Chart(alt.NamedData("rows")).encode(x=at)
    # Of all marks stripes are pointed at most easily: what is nearest would lack texts in its tooltip (Vega-Lite 6.4).
    hover = alt.selection_point(fields=["schedule_position"], on="pointerover", clear="pointerout", empty=False)
    marked = alt.Chart(alt.Data(values=marks)).encode(x=at)
    texts = [
        tooltip("schedule_position", "position"),
        alt.Tooltip("instruction_name:N", title="instruction"),
        tooltip("occupied_bytes", "occupied (bytes)"),
        tooltip("listed_bytes", "listed (bytes)"),
        tooltip("buffer_count", "values alive"),
    ]
    return alt.layer(
        shown.mark_area(style="occupied", interpolate="step-after", fillOpacity=0.25).encode(y=occupied),
        shown.mark_line(style="occupied", interpolate="step-after", strokeWidth=1.4).encode(y=occupied),
        shown.mark_line(style="listed", interpolate="step-after", strokeWidth=1.2).encode(y=listed),
        alt.Chart(alt.Data(values=[{"reserved_bytes": reserved}]))
        .mark_rule(style="reserved", strokeDash=[6, 3])
        .encode(y=alt.Y("reserved_bytes:Q", scale=occupied["scale"])),
        *(_capacity(capacity, occupied) if capacity else ()),
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
        .encode(tooltip=texts)
        .add_params(hover),
    )
