"""Many parsed dumps to one frame per table.

Columns grow as plain lists over the whole batch and become frames once: a batch of a thousand dumps costs one
conversion per column, not a thousand.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import polars as pl
import pyarrow as pa

from bufferhouse.dump import Dump
from bufferhouse.dump.instruction import attributes
from bufferhouse.dump.operands import Definition, definition
from bufferhouse.identity import Content, key_of
from bufferhouse.overlap import strict_overlaps
from bufferhouse.shape import Shape, ShapeError, parse_shape
from bufferhouse.signature import entry_signature

INT64_MAX = 2**63 - 1

# Tables a dump fills, each with its columns and their types: what the contracts declare, which a test compares.
_I, _T, _B, _L = pl.Int64, pl.String, pl.Boolean, pl.List(pl.Int64)
COLUMNS: dict[str, dict[str, pl.DataType]] = {
    "dumps": {
        "dump_id": _I, "sha256": _T, "text_bytes": _I, "load_id": _I, "signature_id": _I, "entry_signature": _T,
        "file_layout": _T, "text_encoding": _T, "used_values_state": _T, "live_range_state": _T, "total_bytes": _I,
        "total_human": _T, "max_position": _I, "reported_peak_position": _I, "has_pointer": _B, "has_page": _B,
        "is_glued": _B, "has_instruction_texts": _B, "has_instruction_space": _B, "peak_form": _T, "none_form": _T,
        "stack_trace": _T,
    },
    "dump_files": {"dump_id": _I, "role": _T, "sha256": _T, "text_bytes": _I, "trailing_newlines": _I},
    "allocations": {
        "dump_id": _I, "allocation_index": _I, "size_bytes": _I, "memory_space": _I, "page": _I, "pointer": _T,
        "is_constant": _B, "is_thread_local": _B, "is_maybe_live_out": _B, "parameter_number": _I,
        "parameter_shape_index": _T, "parameter_shape_id": _I, "output_shape_id": _I, "has_strict_overlap": _B,
    },
    "hlo_values": {
        "dump_id": _I, "value_id": _I, "instruction_id": _I, "shape_index": _T, "is_phi": _B, "memory_space": _I,
        "shape_id": _I, "allocation_index": _I, "offset_bytes": _I, "size_bytes": _I, "logical_bytes": _I,
        "physical_bytes": _I, "uses_state": _T, "instruction_text_id": _I,
    },
    "cross_color_values": {"dump_id": _I, "allocation_index": _I, "ordinal": _I, "value_id": _I, "memory_space": _I},
    "positions": {"dump_id": _I, "value_id": _I, "ordinal": _I, "instruction_id": _I, "shape_index": _T},
    "uses": {
        "dump_id": _I, "value_id": _I, "ordinal": _I, "instruction_id": _I, "operand_number": _I,
        "operand_shape_index": _T,
    },
    "instructions": {"dump_id": _I, "instruction_id": _I, "instruction_name": _T, "schedule_position": _I},
    "instruction_texts": {
        "dump_id": _I, "instruction_text_id": _I, "instruction_id": _I, "opcode": _T, "op_name": _T,
        "source_file": _T, "source_line": _I, "stack_frame_id": _I, "custom_call_target": _T,
        "result_shape_id": _I, "operand_instruction_ids": _L, "instruction_text": _T,
    },
    "schedule": {"dump_id": _I, "schedule_position": _I, "instruction_id": _I},
    "live_ranges": {
        "dump_id": _I, "ordinal": _I, "instruction_id": _I, "shape_index": _T, "start_position": _I,
        "end_position": _I,
    },
    "peak_buffers": {
        "dump_id": _I, "ordinal": _I, "instruction_id": _I, "shape_index": _T, "listed_bytes": _I,
        "cumulative_bytes": _I,
    },
    "shapes": {
        "shape_id": _I, "shape_text": _T, "element_type": _T, "dims": _L, "layout": _T, "tiles": _T,
        "layout_memory_space": _I, "element_bits": _I, "logical_bytes": _I, "physical_bytes": _I, "tuple_arity": _I,
    },
}  # fmt: skip


@dataclass(slots=True)
class Batch:
    """Frames by table name. `shape_id` is dense from 0 within the batch until a warehouse gives its own numbers."""

    frames: dict[str, pl.DataFrame] = field(default_factory=dict)

    def with_shape_ids(self, numbers: pl.Series) -> "Batch":
        """Return the batch with `numbers[i]` in place of shape id i, in every column that holds one."""
        frames = dict(self.frames)
        for table, columns in SHAPE_COLUMNS.items():
            frames[table] = frames[table].with_columns(
                numbers.gather(frames[table][column]).alias(column) for column in columns
            )
        return Batch(frames)


SHAPE_COLUMNS = {
    "allocations": ("parameter_shape_id", "output_shape_id"),
    "hlo_values": ("shape_id",),
    "instruction_texts": ("result_shape_id",),
    "shapes": ("shape_id",),
}


class Tabulator:
    """Collects parsed dumps; `finish` turns them into a batch.

    `add` either takes a whole dump or, where a shape text is no shape, raises and takes nothing of it.
    """

    def __init__(self) -> None:
        self.columns: dict[str, list[list]] = {name: [[] for _ in columns] for name, columns in COLUMNS.items()}
        self.shapes: dict[str, int] = {}
        self.shape_rows: list[Shape] = []

    def add(self, dump: Dump, content: Content, sizes: Mapping[str, int], load_id: int = 0) -> int:
        """Append the rows of one dump and return its signature id; `sizes` are the bytes of its files by role.

        Raises:
            ShapeError: a shape text is no shape; nothing was added.
        """
        a, v = dump.allocations, dump.values
        shape_rows = list(map(self._shape, v.shape))
        parameter_shapes = [None if text is None else self._shape(text) for text in a.parameter_shape]
        output_shapes = [None if text is None else self._shape(text) for text in a.output_shape]
        signature = entry_signature(dump)
        signature_id = key_of(signature)
        dump_id = content.dump_id
        definitions = {text: definition(text) for text in dict.fromkeys(v.instruction_text)}
        names = _interned(dump, definitions)
        self._add_dump(dump, content, sizes, load_id, signature)
        n = len(a.size_bytes)
        self._extend(
            "allocations", [dump_id] * n, range(n), a.size_bytes, a.memory_space, a.page, a.pointer, a.is_constant,
            a.is_thread_local, a.is_maybe_live_out, a.parameter_number, a.parameter_shape_index, parameter_shapes,
            output_shapes, strict_overlaps(dump),
        )  # fmt: skip
        texts = self._add_texts(dump_id, v.instruction_text, definitions, names)
        n = len(v.value_id)
        known = [self.shape_rows[row] for row in shape_rows]
        self._extend(
            "hlo_values", [dump_id] * n, v.value_id, map(names.__getitem__, v.instruction), v.shape_index, v.is_phi,
            v.memory_space, shape_rows, v.allocation_index, v.offset_bytes, v.size_bytes,
            [shape.logical_bytes for shape in known], [shape.physical_bytes for shape in known],
            v.uses_state or [None] * n, texts or [None] * n,
        )  # fmt: skip
        self._add_lists(dump, dump_id, names)
        self._add_live_range(dump, dump_id, names)
        return signature_id

    def finish(self) -> Batch:
        """Return everything added so far as frames, and the shapes they mention."""
        shapes = self.shape_rows
        self._extend(
            "shapes", range(len(shapes)), [s.shape_text for s in shapes], [s.element_type for s in shapes],
            [None if s.dims is None else list(s.dims) for s in shapes], [s.layout for s in shapes],
            [s.tiles for s in shapes], [s.layout_memory_space for s in shapes], [s.element_bits for s in shapes],
            [s.logical_bytes for s in shapes], [s.physical_bytes for s in shapes], [s.tuple_arity for s in shapes],
        )  # fmt: skip
        return Batch(
            {
                table: pl.DataFrame(
                    [
                        _series(name, cells, dtype)
                        for (name, dtype), cells in zip(COLUMNS[table].items(), lists, strict=True)
                    ]
                )
                for table, lists in self.columns.items()
            }
        )

    def _extend(self, table: str, *columns: Iterable) -> None:
        for cells, more in zip(self.columns[table], columns, strict=True):
            cells.extend(more)

    def _shape(self, text: str) -> int:
        row = self.shapes.get(text)
        if row is None:
            shape = parse_shape(text)
            row = self.shapes[text] = len(self.shape_rows)
            self.shape_rows.append(shape)
        return row

    def _add_dump(self, dump: Dump, content: Content, sizes: Mapping[str, int], load_id: int, signature: str) -> None:
        a = dump.allocations
        row = (
            content.dump_id, content.sha256, sum(sizes.values()), load_id, key_of(signature), signature,
            dump.file_layout, dump.text_encoding, "present" if dump.has_used_values else "absent",
            dump.live_range_state, dump.total_bytes, dump.total_human, dump.max_position,
            dump.reported_peak_position, any(pointer is not None for pointer in a.pointer),
            any(page is not None for page in a.page), dump.is_glued, dump.has_instruction_texts,
            dump.has_instruction_space, dump.peak_form, dump.none_form, dump.stack_trace,
        )  # fmt: skip
        self._extend("dumps", *([cell] for cell in row))
        roles = list(dump.trailing_newlines)
        hashes = content.file_sha256 if len(content.file_sha256) > 1 else {roles[0]: content.sha256}
        lengths = sizes if len(sizes) > 1 else {roles[0]: next(iter(sizes.values()))}
        self._extend(
            "dump_files", [content.dump_id] * len(roles), roles, [hashes[role] for role in roles],
            [lengths[role] for role in roles], dump.trailing_newlines.values(),
        )  # fmt: skip

    def _result_shape(self, text: str | None) -> int | None:
        """Number the result shape of an instruction text; a text that only looks like one has none."""
        try:
            return None if text is None else self._shape(text)
        except ShapeError:
            return None

    def _add_texts(
        self, dump_id: int, texts: list[str], definitions: Mapping[str, Definition], names: dict[str, int]
    ) -> list[int]:
        """Store equal instruction texts once; return the text's number for each value."""
        distinct = {text: number for number, text in enumerate(definitions)}
        found = list(map(attributes, distinct))
        defined = definitions.values()
        self._extend(
            "instruction_texts", [dump_id] * len(found), range(len(found)),
            [names[f.instruction_name] for f in found], [f.opcode for f in found], [f.op_name for f in found],
            [f.source_file for f in found], [f.source_line for f in found], [f.stack_frame_id for f in found],
            [f.custom_call_target for f in found], [self._result_shape(d.result_shape) for d in defined],
            [[names[name] for name in d.operands] for d in defined], distinct,
        )  # fmt: skip
        return list(map(distinct.__getitem__, texts))

    def _add_lists(self, dump: Dump, dump_id: int, names: dict[str, int]) -> None:
        v, p, u, c = dump.values, dump.positions, dump.uses, dump.cross_color_values
        self._extend(
            "positions", [dump_id] * len(p.instruction), _repeated(v.value_id, p.count), _ordinals(p.count),
            map(names.__getitem__, p.instruction), p.shape_index,
        )  # fmt: skip
        self._extend(
            "uses", [dump_id] * len(u.instruction), _repeated(v.value_id, u.count), _ordinals(u.count),
            map(names.__getitem__, u.instruction), u.operand_number, u.operand_shape_index,
        )  # fmt: skip
        blocks = [c.allocation_index.count(owner) for owner in dict.fromkeys(c.allocation_index)]
        self._extend(
            "cross_color_values", [dump_id] * len(c.value_row), c.allocation_index, _ordinals(blocks),
            [v.value_id[row] for row in c.value_row], c.memory_space,
        )  # fmt: skip

    def _add_live_range(self, dump: Dump, dump_id: int, names: dict[str, int]) -> None:
        r, k = dump.live_ranges, dump.peak_buffers
        scheduled = len(dump.schedule)
        positions = [*range(scheduled), *[None] * (len(names) - scheduled)]
        self._extend("instructions", [dump_id] * len(names), range(len(names)), names, positions)
        self._extend("schedule", [dump_id] * scheduled, range(scheduled), range(scheduled))
        self._extend(
            "live_ranges", [dump_id] * len(r.instruction), range(len(r.instruction)),
            map(names.__getitem__, r.instruction), r.shape_index, r.start_position, r.end_position,
        )  # fmt: skip
        self._extend(
            "peak_buffers", [dump_id] * len(k.instruction), range(len(k.instruction)),
            map(names.__getitem__, k.instruction), k.shape_index, k.listed_bytes, k.cumulative_bytes,
        )  # fmt: skip


def _series(name: str, cells: list, dtype: pl.DataType) -> pl.Series:
    """Return a column; lists of numbers go through Arrow, because Polars would make a series of each."""
    if dtype == _L:
        return pl.Series(name, pa.array(cells, pa.large_list(pa.int64())))
    return pl.Series(name, cells, dtype=dtype, strict=True)


def merged(batches: Sequence[Batch]) -> Batch:
    """Return several batches as one, with shapes numbered anew."""
    if len(batches) == 1:
        return batches[0]
    shapes = pl.concat([batch.frames["shapes"] for batch in batches])
    distinct = shapes.unique("shape_text", keep="first", maintain_order=True)
    numbers = dict(zip(distinct["shape_text"], range(len(distinct)), strict=True))
    renumbered = [
        batch.with_shape_ids(pl.Series([numbers[text] for text in batch.frames["shapes"]["shape_text"]], dtype=_I))
        for batch in batches
    ]
    frames = {table: pl.concat([batch.frames[table] for batch in renumbered]) for table in COLUMNS}
    frames["shapes"] = frames["shapes"].unique("shape_id", keep="first", maintain_order=True)
    return Batch(frames)


def _interned(dump: Dump, definitions: Mapping[str, Definition]) -> dict[str, int]:
    """Number every instruction name of a dump: the schedule first, so that most ids are schedule positions."""
    named_in_texts = chain(
        (text[1:].split(" ", 1)[0] for text in definitions), *(d.operands for d in definitions.values())
    )
    names = dict.fromkeys(
        chain(dump.schedule, dump.values.instruction, dump.positions.instruction, dump.uses.instruction, named_in_texts)
    )
    return dict(zip(names, range(len(names)), strict=True))


def _repeated(keys: list[int], counts: list[int]) -> list[int]:
    return [key for key, count in zip(keys, counts, strict=True) for _ in range(count)] if counts else []


def _ordinals(counts: list[int]) -> list[int]:
    return [ordinal for count in counts for ordinal in range(count)]
