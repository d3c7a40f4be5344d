"""The plain reader: line by line, the patterns of a section tried in turn, a dict per row, every column filled.

It is a simple reader that fills every column: named groups, numbers as int, and what the project's own tables have
beside the printed words: opcode, operands and metadata of each instruction, element type, dimensions, layout, tiles and
bytes of each shape. It knows the dialects D2 to D12 as far as `lean_reader` does, checks only that every line is
known, and interns nothing. It parses each distinct shape and instruction text once.
"""

import re
from collections.abc import Callable
from functools import cache
from math import prod

NAME, INDEX = r"[\w.-]+", r"\{[\d,]*\}"
HEAD = rf"<(?P<value_id>\d+) (?P<instruction>{NAME})(?P<shape_index>{INDEX})?(?P<phi> \(phi\))?(?: @(?P<color>\d+))?>"
HEADER = re.compile(
    r"allocation (?P<allocation>\d+): (?:(?P<pointer>0x[0-9a-f]+), )?size (?P<size>\d+)(?:, color (?P<color>\d+))?"
    rf"(?:, page (?P<page>-?\d+))?(?:, parameter (?P<parameter>\d+)(?:, shape \|(?P<parameter_shape>[^|]*)\|)?"
    rf" at ShapeIndex (?P<parameter_index>{INDEX}))?(?:, output shape is \|(?P<output_shape>[^|]*)\|)?"
    r"(?P<constant>, constant)?(?P<thread_local>, thread-local)?(?P<live_out>, maybe-live-out)?"
    r"(?P<temp>, preallocated-temp)?:$"
)
VALUE = re.compile(rf" value: {HEAD} \(size=(?P<size>\d+),offset=(?P<offset>\d+)\): (?P<shape>.*)$")
CROSS = re.compile(rf"  value: {HEAD} \(color=(?P<other_color>\d+)\)$")
TOTAL = re.compile(r"Total bytes used: (?P<total>\d+)(?: \((?P<human>.*)\))?$")
BLOCK = re.compile(rf"{HEAD}$")
USE = re.compile(rf"  (?P<instruction>{NAME}), operand (?P<operand>\d+)(?: (?P<shape_index>{INDEX}))?$")
POSITION = re.compile(rf"  (?P<instruction>{NAME})(?: (?P<shape_index>{INDEX}))?$")
INSTRUCTION = re.compile(r" from instruction: ?(?P<text>%.*)$")
GLUED = re.compile(rf"{HEAD}$")
MAX = re.compile(r"HloLiveRange \(max (?P<max>\d+)\):$")
SEQUENCE = re.compile(r"    (?P<position>\d+):(?P<instruction>.+)$")
RANGE = re.compile(rf"    (?P<instruction>{NAME})(?P<shape_index>{INDEX}):(?P<start>\d+)-(?P<end>\d+)$")
PEAK_AT = re.compile(r"  Live ranges at (?P<peak>\d+) \(peak\):$")
PEAK = re.compile(
    rf"    (?P<instruction>{NAME})(?P<shape_index>{INDEX})?: (?P<bytes>\d+) bytes"
    r"(?: \(cumulative: (?P<cumulative>\d+) bytes\))?$"
)
NUMBERS = [
    "value_id", "color", "allocation", "size", "offset", "page", "parameter", "other_color", "operand", "position",
    "start", "end", "bytes", "cumulative", "max", "peak", "total",
]  # fmt: skip

ALLOCATIONS = (("hlo_values", VALUE), ("allocations", HEADER), ("cross_color_values", CROSS), ("dumps", TOTAL))
BLOCKS = (("uses", USE), ("positions", POSITION), ("instruction_texts", INSTRUCTION), ("blocks", BLOCK), ("dumps", MAX))
LIVE_RANGE = (("schedule", SEQUENCE), ("live_ranges", RANGE), ("peak_buffers", PEAK), ("dumps", PEAK_AT))
TITLES = {
    "BufferAssignment:", "", " reused by buffers of a different color:", "Used values:", " positions:", " uses:",
    "  (none)", " uses are not initialized yet.", "  InstructionSequence:", "  BufferLiveRange:",
}  # fmt: skip


def read(text: str, found: Callable[[str, dict], None]) -> None:
    """Hand every row of one dump to `found` with the name of its table. Raises ValueError for an unknown line."""
    patterns, allocation, value = ALLOCATIONS, None, None
    for line in text.split("\n"):
        if line in TITLES:
            patterns = BLOCKS if line == "Used values:" else patterns
            continue
        if line.startswith("  Stack trace breakdown"):
            break
        table, match = next(
            ((table, match) for table, pattern in patterns if (match := pattern.match(line))), (None, None)
        )
        if match is None:
            raise ValueError(f"unexpected line: {line[:80]!r}")
        row = match.groupdict()
        for column in NUMBERS:
            if row.get(column) is not None:
                row[column] = int(row[column])
        if table == "allocations":
            allocation = row["allocation"]
            row["parameter_shape"] = row["parameter_shape"] and shape(row["parameter_shape"])
            row["output_shape"] = row["output_shape"] and shape(row["output_shape"])
        elif table == "hlo_values":
            row |= {"allocation": allocation, "shape": shape(row["shape"])}
        elif table == "blocks":
            value = row["value_id"]
        elif table in ("positions", "uses"):
            row["value_id"] = value
        elif table == "instruction_texts":
            glued = GLUED.match(line, line.rfind("<")) if line.endswith(">") else None
            if glued:
                row["text"] = row["text"][: glued.start() - match.start("text")]
            row |= {"value_id": value} | instruction(row["text"])
            if glued:
                value = int(glued["value_id"])
        elif table == "dumps" and "max" in row:
            patterns = LIVE_RANGE
        found(table, row)


OPCODE = re.compile(r"%\S+ = (?P<result>.*?) (?P<opcode>[a-z][a-z0-9-]*)\(")
OPERAND = re.compile(r"%([\w.-]+)")
ATTRIBUTES = {
    name: re.compile(rf'{name}="((?:[^"\\]|\\.)*)"') for name in ("op_name", "source_file", "custom_call_target")
} | {name: re.compile(rf"{name}=(\d+)") for name in ("source_line", "stack_frame_id")}


@cache
def instruction(text: str) -> dict:
    """Return what an instruction text says."""
    match = OPCODE.match(text)
    if match is None:
        return {}
    found = {name: (hit := pattern.search(text)) and hit[1] for name, pattern in ATTRIBUTES.items()}
    for name in ("source_line", "stack_frame_id"):
        found[name] = found[name] and int(found[name])
    for name in ("op_name", "source_file"):
        found[name] = found[name] and found[name].replace("\\'", "'").replace('\\"', '"')
    depth, end = 1, match.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    result = shape(match["result"])
    return found | {"result": result, "opcode": match["opcode"], "operands": OPERAND.findall(text, match.end(), end)}


ARRAY = re.compile(
    r"(?P<element_type>[a-z0-9]+)\[(?P<dims>[\d,<=?]*)\](?:\{(?P<layout>[\d,]*)(?::(?:T(?P<tiles>(?:\([^)]*\))+))?.*?"
    r"(?:E\((?P<bits>\d+)\))?(?:S\((?P<space>\d+)\))?.*)?\})?$"
)
BITS = {"pred": 8, "bf16": 16, "c64": 64, "c128": 128}


@cache
def shape(text: str) -> dict:
    """Return what a shape text says, sizes in bytes; of a tuple its number of elements."""
    match = ARRAY.match(text)
    if match is None:
        return {"text": text, "elements": text.count(",") + 1}
    row = {"text": text} | match.groupdict()
    kind = row["element_type"]
    bits = int(row["bits"] or BITS.get(kind) or max(int(re.sub(r"\D", "", kind)[:2] or 0), 8))
    dims = [int(dim.removeprefix("<=")) for dim in row["dims"].split(",") if dim not in ("", "?")]
    padded = list(dims)
    if row["tiles"]:
        tile = [int(step) for step in row["tiles"][1:].split(")")[0].split(",") if step.isdigit()]
        order = [int(number) for number in row["layout"].split(",") if number]
        for number, step in zip(order, reversed(tile), strict=False):
            padded[number] = -(-padded[number] // step) * step
        padded += tile[: max(len(tile) - len(order), 0)]
    return row | {"dims": dims, "logical": prod(dims) * bits // 8, "physical": prod(padded) * bits // 8}
