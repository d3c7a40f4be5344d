"""The entry signature of a program: element types and dimensions of every parameter leaf and of the output.

Layouts are left out, so that a program keeps its signature from CPU to TPU and from compiler to compiler.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from bufferhouse.dump.columns import Dumps
from bufferhouse.tabulate.shape import leaves, subshape, without_layout
from bufferhouse.tabulate.shape_grammar import remembered


def entry_signatures(dumps: Dumps) -> Iterator[str]:
    """Yield `(f32[4], s32[])->(f32[4])` for each dump: parameter leaves by number and index, then the output's.

    Raises:
        ShapeError: a shape text in a header is no shape.
    """
    first = first_value = 0
    for allocations, values in zip(dumps.rows["allocations"], dumps.rows["values"], strict=True):
        yield _Program(dumps, range(first, first + allocations), range(first_value, first_value + values)).signature()
        first += allocations
        first_value += values


class _Program:
    """The headers and values of one dump, by their rows."""

    def __init__(self, dumps: Dumps, allocations: range, values: range) -> None:
        self.headers, self.values = dumps.allocations, dumps.values
        self.allocations, self.value_rows = allocations, values

    def signature(self) -> str:
        numbers, indices = self.headers.parameter_number, self.headers.parameter_shape_index
        parameters = []
        for i in self.allocations:
            if numbers[i] is not None:
                index = _index(indices[i] or "{}")
                shape = self._parameter_leaf(i, index)
                if shape is not None and not shape.startswith("("):
                    parameters.append((numbers[i], index, shape))
        inside = ", ".join([shape for _, _, shape in sorted(parameters)])
        return f"({inside})->({', '.join(self._output_leaves())})"

    @cached_property
    def _held(self) -> dict[int, list[int]]:
        """The rows of the values in each allocation; few dialects need them."""
        held: dict[int, list[int]] = defaultdict(list)
        first = self.allocations.start
        for row in self.value_rows:
            held[first + self.values.allocation_index[row]].append(row)
        return held

    def _parameter_leaf(self, allocation: int, index: tuple[int, ...]) -> str | None:
        """Return the shape of one leaf of a parameter.

        Before jaxlib 0.7.2 a header shows the whole parameter for each leaf, since then the leaf alone, and before
        2019-12 nothing: then the value tells, which also decides between the first two where the leaf is a tuple.
        """
        printed = self.headers.parameter_shape[allocation]
        if printed is None or printed == "<unknown shape>":
            rows = self._held[allocation]
            return without_layout(self.values.shape[rows[0]]) if rows else None
        if not index or not printed.startswith("("):
            return printed
        if any(without_layout(self.values.shape[row]) == printed for row in self._held[allocation]):
            return printed
        return subshape(printed, index)

    def _output_leaves(self) -> tuple[str, ...] | list[str]:
        a = self.headers
        for i in self.allocations:
            shape = a.output_shape[i]
            if shape is not None and shape != "<unknown shape>":
                return _leaves(shape)
        rows = [row for i in self.allocations if a.is_maybe_live_out[i] for row in self._held[i]]
        shapes = [without_layout(self.values.shape[row]) for row in rows]
        tuples = [shape for shape in shapes if shape.startswith("(")]
        return _leaves(tuples[-1]) if tuples else shapes[-1:]


@remembered(1 << 10)  # the programs of a fleet have few outputs, and parameters the same places
def _leaves(shape: str) -> tuple[str, ...]:
    return tuple(leaves(shape))


@remembered(1 << 10)
def _index(printed: str) -> tuple[int, ...]:
    return tuple(int(part) for part in printed[1:-1].split(",") if part)
