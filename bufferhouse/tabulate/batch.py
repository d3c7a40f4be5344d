"""What a batch is: one frame per table, with the columns of the contracts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from schemas import TABLES

_ONLY_AT_LOAD = {"runs", "loads", "observations", "stack_frames", "rejects"}
# Tables that a dump fills, each with its columns and their types, in the order of the contracts.
COLUMNS: dict[str, dict[str, Any]] = {
    table: {name: column.dtype for name, column in contract.columns.items()}
    for table, contract in TABLES.items()
    if table not in _ONLY_AT_LOAD
}
# Columns that hold a number of `shapes`.
SHAPE_COLUMNS = {
    table: names
    for table, columns in COLUMNS.items()
    if (names := tuple(name for name in columns if name.endswith("shape_id")))
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
        batch.with_shape_ids(
            pl.Series([numbers[text] for text in batch.frames["shapes"]["shape_text"]], dtype=pl.Int64)
        )
        for batch in batches
    ]
    frames = {table: pl.concat([batch.frames[table] for batch in renumbered]) for table in COLUMNS}
    frames["shapes"] = frames["shapes"].unique("shape_id", keep="first", maintain_order=True)
    return Batch(frames)
