"""Columns to the bytes they came from: the mirror image of `parse`, section by section."""

from collections.abc import Iterator

from bufferhouse.dump import grammar
from bufferhouse.dump.columns import Dump, PeakBuffers, heads


def render(dump: Dump) -> dict[str, bytes]:
    """Return the files of a dump by role, byte for byte as they were read.

    Roles are `combined`, or `allocations`, `values` and `live_range`, as in `dump.trailing_newlines`.
    """
    if dump.file_layout == "combined":
        texts = {"combined": _combined(dump)}
    else:
        texts = {"allocations": grammar.FIRST_LINE + _allocations(dump)}
        if "values" in dump.trailing_newlines:
            texts["values"] = _totals(dump) + _used_values(dump)
        if "live_range" in dump.trailing_newlines:
            texts["live_range"] = _live_range(dump)
    return {
        role: (text + "\n" * dump.trailing_newlines[role]).encode(dump.text_encoding) for role, text in texts.items()
    }


def _combined(dump: Dump) -> str:
    text = grammar.FIRST_LINE + _allocations(dump)
    if dump.has_used_values:
        text += _totals(dump) + _used_values(dump)
    if dump.live_range_state != "absent":
        text += "\n\n" + _live_range(dump)
    return text


def _allocations(dump: Dump) -> str:
    lines: list[list[str]] = [[header] for header in _headers(dump)]
    v = dump.values
    names = heads(dump)
    for head, owner, size, offset, shape in zip(
        names, v.allocation_index, v.size_bytes, v.offset_bytes, v.shape, strict=True
    ):
        lines[owner].append(f" value: {head} (size={size},offset={offset}): {shape}\n")
    cross = dump.cross_color_values
    opened = set()
    for owner, row, space in zip(cross.allocation_index, cross.value_row, cross.memory_space, strict=True):
        if owner not in opened:
            opened.add(owner)
            lines[owner].append(grammar.CROSS_HEADER)
        lines[owner].append(f"  value: {names[row]} (color={space})\n")
    return "".join(line for own in lines for line in own)


def _headers(dump: Dump) -> Iterator[str]:
    a = dump.allocations
    for i in range(len(a.size_bytes)):
        flags = [
            name
            for name, column in (
                (", constant", a.is_constant),
                (", thread-local", a.is_thread_local),
                (", maybe-live-out", a.is_maybe_live_out),
            )
            if column[i]
        ]
        if not flags and a.parameter_number[i] is None:
            flags = [", preallocated-temp"]
        yield "".join(
            [
                f"allocation {i}: ",
                "" if a.pointer[i] is None else f"{a.pointer[i]}, ",
                f"size {a.size_bytes[i]}",
                f", color {a.memory_space[i]}" if a.memory_space[i] else "",
                "" if a.page[i] is None else f", page {a.page[i]}",
                "" if a.parameter_number[i] is None else f", parameter {a.parameter_number[i]}",
                "" if a.parameter_shape[i] is None else f", shape |{a.parameter_shape[i]}|",
                "" if a.parameter_shape_index[i] is None else f" at ShapeIndex {a.parameter_shape_index[i]}",
                "" if a.output_shape[i] is None else f", output shape is |{a.output_shape[i]}|",
                *flags,
                ":\n",
            ]
        )


def _totals(dump: Dump) -> str:
    if dump.total_bytes is None:
        return ""
    human = "" if dump.total_human is None else f" ({dump.total_human})"
    return f"\nTotal bytes used: {dump.total_bytes}{human}\n"


def _used_values(dump: Dump) -> str:
    v, p, u = dump.values, dump.positions, dump.uses
    positions = iter(
        [
            f"  {name}\n" if index is None else f"  {name} {index}\n"
            for name, index in zip(p.instruction, p.shape_index, strict=True)
        ]
    )
    uses = iter(
        [
            f"  {name}, operand {number}\n" if index is None else f"  {name}, operand {number} {index}\n"
            for name, number, index in zip(u.instruction, u.operand_number, u.operand_shape_index, strict=True)
        ]
    )
    empty = grammar.NO_USES if dump.none_form == "none" else grammar.USES
    opening = {"listed": grammar.USES, "empty": empty, "uninitialized": grammar.USES_UNINITIALIZED}
    prefix = grammar.INSTRUCTION_PREFIX + (" " if dump.has_instruction_space else "")
    closing = "" if dump.is_glued else "\n"
    parts = [grammar.USED_VALUES]
    for row, head in enumerate(heads(dump)):
        parts += [head, "\n positions:\n"]
        parts += [next(positions) for _ in range(p.count[row])]
        parts.append(opening[v.uses_state[row]])
        parts += [next(uses) for _ in range(u.count[row])]
        if dump.has_instruction_texts:
            parts += [prefix, v.instruction_text[row], closing]
    return "".join(parts)


def _live_range(dump: Dump) -> str:
    if dump.live_range_state == "not available":
        return grammar.LIVE_RANGE_UNAVAILABLE
    r = dump.live_ranges
    parts = [f"HloLiveRange (max {dump.max_position}):\n  InstructionSequence:\n"]
    parts += [f"    {number}:{name}\n" for number, name in enumerate(dump.schedule)]
    parts.append(grammar.RANGES_HEADER)
    parts += [
        f"    {name}{index}:{begin}-{end}\n"
        for name, index, begin, end in zip(r.instruction, r.shape_index, r.start_position, r.end_position, strict=True)
    ]
    if dump.live_range_state == "unbounded":
        parts.append(grammar.PEAK_UNBOUNDED)
    else:
        parts.append(f"  Live ranges at {dump.reported_peak_position} (peak):\n")
        parts += _peak_lines(dump.peak_buffers, dump.peak_form)
        parts.append(dump.stack_trace or "")
    return "".join(parts)


def _peak_lines(table: PeakBuffers, form: str | None) -> Iterator[str]:
    for name, index, size, total in zip(
        table.instruction, table.shape_index, table.listed_bytes, table.cumulative_bytes, strict=True
    ):
        printed = "" if form == "name" else index
        cumulative = f" (cumulative: {total} bytes)" if form == "cumulative" else ""
        yield f"    {name}{printed}: {size} bytes{cumulative}\n"
