"""The first section: headers, value lines and cross-color blocks (BufferAllocation::ToString)."""

from itertools import count
from operator import add, eq, gt, itemgetter

from bufferhouse.dump import diagnose, grammar
from bufferhouse.dump.columns import LARGEST_SIZE, Allocations, Dump, Values, optional, optional_ints, repeated


def parse(dump: Dump, text: str, role: str) -> tuple[int | None, list[str]]:
    """Read the section into `dump`; return where totals start, None when nothing but line feeds follows, and heads.

    The heads (HloValue::ToShortString) are those of all values by ascending id.

    Raises:
        DumpError: a line that is none of this section, or a violated assertion: allocation indices 0, 1, 2, …; a flag
            in every header; every value in one allocation, by ascending id; sizes of at most 2^53 bytes.
    """
    if not text.startswith(grammar.FIRST_LINE):
        raise diagnose.not_a_dump(text, role)
    start = len(grammar.FIRST_LINE)
    # Nothing in this section holds an empty line, so the first one ends it.
    end = start - 1 if text.startswith("\n", start) else text.find("\n\n", start)
    stop = len(text) if end < 0 else end + 1
    heads = _fill(dump, text, start, stop)
    if heads is None:
        raise diagnose.allocations(text, start, stop, role)
    return None if text.count("\n", stop) == len(text) - stop else stop, heads


def _fill(dump: Dump, text: str, start: int, stop: int) -> list[str] | None:
    """Fill the columns; return the heads, None where a line was not accounted for or an assertion fails."""
    # Patterns begin at the line feed before their line.
    headers = grammar.HEADER.findall(text, start - 1, stop)
    rows = grammar.VALUE.findall(text, start - 1, stop)
    crosses = grammar.CROSS.findall(text, start - 1, stop)
    cross_headers = text.count("\n" + grammar.CROSS_HEADER, start - 1, stop)
    lines = text.count("\n", start, stop)
    if len(headers) + len(rows) + len(crosses) + cross_headers != lines or not text.endswith("\n", start - 1, stop):
        return None
    before, *chunks = text[start - 1 : max(start, stop) - 1].split("\nallocation ")
    if before or (headers and not _fill_allocations(dump.allocations, list(zip(*headers, strict=True)))):
        return None
    owners = list(repeated(count(), [chunk.count("\n value: ") for chunk in chunks]))
    heads = _fill_values(dump.values, list(zip(*rows, strict=True)), owners) if rows else []
    if heads is not None and (crosses or cross_headers) and not _fill_crosses(dump, chunks, heads):
        return None
    return heads


def _fill_allocations(table: Allocations, columns: list[tuple[str, ...]]) -> bool:
    index, pointer, size, space, page, number, shape, shape_index, output, constant, local, live_out, temp = columns
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
    has_flag = map(bool, map(add, map(add, number, constant), map(add, local, live_out)))
    return (
        not any(map(eq, map(bool, temp), has_flag))
        and list(index) == list(map(str, range(len(index))))
        and max(table.size_bytes) <= LARGEST_SIZE
    )


def _fill_values(table: Values, columns: list[tuple[str, ...]], owners: list[int]) -> list[str] | None:
    """Store value lines by ascending id; return their heads, None where an assertion fails."""
    keys = list(map(int, columns[1]))
    if len(set(keys)) != len(keys):
        return None
    # Ids ascend inside each allocation, so sorting all of them loses no order that was printed.
    descents = [row for row, descends in enumerate(map(gt, keys, keys[1:])) if descends]
    if descents:
        if any(owners[row] == owners[row + 1] for row in descents):
            return None
        in_order = itemgetter(*sorted(range(len(keys)), key=keys.__getitem__))
        columns, owners, keys = list(map(in_order, columns)), list(in_order(owners)), list(in_order(keys))
    heads, _, names, shape_indices, phis, spaces, sizes, offsets, shapes = columns
    table.value_id = keys
    table.instruction = list(names)
    table.shape_index = optional(shape_indices)
    table.is_phi = list(map(bool, phis))
    table.memory_space = optional_ints(spaces)
    table.allocation_index = owners
    table.size_bytes = list(map(int, sizes))
    table.offset_bytes = list(map(int, offsets))
    table.shape = list(shapes)
    if max(table.size_bytes) > LARGEST_SIZE or max(table.offset_bytes) > LARGEST_SIZE:
        return None
    return list(heads)


def _fill_crosses(dump: Dump, chunks: list[str], heads: list[str]) -> bool:
    table = dump.cross_color_values
    places = {head: row for row, head in enumerate(heads)}
    for allocation, chunk in enumerate(chunks):
        own, header, below = (chunk + "\n").partition("\n" + grammar.CROSS_HEADER)
        lines = grammar.CROSS.findall("\n" + below)
        # The block ends its allocation, is opened once and is never empty.
        if "\n  value: " in own or below.count("\n") != len(lines) or bool(header) != bool(lines):
            return False
        for head, space in lines:
            if head not in places:
                return False
            table.allocation_index.append(allocation)
            table.value_row.append(places[head])
            table.memory_space.append(int(space))
    return True
