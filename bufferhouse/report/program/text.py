"""One program on a terminal, in Markdown and as JSON: the figures of the page, without its pictures."""

from collections.abc import Sequence

from bufferhouse.compare.sizes import is_of_device
from bufferhouse.dump.identity import is_proto
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.program.data import PARTS, Program, Space
from bufferhouse.report.program.kept import copies_note, copy_records, kept_records
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import (
    Bytes,
    bytes_form,
    compiler_said,
    exact_bytes,
    human_bytes,
    percent,
    printable,
    space_title,
    sparkline,
)
from bufferhouse.report.text.screen import cut, report_text
from bufferhouse.report.text.sections import Section, json_text
from bufferhouse.sources.compression import plain_name

_BARS = 60  # of a timeline
_SHOWN_OWNERS = 15
_SHOWN_SAVINGS = 5
_SHOWN_KEPT = 5
_SHOWN_COPIES = 8
_NAME = 28  # characters of a shape
_LONG = 80  # of an op_name
_SHOWN_RUNS = 20  # of each series, the newest
_PEAKS = [Column("name", ""), Column("bytes", "bytes", "bytes"), Column("position", "position", "figure")]
_RANKS = {"thread-local": 4, "constant": 3, "output": 2, "parameter": 1}  # of the balance, what is smallest goes first
_PLACE = Column("place", "op_name", rank=2)
_OWNERS = [
    Column("value_name", "value"),
    Column("shape", "shape", rank=1),
    Column("owned_bytes", "owned", "bytes"),
    Column("peak_share", "share", "share"),
    _PLACE,
]
_KEPT = [
    Column("value_name", "value"),
    Column("kept", "kept alive by", is_whole=True),
    Column("until", "until", "figure"),
    Column("idle", "idle for", "figure"),
    Column("between", "between", rank=1),
    _PLACE,
]
_COPIES = [
    Column("source_instruction_name", "copied value", is_whole=True),
    Column("from_space", "from"),
    Column("to_space", "to"),
    Column("copied_bytes", "bytes", "bytes"),
    *(Column(name, name, "figure") for name in ("position", "both alive for", "away for", "off the peak")),
]
_SAVINGS = [
    Column("edit", "edit", is_whole=True),
    Column("worth_bytes", "worth", "bytes"),
    Column("label", "label"),
    Column("peak_position", "then peak at", "count"),
    _PLACE,
]
_HISTORY = [
    Column("run_name", "run"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("reserved_change_bytes", "change", "change"),
    Column("occupied_peak_bytes", "occupied peak", "bytes"),
]
_WARNINGS = [
    Column("rule", "rule"),
    Column("occurrence_count", "times", "count"),
    Column("expected", "first expected"),
    Column("found", "first found", rank=1),
]

BalanceRow = tuple[str, int, list[int | None]]


def subtitle(dump: Record) -> list[str]:
    """Return two lines about a record of `program_dumps`: run, compiler and platform, then the file."""
    target = dump["compile_target"] if dump["compile_target"] != dump["platform"] else None
    what = "proto" if is_proto(plain_name(dump["relative_path"])) else "text"
    words = [f"run {dump['run_name']}", compiler_said(dump), dump["platform"], target, dump["track"]]
    return [
        " · ".join(printable(word, 80) for word in words if word),
        f"{printable(dump['relative_path'], 200)}, {human_bytes(dump['text_bytes'])} of {what}",
    ]


def space_name(program: Program, space: Space) -> str:
    """Return the name of a memory space: memory space 1 (VMEM)."""
    return space_title(program.dump["platform"], space.memory_space)


def space_heading(program: Program, space: Space) -> str:
    """Return the name of a memory space at the start of a line: Memory space 1 (VMEM)."""
    name = space_name(program, space)
    return name[0].upper() + name[1:]


def notes(program: Program, *, warnings: str = "the warnings at the end") -> list[str]:
    """Return the warnings about the dump, each with the next step; `warnings` says where soft rules are listed."""
    lines = [program.note] if program.note else []
    # A compiler holds back more of a device than its capacity tells, and refuses what seems to fit.
    if program.dump["did_not_fit"]:
        lines.append("The program did not fit, as files beside its dump or a message of its run say.")
    if program.others:
        lines.append(
            f"This run has {counted(len(program.others) + 1, 'different dump')} of the program; this is the largest."
        )
    if not program.spaces:
        lines.append("The dump has no allocation: there is nothing to show.")
    elif not any(space.has_live_ranges for space in program.spaces):
        lines.append("The dump has no live ranges, so it has no timeline, no peak, no map and no balance.")
        if program.dump["has_allocations_alone"]:
            lines.append("It has no values either: if its file was cut short, its bytes are too few.")
    count = len(program.answers["program_warnings"].rows)
    if count:
        lines.append(f"The dump breaks {counted(count, 'soft rule')}: see {warnings}.")
    return lines


def peak_note(space: Space) -> str:
    """Return the sentence about the values at the peak: their count, their bytes, and how many are left out."""
    facts = space.facts
    line = (
        f"{counted(space.peak_value_count, 'value')} at position {facts['occupied_peak_position']:,}: "
        f"{exact_bytes(facts['occupied_peak_bytes'])}."
    )
    left_out = space.peak_value_count - len(space.peak)
    if left_out:
        rest = facts["occupied_peak_bytes"] - sum(row["owned_bytes"] for row in space.peak)
        line += f" Left out: {counted(left_out, 'smaller owner')} with {exact_bytes(rest)}."
    return line


def capacity_note(program: Program, space: Space) -> str:
    """Return the sentence about the capacity of a memory space, and how much of it is reserved; empty if unknown."""
    limit = program.limit(space)
    if limit is None:
        return ""
    capacity, platform = max(limit["capacity_bytes"], 1), program.dump["platform"]
    here = space.facts["reserved_bytes"]
    on_device = sum(one.facts["reserved_bytes"] for one in program.spaces if is_of_device(platform, one.memory_space))
    said = f"Capacity: {exact_bytes(limit['capacity_bytes'])} ({printable(limit['capacity_source'], 120)})"
    more = f" here, {percent(on_device / capacity)} in all memory spaces of the device" if on_device > here else ""
    return f"{said}; {percent(here / capacity)} of it is reserved{more}."


def map_note(program: Program, space: Space) -> str:
    """Return the sentence about the values that the allocation map leaves out; empty if it draws all."""
    if not space.left_out_count:
        return ""
    return (
        f"{space_heading(program, space)}: {space.left_out_count:,} of {counted(space.mapped_count, 'value')} are not "
        f"drawn, those with the smallest areas of bytes and time; their largest slot is "
        f"{exact_bytes(space.largest_left_out_bytes)}."
    )


def balance_rows(space: Space) -> tuple[list[str], list[BalanceRow]]:
    """Return headings and rows of the balance: kinds of allocation with their number, size and parts.

    The row `reserved` sums the rows above it; thread-local allocations, which every thread has once, stand below it.
    """
    headings = ["allocations", "number", "size", *PARTS.values()]
    columns = ["size_bytes", *(f"{part}_bytes" for part in PARTS)]
    rows = [(row["kind"], row["allocation_count"], [row[column] for column in columns]) for row in space.balance]
    inside = [row for row in rows if row[0] != "thread-local"]
    sums = [None if None in counts else sum(counts) for counts in zip(*(row[2] for row in inside), strict=True)]
    total = ("reserved", sum(count for _, count, _ in inside), sums)
    return headings, [*inside, *([total] if inside else []), *(row for row in rows if row[0] == "thread-local")]


def program_text(program: Program, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    JSON is one object: what it is about, and the answers by the names of their statements, each a list of records
    with bytes as numbers.
    """
    if form == "json":
        return json_text({**program.provenance, "dump": program.dump}, program.answers)
    sections = list(_sections(program, bytes_form(exact=exact)))
    return report_text(program.name, sections, form, exact=exact)


def _sections(program: Program, shown: Bytes) -> list[Section]:
    sections = [Section("", [*subtitle(program.dump), *notes(program)])]
    for space in program.spaces:
        heading = space_heading(program, space)
        limit = capacity_note(program, space)
        sections.append(Section(heading, [*_timeline(space), *([limit] if limit else [])], _PEAKS, _peaks(space)))
        sections.append(_balance(space, heading, shown))
        if space.peak:
            sections.append(_owners(space, heading))
        if space.kept:
            sections.append(_kept(space, heading))
        if space.savings:
            sections.append(_savings(space, heading))
        if line := map_note(program, space):
            sections.append(Section("", [line]))
        sections += _history(program, space, heading)
    if program.donations:
        sections.append(donation_section(program))
    if copies := copy_records(program):
        sections.append(_copies(program, copies, shown))
    if warnings := program.answers["program_warnings"].records:
        rows = [row | {"expected": row["expected"][:80], "found": row["found"][:80]} for row in warnings]
        sections.append(Section("Warnings", [], _WARNINGS, rows))
    return sections


def donation_section(program: Program) -> Section:
    """Return the table of the donations that were offered and not taken, with why."""
    columns = [
        Column("parameter", "parameter"),
        Column("parameter_shape", "shape", limit=60, is_whole=True),
        Column("size_bytes", "bytes", "bytes"),
        Column("reason", "why", limit=60, is_prose=True),
        Column("warning_text", "warning", limit=100),
    ]
    rows = [
        row | {"parameter": f"{row['parameter_number']}{row['parameter_shape_index']}".removesuffix("{}")}
        for row in program.donations
    ]
    lines = [
        "XLA did not take them, or JAX says in a log that they are not usable; if several parameters have the shape,"
        " the log does not say which one."
    ]
    return Section("Donations offered and not taken", lines, columns, rows, "donations", shown=_SHOWN_OWNERS)


def _timeline(space: Space) -> list[str]:
    """Return the occupied bytes over the schedule as bars; a bar shows the maximum of its stretch."""
    if not any(row["occupied_bytes"] for row in space.timeline):
        return []
    end = space.timeline[-1]["schedule_position"] + 1
    stretches: list[int | None] = [None] * min(_BARS, end)
    for row in space.timeline:
        place = row["schedule_position"] * len(stretches) // end
        stretches[place] = max(row["occupied_bytes"], stretches[place] or 0)
    return [f"occupied: {sparkline(stretches)}"]


def _peaks(space: Space) -> list[Record]:
    facts = space.facts
    names = {
        "occupied_peak": "occupied peak",
        "listed_peak": "listed peak",
        "dump_listed_peak": "listed peak, all memory spaces",
        "dump_reported_peak": "XLA's (peak), all memory spaces",
    }
    peaks = [
        {"name": name, "bytes": facts[f"{key}_bytes"], "position": _position(facts[f"{key}_position"])}
        for key, name in names.items()
        if facts[f"{key}_bytes"] is not None
    ]
    return [{"name": "reserved", "bytes": facts["reserved_bytes"], "position": ""}, *peaks]


def _position(position: int | None) -> str:
    return "" if position is None else f"{position:,}"


def _place(row: Record) -> str:
    return cut(row["op_name"] or row["source_place"] or "", _LONG)


def _balance(space: Space, heading: str, shown: Bytes) -> Section:
    """Return the balance with one column a kind of allocation, without the parts that are 0 in all kinds."""
    names, kinds = balance_rows(space)
    rows = [(names[1], *(f"{count:,}" for _, count, _ in kinds))]
    for name, figures in zip(names[2:], zip(*(figures for *_, figures in kinds), strict=True), strict=True):
        if any(figures):
            rows.append((name, *map(shown, figures)))
    columns = [Column(names[0], names[0], is_whole=True)]
    columns += [Column(kind, kind, "figure", rank=_RANKS.get(kind, 0)) for kind, *_ in kinds]
    records = [dict(zip((column.name for column in columns), row, strict=True)) for row in rows]
    return Section(f"{heading}: where the bytes go", [], columns, records)


def _owners(space: Space, heading: str) -> Section:
    rows = [row | {"shape": cut(row["shape_text"], _NAME), "place": _place(row)} for row in space.peak[:_SHOWN_OWNERS]]
    lines = [peak_note(space)]
    if space.peak_value_count > len(rows):
        lines.append(f"The {counted(len(rows), 'largest owner')}:")
    return Section(f"{heading}: values at the peak", lines, _OWNERS, rows)


def _kept(space: Space, heading: str) -> Section:
    rows = [
        row | {"until": _position(row["end_position"]), "place": cut(row["last_user"] or "", _LONG)}
        for row in kept_records(space)[:_SHOWN_KEPT]
    ]
    lines = ["The largest values: what keeps each alive, until which position, and how long it is not used."]
    return Section(f"{heading}: what keeps them alive", lines, _KEPT, rows)


def _copies(program: Program, copies: Sequence[Record], shown: Bytes) -> Section:
    rows = [
        row
        | {
            "position": _position(row["copy_position"]),
            "both alive for": _position(row["both_alive_position_count"]),
            "away for": _position(row["away_position_count"]),
            "off the peak": "" if row["saved_bytes"] is None else shown(row["saved_bytes"]),
        }
        for row in copies[:_SHOWN_COPIES]
    ]
    return Section("Copies between memory spaces", [copies_note(program, len(rows))], _COPIES, rows)


def _savings(space: Space, heading: str) -> Section:
    rows = [
        row | {"edit": f"{row['edit']} {row['value_name']}", "place": _place(row)}
        for row in space.savings[:_SHOWN_SAVINGS]
    ]
    lines = ["How far the occupied peak falls with one edit alone; bufferhouse whatif computes several together."]
    return Section(f"{heading}: what a change is worth", lines, _SAVINGS, rows)


def _history(program: Program, space: Space, heading: str) -> list[Section]:
    runs = program.series(space.memory_space)
    if len(runs) < 2:
        return []
    lines = [f"reserved: {sparkline([run['reserved_bytes'] for run in runs])} over {counted(len(runs), 'run')}"]
    if len(runs) > _SHOWN_RUNS:
        lines.append(f"The newest {counted(_SHOWN_RUNS, 'run')}:")
    return [Section(f"{heading}: history over runs", lines, _HISTORY, runs[-_SHOWN_RUNS:])]
