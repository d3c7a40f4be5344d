"""The reader a good engineer writes in a day: what the project's own reader is benchmarked against.

One `re.match` per line, a few compiled patterns, tuples appended to a list per table. It knows the dialects
D2 to D12, with the glued lines of D7, as long as every instruction stays on one line and the peak is bounded;
any other line is a ValueError.
"""

import re
from collections.abc import Iterator

HEADER = re.compile(
    r"allocation (\d+): (?:0x[0-9a-f]+, )?size (\d+)(?:, color (\d+))?(?:, page -?\d+)?"
    r"(?:, parameter (\d+)(?:, shape \|([^|]*)\|)? at ShapeIndex (\{[\d,]*\}))?"
    r"(?:, output shape is \|([^|]*)\|)?(, constant)?(, thread-local)?(, maybe-live-out)?"
    r"(, preallocated-temp)?:$"
)
VALUE = re.compile(r" value: <(\d+) ([\w.-]+)(\{[\d,]*\})?( \(phi\))?(?: @(\d+))?> \(size=(\d+),offset=(\d+)\): (.*)$")
CROSS_COLOR = re.compile(r" reused by buffers of a different color:$|  value: <.*> \(color=\d+\)$")
TOTAL = re.compile(r"Total bytes used: (\d+)")
HEAD = re.compile(r"<(\d+) ([\w.-]+)(\{[\d,]*\})?( \(phi\))?(?: @(\d+))?>$")
POSITION = re.compile(r"  ([\w.-]+)(?: (\{[\d,]*\}))?$")
USE = re.compile(r"  ([\w.-]+), operand (\d+)(?: (\{[\d,]*\}))?$")
INSTRUCTION = re.compile(r" from instruction: ?(%.*)$")
OPCODE = re.compile(r"%\S+ = .*? ([a-z][a-z0-9-]*)\(")
OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
MAX = re.compile(r"HloLiveRange \(max (\d+)\):$")
SEQUENCE = re.compile(r"    (\d+):(.+)$")
RANGE = re.compile(r"    ([\w.-]+)(\{[\d,]*\}):(\d+)-(\d+)$")
PEAK = re.compile(r"  Live ranges at (\d+) \(peak\):$")
PEAK_LINE = re.compile(r"    ([\w.-]+)(\{[\d,]*\})?: (\d+) bytes(?: \(cumulative: (\d+) bytes\))?$")

TABLES = (
    "dump",  # (total bytes, max position, printed peak position)
    "allocations",  # (index, size, color, parameter, its shape, its index, output shape, four flags)
    "values",  # (id, name, index, phi, color, allocation, offset, size, shape)
    "positions",  # (value id, name, index)
    "uses",  # (value id, name, operand, index)
    "instructions",  # (value id, text, opcode, op_name)
    "schedule",  # (position, name)
    "live_ranges",  # (name, index, start, end)
    "peak_lines",  # (name, index, bytes, cumulative bytes)
)


def read(text: str) -> dict[str, list[tuple]]:
    """Rows per table of one dump; the files of a split dump are passed as one text, in their usual order.

    Sizes are in bytes, an index is kept as printed (`{0,1}`), what is not printed is None. Raises ValueError.
    """
    tables: dict[str, list[tuple]] = {name: [] for name in TABLES}
    lines = iter(text.split("\n"))
    if next(lines) != "BufferAssignment:":
        raise ValueError("not a buffer-assignment dump")
    total = read_allocations(lines, tables)
    max_position = read_used_values(lines, tables)
    peak_position = read_live_ranges(lines, tables)
    tables["dump"].append((total, max_position, peak_position))
    return tables


def read_allocations(lines: Iterator[str], tables: dict[str, list[tuple]]) -> int | None:
    """Read up to and including the line with the total, which is returned."""
    allocation = None
    for line in lines:
        if match := VALUE.match(line):
            number, name, index, phi, color, size, offset, shape = match.groups()
            row = (int(number), name, index, phi is not None, to_int(color))
            tables["values"].append((*row, allocation, int(offset), int(size), shape))
        elif match := HEADER.match(line):
            allocation = int(match[1])
            color, parameter, shape, index, output_shape = match.group(3, 4, 5, 6, 7)
            flags = tuple(match[group] is not None for group in (8, 9, 10, 11))
            row = (allocation, int(match[2]), int(color or 0), to_int(parameter), shape, index, output_shape)
            tables["allocations"].append(row + flags)
        elif match := TOTAL.match(line):
            return int(match[1])
        elif line and not CROSS_COLOR.match(line):
            raise ValueError(f"unexpected line in the allocations: {line[:80]!r}")
    return None


def read_used_values(lines: Iterator[str], tables: dict[str, list[tuple]]) -> int | None:
    """Read up to and including the title of the live ranges, whose maximum is returned."""
    value, section = None, None
    for line in lines:
        if line == " positions:":
            section = "positions"
        elif line == " uses:":
            section = "uses"
        elif section == "positions" and (match := POSITION.match(line)):
            tables["positions"].append((value, match[1], match[2]))
        elif section == "uses" and (match := USE.match(line)):
            tables["uses"].append((value, match[1], int(match[2]), match[3]))
        elif match := INSTRUCTION.match(line):
            instruction = match[1]
            # In some releases the line feed is missing and the next value's head is glued to the text.
            glued = HEAD.match(instruction, instruction.rfind("<")) if instruction.endswith(">") else None
            if glued:
                instruction = instruction[: glued.start()]
            opcode, op_name = OPCODE.match(instruction), OP_NAME.search(instruction)
            row = (value, instruction, opcode and opcode[1], op_name and op_name[1])
            tables["instructions"].append(row)
            if glued:
                value = int(glued[1])
        elif match := HEAD.match(line):
            value = int(match[1])
        elif match := MAX.match(line):
            return int(match[1])
        elif line not in ("", "Used values:", "  (none)", " uses are not initialized yet."):
            raise ValueError(f"unexpected line in the used values: {line[:80]!r}")
    return None


def read_live_ranges(lines: Iterator[str], tables: dict[str, list[tuple]]) -> int | None:
    """Read what is left but for the stack-trace tree; the printed peak position is returned."""
    peak_position = None
    for line in lines:
        if match := SEQUENCE.match(line):
            tables["schedule"].append((int(match[1]), match[2]))
        elif match := RANGE.match(line):
            tables["live_ranges"].append((match[1], match[2], int(match[3]), int(match[4])))
        elif match := PEAK_LINE.match(line):
            tables["peak_lines"].append((match[1], match[2], int(match[3]), to_int(match[4])))
        elif match := PEAK.match(line):
            peak_position = int(match[1])
        elif line.startswith("  Stack trace breakdown"):
            break
        elif line not in ("", "  InstructionSequence:", "  BufferLiveRange:"):
            raise ValueError(f"unexpected line in the live ranges: {line[:80]!r}")
    return peak_position


def to_int(text: str | None) -> int | None:
    return None if text is None else int(text)
