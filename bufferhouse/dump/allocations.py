"""The first section: headers, value lines and cross-colour blocks (BufferAllocation::ToString)."""

from operator import gt

from bufferhouse.dump import explain, grammar
from bufferhouse.dump.columns import Dump
from bufferhouse.dump.tiling import LARGEST_SIZE, fit, optional, optional_ints, tiles


def parse(dump: Dump, text: str, role: str) -> tuple[int | None, list[str]]:
    """Read the section into `dump`; return where totals start, None when nothing but line feeds follows, and heads.

    The heads (HloValue::ToShortString) are those of all values by ascending id.

    Raises:
        DumpError: a line that is none of this section, or a violated assertion: allocation indices 0, 1, 2, …; a flag
            in every header; every value in one allocation, by ascending id; sizes of at most 2^53 bytes.
    """
    if not text.startswith(grammar.FIRST_LINE):
        raise explain.not_a_dump(text, role)
    start = len(grammar.FIRST_LINE)
    # Nothing in this section holds an empty line, so the first one ends it.
    end = start - 1 if text.startswith("\n", start) else text.find("\n\n", start)
    stop = len(text) if end < 0 else end + 1
    heads = _read(dump, text, start, stop)
    if heads is None:
        raise explain.allocations(text, start, stop, role)
    return None if text.count("\n", stop) == len(text) - stop else stop, heads


def _read(dump: Dump, text: str, start: int, stop: int) -> list[str] | None:
    """Fill the columns; return the heads, None where a line was not accounted for or an assertion fails."""
    headers = grammar.HEADER.findall(text, start, stop)
    rows = grammar.VALUE.findall(text, start, stop)
    crosses = grammar.CROSS.findall(text, start, stop)
    cross_headers = text.count("\n" + grammar.CROSS_HEADER, start, stop)
    head_columns = list(zip(*headers, strict=True)) or [()] * 13
    value_columns = list(zip(*rows, strict=True)) or [()] * 9
    cross_columns = list(zip(*crosses, strict=True)) or [()] * 2
    literal = (
        _header_literals(head_columns)
        + len(" value:  (size=,offset=): \n") * len(rows)
        + len("  value:  (color=)\n") * len(crosses)
        + len(grammar.CROSS_HEADER) * cross_headers
    )
    if not tiles([*head_columns, value_columns[0], *value_columns[6:9], *cross_columns], literal, stop - start):
        return None
    before, *chunks = text[start - 1 : max(start, stop) - 1].split("\nallocation ")
    if before or not _fill_allocations(dump, head_columns):
        return None
    heads = _fill_values(dump, value_columns, [chunk.count("\n value: ") for chunk in chunks])
    if heads is not None and (crosses or cross_headers) and not _fill_crosses(dump, chunks, heads):
        return None
    return heads


def _header_literals(columns: list[tuple[str, ...]]) -> int:
    """Return how many characters of the headers stand in no group, from which optional parts each header has."""
    n = len(columns[0])

    def present(column: int) -> int:
        return n - columns[column].count("")

    return (
        len("allocation : size :\n") * n
        + 2 * present(1)
        + len(", color ") * present(3)
        + len(", page ") * present(4)
        + len(", parameter  at ShapeIndex ") * present(5)
        + len(", shape ||") * present(6)
        + len(", output shape is ||") * present(8)
    )


def _fill_allocations(dump: Dump, columns: list[tuple[str, ...]]) -> bool:
    index, pointer, size, space, page, number, shape, shape_index, output, constant, local, live_out, temp = columns
    table = dump.allocations
    table.size_bytes = list(map(int, size))
    table.memory_space = [int(cell) if cell else 0 for cell in space]
    table.page = optional_ints(page)
    table.pointer = optional(pointer)
    table.parameter_number = optional_ints(number)
    table.parameter_shape = optional(shape)
    table.parameter_shape_index = optional(shape_index)
    table.output_shape = optional(output)
    table.is_constant = list(map(bool, constant))
    table.is_thread_local = list(map(bool, local))
    table.is_maybe_live_out = list(map(bool, live_out))
    # IsPreallocatedTempBuffer is computed as "none of the other four".
    is_temp = [not (a or b or c or d) for a, b, c, d in zip(number, constant, local, live_out, strict=True)]
    return (
        list(map(bool, temp)) == is_temp
        and list(index) == list(map(str, range(len(index))))
        and max(table.size_bytes, default=0) <= LARGEST_SIZE
        and fit(table.memory_space, table.parameter_number, table.page)
    )


def _fill_values(dump: Dump, columns: list[tuple[str, ...]], counts: list[int]) -> list[str] | None:
    """Store value lines by ascending id; return their heads, None where an assertion fails."""
    heads, ids, names, shape_indices, phis, spaces, sizes, offsets, shapes = columns
    keys = list(map(int, ids))
    owners = [row for row, count in enumerate(counts) for _ in range(count)]
    if len(set(keys)) != len(keys):
        return None
    # Ids ascend inside each allocation, so sorting all of them loses no order that was printed.
    descents = [row for row, descends in enumerate(map(gt, keys, keys[1:])) if descends]
    if any(owners[row] == owners[row + 1] for row in descents):
        return None
    order = sorted(range(len(keys)), key=keys.__getitem__) if descents else range(len(keys))
    table = dump.values
    table.value_id = [keys[row] for row in order]
    table.instruction = [names[row] for row in order]
    table.shape_index = [shape_indices[row] or None for row in order]
    table.is_phi = [bool(phis[row]) for row in order]
    table.memory_space = [int(spaces[row]) if spaces[row] else None for row in order]
    table.allocation_index = [owners[row] for row in order]
    table.size_bytes = [int(sizes[row]) for row in order]
    table.offset_bytes = [int(offsets[row]) for row in order]
    table.shape = [shapes[row] for row in order]
    if max(table.size_bytes, default=0) > LARGEST_SIZE or max(table.offset_bytes, default=0) > LARGEST_SIZE:
        return None
    if not fit(table.value_id, table.memory_space):
        return None
    return [heads[row] for row in order]


def _fill_crosses(dump: Dump, chunks: list[str], heads: list[str]) -> bool:
    table = dump.cross_color_values
    places = {head: row for row, head in enumerate(heads)}
    for allocation, chunk in enumerate(chunks):
        own, header, below = (chunk + "\n").partition("\n" + grammar.CROSS_HEADER)
        lines = grammar.CROSS.findall(below)
        # The block ends its allocation, is opened once and is never empty.
        if "\n  value: " in own or below.count("\n") != len(lines) or bool(header) != bool(lines):
            return False
        for head, space in lines:
            if head not in places:
                return False
            table.allocation_index.append(allocation)
            table.value_row.append(places[head])
            table.memory_space.append(int(space))
    return fit(table.memory_space)
