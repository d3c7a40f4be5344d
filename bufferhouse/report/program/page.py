"""One program as one HTML page: timeline, allocation map, values at the peak, balance, history."""

import html
from collections.abc import Sequence

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.html.blocks import bytes_bar, footer, note, tiles
from bufferhouse.report.html.charts import Chart
from bufferhouse.report.html.page import chart_place, page, text
from bufferhouse.report.html.tables import answer_source, answer_table, bytes_cell, html_table
from bufferhouse.report.program.charts import history_chart, timeline_chart
from bufferhouse.report.program.data import MAP_VALUES, PARTS, Program, Space
from bufferhouse.report.program.words import (
    balance_rows,
    map_note,
    notes,
    peak_note,
    space_heading,
    space_name,
    subtitle,
)
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes, human_bytes

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
    Column("source_place", "source", limit=40),
]
_HISTORY = [
    Column("run_name", "run"),
    Column("compiler_version", "compiler", limit=30),
    Column("platform", "platform"),
    Column("track", "track", limit=30),
    Column("compile_target", "target", limit=20),
    Column("memory_space", "memory space", "count"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("reserved_change_bytes", "change", "change"),
    Column("occupied_peak_bytes", "occupied peak", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("variant_count", "contents", "count"),
    Column("dump_count", "dumps", "count"),
]
_MODES = {
    "opcode": "operation",
    "element_type": "element type",
    "kind": "kind of allocation",
    "layout_padding": "layout padding",
    "slack": "slack",
}
_HELP = (
    "Drag or use the arrow keys to move. + and − zoom, and so does the wheel after a click on the map: with Shift in "
    "time only, with Alt in bytes only. 0 shows everything; N and P go to the next and the previous value. A click "
    "pins a value below."
)


def program_page(program: Program) -> str:
    """Return the whole page."""
    charts: list[Chart] = []
    tables = {"history": answer_source(_HISTORY, "program_trend")}
    parts = [_head(program)]
    mapped = [space for space in program.spaces if space.mapped_count]
    if program.spaces:
        parts += ["<h2>Memory over the schedule</h2>", *(_timeline(program, space, charts) for space in program.spaces)]
    if mapped:
        parts.append(_map(program, mapped))
    peaks = [space for space in program.spaces if space.peak]
    if peaks:
        parts += ["<h2>Values at the peak</h2>", f'<p class="soft">{_OWNERS}</p>']
    for space in peaks:
        name = f"peak-{space.memory_space}"
        tables[name] = answer_source(_PEAK, "program_peak", {"memory_space": space.memory_space})
        parts += [_heading(program, space), f'<p class="soft">{html.escape(peak_note(space))}</p>']
        label = f"Values at the peak: {space_heading(program, space)}"
        parts.append(answer_table(name, label, _PEAK, space.peak))
    if program.spaces:
        parts += ["<h2>Where the bytes go</h2>", f'<p class="soft">{_BALANCE}</p>']
        parts += [_balance(program, space) for space in program.spaces]
    if program.trend:
        parts.append(_history(program, charts))
    if warnings := program.answers["program_warnings"].records:
        parts.append(_warnings(warnings))
    parts.append(footer(program.warehouse, program.asked_at))
    return page(
        f"Program memory: {html.escape(program.name)}",
        "\n".join(parts),
        program.answers,
        charts,
        tables=tables,
        scripts=["map", "map_view", "map_draw"] if mapped else [],
        shared_texts=("program_map", "program_peak"),
    )


_OWNERS = (
    "Values alive at the occupied peak, the largest owners first. A byte of several values is owned by the value that "
    "starts last, so that owned bytes sum to the peak."
)
_BALANCE = (
    "The bytes of each allocation at its own occupied peak, no byte counted twice: elements, layout padding (added by "
    "tiles), slack (alias sets and alignment) and tuple tables alive at the peak; bytes used only at other moments, or "
    "only by values without a live range; stride (gaps between slots at a constant distance); and bytes that no value "
    "uses."
)


def _head(program: Program) -> str:
    parts = [f"<h1>{text(program.name)}</h1>"]
    parts += [f'<p class="soft">{text(line)}</p>' for line in subtitle(program)]
    parts += [note(line) for line in notes(program)]
    if program.spaces:
        facts = program.spaces[0].facts
        names = {
            "reserved_bytes": "reserved",
            "occupied_peak_bytes": "occupied peak",
            "parameter_bytes": "parameters",
            "output_bytes": "outputs",
            "constant_bytes": "constants",
            "temp_bytes": "temporaries",
        }
        figures = [
            (name, f'<span title="{exact_bytes(facts[key])}">{human_bytes(facts[key])}</span>')
            for key, name in names.items()
        ]
        parts.append(f"<h3>{html.escape(space_heading(program, program.spaces[0]))}</h3>")
        parts.append(tiles(figures))
    return "\n".join(parts)


def _heading(program: Program, space: Space) -> str:
    return f"<h3>{html.escape(space_heading(program, space))}</h3>"


def _timeline(program: Program, space: Space, charts: list[Chart]) -> str:
    facts = space.facts
    parts = [_heading(program, space)]
    if not space.has_live_ranges:
        parts.append(
            f'<p class="soft">Reserved: {exact_bytes(facts["reserved_bytes"])}. The dump has no live ranges.</p>'
        )
        return "\n".join(parts)
    if chart := timeline_chart(space, space_name(program, space)):
        charts.append(chart)
        parts.append(chart_place(len(charts), chart))
        parts.append(
            '<p class="soft">Filled: occupied, each byte counted once. Line: listed, as XLA counts, shared bytes '
            "counted for each of their values. Dashed: reserved.</p>"
        )
    headings = ["figure", "bytes", "position"]
    figures = [("reserved", "reserved_bytes", None), ("occupied peak", "occupied_peak_bytes", "occupied_peak_position")]
    figures.append(("listed peak", "listed_peak_bytes", "listed_peak_position"))
    figures.append(("listed peak of all memory spaces together", "dump_listed_peak_bytes", "dump_listed_peak_position"))
    figures.append(("XLA's printed (peak), all together", "dump_reported_peak_bytes", "dump_reported_peak_position"))
    rows = []
    for name, count, position in figures:
        place = facts[position] if position else None
        cell = '<td class="soft">–</td>' if place is None else f'<td data-key="{place}">{place:,}</td>'
        rows.append((name, [bytes_cell(facts[count]), cell]))
    parts.append(html_table(f"Memory over the schedule: {space_heading(program, space)}", headings, rows))
    return "\n".join(parts)


def _map(program: Program, spaces: list[Space]) -> str:
    options = "".join(
        f'<option value="{space.memory_space}">{html.escape(space_name(program, space))}</option>' for space in spaces
    )
    modes = "".join(f'<option value="{mode}">{name}</option>' for mode, name in _MODES.items())
    keys = [("+", "Zoom in", "+"), ("-", "Zoom out", "−"), ("0", "Show everything", "all")]
    buttons = " ".join(
        f'<button type="button" data-key="{key}" aria-label="{what}" title="{what}">{face}</button>'
        for key, what, face in keys
    )
    left_out = "".join(note(line) for space in spaces if (line := map_note(program, space)))
    drawn = sum(space.mapped_count - space.left_out_count for space in spaces)
    return f"""<h2>Allocation map</h2>
<p class="soft">{counted(drawn, "value")}, a rectangle each. The schedule runs from left to right; addresses run
upwards, allocation above allocation. Dotted: the occupied peak. The map draws at most {MAP_VALUES:,} values.</p>
{left_out}
<div class="map">
<noscript>The map needs JavaScript; the tables that follow have the values of the peak.</noscript>
<div class="tools" hidden>
<label>Memory space <select name="space">{options}</select></label>
<label>Allocation <select name="allocation"></select></label>
<label>Colour <select name="mode">{modes}</select></label>
<label>Find <input type="search" name="find"></label> <output class="soft"></output>
<span>{buttons}</span>
</div>
<canvas tabindex="0" role="application" aria-label="Allocation map" aria-describedby="map-help"></canvas>
<div class="tip" hidden></div>
<ul class="key"></ul>
<p class="soft help" id="map-help">{_HELP}</p>
<div class="details" role="status"></div>
</div>"""


def _balance(program: Program, space: Space) -> str:
    reserved = space.facts["reserved_bytes"]
    parts = [_heading(program, space)]
    totals = [(name, space.balance_total(part)) for part, name in PARTS.items()]
    if reserved and None not in (count for _, count in totals):
        parts.append(bytes_bar(totals, reserved))
    elif reserved:
        parts.append('<p class="soft">The dump has no live ranges, so its allocations cannot be split.</p>')
    headings, rows = balance_rows(space)
    cells = [
        (name, [f'<td data-key="{count}">{count:,}</td>', *map(bytes_cell, figures)]) for name, count, figures in rows
    ]
    parts.append(html_table(f"Where the bytes go: {space_heading(program, space)}", headings, cells))
    return "\n".join(parts)


def _history(program: Program, charts: list[Chart]) -> str:
    runs = len({row["run_id"] for row in program.trend})
    parts = ["<h2>History over runs</h2>"]
    if runs == 1:
        parts.append('<p class="soft">One run so far: ingest the dumps of another run to see changes.</p>')
    for space in program.spaces:
        if chart := history_chart(program, space, space_name(program, space)):
            charts.append(chart)
            parts += [_heading(program, space), chart_place(len(charts), chart)]
            parts.append('<p class="soft">Solid: reserved. Dashed: occupied peak.</p>')
    caption = f"All series of the program, {counted(runs, 'run')}"
    parts.append(answer_table("history", "History over runs", _HISTORY, program.trend, caption))
    return "\n".join(parts)


def _warnings(warnings: Sequence[Record]) -> str:
    rows = []
    for row in warnings:
        cells = [f'<td class="text">{text(row[name], 200)}</td>' for name in ("expected", "found")]
        cells.append(f'<td data-key="{row["occurrence_count"]}">{row["occurrence_count"]:,}</td>')
        rows.append((row["rule"], cells))
    return "<h2>Warnings</h2>\n" + html_table(
        "Warnings", ["rule", "first expected", "first found", "times"], rows, texts=3
    )
