"""Dumps that the native reader takes, to one frame per table: the same cells that `Tabulator` makes.

Columns are Arrow arrays over the memory of the scanner, which lives as long as one of them does; repeated texts are
numbers until the frames are made. Python parses each distinct shape, and the instruction texts that are not of the
common form (`instruction_text.read`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa

from bufferhouse.dump import instruction_text
from bufferhouse.dump.columns import Allocations, Dumps, Values
from bufferhouse.dump.identity import Content, key_of
from bufferhouse.dump.native import Columns, Scanner
from bufferhouse.tabulate.batch import COLUMNS, Batch, frame_of
from bufferhouse.tabulate.shape import Shape, ShapeError, parse_shape
from bufferhouse.tabulate.tabulator import NO_LOAD, entry_signatures, file_columns, shape_columns

_USES_STATES = pl.Series(["empty", "listed", "uninitialized"])
_PEAK_FORMS = (None, "name", "indexed", "cumulative")
_NONE_FORMS = (None, "empty", "none")


class Scanned:
    """Takes contents one after the other; `finish` turns them into a batch."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.contents: list[Content] = []
        self.sizes: list[Mapping[str, int]] = []
        self.shapes: list[Shape] = []

    def take(self, content: Content, files: Mapping[str, bytes]) -> bool:
        """Take a dump; return False, and keep nothing of it, if the reader in Python must read it."""
        if not self.scanner.read(content.dump_id, files):
            return False
        try:
            self.shapes += [parse_shape(text) for text in self.scanner.new_words("shape", len(self.shapes))]
        except ShapeError:
            self.scanner.take_back()
            return False
        self.contents.append(content)
        self.sizes.append({role: len(data) for role, data in files.items()})
        return True

    def finish(self) -> tuple[Batch, list[int]]:
        """Return the taken dumps as frames, with the shapes they mention, and the signature id of each dump.

        Raises:
            ShapeError: a shape text of a header is not a shape of a program's signature.
        """
        columns = _Columns(self.scanner.finish())
        signatures = list(entry_signatures(_for_signatures(columns)))
        signature_ids = list(map(key_of, signatures))
        tables = {
            "dumps": self._dumps(columns, signature_ids, signatures),
            "dump_files": self._dump_files(columns),
            "allocations": _all(columns, "allocations"),
            "hlo_values": self._hlo_values(columns),
            "cross_color_values": [[]] * len(COLUMNS["cross_color_values"]),
            "further_positions": _all(columns, "further_positions"),
            "uses": _all(columns, "uses"),
            "instructions": _instructions(columns),
            "instruction_texts": self._instruction_texts(columns),
            "live_ranges": _all(columns, "live_ranges"),
            "peak_buffers": _all(columns, "peak_buffers"),
            "protos": [[]] * len(COLUMNS["protos"]),
            "shapes": shape_columns(self.shapes),  # those of results are among them by now
        }
        return Batch({table: frame_of(table, cells) for table, cells in tables.items()}), signature_ids

    def _dumps(self, columns: "_Columns", signature_ids: list[int], signatures: list[str]) -> list:
        states = ["present"] * len(self.contents)
        live_range_states = ["unbounded" if is_so else "present" for is_so in columns["dumps.is_unbounded"]]
        return [
            columns["dumps.dump_id"], [content.sha256 for content in self.contents],
            [sum(sizes.values()) for sizes in self.sizes], [NO_LOAD] * len(states), signature_ids, signatures,
            ["split" if split else "combined" for split in columns["dumps.is_split"]], ["utf-8"] * len(states), states,
            live_range_states, columns["dumps.total_bytes"], columns["dumps.total_human"],
            columns["dumps.max_position"], columns["dumps.reported_peak_position"], columns["dumps.has_pointers"],
            columns["dumps.has_pages"], columns["dumps.is_glued"], [True] * len(states),
            columns["dumps.has_instruction_space"], [_PEAK_FORMS[form] for form in columns.numbers("dumps.peak_form")],
            [_NONE_FORMS[form] for form in columns.numbers("dumps.none_form")], columns["dumps.stack_trace"],
        ]  # fmt: skip

    def _dump_files(self, columns: "_Columns") -> Sequence:
        roles = ("allocations", "values", "live_range")
        counts = zip(*(columns[f"dumps.trailing_{role}"] for role in roles), strict=True)
        newlines = [
            {"combined": of_dump[-1]} if len(sizes) == 1 else dict(zip(roles, of_dump, strict=True))
            for sizes, of_dump in zip(self.sizes, counts, strict=True)
        ]
        return file_columns(self.contents, self.sizes, newlines)

    def _hlo_values(self, columns: "_Columns") -> list:
        shape_ids = columns["hlo_values.shape_id"]
        logical = pl.Series([shape.logical_bytes for shape in self.shapes], dtype=pl.Int64)
        physical = pl.Series([shape.physical_bytes for shape in self.shapes], dtype=pl.Int64)
        names = (
            "dump_id", "value_id", "instruction_id", "shape_index", "is_phi", "memory_space", "shape_id",
            "allocation_index", "offset_bytes", "size_bytes",
        )  # fmt: skip
        return [
            *(columns[f"hlo_values.{name}"] for name in names), logical.gather(shape_ids), physical.gather(shape_ids),
            _USES_STATES.gather(columns.numbers("hlo_values.uses_state")), columns["hlo_values.instruction_text_id"],
        ]  # fmt: skip

    def _instruction_texts(self, columns: "_Columns") -> list:
        names = (
            "dump_id", "instruction_text_id", "instruction_id", "opcode", "op_name", "source_file", "source_line",
            "stack_frame_id", "custom_call_target",
        )  # fmt: skip
        cells = {name: columns[f"instruction_texts.{name}"] for name in names}
        texts = columns.texts("instruction_text")
        rows = columns["instruction_texts.is_uncommon"].arg_true()
        if len(rows):
            said = instruction_text.read(texts.gather(rows).to_list())
            for name in names[4:]:
                told = pl.Series(getattr(said, name), dtype=cells[name].dtype)
                cells[name] = cells[name].scatter(rows, told)
        ends = columns.arrow("instruction_texts.operands_end")
        ends = pa.concat_arrays([pl.Series([0]).to_arrow(), ends])
        operands = pa.LargeListArray.from_arrays(ends, columns.arrow("operands.instruction_id"))
        results = self._result_shape_ids(columns).gather(columns.numbers("instruction_texts.result_shape"))
        return [*cells.values(), results, pl.Series(operands), texts]

    def _result_shape_ids(self, columns: "_Columns") -> pl.Series:
        """Number result shapes, new ones after those of values; a text that only looks like a shape has no number."""
        numbers = {shape.shape_text: number for number, shape in enumerate(self.shapes)}
        found: list[int | None] = []
        for text in columns.texts("result_shape").to_list():
            if text not in numbers:
                try:
                    shape = parse_shape(text)
                except ShapeError:
                    found.append(None)
                    continue
                numbers[text] = len(self.shapes)
                self.shapes.append(shape)
            found.append(numbers[text])
        return pl.Series(found, dtype=pl.Int64)


# The list of words to which the numbers of a column refer, if its name is not that of the column.
_LISTS = {"parameter_shape_index": "shape_index", "operand_shape_index": "shape_index"}
_KINDS = {"number": (pa.int64(), 8), "optional": (pa.int64(), 8), "word": (pa.int32(), 4), "flag": (pa.int8(), 1)}


class _Columns:
    """The columns of a scanner as series, by their names `table.column`; they keep its memory alive."""

    def __init__(self, found: Columns) -> None:
        self.found = found
        self._texts: dict[str, pl.Series] = {}

    def __getitem__(self, name: str) -> pl.Series:
        kind, _ = self.found.columns[name]
        if kind == "word":
            column = name.partition(".")[2]
            return self.texts(_LISTS.get(column, column)).gather(self.numbers(name))
        return self.numbers(name).cast(pl.Boolean) if kind == "flag" else self.numbers(name)

    def numbers(self, name: str) -> pl.Series:
        """Return the numbers of a column unchanged."""
        return pl.Series(self.arrow(name))

    def arrow(self, name: str) -> pa.Array:
        """Return the numbers of a column, null if the dump prints none."""
        kind, cells = self.found.columns[name]
        dtype, width = _KINDS[kind]
        if not cells.rows:
            return pa.nulls(0, dtype)
        bits = cells.bits and self._buffer(cells.bits, (cells.rows + 7) // 8)
        buffers = [bits, self._buffer(cells.address, cells.rows * width)]
        return pa.Array.from_buffers(dtype, cells.rows, buffers, cells.absent)

    def texts(self, name: str) -> pl.Series:
        """Return the distinct texts of a list, in the order of their numbers."""
        if name not in self._texts:
            ends, count, data, size = self.found.words[name]
            cells = pa.nulls(0, pa.large_string())
            if count:
                buffers = [None, self._buffer(ends, 8 * (count + 1)), self._buffer(data or ends, size)]
                cells = pa.Array.from_buffers(pa.large_string(), count, buffers, 0)
            self._texts[name] = pl.Series(cells, dtype=pl.String)
        return self._texts[name]

    def _buffer(self, address: int, size: int) -> pa.Buffer:
        return pa.foreign_buffer(address, size, self.found.owner)


class _Lazy:
    """Cells that are made only when they are used, as for few dumps."""

    def __init__(self, cells: Callable[[], pl.Series]) -> None:
        self.cells = cells

    @cached_property
    def _listed(self) -> list:
        return self.cells().to_list()

    def __getitem__(self, row: int) -> Any:
        return self._listed[row]


def _for_signatures(columns: _Columns) -> Dumps:
    """Return the columns from which entry signatures are made."""

    def shapes(name: str) -> Callable[[], pl.Series]:
        return lambda: columns.texts("shape").gather(columns.numbers(name))

    return Dumps(
        allocations=Allocations(
            parameter_number=columns["allocations.parameter_number"].to_list(),
            parameter_shape_index=columns["allocations.parameter_shape_index"].to_list(),
            parameter_shape=shapes("allocations.parameter_shape_id")().to_list(),
            output_shape=shapes("allocations.output_shape_id")().to_list(),
            is_maybe_live_out=columns["allocations.is_maybe_live_out"].to_list(),
        ),
        values=Values(
            shape=_Lazy(shapes("hlo_values.shape_id")),
            allocation_index=_Lazy(lambda: columns["hlo_values.allocation_index"]),
        ),
        rows={table: columns[f"dumps.{table}"].to_list() for table in ("allocations", "values")},
    )


def _all(columns: _Columns, table: str) -> list:
    """Return a table whose columns the scanner has by their names."""
    return [columns[f"{table}.{name}"] for name in COLUMNS[table]]


def _instructions(columns: _Columns) -> list:
    names = columns.texts("instruction_name")
    return [
        columns["instructions.dump_id"], columns["instructions.instruction_id"], names,
        columns["instructions.schedule_position"],
    ]  # fmt: skip
