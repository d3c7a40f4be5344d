"""A slow and obvious second opinion on buffer-assignment dumps, for the tests to check the warehouse with.

It shares no code with the project: a line at a time, a dict per thing, plain loops over every position of the
schedule. It reads the dialects D1 to D12 of XLA's `BufferAssignment::ToString`, `HloValue::ToString` and
`HloLiveRange::ToString`. A line it does not understand is a ValueError, never skipped; only the stack-trace
tree behind the peak lines is passed over.
"""

import itertools
import re
from functools import cache

NAME = r"([A-Za-z_][A-Za-z0-9_.-]*)"
INDEX = r"(\{[0-9,]*\})"
HEAD = rf"<(\d+) {NAME}{INDEX}?( \(phi\))?(?: @(\d+))?>"
HEADER_LINE = re.compile(
    r"allocation (?P<index>\d+): (?:(?P<pointer>0x[0-9a-f]+), )?size (?P<size>\d+)"
    r"(?:, color (?P<color>\d+))?(?:, page (?P<page>-?\d+))?"
    rf"(?:, parameter (?P<number>\d+)(?:, shape \|(?P<shape>[^|]*)\|)? at ShapeIndex (?P<at>{INDEX}))?"
    r"(?:, output shape is \|(?P<output>[^|]*)\|)?(?P<constant>, constant)?(?P<thread_local>, thread-local)?"
    r"(?P<live_out>, maybe-live-out)?(?P<temp>, preallocated-temp)?:"
)
VALUE_LINE = re.compile(rf" value: {HEAD} \(size=(\d+),offset=(\d+)\): (.+)")
CROSS_LINE = re.compile(rf"  value: {HEAD} \(color=(\d+)\)")
TOTAL_LINE = re.compile(r"Total bytes used: (\d+)(?: \([0-9.]+[KMGTPE]?i?B\))?")
HEAD_AT_END = re.compile(HEAD + "$")
POSITION_LINE = re.compile(rf"  {NAME}(?: {INDEX})?")
USE_LINE = re.compile(rf"  {NAME}, operand (\d+)(?: {INDEX})?")
MAX_LINE = re.compile(r"HloLiveRange \(max (\d+)\):")
SEQUENCE_LINE = re.compile(rf"    (\d+):{NAME}")
RANGE_LINE = re.compile(rf"    {NAME}{INDEX}:(\d+)-(\d+)")
PEAK_TITLE = re.compile(r"  Live ranges at (\d+) \(peak\):")
PEAK_LINE = re.compile(rf"    {NAME}{INDEX}?: (\d+) bytes(?: \(cumulative: (\d+) bytes\))?")
LIVE_TITLES = (
    "",
    "  InstructionSequence:",
    "  BufferLiveRange:",
    "  Peak memory could not be determined due to unbounded dynamic shape.",
    "HloLiveRange not available (finalized or constructed from proto)",
)
OLD = "the pre-2019-09 dialect of TensorFlow 1.x, which is not supported"


def read_dump(text: str) -> dict:
    """Read one combined file, or the allocations file of a split dump whose other files are missing.

    The keys are `allocations` (dicts in order of index), `values` (dicts by id), `schedule`, `live_ranges`,
    `max_position`, `peak_position`, `peak_lines` and `total_bytes`. What an absent section would say is None;
    only `positions`, of which every used value has at least one, is then an empty list. Sizes are in bytes,
    an index is a tuple of ints. Raises ValueError.
    """
    lines = [*text.split("\n"), ""]
    end = lines.index("")
    for number in range(end + 1, len(lines)):
        if lines[number].startswith("HloLiveRange ") and lines[number - 1] == "":
            return assemble(lines[:end], lines[end:number], lines[number:])
    return assemble(lines[:end], lines[end:], [])


def read_split(allocations: str, values: str | None, live_range: str | None) -> dict:
    """Read the files of a split dump (D11 and later), the last two of which may be missing."""
    allocation_lines = allocations.rstrip("\n").split("\n")
    return assemble(allocation_lines, (values or "").split("\n"), (live_range or "").split("\n"))


def assemble(allocation_lines: list[str], value_lines: list[str], live_lines: list[str]) -> dict:
    dump = {"allocations": [], "values": {}, "schedule": None, "live_ranges": None, "max_position": None}
    dump |= {"peak_position": None, "peak_lines": None, "total_bytes": None}
    read_allocations(allocation_lines, dump)
    read_totals_and_used_values(value_lines, dump)
    read_live_ranges(live_lines, dump)
    # An index that is not printed at a value is printed as {} at its range.
    ranges = {(name, index): (start, end) for name, index, start, end in dump["live_ranges"] or []}
    for value in dump["values"].values():
        value["live_range"] = ranges.get((value["name"], value["index"] or ()))
    has_pointer = any(allocation["pointer"] for allocation in dump["allocations"])
    if has_pointer and not any(line for line in value_lines):
        raise ValueError(f"pointers in the headers and nothing behind the allocations: {OLD}")
    if dump["total_bytes"] not in (None, sum(allocation["size"] for allocation in dump["allocations"])):
        raise ValueError("the printed total is not the sum of the allocation sizes")
    return dump


def read_allocations(lines: list[str], dump: dict) -> None:
    if lines[0] != "BufferAssignment:":
        raise ValueError(f"not a buffer-assignment dump: it begins with {lines[0][:80]!r}")
    inside_cross_block = False
    for line in lines[1:]:
        if match := HEADER_LINE.fullmatch(line):
            dump["allocations"].append(allocation_of(match))
            inside_cross_block = False
        elif match := VALUE_LINE.fullmatch(line):
            read_value(match, dump)
        elif line == " reused by buffers of a different color:":
            inside_cross_block = True
        elif inside_cross_block and (match := CROSS_LINE.fullmatch(line)):
            dump["allocations"][-1]["cross_color_values"].append((int(match[1]), int(match[6])))
        elif line.startswith("  "):
            raise ValueError(f"{OLD}: {line!r}")
        else:
            raise ValueError(f"not a line of an allocation: {line!r}")


def allocation_of(match: re.Match) -> dict:
    return {
        "index": int(match["index"]),
        "pointer": match["pointer"],
        "size": int(match["size"]),
        "memory_space": int(match["color"] or 0),
        "page": number_or_none(match["page"]),
        "parameter_number": number_or_none(match["number"]),
        "parameter_shape_index": index_or_none(match["at"]),
        "parameter_shape": match["shape"],
        "output_shape": match["output"],
        "is_constant": match["constant"] is not None,
        "is_thread_local": match["thread_local"] is not None,
        "is_maybe_live_out": match["live_out"] is not None,
        "is_preallocated_temp": match["temp"] is not None,
        "values": [],
        "cross_color_values": [],
    }


def read_value(match: re.Match, dump: dict) -> None:
    value = head_of(match)
    if value["id"] in dump["values"]:
        raise ValueError(f"value {value['id']} stands in two allocations")
    value |= {"allocation": dump["allocations"][-1]["index"], "offset": int(match[7]), "size": int(match[6])}
    value |= {"shape": match[8], "positions": [], "uses": None, "instruction_text": None}
    value["live_range"] = None
    dump["values"][value["id"]] = value
    dump["allocations"][-1]["values"].append(value["id"])


def read_totals_and_used_values(lines: list[str], dump: dict) -> None:
    for number, line in enumerate(lines):
        if match := TOTAL_LINE.fullmatch(line):
            dump["total_bytes"] = int(match[1])
        elif line == "Used values:":
            read_used_values(lines[number + 1 :], dump)
            return
        elif line:
            raise ValueError(f"neither the total nor the used values: {line!r}")


def read_used_values(lines: list[str], dump: dict) -> None:
    while lines and lines[-1] == "":
        lines = lines[:-1]
    # The line before " positions:" ends in the head of a value. What stands before that head on the line is
    # the end of the previous instruction, whose line feed D7 forgets.
    starts = []
    for number in range(len(lines) - 1):
        if lines[number + 1] == " positions:" and HEAD_AT_END.search(lines[number]):
            starts.append(number)
    if lines and (not starts or HEAD_AT_END.match(lines[0]) is None):
        raise ValueError(f"not the head of a value: {lines[0]!r}")
    seen = set()
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        head = head_of(HEAD_AT_END.search(lines[start]))
        value = dump["values"].get(head["id"], {})
        if head != {key: value.get(key) for key in head}:
            raise ValueError(f"a used value that no allocation holds: {lines[start]!r}")
        body = lines[start + 2 : end]
        if end < len(lines) and (glued := HEAD_AT_END.sub("", lines[end])):
            body.append(glued)
        read_block(body, value)
        seen.add(head["id"])
    if seen != set(dump["values"]):
        raise ValueError(f"values without a block: {sorted(set(dump['values']) - seen)}")


def read_block(lines: list[str], value: dict) -> None:
    part = "positions"
    for line in lines:
        if part == "text":
            value["instruction_text"] += "\n" + line
        elif line.startswith(" from instruction:"):
            part = "text"
            value["instruction_text"] = line.removeprefix(" from instruction:").removeprefix(" ")
        elif line == " uses:":
            part = "uses"
            value["uses"] = []
        elif line == " uses are not initialized yet.":
            part = "uses unknown"
        elif part == "positions" and (match := POSITION_LINE.fullmatch(line)):
            value["positions"].append((match[1], index_or_none(match[2])))
        elif part == "uses" and (match := USE_LINE.fullmatch(line)):
            value["uses"].append((match[1], int(match[2]), index_or_none(match[3])))
        elif not (part == "uses" and line == "  (none)"):
            raise ValueError(f"not a line of a used value: {line!r}")


def read_live_ranges(lines: list[str], dump: dict) -> None:
    for line in lines:
        if match := MAX_LINE.fullmatch(line):
            dump |= {"max_position": int(match[1]), "schedule": [], "live_ranges": []}
        elif match := SEQUENCE_LINE.fullmatch(line):
            if int(match[1]) != len(dump["schedule"]):
                raise ValueError(f"the schedule is not numbered from 0 upwards: {line!r}")
            dump["schedule"].append(match[2])
        elif match := RANGE_LINE.fullmatch(line):
            dump["live_ranges"].append((match[1], index_or_none(match[2]), int(match[3]), int(match[4])))
        elif match := PEAK_TITLE.fullmatch(line):
            dump |= {"peak_position": int(match[1]), "peak_lines": []}
        elif match := PEAK_LINE.fullmatch(line):
            row = (match[1], index_or_none(match[2]), int(match[3]), number_or_none(match[4]))
            dump["peak_lines"].append(row)
        elif line.startswith("  Stack trace breakdown for peak usage: "):
            return
        elif line not in LIVE_TITLES:
            raise ValueError(f"not a line of the live ranges: {line!r}")


def head_of(match: re.Match) -> dict:
    head = {"id": int(match[1]), "name": match[2], "index": index_or_none(match[3])}
    return head | {"is_phi": match[4] is not None, "memory_space": number_or_none(match[5])}


def number_or_none(text: str | None) -> int | None:
    return None if text is None else int(text)


def index_or_none(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(number) for number in re.findall(r"\d+", text))


@cache
def logical_bytes(shape_text: str) -> int:
    """The bytes of a shape without padding, a tuple 8 per element, as `ShapeUtil::ByteSizeOf(shape, 8)`."""
    shape = re.sub(r"/\*index=\d+\*/", "", shape_text)
    if shape.startswith("b("):
        return logical_bytes(shape[2:-1])
    if shape.startswith("("):
        return 8 * tuple_arity(shape)
    _, dims, layout, byte_width = array_parts(shape)
    count = 1
    for dim in dims:
        count *= dim
    element_bits = re.search(r"E\((\d+)\)", layout)
    return (count * int(element_bits[1]) + 7) // 8 if element_bits else count * byte_width


def physical_bytes(shape_text: str) -> int:
    """The bytes of an array as laid out: its dims, most major first, rounded up to the first tile.

    Without a tile, and for a tuple, this is `logical_bytes`. A tile dimension `*` joins its dimension to the
    next more minor one before tiling; a split `SC(d:at,...)` leaves the largest piece of dimension d.
    """
    tile = re.search(r"T\(([^)]*)\)", shape_text)
    if shape_text.startswith(("(", "b(")) or tile is None:
        return logical_bytes(shape_text)
    element_type, dims, layout, _ = array_parts(shape_text)
    for split in re.findall(r"SC((?:\([0-9:,]*\))+)", layout):
        for dim, cuts in re.findall(r"\((\d+):([0-9,]*)\)", split):
            edges = [0, *(int(cut) for cut in cuts.split(",")), dims[int(dim)]]
            dims[int(dim)] = max(edges[n + 1] - edges[n] for n in range(len(edges) - 1))
    minor_to_major = [int(dim) for dim in re.findall(r"\d+", layout[: layout.index(":")])]
    steps = tile[1].split(",")
    major_first = [1] * (len(steps) - len(dims)) + [dims[dim] for dim in reversed(minor_to_major)]
    rounded = major_first[: len(major_first) - len(steps)]
    joined = 1
    for dim, step in zip(major_first[len(major_first) - len(steps) :], steps, strict=True):
        joined *= dim
        if step != "*":
            rounded.append((joined + int(step) - 1) // int(step) * int(step))
            joined = 1
    element_bits = re.search(r"E\(\d+\)", layout)
    suffix = f"{{:{element_bits[0]}}}" if element_bits else ""
    return logical_bytes(f"{element_type}[{','.join(str(dim) for dim in rounded)}]{suffix}")


def array_parts(shape: str) -> tuple[str, list[int], str, int]:
    match = re.fullmatch(r"([a-z][a-z0-9]*)\[([0-9,<=]*)\](\{.*\})?", shape)
    if match is None:
        raise ValueError(f"a shape without known bytes: {shape!r}")
    bits = {"pred": 8, "token": 0, "opaque": 64}.get(match[1])
    if bits is None:
        # The first number in a type's name is its bits; a narrow type without E(b) takes a whole byte.
        bits = max(8, int(re.search(r"\d+", match[1])[0]))
    dims = [int(dim.removeprefix("<=")) for dim in match[2].split(",") if dim]
    return match[1], dims, (match[3] or "").split("P(")[0], bits // 8


def tuple_arity(shape: str) -> int:
    depth = commas = 0
    for letter in shape:
        depth += (letter in "([{") - (letter in ")]}")
        commas += letter == "," and depth == 1
    return 0 if shape == "()" else commas + 1


def alive_at(dump: dict, position: int) -> list[dict]:
    """The values whose live range, closed at both ends, holds the position."""
    ranged = [value for value in dump["values"].values() if value["live_range"]]
    return [value for value in ranged if value["live_range"][0] <= position <= value["live_range"][1]]


def positions_of(dump: dict) -> range:
    # A range may end at the maximum, one past the last instruction: "until the program ends".
    return range(0) if dump["max_position"] is None else range(dump["max_position"] + 1)


def occupied(dump: dict, memory_space: int) -> list[int]:
    """Bytes under the live slots, each byte once, per position 0 to max; thread-local ones are left out."""
    return [sum(owners(dump, memory_space, position).values()) for position in positions_of(dump)]


def owners(dump: dict, memory_space: int, position: int) -> dict[int, int]:
    """Occupied bytes at a position by the id of their owner: the last value to start, then the lowest id."""
    owned = {}
    alive = alive_at(dump, position)
    for allocation in dump["allocations"]:
        if allocation["memory_space"] != memory_space or allocation["is_thread_local"]:
            continue
        inside = [value for value in alive if value["allocation"] == allocation["index"]]
        edges = {value["offset"] for value in inside} | {value["offset"] + value["size"] for value in inside}
        for left, right in itertools.pairwise(sorted(edges)):
            here = [value for value in inside if value["offset"] <= left < value["offset"] + value["size"]]
            if here:
                owner = min(here, key=lambda value: (-value["live_range"][0], value["id"]))
                owned[owner["id"]] = owned.get(owner["id"], 0) + right - left
    return owned


def listed(dump: dict, memory_space: int | None = None) -> list[int]:
    """Logical bytes of the used values alive, per position 0 to max: the arithmetic of XLA's peak lines."""
    spaces = {allocation["index"]: allocation["memory_space"] for allocation in dump["allocations"]}
    counts = []
    for position in positions_of(dump):
        alive = [v for v in alive_at(dump, position) if memory_space in (None, spaces[v["allocation"]])]
        counts.append(sum(logical_bytes(value["shape"]) for value in alive))
    return counts


def peak(counts: list[int]) -> tuple[int, int | None]:
    """The largest count and its first position, which is None when nothing was ever counted."""
    return (max(counts), counts.index(max(counts))) if any(counts) else (0, None)


def reserved(dump: dict) -> dict[int, int]:
    """Bytes of the allocations that are not thread-local, for every memory space that has an allocation."""
    return sizes_by_memory_space(dump, is_thread_local=False)


def thread_local(dump: dict) -> dict[int, int]:
    """Bytes of the thread-local allocations, for every memory space that has an allocation."""
    return sizes_by_memory_space(dump, is_thread_local=True)


def sizes_by_memory_space(dump: dict, is_thread_local: bool) -> dict[int, int]:
    sizes = {allocation["memory_space"]: 0 for allocation in dump["allocations"]}
    for allocation in dump["allocations"]:
        if allocation["is_thread_local"] == is_thread_local:
            sizes[allocation["memory_space"]] += allocation["size"]
    return sizes


def kind_of(allocation: dict) -> str:
    if allocation["is_thread_local"]:
        return "thread_local"
    if allocation["parameter_number"] is not None:
        return "parameter"
    if allocation["is_maybe_live_out"]:
        return "output"
    return "constant" if allocation["is_constant"] else "temp"


def padding(dump: dict, memory_space: int) -> dict:
    """What fills the slots of a memory space, at the first position of its occupied peak and over all values.

    `kinds` holds, for each of parameter, output, constant, temp and thread_local, the `occupied_bytes` at the
    peak and two dicts: `alive` (whole values alive there, never thread-local ones) and `all_values`, where
    slot_bytes = logical_bytes (of arrays) + layout_padding + slack + tuple_table_bytes. `owned_bytes` is what
    `owners` says of the peak. `peak_position` is None when nothing is ever occupied.
    """
    peak_bytes, position = peak(occupied(dump, memory_space))
    owned = {} if position is None else owners(dump, memory_space, position)
    alive = [] if position is None else [value["id"] for value in alive_at(dump, position)]
    parts = ("slot_bytes", "logical_bytes", "layout_padding", "slack", "tuple_table_bytes")
    kinds = {
        kind: {"occupied_bytes": 0, "alive": dict.fromkeys(parts, 0), "all_values": dict.fromkeys(parts, 0)}
        for kind in ("parameter", "output", "constant", "temp", "thread_local")
    }
    for allocation in dump["allocations"]:
        if allocation["memory_space"] != memory_space:
            continue
        kind = kind_of(allocation)
        for number in allocation["values"]:
            kinds[kind]["occupied_bytes"] += owned.get(number, 0)
            filling = filling_of(dump["values"][number])
            for part, count in zip(parts, filling, strict=True):
                kinds[kind]["all_values"][part] += count
                if number in alive and kind != "thread_local":
                    kinds[kind]["alive"][part] += count
    return {"peak_bytes": peak_bytes, "peak_position": position, "owned_bytes": owned, "kinds": kinds}


def filling_of(value: dict) -> tuple[int, int, int, int, int]:
    """Slot, logical bytes, layout padding, slack, tuple table of a value; the last four sum to the first."""
    size, logical = value["size"], logical_bytes(value["shape"])
    if value["shape"].startswith("("):
        return size, 0, 0, size - min(logical, size), min(logical, size)
    physical = physical_bytes(value["shape"])
    return size, logical, physical - logical, size - physical, 0
