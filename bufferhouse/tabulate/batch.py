"""A batch on its way from the sources to the warehouse: tables, sightings, refusals.

Each table is one frame, with the columns of its contract.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bufferhouse.dump.identity import Content, FileName
from bufferhouse.dump.module_header import Donation
from bufferhouse.dump.stack_frames import StackFrame
from bufferhouse.errors import told
from schemas import DERIVED, TABLES

_ONLY_AT_LOAD = {
    *("runs", "loads", "observations", "stack_frames", "donations", "compile_flags", "packings", "rejects"),
    *("pruned_runs", "heap_events", "alias_sets"),
    *("oom_logs", "oom_messages", "oom_figures", "oom_allocations", "oom_ranks"),
}
# The tables that the text of a dump fills, each with its columns and their types, in the order of the contracts.
COLUMNS: dict[str, dict[str, Any]] = {
    table: contract.types for table, contract in TABLES.items() if table not in _ONLY_AT_LOAD and table not in DERIVED
}
# Columns of other tables that refer to a row of `shapes` by its number.
SHAPE_COLUMNS = {
    table: names
    for table, columns in COLUMNS.items()
    if table != "shapes" and (names := tuple(name for name in columns if name.endswith("shape_id")))
}


@dataclass(slots=True)
class Batch:
    """Frames by table name. In a batch `shape_id` counts from 0 without gaps; a warehouse gives its own numbers."""

    frames: dict[str, pl.DataFrame]

    def with_shape_ids(self, numbers: pl.Series) -> "Batch":
        """Return the batch with `numbers[i]` in place of shape id i, in every column that holds one."""
        frames = dict(self.frames)
        for table, columns in {**SHAPE_COLUMNS, "shapes": ("shape_id",)}.items():
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
        batch.with_shape_ids(
            pl.Series([numbers[text] for text in batch.frames["shapes"]["shape_text"]], dtype=pl.Int64)
        )
        for batch in batches
    ]
    frames = {table: pl.concat([batch.frames[table] for batch in renumbered]) for table in COLUMNS}
    frames["shapes"] = frames["shapes"].unique("shape_id", keep="first", maintain_order=True)
    return Batch(frames)


@dataclass(slots=True)
class ModuleText:
    """What was found at the head of the module text beside a dump: donations, tables of stack frames, a fault.

    Size and time are None if the file could not be read, so that the next ingest tries again. `held_bytes` estimates
    the memory that the tables take.
    """

    source_uri: str
    size_bytes: int | None = None
    mtime_ns: int | None = None
    stack_frames_id: int | None = None
    stack_frames: list[StackFrame] | None = None
    donations_id: int | None = None
    donations: list[Donation] | None = None
    fault: str | None = None
    held_bytes: int = 0


@dataclass(slots=True)
class CompileFlags:
    """The options of a compilation: for each file beside its dump the rows of origin, name and value, by their key.

    Size and time are those of all files together; they are None if one could not be read, so that the next ingest tries
    again. The `fault` names a damaged file with its path; the options of the other files are kept.
    """

    size_bytes: int | None
    mtime_ns: int | None
    sets: dict[int, Sequence[tuple[str, str, str]]]
    fault: str | None


@dataclass(slots=True)
class Proto:
    """What was found in the proto of a dump: events of the heap simulator, alias sets, and what must agree with a text.

    Size and time are None if the proto is the dump itself, and if it could not be read, so that the next ingest tries
    again. Events and sets are lists of columns. A damaged proto has a `fault`. A proto that contradicts the text has a
    `difference`, and its events and sets are dropped.
    """

    source_uri: str
    size_bytes: int | None = None
    mtime_ns: int | None = None
    heap_events_id: int | None = None
    heap_events: Sequence[Sequence] = ()
    alias_sets_id: int | None = None
    alias_sets: Sequence[Sequence] = ()
    assignment: Any = None
    fault: str | None = None
    difference: str | None = None

    @property
    def held_bytes(self) -> int:
        """An estimate of the memory that its rows take."""
        counts = [len(columns[0]) if columns else 0 for columns in (self.heap_events, self.alias_sets)]
        return 250 * counts[0] + 80 * counts[1]


@dataclass(slots=True)
class Sighting:
    """A file of a run and the content found in it. `files` has the bytes, and only if the content is new."""

    run_name: str
    relative_path: str
    source_uri: str
    size_bytes: int
    mtime_ns: int | None
    content: Content
    file_name: FileName
    text_bytes: int
    files: Mapping[str, bytes] | None
    module_text: ModuleText | None = None
    did_not_fit: bool | None = None
    compile_flags: CompileFlags | None = None
    proto: Proto | None = None

    @property
    def held_bytes(self) -> int:
        """An estimate of the memory that it takes besides its text."""
        of_text = self.module_text.held_bytes if self.module_text else 0
        return of_text + (self.proto.held_bytes if self.proto else 0)


@dataclass(slots=True)
class Refusal:
    """Why a content was refused; `role` says which file of the dump has the fault."""

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


def breaches(batch: Batch) -> dict[int, Refusal]:
    """Validate every frame of a batch once; return the first breach of each dump that has one.

    A frame that keeps its contract, as nearly all do, costs one pass; pandera finds the place and the reason of a
    breach.

    Raises:
        pandera.errors.SchemaErrors: a breach that belongs to no row of a dump: a fault of this program.
    """
    odd = {table: frame for table, frame in batch.frames.items() if not TABLES[table].is_kept_by(frame)}
    if not odd:
        return {}
    from pandera.errors import SchemaErrors

    found: dict[int, Refusal] = {}
    for table, frame in odd.items():
        try:
            TABLES[table].validate(frame)
        except SchemaErrors as error:
            for case in error.failure_cases.to_dicts():
                if case.get("index") is None:
                    raise
                refusal = Refusal(f"contract:{table}.{case['column']}", str(case["check"]), repr(case["failure_case"]))
                for dump_id in _owners(batch, frame, int(case["index"])):
                    found.setdefault(dump_id, refusal)
    return found


def without(batch: Batch, dump_ids: set[int]) -> Batch:
    """Return the batch without the rows of some dumps and without the shapes that only these dumps use."""
    if not dump_ids:
        return batch
    frames = {
        table: frame.filter(~pl.col("dump_id").is_in(list(dump_ids))) if "dump_id" in frame.columns else frame
        for table, frame in batch.frames.items()
    }
    shapes = frames["shapes"]
    others = [frames[table][name] for table, names in SHAPE_COLUMNS.items() for name in names]
    is_used = shapes["shape_id"].is_in(pl.concat([column.alias("shape_id") for column in others]).unique().implode())
    frames["shapes"] = shapes.filter(is_used)
    return Batch(frames).with_shape_ids(is_used.cum_sum().cast(pl.Int64) - 1)


def _owners(batch: Batch, frame: pl.DataFrame, row: int) -> Iterable[int]:
    """Return the dump that a row belongs to; for a row of `shapes`, all dumps that use the shape."""
    if "dump_id" in frame.columns:
        return [frame["dump_id"][row]]
    shape_id = frame["shape_id"][row]
    return {
        dump_id
        for table, names in SHAPE_COLUMNS.items()
        for name in names
        for dump_id in batch.frames[table].filter(pl.col(name) == shape_id)["dump_id"]
    }


def fault_of(step: str, error: Exception) -> Refusal:
    """Return the refusal of a content that makes a step of this program fail."""
    return Refusal(f"internal:{step}", "what this version can work with", told(error))


def frame_of(table: str, columns: Iterable[Iterable]) -> pl.DataFrame:
    """Return a frame of one table of raw from its columns, in the order and with the types of its contract."""
    types = TABLES[table].types.items()
    return pl.DataFrame([_series(name, dtype, cells) for (name, dtype), cells in zip(types, columns, strict=True)])


def _series(name: str, dtype: pl.DataType, cells: Iterable) -> pl.Series:
    if isinstance(cells, pl.Series):
        return cells.alias(name)
    return pl.Series(name, cells if isinstance(cells, list) else list(cells), dtype=dtype, strict=True)
