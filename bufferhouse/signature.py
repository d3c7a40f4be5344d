"""The entry signature of a program: element types and dimensions of every parameter leaf and of the output.

Layouts are left out, so that a program keeps its signature from CPU to TPU and from compiler to compiler.
"""

from bufferhouse.dump import Dump
from bufferhouse.shape import leaves, subshape, without_layout


def entry_signature(dump: Dump) -> str:
    """Return `(f32[4], s32[])->(f32[4])`: parameter leaves by number and index, then the leaves of the output.

    Raises:
        ShapeError: a shape text in a header is no shape.
    """
    a = dump.allocations
    held: dict[int, list[int]] = {
        i: [] for i, number in enumerate(a.parameter_number) if number is not None or a.is_maybe_live_out[i]
    }
    for row, owner in enumerate(dump.values.allocation_index):
        if owner in held:
            held[owner].append(row)
    parameters = []
    for i, number in enumerate(a.parameter_number):
        if number is not None:
            index = tuple(int(part) for part in (a.parameter_shape_index[i] or "{}")[1:-1].split(",") if part)
            shape = _parameter_leaf(dump, i, index, held[i])
            if shape is not None and not shape.startswith("("):
                parameters.append((number, index, shape))
    inside = ", ".join(shape for _, _, shape in sorted(parameters))
    return f"({inside})->({', '.join(_output_leaves(dump, held))})"


def _parameter_leaf(dump: Dump, allocation: int, index: tuple[int, ...], rows: list[int]) -> str | None:
    """Return the shape of one leaf of a parameter.

    Before jaxlib 0.7.2 a header shows the whole parameter for each leaf, since then the leaf alone, and before 2019-12
    nothing: then the value tells, which also decides between the first two where the leaf is itself a tuple.
    """
    printed = dump.allocations.parameter_shape[allocation]
    if printed is None or printed == "<unknown shape>":
        return without_layout(dump.values.shape[rows[0]]) if rows else None
    if not index or not printed.startswith("("):
        return printed
    if any(without_layout(dump.values.shape[row]) == printed for row in rows):
        return printed
    return subshape(printed, index)


def _output_leaves(dump: Dump, held: dict[int, list[int]]) -> list[str]:
    a = dump.allocations
    for shape in a.output_shape:
        if shape is not None and shape != "<unknown shape>":
            return leaves(shape)
    rows = [row for i, out in enumerate(a.is_maybe_live_out) if out for row in held[i]]
    shapes = [without_layout(dump.values.shape[row]) for row in rows]
    tuples = [shape for shape in shapes if shape.startswith("(")]
    return leaves(tuples[-1]) if tuples else shapes[-1:]
