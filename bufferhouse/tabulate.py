"""Many parsed dumps to one frame per table.

A dump that is added is only looked at: its shapes are numbered and its signature is taken. The frames are made at the
end, column by column over the whole batch, so that a thousand dumps cost one conversion per column.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import attrgetter

import polars as pl
import pyarrow as pa

from bufferhouse.dump import Dump
from bufferhouse.dump.attributes import AttributeColumns, read
from bufferhouse.frames import COLUMNS, Batch
from bufferhouse.identity import Content, key_of
from bufferhouse.overlap import strict_overlaps
from bufferhouse.shape import Shape, ShapeError, parse_shape
from bufferhouse.signature import entry_signature

Columns = Sequence[Iterable]
"""The cells of a table in the order of its columns."""


@dataclass(slots=True)
class _Added:
    """A dump with what was found out about it.

    `texts` are its distinct instruction texts, as rows of those of the batch; `ids` numbers its instruction names.
    """

    dump: Dump
    content: Content
    sizes: Mapping[str, int]
    load_id: int
    signature: str
    signature_id: int
    texts: dict[str, int]
    ids: dict[str, int] = field(default_factory=dict)


class Tabulator:
    """Collects parsed dumps; `finish` turns them into a batch.

    `add` either takes a whole dump or, where a shape text is no shape, raises and takes nothing of it.
    """

    def __init__(self) -> None:
        self.added: list[_Added] = []
        self.shapes: dict[str, int] = {}
        self.shape_rows: list[Shape] = []
        self.texts: dict[str, int] = {}

    def add(self, dump: Dump, content: Content, sizes: Mapping[str, int], load_id: int = 0) -> int:
        """Take one dump and return its signature id; `sizes` are the bytes of its files by role.

        Raises:
            ShapeError: a shape text is no shape; nothing was added.
        """
        a, rows = dump.allocations, self.texts
        for text in dict.fromkeys(chain(dump.values.shape, a.parameter_shape, a.output_shape)):
            if text is not None and text not in self.shapes:
                self._number(text)
        signature = entry_signature(dump)
        signature_id = key_of(signature)
        texts = {text: rows.setdefault(text, len(rows)) for text in dict.fromkeys(dump.values.instruction_text)}
        self.added.append(_Added(dump, content, sizes, load_id, signature, signature_id, texts))
        return signature_id

    def _number(self, shape_text: str) -> None:
        self.shape_rows.append(parse_shape(shape_text))
        self.shapes[shape_text] = len(self.shapes)

    def finish(self) -> Batch:
        """Return everything added so far as frames, and the shapes they mention."""
        said = read(list(self.texts))
        self._number_results(said)
        for one in self.added:
            one.ids = _interned(one, said)
        columns = {
            "dumps": _transposed("dumps", [_dump_row(one) for one in self.added]),
            "dump_files": _transposed("dump_files", [row for one in self.added for row in _file_rows(one)]),
            "allocations": self._allocations(),
            "hlo_values": self._hlo_values(),
            "cross_color_values": self._cross_color_values(),
            "positions": self._positions(),
            "uses": self._uses(),
            "instructions": self._instructions(),
            "instruction_texts": self._instruction_texts(said),
            "schedule": self._schedule(),
            "live_ranges": self._live_ranges(),
            "peak_buffers": self._peak_buffers(),
            "shapes": self._shapes(),
        }
        return Batch({table: _frame(table, cells) for table, cells in columns.items()})

    def _number_results(self, said: AttributeColumns) -> None:
        """Number result shapes; a text that only looks like one has none."""
        for text in dict.fromkeys(said.result_shape):
            if text is not None and text not in self.shapes:
                try:
                    self._number(text)
                except ShapeError:
                    continue

    def _cells(self, path: str) -> list:
        """Return a column of all dumps, such as `values.value_id`, one dump behind the other."""
        column = attrgetter(path)
        return list(chain.from_iterable([column(one.dump) for one in self.added]))

    def _ids(self, path: str) -> list[int]:
        """Return the instruction ids of a column of names."""
        names = attrgetter(path)
        return list(chain.from_iterable([map(one.ids.__getitem__, names(one.dump)) for one in self.added]))

    def _shape_ids(self, path: str) -> list[int | None]:
        """Return the shape ids of a column of shape texts."""
        return list(map(self.shapes.get, self._cells(path)))

    def _keys(self, path: str) -> list[int]:
        """Return dump ids, each as often as this column has cells in its dump."""
        column = attrgetter(path)
        return list(chain.from_iterable([repeat(one.content.dump_id, len(column(one.dump))) for one in self.added]))

    def _numbers(self, path: str) -> list[int]:
        """Return 0, 1, 2, … for the cells of this column, in each dump anew."""
        column = attrgetter(path)
        return _ordinals([len(column(one.dump)) for one in self.added])

    def _allocations(self) -> Columns:
        a = "allocations."
        return (
            self._keys(a + "size_bytes"), self._numbers(a + "size_bytes"), self._cells(a + "size_bytes"),
            self._cells(a + "memory_space"), self._cells(a + "page"), self._cells(a + "pointer"),
            self._cells(a + "is_constant"), self._cells(a + "is_thread_local"), self._cells(a + "is_maybe_live_out"),
            self._cells(a + "parameter_number"), self._cells(a + "parameter_shape_index"),
            self._shape_ids(a + "parameter_shape"), self._shape_ids(a + "output_shape"),
            list(chain.from_iterable([strict_overlaps(one.dump) for one in self.added])),
        )  # fmt: skip

    def _hlo_values(self) -> Columns:
        v = "values."
        shape_ids = pl.Series(self._shape_ids(v + "shape"), dtype=pl.Int64)
        logical = pl.Series([shape.logical_bytes for shape in self.shape_rows], dtype=pl.Int64)
        physical = pl.Series([shape.physical_bytes for shape in self.shape_rows], dtype=pl.Int64)
        states = [one.dump.values.uses_state or [None] * len(one.dump.values.value_id) for one in self.added]
        return (
            self._keys(v + "value_id"), self._cells(v + "value_id"), self._ids(v + "instruction"),
            self._cells(v + "shape_index"), self._cells(v + "is_phi"), self._cells(v + "memory_space"), shape_ids,
            self._cells(v + "allocation_index"), self._cells(v + "offset_bytes"), self._cells(v + "size_bytes"),
            logical.gather(shape_ids), physical.gather(shape_ids), list(chain.from_iterable(states)),
            list(chain.from_iterable(map(_text_numbers, self.added))),
        )  # fmt: skip

    def _cross_color_values(self) -> Columns:
        c = "cross_color_values."
        tables = [one.dump.cross_color_values for one in self.added]
        blocks = [t.allocation_index.count(owner) for t in tables for owner in dict.fromkeys(t.allocation_index)]
        values = [one.dump.values.value_id[row] for one in self.added for row in one.dump.cross_color_values.value_row]
        owners = self._cells(c + "allocation_index")
        return self._keys(c + "value_row"), owners, _ordinals(blocks), values, self._cells(c + "memory_space")

    def _positions(self) -> Columns:
        return (*self._owned("positions."), self._ids("positions.instruction"), self._cells("positions.shape_index"))

    def _uses(self) -> Columns:
        u = "uses."
        numbers, indices = self._cells(u + "operand_number"), self._cells(u + "operand_shape_index")
        return (*self._owned(u), self._ids(u + "instruction"), numbers, indices)

    def _owned(self, table: str) -> Columns:
        """Return the keys of a list that belongs to a value: dump, value, place in the list."""
        counts = self._cells(table + "count")
        # Where the dump has no such list, there are no counts either.
        counted = attrgetter(table + "count")
        owners = chain.from_iterable([one.dump.values.value_id for one in self.added if counted(one.dump)])
        return self._keys(table + "instruction"), chain.from_iterable(map(repeat, owners, counts)), _ordinals(counts)

    def _instructions(self) -> Columns:
        counts = [len(one.ids) for one in self.added]
        keys = chain.from_iterable(map(repeat, [one.content.dump_id for one in self.added], counts))
        scheduled = [len(one.dump.schedule) for one in self.added]
        positions = [
            chain(range(first), repeat(None, count - first)) for first, count in zip(scheduled, counts, strict=True)
        ]
        names = chain.from_iterable([one.ids for one in self.added])
        return keys, _ordinals(counts), names, chain.from_iterable(positions)

    def _instruction_texts(self, said: AttributeColumns) -> Columns:
        counts = [len(one.texts) for one in self.added]
        keys = chain.from_iterable(map(repeat, [one.content.dump_id for one in self.added], counts))
        rows = [(one.ids, row) for one in self.added for row in one.texts.values()]
        read_once = (
            said.opcode, said.op_name, said.source_file, said.source_line, said.stack_frame_id,
            said.custom_call_target, list(map(self.shapes.get, said.result_shape)),
        )  # fmt: skip
        return (
            keys, _ordinals(counts), [ids[said.instruction_name[row]] for ids, row in rows],
            *([cells[row] for _, row in rows] for cells in read_once),
            [[ids[name] for name in said.operands[row]] for ids, row in rows],
            chain.from_iterable([one.texts for one in self.added]),
        )  # fmt: skip

    def _schedule(self) -> Columns:
        numbers = self._numbers("schedule")
        return self._keys("schedule"), numbers, numbers

    def _live_ranges(self) -> Columns:
        r = "live_ranges."
        return (
            self._keys(r + "instruction"), self._numbers(r + "instruction"), self._ids(r + "instruction"),
            self._cells(r + "shape_index"), self._cells(r + "start_position"), self._cells(r + "end_position"),
        )  # fmt: skip

    def _peak_buffers(self) -> Columns:
        k = "peak_buffers."
        return (
            self._keys(k + "instruction"), self._numbers(k + "instruction"), self._ids(k + "instruction"),
            self._cells(k + "shape_index"), self._cells(k + "listed_bytes"), self._cells(k + "cumulative_bytes"),
        )  # fmt: skip

    def _shapes(self) -> Columns:
        shapes = self.shape_rows
        return (
            range(len(shapes)), [s.shape_text for s in shapes], [s.element_type for s in shapes],
            [None if s.dims is None else list(s.dims) for s in shapes], [s.layout for s in shapes],
            [s.tiles for s in shapes], [s.layout_memory_space for s in shapes], [s.element_bits for s in shapes],
            [s.logical_bytes for s in shapes], [s.physical_bytes for s in shapes], [s.tuple_arity for s in shapes],
        )  # fmt: skip


def _interned(one: _Added, said: AttributeColumns) -> dict[str, int]:
    """Number every instruction name of a dump: the schedule first, so that most ids are schedule positions."""
    dump, rows = one.dump, one.texts.values()
    names = dict.fromkeys(
        chain(
            dump.schedule, dump.values.instruction, dump.positions.instruction, dump.uses.instruction,
            map(said.instruction_name.__getitem__, rows),
            chain.from_iterable(map(said.operands.__getitem__, rows)),
        )
    )  # fmt: skip
    return dict(zip(names, range(len(names)), strict=True))


def _text_numbers(one: _Added) -> Iterable[int | None]:
    """Return the number of its instruction text for each value; equal texts of a dump are stored once."""
    texts = one.dump.values.instruction_text
    if not texts:
        return repeat(None, len(one.dump.values.value_id))
    return map(dict(zip(one.texts, range(len(one.texts)), strict=True)).__getitem__, texts)


def _ordinals(counts: Iterable[int]) -> list[int]:
    """Return 0, 1, 2, … as often as each count says."""
    return list(chain.from_iterable(map(range, counts)))


def _dump_row(one: _Added) -> tuple:
    dump, a = one.dump, one.dump.allocations
    return (
        one.content.dump_id, one.content.sha256, sum(one.sizes.values()), one.load_id, one.signature_id,
        one.signature, dump.file_layout, dump.text_encoding, "present" if dump.has_used_values else "absent",
        dump.live_range_state, dump.total_bytes, dump.total_human, dump.max_position, dump.reported_peak_position,
        a.pointer.count(None) < len(a.pointer), a.page.count(None) < len(a.page), dump.is_glued,
        dump.has_instruction_texts, dump.has_instruction_space, dump.peak_form, dump.none_form, dump.stack_trace,
    )  # fmt: skip


def _file_rows(one: _Added) -> list[tuple]:
    newlines = one.dump.trailing_newlines
    if len(newlines) == 1:
        [(role, count)] = newlines.items()
        return [(one.content.dump_id, role, one.content.sha256, sum(one.sizes.values()), count)]
    hashes = one.content.file_sha256
    return [(one.content.dump_id, role, hashes[role], one.sizes[role], count) for role, count in newlines.items()]


def _transposed(table: str, rows: Sequence[tuple]) -> Columns:
    return list(zip(*rows, strict=True)) or [()] * len(COLUMNS[table])


def _frame(table: str, columns: Columns) -> pl.DataFrame:
    types = COLUMNS[table].items()
    return pl.DataFrame([_series(name, dtype, cells) for (name, dtype), cells in zip(types, columns, strict=True)])


def _series(name: str, dtype: pl.DataType, cells: Iterable) -> pl.Series:
    """Return a column; lists of numbers go through Arrow, because Polars would make a series of each."""
    if isinstance(cells, pl.Series):
        return cells.alias(name)
    cells = list(cells)
    if dtype == pl.List(pl.Int64):
        return pl.Series(name, pa.array(cells, pa.large_list(pa.int64())))
    return pl.Series(name, cells, dtype=dtype, strict=True)
