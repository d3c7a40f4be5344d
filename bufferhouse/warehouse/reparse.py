"""Parse again, from the tables themselves, what an older version parsed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb
import polars as pl

from bufferhouse.dump.identity import FACTS_OF_NAME, facts_of_name, read_file_name
from bufferhouse.engine.sql import registered
from bufferhouse.tabulate.batch import Batch
from bufferhouse.tabulate.contracts import breaches, without
from bufferhouse.tabulate.worker import parse_contents
from bufferhouse.version import __version__
from bufferhouse.warehouse.batch_catalog import Names, batch_catalog, copy_in, run_checks
from bufferhouse.warehouse.load import numbered
from bufferhouse.warehouse.restore import ORDER, chunks, rendered
from bufferhouse.warehouse.rows import model_tables, next_number, remove_unused_shapes, stored
from bufferhouse.warehouse.warehouse import Warehouse


@dataclass(slots=True)
class Reparsed:
    """How many dumps have new rows, and why others kept theirs."""

    count: int = 0
    refused: list[str] = field(default_factory=list)


def outdated(con: duckdb.DuckDBPyConnection, *, every: bool = False) -> list[int]:
    """Return the dumps that another version parsed, or all of them."""
    rows = con.execute(
        "SELECT d.dump_id FROM raw.dumps AS d LEFT JOIN raw.loads AS l USING (load_id)"
        " WHERE $every OR l.parser_version IS DISTINCT FROM $version ORDER BY d.rowid",
        {"every": every, "version": __version__},
    ).fetchall()
    return [dump_id for (dump_id,) in rows]


def reparse(
    warehouse: Warehouse, dump_ids: list[int], *, progress: Callable[[int, int], None] | None = None
) -> Reparsed:
    """Render dumps from their rows, parse them and put the new rows in the place of the old, a batch a transaction.

    Each batch is a load of its own that has seen no file. A dump that the parser of today refuses keeps its rows.
    """
    result = Reparsed()
    done = 0
    for frames in chunks(warehouse.con, dump_ids):
        with warehouse.alone():
            _reparse(warehouse, frames, result)
        done += len(frames["dumps"])
        if progress:
            progress(done, len(dump_ids))
    return result


def load_once(warehouse: Warehouse) -> Reparsed:
    """Leave one copy of the contents that are stored more than once, parsed again from its rows, also in all models.

    No worker can do that to a lake (docs/decisions/0011). A content that cannot be proved keeps all of its rows.
    """
    from schemas import TABLES

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
    found = list(rendered(frames))
    refused = {one.dump_id: f"{one.fault}; see: bufferhouse verify" for one in found if one.content is None}
    parsed = parse_contents((one.content, one.files) for one in found if one.content is not None)
    refusals = {**parsed.refusals, **breaches(parsed.tables)}
    load_id = next_number(con, "loads", "load_id", claims=warehouse.claims)
    new = numbered(con, without(parsed.tables, set(refusals)), load_id)
    with batch_catalog(con, new.frames) as names:
        offenders, _ = run_checks(con, names.checks)
        refused.update({dump_id: str(refusal) for dump_id, refusal in {**refusals, **offenders}.items()})
        good = [dump_id for dump_id in new.frames["dumps"]["dump_id"] if dump_id not in offenders]
        text_bytes = sum(len(data) for one in found if one.dump_id not in refused for data in one.files.values())
        result.refused += [f"dump {dump_id}: {reason}" for dump_id, reason in refused.items()]
        if good:
            with warehouse.transaction():
                _replace(con, good, new, names, set(offenders))
                _derive_again(con, good, parsed.signature_ids)
                con.execute(
                    "INSERT INTO raw.loads VALUES (?, ?, ?, ?, 0, ?, 0, ?, ?)",
                    [
                        load_id, started_at, datetime.now(UTC), __version__, len(good), len(refused), text_bytes,
                    ],
                )  # fmt: skip
    result.count += len(good)


def _replace(
    con: duckdb.DuckDBPyConnection, good: Iterable[int], new: Batch, names: Names, offenders: set[int]
) -> None:
    with registered(con, "good", pl.DataFrame({"dump_id": good}, schema={"dump_id": pl.Int64}).to_arrow()):
        for table in [*(f"raw.{name}" for name in ORDER), *model_tables(con)]:
            con.execute(f"DELETE FROM {table} WHERE dump_id IN (SELECT dump_id FROM good)")
    # What a shape means in bytes may be read in another way now, too.
    with registered(con, "again", new.frames["shapes"].select("shape_id").to_arrow()):
        con.execute(f"DELETE FROM {stored(con, 'shapes')} WHERE shape_id IN (SELECT shape_id FROM again)")
    copy_in(con, offenders, names.incremental)
    remove_unused_shapes(con)


def _derive_again(con: duckdb.DuckDBPyConnection, good: list[int], signature_ids: Mapping[int, int]) -> None:
    """Bring up to date what observations repeat of their dump and their path."""
    with registered(con, "good", pl.DataFrame({"dump_id": good}, schema={"dump_id": pl.Int64}).to_arrow()):
        rows = con.execute(
            "SELECT dump_id, relative_path FROM raw.observations SEMI JOIN good USING (dump_id) GROUP BY ALL"
        ).fetchall()
    kinds = (pl.Int64, pl.Int64, pl.String, pl.String, pl.String, pl.String, pl.String, pl.Datetime("us", "UTC"))
    facts = pl.DataFrame(
        [(*row, *facts_of_name(read_file_name(row[1]), signature_ids[row[0]])) for row in rows],
        schema={
            "dump_id": pl.Int64,
            "relative_path": pl.String,
            **dict(zip(FACTS_OF_NAME, kinds, strict=True)),
        },
        orient="row",
    )
    changes = ", ".join(f"{name} = f.{name}" for name in FACTS_OF_NAME)
    with registered(con, "facts", facts.to_arrow()):
        con.execute(
            f"UPDATE raw.observations AS o SET {changes} FROM facts AS f"
            " WHERE o.dump_id = f.dump_id AND o.relative_path = f.relative_path"
        )
