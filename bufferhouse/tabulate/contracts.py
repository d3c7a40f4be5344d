"""Frames through the contracts: which dumps break which one, and where."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bufferhouse.tabulate.batch import SHAPE_COLUMNS, Batch
from bufferhouse.tabulate.tables import Refusal

if TYPE_CHECKING:
    import polars as pl


def breaches(batch: Batch) -> dict[int, Refusal]:
    """Validate every frame of a batch once; return the first breach of each dump that has one.

    A frame that keeps its contract, as nearly all do, costs one pass; where and why one does not is for pandera to say.

    Raises:
        pandera.errors.SchemaErrors: a breach that no row of a dump can be blamed for: a fault of this program.
    """
    from schemas import TABLES

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


def _owners(batch: Batch, frame: "pl.DataFrame", row: int) -> Iterable[int]:
    """Return the dump that a row is of; of a shape all that mention it."""
    if "dump_id" in frame.columns:
        return [frame["dump_id"][row]]
    shape_id = frame["shape_id"][row]
    mentions = ((batch.frames[table], names) for table, names in SHAPE_COLUMNS.items() if table != "shapes")
    return {
        dump_id
        for other, names in mentions
        for name in names
        for dump_id in other.filter(other[name] == shape_id)["dump_id"]
    }


def without(batch: Batch, dump_ids: set[int]) -> Batch:
    """Return the batch without the rows of some dumps, and the shapes that only they mention."""
    import polars as pl

    if not dump_ids:
        return batch
    frames = {
        table: frame.filter(~pl.col("dump_id").is_in(list(dump_ids))) if "dump_id" in frame.columns else frame
        for table, frame in batch.frames.items()
    }
    shapes = frames["shapes"]
    others = [frames[table][name] for table, names in SHAPE_COLUMNS.items() if table != "shapes" for name in names]
    is_used = shapes["shape_id"].is_in(pl.concat([column.alias("shape_id") for column in others]).unique().implode())
    frames["shapes"] = shapes.filter(is_used)
    return Batch(frames).with_shape_ids(is_used.cum_sum().cast(pl.Int64) - 1)
