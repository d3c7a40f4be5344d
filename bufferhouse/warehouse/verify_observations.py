"""The proof of the observations: what they repeat of their dump and their path, and who points at whom.

Run, load, path and time of a file come from outside and can be proved by nothing; but a path stands in two columns.
"""

from dataclasses import dataclass
from functools import lru_cache

import duckdb
import polars as pl

from bufferhouse.dump.identity import FACTS_OF_NAME, facts_of_name, read_file_name
from bufferhouse.engine.sql import execute, registered
from bufferhouse.sources.compression import ENDINGS
from bufferhouse.warehouse.restore import ORDER
from bufferhouse.warehouse.stored_sets import SETS
from schemas import TABLES

_ROWS_AT_ONCE = 10_000
_SETS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Fault:
    """One dump whose rows do not prove themselves; `what` says what differs, and where it can."""

    dump_id: int
    what: str


def one_each(faults: list[Fault]) -> list[Fault]:
    """Return the first fault of each dump."""
    return list({fault.dump_id: fault for fault in reversed(faults)}.values())[::-1]


def sighting_faults(con: duckdb.DuckDBPyConnection, dump_ids: list[int]) -> list[Fault]:
    """Prove the observations and the loads of some dumps; where these are all, also whose rows are left."""
    with registered(con, "chosen", pl.DataFrame({"dump_id": dump_ids}, schema={"dump_id": pl.Int64})):
        faults = _observations(con) + _loads(con) + [fault for table in SETS for fault in _sets(con, table)]
        if con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()[0] == len(dump_ids):
            faults += _strays(con) + _replaced(con) + _stand_ins(con)
        return faults


def _observations(con: duckdb.DuckDBPyConnection) -> list[Fault]:
    faults = []
    facts = lru_cache(4096)(lambda name, signature_id: facts_of_name(read_file_name(name), signature_id))
    cursor = con.execute(
        "SELECT o.dump_id, o.relative_path, o.source_uri, o.source_size_bytes, d.text_bytes, d.file_layout,"
        f" r.run_id IS NULL, l.load_id IS NULL, d.signature_id, {', '.join(f'o.{name}' for name in FACTS_OF_NAME)}"
        " FROM raw.observations AS o SEMI JOIN chosen USING (dump_id) JOIN raw.dumps AS d USING (dump_id)"
        " LEFT JOIN raw.runs AS r USING (run_id) LEFT JOIN raw.loads AS l ON o.load_id = l.load_id"
    )
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        for dump_id, path, uri, size, text_bytes, layout, lacks_run, lacks_load, signature_id, *stored in rows:
            if lacks_run or lacks_load:
                faults.append(Fault(dump_id, f"raw.observations: {path} is of a {'run' if lacks_run else 'load'} that"
                                             " is not there"))  # fmt: skip
            if not uri.endswith(path):
                faults.append(Fault(dump_id, f"raw.observations: {path} is not the end of {uri}"))
            if layout == "combined" and not path.endswith(ENDINGS) and size != text_bytes:
                faults.append(Fault(dump_id, f"raw.observations: {path} has {size} bytes, its dump {text_bytes}"))
            derived = facts(path.rsplit("/", 1)[-1], signature_id)  # the runs of a fleet have the same names
            for name, mine, own in zip(FACTS_OF_NAME, stored, derived, strict=True):
                if mine != own:
                    what = f"raw.observations: {name} of {path} is {mine!r}, where name and dump say {own!r}"
                    faults.append(Fault(dump_id, what))
    return faults


def _loads(con: duckdb.DuckDBPyConnection) -> list[Fault]:
    """Prove raw.dumps.load_id: the load of the oldest observation, unless that was pruned or the dump parsed again."""
    rows = con.execute(
        "WITH seen AS (SELECT dump_id, MIN(load_id) AS first_load_id FROM raw.observations GROUP BY dump_id),"
        " held AS (SELECT load_id, COUNT(*) AS dump_count FROM raw.dumps GROUP BY load_id)"
        " SELECT d.dump_id, d.load_id, s.first_load_id, l.seen_count, l.new_count, h.dump_count"
        " FROM raw.dumps AS d SEMI JOIN chosen USING (dump_id) JOIN held AS h ON d.load_id = h.load_id"
        " LEFT JOIN seen AS s USING (dump_id) LEFT JOIN raw.loads AS l ON d.load_id = l.load_id"
        " WHERE l.load_id IS NULL OR s.dump_id IS NULL OR d.load_id <> s.first_load_id"
    ).fetchall()
    faults = []
    for dump_id, load_id, first, seen, new, held in rows:
        if first is None:
            faults.append(Fault(dump_id, "raw.observations: no row for this dump"))
        elif seen is None:
            faults.append(Fault(dump_id, f"raw.dumps: there is no load {load_id}"))
        elif (load_id > first and seen) or held > new:
            faults.append(Fault(dump_id, f"raw.dumps: load {load_id} did not bring it"))
    return faults


def _sets(con: duckdb.DuckDBPyConnection, table: str) -> list[Fault]:
    """Prove what lay beside some dumps and is stored once: the key of each set is the hash of its rows."""
    faults = []
    columns = ", ".join(TABLES[table].columns)
    asked: dict[int, int] = dict(
        con.execute(
            f"SELECT used, MIN(dump_id) FROM (SELECT {SETS[table].used} AS used, dump_id FROM raw.observations) AS o"
            " SEMI JOIN chosen USING (dump_id) WHERE used IS NOT NULL GROUP BY used"
        ).fetchall()
    )
    ids = list(asked)
    for start in range(0, len(ids), _SETS_AT_ONCE):
        rows: dict[int, list[tuple]] = {}
        for key, *row in execute(
            con,
            f"SELECT {columns} FROM raw.{table}"
            f" WHERE {table}_id IN (SELECT unnest(CAST($ids AS BIGINT[]))) ORDER BY ALL",
            ids=ids[start : start + _SETS_AT_ONCE],
        ).fetchall():
            rows.setdefault(key, []).append(tuple(row))
        for key in ids[start : start + _SETS_AT_ONCE]:
            if (own := SETS[table].key(rows.get(key, []))) != key:
                faults.append(Fault(asked[key], f"raw.{table}: the rows of {key} are those of {own}"))
    return faults


def _strays(con: duckdb.DuckDBPyConnection) -> list[Fault]:
    """Find rows of dumps that raw.dumps does not have."""
    faults = []
    for table in [*ORDER, "observations"]:
        for dump_id, count in con.execute(
            f"SELECT t.dump_id, COUNT(*) FROM raw.{table} AS t ANTI JOIN raw.dumps AS d USING (dump_id) GROUP BY ALL"
        ).fetchall():
            faults.append(Fault(dump_id, f"raw.{table}: {count} rows of a dump that is not in raw.dumps"))
    return faults


def _replaced(con: duckdb.DuckDBPyConnection) -> list[Fault]:
    """Prove that each row of a file replaces another, but for the first: by counts, and by sums of their loads."""
    rows = con.execute(
        "SELECT MIN(dump_id), relative_path FROM raw.observations GROUP BY run_id, relative_path"
        " HAVING COUNT(*) <> COUNT(replaced_load_id) + 1"
        " OR SUM(load_id) - MAX(load_id) <> COALESCE(SUM(replaced_load_id), 0)"
    ).fetchall()
    return [
        Fault(dump_id, f"raw.observations: {path} has rows that do not replace one another") for dump_id, path in rows
    ]


def _stand_ins(con: duckdb.DuckDBPyConnection) -> list[Fault]:
    """Prove that what a text says it took the place of was there before it: a proto, or a reject of one."""
    rows = con.execute(
        "SELECT t.dump_id, t.relative_path FROM raw.observations AS t ANTI JOIN ("
        "SELECT o.run_id, o.relative_path, o.load_id FROM raw.observations AS o SEMI JOIN raw.protos USING (dump_id)"
        " UNION ALL SELECT run_id, relative_path, load_id FROM raw.rejects WHERE role = 'proto') AS p"
        " ON t.run_id = p.run_id AND t.stand_in_path = p.relative_path AND t.stand_in_load_id = p.load_id"
        " AND p.load_id < t.load_id WHERE COALESCE(t.stand_in_path, CAST(t.stand_in_load_id AS VARCHAR)) IS NOT NULL"
    ).fetchall()
    return [Fault(dump_id, f"raw.observations: {path} takes the place of no proto") for dump_id, path in rows]
