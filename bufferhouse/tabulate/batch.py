"""What a batch is on its way from the sources to the warehouse: tables, sightings, refusals.

The tables are one frame each, with the columns of the contracts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from bufferhouse.dump.identity import Content, FileName
from bufferhouse.dump.stack_frames import StackFrame

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


# Columns that hold a number of `shapes`.
SHAPE_COLUMNS = {
    "allocations": ("parameter_shape_id", "output_shape_id"),
    "hlo_values": ("shape_id",),
    "instruction_texts": ("result_shape_id",),
    "shapes": ("shape_id",),
}


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


@dataclass(slots=True)
class ModuleText:
    """What was found at the head of the module text beside a dump: tables of stack frames, a fault, or neither.

    Size and time are None where the file could not be read, so that the next ingest tries again.
    """

    source_uri: str
    size_bytes: int | None = None
    mtime_ns: int | None = None
    stack_frames_id: int | None = None
    stack_frames: list[StackFrame] | None = None
    fault: str | None = None


@dataclass(slots=True)
class Sighting:
    """A file of a run and the content found in it. `files` is kept only where the content is new."""

    run_name: str
    relative_path: str
    source_uri: str
    size_bytes: int
    mtime_ns: int | None
    content: Content
    file_name: FileName
    text_bytes: int
    files: Mapping[str, bytes] | None = None
    module_text: ModuleText | None = None


@dataclass(slots=True)
class Refusal:
    """Why a content was refused; `role` says in which file of the dump the fault lies."""

    rule: str
    expected: str
    found: str
    line: int | None = None
    column: int | None = None
    role: str = "combined"

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line is not None else ""
        return f"{place}expected {self.expected}, found {self.found}"


@dataclass(slots=True)
class ParsedBatch:
    """The new contents of a batch as frames, every sighting in it, and what was refused, by dump_id."""

    tables: Batch
    sightings: list[Sighting] = field(default_factory=list)
    refusals: dict[int, Refusal] = field(default_factory=dict)
    signature_ids: dict[int, int] = field(default_factory=dict)
