"""Work again on what is in the warehouse already: parse it, from the tables themselves, or compute its models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb
import polars as pl

from bufferhouse.dump.identity import FACTS_OF_NAME, facts_of_name, read_file_name
from bufferhouse.engine.sql import execute, literals, registered, streamed, transaction
from bufferhouse.tabulate.batch import Batch, breaches, without
from bufferhouse.tabulate.contents import parse_contents
from bufferhouse.version import __version__
from bufferhouse.warehouse.batch_catalog import CATALOG, batch_catalog, copy_in, run_checks
from bufferhouse.warehouse.load import numbered
from bufferhouse.warehouse.restore import CHUNK_DUMPS, ORDER, chunks, rendered
from bufferhouse.warehouse.retention import remove_unused_shapes
from bufferhouse.warehouse.run_names import find_all
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import OBSERVATIONS, TABLES


@dataclass(slots=True)
class Reparsed:
    """How many dumps have new rows, and why others kept theirs."""

    count: int = 0
    refused: list[str] = field(default_factory=list)


def dumps_of(
    con: duckdb.DuckDBPyConnection,
    *,
    runs: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    outdated_only: bool = False,
) -> list[int]:
    """Return the dumps that some runs have seen, or runs that started from `since` on and before `until`; else all.

    `outdated_only` leaves out what the current parser has parsed. Moments without a time zone are UTC.

    Raises:
        UsageError: one of the words means no run, or several.
    """
    rows = execute(
        con,
        "SELECT d.dump_id FROM raw.dumps AS d LEFT JOIN raw.loads AS l USING (load_id)"
        " WHERE (NOT $outdated_only OR l.parser_version IS DISTINCT FROM $version)"
        " AND ($of_any OR d.dump_id IN (SELECT o.dump_id FROM raw.observations AS o JOIN raw.runs AS r USING (run_id)"
        "   WHERE (len($runs) = 0 OR list_contains(CAST($runs AS BIGINT[]), r.run_id))"
        "   AND r.started_at >= COALESCE($since, r.started_at)"
        "   AND ($until IS NULL OR r.started_at < $until))) ORDER BY d.rowid",
        of_any=not runs and since is None and until is None,
        outdated_only=outdated_only,
        version=__version__,
        runs=[run.run_id for run in find_all(con, runs)],
        since=_with_zone(since),
        until=_with_zone(until),
    ).fetchall()
    return [dump_id for (dump_id,) in rows]


def _with_zone(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def reparse(
    warehouse: Warehouse,
    dump_ids: list[int],
    *,
    dump_count: int = CHUNK_DUMPS,
    progress: Callable[[int, int], None] | None = None,
) -> Reparsed:
    """Render dumps from their rows, parse them and put the new rows in the place of the old, a batch a transaction.

    Each batch, of at most `dump_count`, is a load of its own that has seen no file. A dump that the current parser
    refuses keeps its rows.
    """
    result = Reparsed()
    for frames in chunks(warehouse.con, dump_ids, dump_count=dump_count, progress=progress):
        with warehouse.alone():
            _reparse(warehouse, frames, result)
    return result


def load_once(warehouse: Warehouse) -> Reparsed:
    """Leave one copy of the contents that are stored more than once, parsed again from its rows, also in all models.

    No worker can do that to a lake (docs/decisions/0011). A content that cannot be proved keeps all of its rows.
    """
    con, result = warehouse.con, Reparsed()
    twice = con.execute(
        "SELECT dump_id FROM raw.dumps GROUP BY dump_id HAVING COUNT(*) > 1 ORDER BY dump_id"
    ).fetchall()
    for frames in chunks(con, [dump_id for (dump_id,) in twice]):
        once = {
            name: frame.unique(TABLES[name].key, keep="first", maintain_order=True) for name, frame in frames.items()
        }
        with warehouse.alone():
            _reparse(warehouse, once, result)
    return result


def _reparse(warehouse: Warehouse, frames: Mapping[str, pl.DataFrame], result: Reparsed) -> None:
    con = warehouse.con
    started_at = datetime.now(UTC)
    # While this worker waited to be alone another may have removed some.
    there = warehouse.known_contents(frames["dumps"]["dump_id"].to_list())
    frames = {**frames, "dumps": frames["dumps"].filter(pl.col("dump_id").is_in(list(there)))}
    found = list(rendered(frames))
    refused = {one.dump_id: f"{one.fault}; see: bufferhouse verify" for one in found if one.content is None}
    parsed = parse_contents((one.content, one.files) for one in found if one.content is not None)
    refusals = {**parsed.refusals, **breaches(parsed.tables)}
    load_id = warehouse.next_number("loads", "load_id")
    new = numbered(warehouse, without(parsed.tables, set(refusals)), load_id)
    with batch_catalog(warehouse, new.frames) as (incremental, checks):
        offenders, _ = run_checks(con, checks)
        refused.update({dump_id: str(refusal) for dump_id, refusal in {**refusals, **offenders}.items()})
        good = [dump_id for dump_id in new.frames["dumps"]["dump_id"] if dump_id not in offenders]
        text_bytes = sum(len(data) for one in found if one.dump_id not in refused for data in one.files.values())
        result.refused += [f"dump {dump_id}: {reason}" for dump_id, reason in refused.items()]
        if good:
            with warehouse.transaction():
                _replace(warehouse, good, new, incremental, set(offenders))
                # How arenas of other slots could be packed is looked for anew: `pack` takes those that have none.
                if moved := _moved(frames, new.frames, good):
                    con.execute(f"DELETE FROM raw.packings WHERE dump_id IN ({', '.join(map(str, moved))})")
                _derive_again(con, good, parsed.signature_ids)
                facts = [load_id, started_at, datetime.now(UTC), __version__, 0, len(good), 0, len(refused), text_bytes]
                con.execute(f"INSERT INTO raw.loads VALUES ({literals(facts)})")
    result.count += len(good)


def _replace(
    warehouse: Warehouse, good: Iterable[int], new: Batch, incremental: Mapping[str, int], offenders: set[int]
) -> None:
    con = warehouse.con
    with registered(con, "good", pl.DataFrame({"dump_id": good}, schema={"dump_id": pl.Int64})):
        for table in [*(f"raw.{name}" for name in ORDER), *warehouse.model_tables()]:
            con.execute(f"DELETE FROM {table} WHERE dump_id IN (SELECT dump_id FROM good)")
    # What a shape means in bytes may be read in another way now, too.
    with streamed(con, "again", new.frames["shapes"].select("shape_id")):
        con.execute(f"DELETE FROM {warehouse.stored('shapes')} WHERE shape_id IN (SELECT shape_id FROM again)")
    copy_in(warehouse, new.frames, offenders, incremental)
    remove_unused_shapes(warehouse)


def _moved(before: Mapping[str, pl.DataFrame], after: Mapping[str, pl.DataFrame], good: Iterable[int]) -> list[int]:
    """Return those of some dumps that have other slots, or other live ranges, than before."""
    found: set[int] = set()
    for table in ("allocations", "hlo_values", "live_ranges"):
        one, other = (frames[table].filter(pl.col("dump_id").is_in(list(good))) for frames in (before, after))
        if not one.equals(other):
            for here, there in ((one, other), (other, one)):
                found.update(here.join(there, on=here.columns, how="anti", nulls_equal=True)["dump_id"])
    return sorted(found)


def _derive_again(con: duckdb.DuckDBPyConnection, good: list[int], signature_ids: Mapping[int, int]) -> None:
    """Bring up to date what observations repeat of their dump and their path."""
    with streamed(con, "good", pl.DataFrame({"dump_id": good}, schema={"dump_id": pl.Int64})):
        rows = con.execute(
            "SELECT dump_id, relative_path FROM raw.observations SEMI JOIN good USING (dump_id) GROUP BY ALL"
        ).fetchall()
    facts = pl.DataFrame(
        [(*row, *facts_of_name(read_file_name(row[1]), signature_ids[row[0]])) for row in rows],
        schema={name: OBSERVATIONS.types[name] for name in ("dump_id", "relative_path", *FACTS_OF_NAME)},
        orient="row",
    )
    changes = ", ".join(f"{name} = f.{name}" for name in FACTS_OF_NAME)
    with streamed(con, "facts", facts):
        con.execute(
            f"UPDATE raw.observations AS o SET {changes} FROM facts AS f"
            " WHERE o.dump_id = f.dump_id AND o.relative_path = f.relative_path"
        )


def rebuild(warehouse: Warehouse, dump_ids: list[int], *, progress: Callable[[int, int], None]) -> int:
    """Compute the rows of the incremental models anew for some dumps, a transaction for each piece; return how many."""
    con = warehouse.con
    done = 0
    for frames in chunks(con, dump_ids, progress=progress):
        with batch_catalog(warehouse, frames) as (incremental, _), transaction(con):
            ids = frames["dumps"].select(pl.col("dump_id").cast(pl.Int64))
            with registered(con, "again", ids):
                for name in incremental:
                    con.execute(f"DELETE FROM {name} WHERE dump_id IN (SELECT dump_id FROM again)")
                    con.execute(f"INSERT INTO {name} BY NAME SELECT * FROM {CATALOG}.{name}")
        done += len(frames["dumps"])
    return done
