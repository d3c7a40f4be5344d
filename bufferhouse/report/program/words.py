"""The sentences about one program: the same on a terminal, in Markdown and on the page."""

from bufferhouse.errors import counted
from bufferhouse.report.program.data import PARTS, Program, Space
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable, space_title

BalanceRow = tuple[str, int, list[int | None]]


def subtitle(program: Program) -> list[str]:
    """Return two lines about the dump: run, compiler and platform, then the file."""
    dump = program.dump
    compiler = " ".join(filter(None, (dump["compiler"], dump["compiler_version"])))
    target = dump["compile_target"] if dump["compile_target"] != dump["platform"] else None
    words = [f"run {dump['run_name']}", compiler, dump["platform"], target, dump["track"]]
    return [
        " · ".join(printable(word, 80) for word in words if word),
        f"{printable(dump['relative_path'], 200)}, {human_bytes(dump['text_bytes'])} of text",
    ]


def space_name(program: Program, space: Space) -> str:
    """Return the name of a memory space: memory space 1 (VMEM)."""
    return space_title(program.dump["platform"], space.memory_space)


def space_heading(program: Program, space: Space) -> str:
    """Return the name of a memory space at the start of a line: Memory space 1 (VMEM)."""
    name = space_name(program, space)
    return name[0].upper() + name[1:]


def notes(program: Program) -> list[str]:
    """Return the warnings about the dump, each with the next step."""
    lines = [program.note] if program.note else []
    if program.others:
        lines.append(
            f"This run has {counted(len(program.others) + 1, 'different dump')} of the program; this is the largest."
        )
    if not program.spaces:
        lines.append("The dump has no allocation: there is nothing to show.")
    elif not any(space.has_live_ranges for space in program.spaces):
        lines.append("The dump has no live ranges, so it has no timeline, no peak, no map and no balance.")
    count = len(program.answers["program_warnings"].rows)
    if count:
        lines.append(f"The dump breaks {counted(count, 'soft rule')}: see the warnings at the end.")
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
    total = (
        "reserved",
        sum(count for _, count, _ in inside),
        list(map(_sum, zip(*(r[2] for r in inside), strict=True))),
    )
    return headings, [*inside, *([total] if inside else []), *(row for row in rows if row[0] == "thread-local")]


def _sum(counts: tuple[int | None, ...]) -> int | None:
    return None if None in counts else sum(counts)
