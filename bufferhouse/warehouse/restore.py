"""Rows back to dumps: the mirror image of `tabulate`.

Nothing but the columns is used, so what `render` writes from the result is a proof of them; only of a dump without a
text the file itself is kept.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import groupby, islice

import duckdb
import polars as pl

from bufferhouse.dump import Dump, render
from bufferhouse.dump.columns import Facts
from bufferhouse.dump.identity import Content, content_of
from bufferhouse.engine.sql import registered, streamed
from bufferhouse.tabulate.batch import COLUMNS, SHAPE_COLUMNS

# Tables with rows of a dump, in the order in which a dump's rows are sorted.
ORDER = {
    "dumps": "dump_id",
    "dump_files": "dump_id, CASE role WHEN 'values' THEN 1 WHEN 'live_range' THEN 2 ELSE 0 END",
    "allocations": "dump_id, allocation_index",
    "hlo_values": "dump_id, value_id",
    "cross_color_values": "dump_id, allocation_index, ordinal",
    "further_positions": "dump_id, value_id, ordinal",
    "uses": "dump_id, value_id, ordinal",
    "instructions": "dump_id, instruction_id",
    "instruction_texts": "dump_id, instruction_text_id",
    "live_ranges": "dump_id, ordinal",
    "peak_buffers": "dump_id, ordinal",
    "protos": "dump_id",
}
CHUNK_DUMPS, _CHUNK_BYTES = 500, 16 << 20


def stored_frames(con: duckdb.DuckDBPyConnection, dump_ids: list[int]) -> dict[str, pl.DataFrame]:
    """Return all rows of some dumps by table, sorted by key; `shapes` holds the shapes they mention."""
    with registered(con, "chosen", pl.DataFrame({"dump_id": dump_ids}, schema={"dump_id": pl.Int64})):
        frames = {
            table: con.execute(
                f"SELECT {', '.join(COLUMNS[table])} FROM raw.{table} SEMI JOIN chosen USING (dump_id) ORDER BY {order}"
            ).pl()
            for table, order in ORDER.items()
        }
    used = pl.concat(
        [frames[table][column].drop_nulls() for table, columns in SHAPE_COLUMNS.items() for column in columns]
    ).unique()
    with streamed(con, "chosen", pl.DataFrame({"shape_id": used})):
        frames["shapes"] = con.execute(
            f"SELECT {', '.join(COLUMNS['shapes'])} FROM raw.shapes SEMI JOIN chosen USING (shape_id)"
        ).pl()
    return frames


@dataclass(frozen=True, slots=True)
class Rendered:
    """A dump written back from its rows: `files` by role with their `content`, or the `fault` that prevents it."""

    dump_id: int
    files: dict[str, bytes] = field(default_factory=dict)
    content: Content | None = None
    fault: str | None = None


def rendered(frames: Mapping[str, pl.DataFrame]) -> Iterator[Rendered]:
    """Render the dumps of frames that are sorted by key, and compare them with the hashes they were ingested under."""
    shapes = _by(frames["shapes"], "shape_id", "shape_text")
    take = {table: _taker(frames[table]) for table in ORDER}
    for dump_id, sha256 in zip(frames["dumps"]["dump_id"], frames["dumps"]["sha256"], strict=True):
        try:
            if proto := take["protos"](dump_id)["proto"]:
                files = {"proto": proto[0]}
            else:
                files = render(_dump({table: rows(dump_id) for table, rows in take.items()}, shapes))
            content = content_of(files)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, StopIteration) as error:
            # A row that points at nothing, or a cell that no dump has.
            yield Rendered(dump_id, fault=f"cannot be rendered: {type(error).__name__}: {error}")
            continue
        if (dump_id, sha256) != (content.dump_id, content.sha256):
            yield Rendered(dump_id, fault=f"renders to {content.sha256}, not to {sha256}")
        else:
            yield Rendered(dump_id, files, content)


def _taker(frame: pl.DataFrame) -> Callable[[int], dict[str, list]]:
    """Return a function that cuts the rows of one dump out of a frame, as columns of plain lists."""
    columns = {name: frame[name].to_list() for name in frame.columns}
    places: dict[int, tuple[int, int]] = {}
    start = 0
    for dump_id, rows in groupby(columns["dump_id"]):
        stop = start + sum(1 for _ in rows)
        places[dump_id] = start, stop
        start = stop

    def take(dump_id: int) -> dict[str, list]:
        start, stop = places.get(dump_id, (0, 0))
        return {name: cells[start:stop] for name, cells in columns.items()}

    return take


def _by(rows: Mapping[str, list] | pl.DataFrame, key: str, value: str) -> dict:
    """Return one column by another."""
    return dict(zip(rows[key], rows[value], strict=True))


def _take(part: object, rows: Mapping[str, list]) -> None:
    """Fill the columns of a part of a dump that are stored unchanged, under the same names."""
    for column in fields(part):
        if column.name in rows:
            setattr(part, column.name, rows[column.name])


def _dump(rows: Mapping[str, dict[str, list]], shapes: Mapping[int, str]) -> Dump:
    head = {name: cells[0] for name, cells in rows["dumps"].items()}
    dump = Dump(
        **{fact.name: head[fact.name] for fact in fields(Facts) if fact.name in head},
        has_used_values=head["used_values_state"] == "present",
        trailing_newlines=_by(rows["dump_files"], "role", "trailing_newlines"),
    )
    names = _by(rows["instructions"], "instruction_id", "instruction_name")
    _allocations(dump, rows["allocations"], shapes)
    _values(dump, rows, shapes, names)
    _lists(dump, rows, names)
    _live_range(dump, rows, names)
    return dump


def _allocations(dump: Dump, rows: dict[str, list], shapes: Mapping[int, str]) -> None:
    a = dump.allocations
    _take(a, rows)
    a.parameter_shape = [None if i is None else shapes[i] for i in rows["parameter_shape_id"]]
    a.output_shape = [None if i is None else shapes[i] for i in rows["output_shape_id"]]


def _values(
    dump: Dump, rows: Mapping[str, dict[str, list]], shapes: Mapping[int, str], names: Mapping[int, str]
) -> None:
    v, stored = dump.values, rows["hlo_values"]
    _take(v, stored)
    v.instruction = [names[i] for i in stored["instruction_id"]]
    v.shape = [shapes[i] for i in stored["shape_id"]]
    if not dump.has_used_values:
        v.uses_state = []
    if dump.has_instruction_texts:
        texts = _by(rows["instruction_texts"], "instruction_text_id", "instruction_text")
        v.instruction_text = [texts[i] for i in stored["instruction_text_id"]]


def _lists(dump: Dump, rows: Mapping[str, dict[str, list]], names: Mapping[int, str]) -> None:
    v, u, c = dump.values, rows["uses"], rows["cross_color_values"]
    if dump.has_used_values:
        _positions(dump, rows["further_positions"], names)
        dump.uses.count = _counts(v.value_id, u["value_id"])
    dump.uses.instruction = [names[i] for i in u["instruction_id"]]
    _take(dump.uses, u)
    places = {value_id: row for row, value_id in enumerate(v.value_id)}
    _take(dump.cross_color_values, c)
    dump.cross_color_values.value_row = [places[i] for i in c["value_id"]]


def _positions(dump: Dump, further: dict[str, list], names: Mapping[int, str]) -> None:
    """Fill the positions: of each value itself, then the further ones that are stored."""
    v, p = dump.values, dump.positions
    more = iter(zip(map(names.__getitem__, further["instruction_id"]), further["shape_index"], strict=True))
    p.count = [1 + count for count in _counts(v.value_id, further["value_id"])]
    places: list[tuple[str, str | None]] = []
    for count, *first in zip(p.count, v.instruction, v.shape_index, strict=True):
        places += [tuple(first), *islice(more, count - 1)]
    p.instruction = [name for name, _ in places]
    p.shape_index = [shape_index for _, shape_index in places]


def _counts(value_ids: list[int], listed: list[int]) -> list[int]:
    counts = {value_id: sum(1 for _ in rows) for value_id, rows in groupby(listed)}
    return [counts.get(value_id, 0) for value_id in value_ids]


def _live_range(dump: Dump, rows: Mapping[str, dict[str, list]], names: Mapping[int, str]) -> None:
    r, k = rows["live_ranges"], rows["peak_buffers"]
    schedule = zip(rows["instructions"]["schedule_position"], rows["instructions"]["instruction_name"], strict=True)
    dump.schedule = [name for _, name in sorted(line for line in schedule if line[0] is not None)]
    dump.live_ranges.instruction = [names[i] for i in r["instruction_id"]]
    _take(dump.live_ranges, r)
    dump.peak_buffers.instruction = [names[i] for i in k["instruction_id"]]
    _take(dump.peak_buffers, k)


def chunks(
    con: duckdb.DuckDBPyConnection,
    dump_ids: list[int],
    *,
    dump_count: int = CHUNK_DUMPS,
    text_bytes: int = _CHUNK_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, pl.DataFrame]]:
    """Yield the stored frames of many dumps, as many at a time as can lie in memory together, or as said.

    `progress` hears how many of how many are done when the next are asked for.
    """
    done = 0
    with streamed(con, "chosen", pl.DataFrame({"dump_id": dump_ids}, schema={"dump_id": pl.Int64})):
        cursor = con.execute("SELECT dump_id, text_bytes FROM raw.dumps SEMI JOIN chosen USING (dump_id)")
        sizes = dict(cursor.fetchall())
    pieces: list[list[int]] = []
    size = 0
    for dump_id in dump_ids:
        size += sizes.get(dump_id, 0)
        if not pieces or len(pieces[-1]) == dump_count or size > text_bytes:
            pieces.append([])
            size = sizes.get(dump_id, 0)
        pieces[-1].append(dump_id)
    for piece in pieces:
        frames = stored_frames(con, piece)
        yield frames
        done += len(frames["dumps"])
        if progress:
            progress(done, len(dump_ids))
