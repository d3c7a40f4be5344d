"""Many parsed dumps to one frame per table.

When a dump is added, only its shapes are numbered and its signature is made. The frames are made at the end, column by
column over the whole batch, so that a thousand dumps cost one conversion per column.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, compress, count, repeat

import polars as pl
import pyarrow as pa

from bufferhouse.dump import Dump
from bufferhouse.dump.columns import Dumps, parts, repeated
from bufferhouse.dump.identity import Content, key_of
from bufferhouse.dump.instruction_text import AttributeColumns, read
from bufferhouse.tabulate.batch import COLUMNS, Batch, frame_of
from bufferhouse.tabulate.overlap import strict_overlaps
from bufferhouse.tabulate.shape import Shape, ShapeError, leaves, parse_shape, remembered, subshape, without_layout


def entry_signatures(dumps: Dumps) -> Iterator[str]:
    """Yield `(f32[4], s32[])->(f32[4])` for each dump: parameter leaves by number and index, then the output's.

    Raises:
        ShapeError: a shape text in a header is not a shape.
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

        Before jaxlib 0.7.2 a header shows the whole parameter for each leaf, since then only the leaf, and before
        2019-12 nothing. Without a shape in the header the value decides, and also if the shape shown is a tuple.
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


@remembered(1 << 10)  # the programs of a fleet have few distinct outputs, and few shape indexes of parameters
def _leaves(shape: str) -> tuple[str, ...]:
    return tuple(leaves(shape))


@remembered(1 << 10)
def _index(printed: str) -> tuple[int, ...]:
    return tuple(int(part) for part in printed[1:-1].split(",") if part)


Columns = Sequence[Iterable]
"""The cells of a table in the order of its columns."""
NO_LOAD = 0  # the load that stores a batch gives its dumps a number


@dataclass(slots=True)
class Texts:
    """The distinct instruction texts of each dump, and where they are used.

    `ids` has for each value the number of its text in its dump. `rows` has, for each distinct text of each dump, its
    number in the batch. `counts` are the distinct texts of each dump, `distinct` the texts of the batch.
    """

    ids: list[int | None] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    distinct: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Names:
    """The instruction names of each dump, interned: `names` by id, `counts` per dump, and the ids in every column."""

    names: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    live_ranges: list[int] = field(default_factory=list)
    peak_buffers: list[int] = field(default_factory=list)


def distinct_texts(dumps: Dumps) -> Texts:
    """Number the instruction texts of each dump in the order in which they first appear."""
    found = Texts()
    row_of = defaultdict(count().__next__)
    for texts in parts(dumps.values.instruction_text, dumps.rows["values"]):
        id_of = defaultdict(count().__next__)
        found.ids += texts if texts[:1] == [None] else map(id_of.__getitem__, texts)
        found.counts.append(len(id_of))
        found.rows += map(row_of.__getitem__, id_of)
    found.distinct += row_of
    return found


def interned(dumps: Dumps, said: AttributeColumns, texts: Texts) -> Names:
    """Number the instruction names of each dump: the schedule first, so that most ids are schedule positions.

    Every name mentioned anywhere has a number; `said` is what the distinct texts of the batch say.
    """
    found = Names()
    columns = (
        parts(dumps.schedule, dumps.rows["schedule"]),
        parts(dumps.values.instruction, dumps.rows["values"]),
        parts(dumps.positions.instruction, dumps.rows["positions"]),
        parts(dumps.uses.instruction, dumps.rows["uses"]),
        parts(texts.rows, texts.counts),
        parts(dumps.live_ranges.instruction, dumps.rows["live_ranges"]),
        parts(dumps.peak_buffers.instruction, dumps.rows["peak_buffers"]),
    )
    for schedule, values, positions, uses, rows, ranges, peak in zip(*columns, strict=True):
        # One look-up numbers a new name and returns the number.
        id_of = defaultdict(count(len(schedule)).__next__, zip(schedule, count()))
        number = id_of.__getitem__
        found.values += map(number, values)
        found.positions += map(number, positions)
        found.uses += map(number, uses)
        found.texts += map(number, [said.instruction_name[row] for row in rows])
        found.operands += map(number, chain.from_iterable([said.operands[row] for row in rows]))
        found.live_ranges += map(number, ranges)
        found.peak_buffers += map(number, peak)
        found.names += id_of
        found.counts.append(len(id_of))
    return found


class Tabulator:
    """Collects parsed dumps; `finish` turns them into a batch.

    `add` either takes a whole dump or, if it is to be refused, raises and takes nothing of it.
    """

    def __init__(self) -> None:
        self.dumps = Dumps()
        self.contents: list[Content] = []
        self.sizes: list[Mapping[str, int]] = []
        self.signatures: list[str] = []
        self.signature_ids: list[int] = []
        self.strict_overlaps: list[bool] = []
        self.protos: list[tuple[int, bytes]] = []
        self.shapes: dict[str, int] = {}
        self.shape_rows: list[Shape] = []

    def add(self, dump: Dump, content: Content, sizes: Mapping[str, int], proto: bytes | None = None) -> int:
        """Take one dump and return its signature id; `sizes` are the bytes of its files by role.

        `proto` is the only file of a dump without a text.

        Raises:
            ShapeError: a shape text is not a shape; nothing was added.
            OverlapError: as `strict_overlaps`; nothing was added.
        """
        a = dump.allocations
        shapes = dict.fromkeys(chain(dump.values.shape, a.parameter_shape, a.output_shape))
        self._number([text for text in shapes if text is not None and text not in self.shapes])
        dumps = Dumps.of(dump)
        [signature] = entry_signatures(dumps)
        overlaps = strict_overlaps(dumps)
        self.dumps.extend(dumps)
        self.contents.append(content)
        self.sizes.append(sizes)
        self.signatures.append(signature)
        self.signature_ids.append(key_of(signature))
        self.strict_overlaps += overlaps
        if proto is not None:
            self.protos.append((content.dump_id, proto))
        return self.signature_ids[-1]

    def _number(self, texts: list[str]) -> None:
        """Number new shapes; none of them where a text is not a shape."""
        self.shape_rows += [parse_shape(text) for text in texts]
        self.shapes.update(zip(texts, count(len(self.shapes))))

    def finish(self) -> Batch:
        """Return everything added so far as frames, and the shapes they mention."""
        texts = distinct_texts(self.dumps)
        said = read(texts.distinct)
        self._number_results(said)
        names = interned(self.dumps, said, texts)
        keys = self._keys(names, texts)
        columns = {
            "dumps": _transposed("dumps", self._dump_rows()),
            "dump_files": file_columns(self.contents, self.sizes, [f.trailing_newlines for f in self.dumps.facts]),
            "allocations": self._allocations(keys["allocations"]),
            "hlo_values": self._hlo_values(keys["values"], names, texts),
            "cross_color_values": self._cross_color_values(keys["cross_color_values"]),
            "further_positions": self._further_positions(keys["positions"], names),
            "uses": self._uses(keys["uses"], names),
            "instructions": self._instructions(keys["names"], names),
            "instruction_texts": self._instruction_texts(keys["texts"], said, names, texts),
            "live_ranges": self._live_ranges(keys["live_ranges"], names),
            "peak_buffers": self._peak_buffers(keys["peak_buffers"], names),
            "protos": _transposed("protos", self.protos),
            "shapes": shape_columns(self.shape_rows),
        }
        return Batch({table: frame_of(table, cells) for table, cells in columns.items()})

    def _number_results(self, said: AttributeColumns) -> None:
        """Number result shapes; a text that only looks like a shape has no number."""
        for text in dict.fromkeys(said.result_shape):
            if text is not None and text not in self.shapes:
                try:
                    self._number([text])
                except ShapeError:
                    continue

    def _parts(self, table: str, column: list) -> Iterator[list]:
        """Yield the cells of each dump in a column of a table."""
        return parts(column, self.dumps.rows[table])

    def _shape_ids(self, texts: list[str | None]) -> list[int | None]:
        return list(map(self.shapes.get, texts))

    def _keys(self, names: Names, texts: Texts) -> dict[str, list[int]]:
        """Return the dump id of each row of each table, of each name and of each text."""
        dump_ids = [content.dump_id for content in self.contents]
        rows = self.dumps.rows | {"names": names.counts, "texts": texts.counts}
        return {table: list(repeated(dump_ids, counts)) for table, counts in rows.items()}

    def _allocations(self, keys: list[int]) -> Columns:
        a, counts = self.dumps.allocations, self.dumps.rows["allocations"]
        return (
            keys, _ordinals(counts), a.size_bytes, a.memory_space, a.page, a.pointer, a.is_constant,
            a.is_thread_local, a.is_maybe_live_out, a.parameter_number, a.parameter_shape_index,
            self._shape_ids(a.parameter_shape), self._shape_ids(a.output_shape), self.strict_overlaps,
        )  # fmt: skip

    def _hlo_values(self, keys: list[int], names: Names, texts: Texts) -> Columns:
        v = self.dumps.values
        shape_ids = pl.Series(self._shape_ids(v.shape), dtype=pl.Int64)
        logical = pl.Series([shape.logical_bytes for shape in self.shape_rows], dtype=pl.Int64)
        physical = pl.Series([shape.physical_bytes for shape in self.shape_rows], dtype=pl.Int64)
        return (
            keys, v.value_id, names.values, v.shape_index,
            v.is_phi, v.memory_space, shape_ids, v.allocation_index, v.offset_bytes, v.size_bytes,
            logical.gather(shape_ids), physical.gather(shape_ids), v.uses_state, texts.ids,
        )  # fmt: skip

    def _cross_color_values(self, keys: list[int]) -> Columns:
        c = self.dumps.cross_color_values
        owners = self._parts("cross_color_values", c.allocation_index)
        blocks = [part.count(owner) for part in owners for owner in dict.fromkeys(part)]
        values = zip(
            self._parts("values", self.dumps.values.value_id),
            self._parts("cross_color_values", c.value_row),
            strict=True,
        )
        value_ids = [own[row] for own, rows in values for row in rows]
        return keys, c.allocation_index, _ordinals(blocks), value_ids, c.memory_space

    def _further_positions(self, keys: list[int], names: Names) -> Columns:
        p = self.dumps.positions
        columns = (keys, *self._owned(p.count), names.positions, p.shape_index)
        is_further = [ordinal > 0 for ordinal in columns[2]]  # the first is the value itself
        return tuple(list(compress(column, is_further)) for column in columns)

    def _uses(self, keys: list[int], names: Names) -> Columns:
        u = self.dumps.uses
        return (keys, *self._owned(u.count), names.uses, u.operand_number, u.operand_shape_index)

    def _owned(self, counts: list[int]) -> Columns:
        """Return the further keys of a list that belongs to a value: the value, and the place in the list."""
        return repeated(self.dumps.values.value_id, counts), _ordinals(counts)

    def _instructions(self, keys: list[int], names: Names) -> Columns:
        pairs = zip(self.dumps.rows["schedule"], names.counts, strict=True)
        positions = [chain(range(scheduled), repeat(None, all_names - scheduled)) for scheduled, all_names in pairs]
        return keys, _ordinals(names.counts), names.names, chain.from_iterable(positions)

    def _instruction_texts(self, keys: list[int], said: AttributeColumns, names: Names, texts: Texts) -> Columns:
        read_once = (
            said.opcode, said.op_name, said.source_file, said.source_line, said.stack_frame_id,
            said.custom_call_target, self._shape_ids(said.result_shape),
        )  # fmt: skip
        operand_counts = [len(said.operands[row]) for row in texts.rows]
        return (
            keys, _ordinals(texts.counts), names.texts,
            *([cells[row] for row in texts.rows] for cells in read_once),
            _lists(names.operands, operand_counts), [texts.distinct[row] for row in texts.rows],
        )  # fmt: skip

    def _live_ranges(self, keys: list[int], names: Names) -> Columns:
        r, counts = self.dumps.live_ranges, self.dumps.rows["live_ranges"]
        return (keys, _ordinals(counts), names.live_ranges, r.shape_index, r.start_position, r.end_position)

    def _peak_buffers(self, keys: list[int], names: Names) -> Columns:
        k, counts = self.dumps.peak_buffers, self.dumps.rows["peak_buffers"]
        return (keys, _ordinals(counts), names.peak_buffers, k.shape_index, k.listed_bytes, k.cumulative_bytes)

    def _dump_rows(self) -> list[tuple]:
        a = self.dumps.allocations
        return [
            (
                content.dump_id, content.sha256, sum(sizes.values()), NO_LOAD, signature_id, signature,
                f.file_layout, f.text_encoding, "present" if f.has_used_values else "absent", f.live_range_state,
                f.total_bytes, f.total_human, f.max_position, f.reported_peak_position,
                pointers.count(None) < len(pointers), pages.count(None) < len(pages), f.is_glued,
                f.has_instruction_texts, f.has_instruction_space, f.peak_form, f.none_form, f.stack_trace,
            )
            for content, sizes, signature_id, signature, f, pointers, pages in zip(
                self.contents, self.sizes, self.signature_ids, self.signatures, self.dumps.facts,
                self._parts("allocations", a.pointer), self._parts("allocations", a.page), strict=True,
            )
        ]  # fmt: skip


def file_columns(
    contents: Sequence[Content], sizes: Sequence[Mapping[str, int]], newlines: Iterable[Mapping[str, int]]
) -> Columns:
    """Return the columns of the table of files, whose bytes and trailing newlines are given by role."""
    rows = [
        (content.dump_id, role, content.file_sha256[role], bytes_of[role], count)
        for content, bytes_of, counts in zip(contents, sizes, newlines, strict=True)
        for role, count in counts.items()
    ]
    return _transposed("dump_files", rows)


def shape_columns(shapes: Sequence[Shape]) -> Columns:
    """Return the columns of the table of shapes, numbered in this order."""
    dims = [s.dims for s in shapes]
    return (
        range(len(shapes)), [s.shape_text for s in shapes], [s.element_type for s in shapes],
        _lists(chain.from_iterable(filter(None, dims)), [len(d or ()) for d in dims], [d is None for d in dims]),
        [s.layout for s in shapes],
        [s.tiles for s in shapes], [s.layout_memory_space for s in shapes], [s.element_bits for s in shapes],
        [s.logical_bytes for s in shapes], [s.physical_bytes for s in shapes], [s.tuple_arity for s in shapes],
    )  # fmt: skip


def _ordinals(counts: Iterable[int]) -> list[int]:
    """Return 0, 1, 2, … as often as each count says."""
    return list(chain.from_iterable(map(range, counts)))


def _transposed(table: str, rows: Sequence[tuple]) -> Columns:
    return list(zip(*rows, strict=True)) or [()] * len(COLUMNS[table])


def _lists(numbers: Iterable[int], counts: Iterable[int], absent: list[bool] | None = None) -> pl.Series:
    """Return a column of lists of numbers, with null for those that are `absent`.

    The lists are made in Arrow, because Polars would make a series of each; the numbers get there through Polars,
    because PyArrow imports pandas when it converts a list.
    """
    ends = pl.Series(list(accumulate(counts, initial=0)), dtype=pl.Int64).to_arrow()
    items = pl.Series(list(numbers), dtype=pl.Int64).to_arrow()
    mask = None if absent is None else pl.Series(absent, dtype=pl.Boolean).to_arrow()
    return pl.Series(pa.LargeListArray.from_arrays(ends, items, mask=mask))
