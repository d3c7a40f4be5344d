"""Whether a proto says what the text beside it says: the same allocations, and the same slots of the same values."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import duckdb
import polars as pl

from bufferhouse.dump.columns import repeated
from bufferhouse.tabulate.batch import COLUMNS, Batch, Proto, Sighting

_ALLOCATIONS = (
    "size_bytes", "memory_space", "is_constant", "is_thread_local", "is_maybe_live_out", "parameter_number",
    "parameter_shape_index",
)  # fmt: skip
_SLOTS = ("allocation_index", "offset_bytes", "size_bytes", "memory_space")
_TABLES = {"allocations": ("allocation_index", _ALLOCATIONS), "hlo_values": ("value_id", _SLOTS)}
_WORDS = {"allocations": "allocation", "hlo_values": "value"}


def note_differences(con: duckdb.DuckDBPyConnection, new: Batch, sightings: Iterable[Sighting]) -> None:
    """Note the first `difference` of each proto that contradicts the text beside it.

    `new` holds the rows of the dumps that the warehouse does not have yet; those of the others are looked up.
    """
    beside = [(s.content.dump_id, s.proto) for s in sightings if s.proto and s.proto.assignment and s.proto.size_bytes]
    # A proto that was kept is one object, however often it was seen.
    pairs = {(dump_id, id(proto.assignment)): (dump_id, proto) for dump_id, proto in beside}
    if not pairs:
        return
    given, told = list(pairs.values()), {}
    for table in _TABLES:
        stored = _stored(con, new, table, sorted({dump_id for dump_id, _ in given}))
        for number, what in _differences(table, stored, _found(table, given)):
            told.setdefault(number, what)
    numbers = {key: number for number, key in enumerate(pairs)}
    for dump_id, proto in beside:
        proto.difference = told.get(numbers[dump_id, id(proto.assignment)])


def _found(table: str, given: Sequence[tuple[int, Proto]]) -> pl.DataFrame:
    """Return what the protos say, numbered, with the columns of a table."""
    key, columns = _TABLES[table]
    parts = [proto.assignment.allocations if table == "allocations" else proto.assignment.slots for _, proto in given]
    counts = [len(part.size_bytes) for part in parts]
    keys = map(range, counts) if table == "allocations" else [part.value_id for part in parts]
    return pl.DataFrame(
        {
            "number": list(repeated(range(len(given)), counts)),
            "dump_id": list(repeated([dump_id for dump_id, _ in given], counts)),
            key: list(chain.from_iterable(keys)),
            **{name: list(chain.from_iterable([getattr(part, name) for part in parts])) for name in columns},
        },
        schema={"number": pl.Int64, **{name: COLUMNS[table][name] for name in ("dump_id", key, *columns)}},
    )


def _stored(con: duckdb.DuckDBPyConnection, new: Batch, table: str, dump_ids: list[int]) -> pl.DataFrame:
    """Return the rows of the texts."""
    key, columns = _TABLES[table]
    names = ["dump_id", key, *columns]
    frame = new.frames[table].select(names).filter(pl.col("dump_id").is_in(dump_ids))
    others = sorted(set(dump_ids) - set(new.frames["dumps"]["dump_id"]))
    if not others:
        return frame
    # Named in the statement, the dumps are looked for where they lie.
    listed = ", ".join(map(str, others))
    known = con.execute(f"SELECT {', '.join(names)} FROM raw.{table} WHERE dump_id IN ({listed})").pl()
    return pl.concat([frame, known.cast(dict(frame.schema))])


def _differences(table: str, stored: pl.DataFrame, found: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield what differs, by the number of the proto, in the order of the keys."""
    key, columns = _TABLES[table]
    # Row by row, each dump with one proto: at first sight nothing differs most often.
    one, other = (frame.select("dump_id", key, *columns).sort("dump_id", key) for frame in (stored, found))
    if one.equals(other):
        return
    numbered = found.select("number", "dump_id").unique().join(stored, on="dump_id")
    both = found.drop("dump_id").join(
        numbered.drop("dump_id").with_columns(is_there=True), on=["number", key], how="full", suffix="_there"
    )
    both = both.with_columns(
        pl.coalesce("number", "number_there").alias("the_number"), pl.coalesce(key, f"{key}_there").alias("the_key")
    )
    # A text before 2019-09 prints no memory space of a value.
    unlike = [pl.col(name).ne_missing(pl.col(f"{name}_there")) for name in columns if name != "memory_space"]
    unlike.append(pl.col("memory_space") != pl.col("memory_space_there"))
    odd = both.filter(pl.any_horizontal(unlike)).sort("the_number", "the_key")
    for row in odd.unique("the_number", keep="first", maintain_order=True).to_dicts():
        yield row["the_number"], _told(row, table)


def _told(row: dict, table: str) -> str:
    """Return what differs in a row of both."""
    what = f"{_WORDS[table]} {row['the_key']}"
    if row["number"] is None or row["number_there"] is None:
        has, lacks = ("text", "proto") if row["number"] is None else ("proto", "text")
        return f"expected the same in text and proto, found {what} in the {has}, not in the {lacks}"
    for name in _TABLES[table][1]:
        printed, found = row[f"{name}_there"], row[name]
        if found != printed and not (name == "memory_space" and printed is None):
            return f"expected {name} {printed} of {what}, as in the text, found {found}"
    return f"expected {what} as in the text, found another"
