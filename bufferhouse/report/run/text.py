"""The sections about a run: the same on a terminal, in Markdown and on the page."""

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.joined import joined_section
from bufferhouse.report.run.data import Run
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import (
    compiler_said,
    human_bytes,
    printable,
    reject_line,
    space_heading,
    space_key,
)
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, json_text

_SHOWN = 15  # rows of a table on a terminal and in Markdown
_SHOWN_REJECTS = 10
_EACH_TARGET = "A program counts once for each compile target"
_SPACES = [
    Column("platform", "platform"),
    Column("memory_space", "memory space", "count"),
    Column("program_count", "programs", "count"),
    Column("variant_count", "contents", "count", rank=3),
    Column("dump_count", "dumps", "count", rank=3),
    Column("largest_reserved_bytes", "largest reserved", "bytes"),
    Column("p90_reserved_bytes", "90th percentile", "bytes", rank=1),
    Column("median_reserved_bytes", "median", "bytes", rank=1),
    Column("largest_occupied_peak_bytes", "highest occupied peak", "bytes", rank=1),
    Column("largest_layout_padding_bytes", "most layout padding", "bytes", rank=2),
    Column("padded_program_count", "padded programs", "count", rank=2),
]
_PROGRAMS = [
    Column("program_label", "program", link="program_link"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("reserved_change_bytes", "change", "change", rank=2),
    Column("occupied_peak_bytes", "occupied peak", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes", rank=1),
    Column("slack_bytes", "slack", "bytes", rank=3),
    Column("parameter_bytes", "parameters", "bytes", rank=4),
    Column("output_bytes", "outputs", "bytes", rank=5),
    Column("constant_bytes", "constants", "bytes", rank=5),
    Column("temp_bytes", "temporaries", "bytes", rank=4),
    Column("variant_count", "contents", "count", rank=3),
    Column("dump_count", "dumps", "count", rank=2),
]
_BLOCKS = [
    Column("program_label", "program", link="program_link"),
    Column("kind", "allocation kind"),
    Column("size_bytes", "block size", "bytes"),
    Column("allocation_count", "blocks", "count"),
    Column("occupied_peak_bytes", "occupied peak", "bytes", rank=1),
    Column("first_allocation_index", "first allocation", "count"),
]
_DONATIONS = [
    Column("program_label", "program", link="program_link"),
    Column("program_bytes", "total savings", "bytes", rank=1),
    Column("size_bytes", "savings", "bytes"),
    Column("parameter_number", "parameter", "count"),
    Column("parameter_name", "parameter name", limit=40, rank=3),
    Column("parameter_shape", "parameter shape", limit=40),
    Column("output_name", "output", limit=40, rank=4),
    Column("output_shape", "output shape", limit=40, rank=2),
    Column("in_this_schedule", "free in this schedule", rank=1),
    Column("in_place", "read and written by one instruction", rank=5),
    Column("memory_space", "memory space", "count"),
]
_CONSTANTS = [
    Column("program_label", "program", link="program_link"),
    Column("allocation_bytes", "reserved", "bytes"),
    Column("shape_text", "shape", limit=40),
    Column("instruction_name", "instruction", limit=40),
    Column("op_name", "op_name", limit=70, rank=3),
    Column("memory_space", "memory space", "count"),
]
_RECOMPILED = [
    Column("program_name", "function", link="function_link"),
    Column("dump_count", "dumps", "count"),
    Column("identical_count", "identical", "count"),
    Column("content_count", "contents", "count", rank=1),
    Column("signature_count", "signatures", "count"),
    Column("what_varies", "what varies", rank=1),
    Column("compile_target", "target"),
    Column("largest_reserved_bytes", "largest reserved", "bytes", rank=2),
]


def title(run: Run) -> str:
    """Return the name of the run, safe to print."""
    return printable(run.facts["run_name"], 120)


def run_sections(run: Run, *, exact: bool = False) -> list[Section]:
    """Return all sections of the report that have something to show."""
    parts = [Section("", [*subtitle(run), *notes(run)])]
    if reshaped := run.records("run_reshaped"):
        before = run.records("run_before")[0]["before_run_name"]
        parts.append(joined_section(reshaped, before, run.facts["run_name"], "run_reshaped", exact=exact))
    if spaces := run.records("run_spaces"):
        said = [
            "The largest program, and percentiles over programs, interpolated between two of them; "
            "bytes of programs are never added up."
        ]
        if any(_has_targets(run, space) for space in spaces):
            said.append(f"{_EACH_TARGET}, in percentiles and in padded programs too; under programs it counts once.")
        parts.append(Section("Memory spaces", said, _SPACES, spaces, "spaces", "run_spaces"))
        parts += [programs_section(run, space) for space in spaces]
        parts += [_blocks(run, space) for space in spaces]
    parts += [_donations(run), _constants(run)] if spaces else []
    if again := run.records("run_recompiled"):
        lines = [
            "Functions with several dumps in one folder: recompiled with the same entry signature, or with others.",
        ]
        if any(row["folder_count"] > 1 for row in again):
            lines.append("Of several folders, such as those of several hosts, a row shows the one with the most dumps.")
        parts.append(
            Section("Compiled more than once", lines, _RECOMPILED, again, "recompiled", "run_recompiled", shown=_SHOWN)
        )
    if rejects := run.records("run_rejects"):
        lines = [reject_line(row) for row in rejects[:_SHOWN_REJECTS]]
        more = run.facts["reject_count"] - len(lines)
        lines += [f"… and {more:,} more"] if more > 0 else []
        parts.append(Section("Rejects", [*lines, "all rejects: bufferhouse rejects ls"]))
    return parts


def subtitle(run: Run) -> list[str]:
    """Return two lines about the run: compiler and platform, then counts."""
    facts = run.facts
    words = (compiler_said(facts), facts["platform"], facts["device_kind"], facts["track"])
    words = [printable(word, 80) for word in words if word]
    words.append(f"started {facts['started_at']:%Y-%m-%d %H:%M} UTC ({facts['started_at_source']})")
    counts = [counted(facts[f"{thing}_count"], thing) for thing in ("dump", "content", "program")]
    rejects = counted(facts["reject_count"], "reject") if facts["reject_count"] else "no rejects"
    return [" · ".join(words), f"{', '.join(counts)}, {rejects}, {human_bytes(facts['text_bytes'])} of text"]


def notes(run: Run) -> list[str]:
    """Return the warnings about the run."""
    facts, lines = run.facts, [run.note] if run.note else []
    if not facts["dump_count"]:
        lines.append("No dump of this run could be read; see its rejects below.")
    elif not run.records("run_spaces"):
        lines.append("No dump of this run holds an allocation, so there is nothing to show.")
    unknown = sum(row["occupied_peak_bytes"] is None for row in run.records("run_programs"))
    if unknown:
        lines.append(f"{counted(unknown, 'row')} below without occupied peak and padding: no live ranges.")
    return lines


def _where(space: Record) -> dict[str, object]:
    return {name: space[name] for name in ("platform", "memory_space")}


def _has_targets(run: Run, space: Record) -> bool:
    """Return whether a program of a memory space is compiled for several compile targets: it has a row for each."""
    return len(run.records("run_programs", **_where(space))) > space["program_count"]


def programs_section(run: Run, space: Record) -> Section:
    """Return the programs of a memory space, the largest first."""
    rows = run.records("run_programs", **_where(space))
    files = sum(row["dump_count"] for row in rows)
    line = f"{counted(len(rows), 'program')}, the largest first"
    if files > len(rows):
        line += f"; each row shows the largest dump of its program, of {counted(files, 'dump')}"
    lines = [f"{line}.", *([f"{_EACH_TARGET}."] if _has_targets(run, space) else [])]
    name = f"programs-{space_key(space)}"
    heading = f"Programs in {space_heading(space)}"
    return Section(heading, lines, _PROGRAMS, rows, name, "run_programs", _where(space), _SHOWN)


def _blocks(run: Run, space: Record) -> Section:
    rows = run.records("run_blocks", **_where(space))
    heading = f"Largest contiguous blocks in {space_heading(space)}"
    lines = ["One row holds all allocations of one size and kind in one program."]
    return Section(heading, lines, _BLOCKS, rows, f"blocks-{space_key(space)}", "run_blocks", _where(space), _SHOWN)


def _donations(run: Run) -> Section:
    rows = run.records("run_donations")
    if not rows:
        return Section("Donation candidates", ["No output could take the bytes of an argument."])
    lines = [
        f"{counted(rows[0]['donation_count'], 'argument')} with the shape of an output, which could take its bytes "
        "(donate_argnums in JAX); the programs with the largest savings first. Those free in this schedule are a lower "
        "bound: with donation the compiler makes another schedule."
    ]
    return Section("Donation candidates", lines, _DONATIONS, rows, "donations", "run_donations", shown=_SHOWN)


def _constants(run: Run) -> Section:
    rows = run.records("run_constants")
    if not rows:
        return Section("Constants", ["No constant is baked into a program."])
    lines = [f"{counted(rows[0]['constant_count'], 'constant')} baked into programs, the largest first."]
    return Section("Constants", lines, _CONSTANTS, rows, "constants", "run_constants", shown=_SHOWN)


def run_text(run: Run, form: str, *, exact: bool = False) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    JSON is one object: what it is about, and the answers by the names of their statements, each a list of records
    with bytes as numbers.
    """
    if form == "json":
        return json_text({**run.provenance, "run": run.facts}, run.answers)
    return report_text(title(run), run_sections(run, exact=exact), form, exact=exact)
