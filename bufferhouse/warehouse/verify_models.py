"""The proof of the stored models: computed again from the rows of raw, as a load computes them."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import duckdb
import polars as pl

from bufferhouse.engine.sql import column_types, identifier, registered
from bufferhouse.errors import counted
from bufferhouse.models.project import newest_names
from bufferhouse.warehouse.batch_catalog import CATALOG, batch_catalog
from bufferhouse.warehouse.restore import chunks
from bufferhouse.warehouse.verify_observations import Fault, one_each
from bufferhouse.warehouse.warehouse import Warehouse

# To plan the models takes a fifth of a second, however few dumps there are.
_CHUNK_DUMPS, _CHUNK_BYTES = 2_000, 64 << 20
_WAY_OUT = "build it again with: bufferhouse build --force"
# By the texts that the warehouse was built with. Checks are none of its rows.
_BUILT = "SELECT model_name, is_incremental, NULL, reads, model_sql FROM meta.models ORDER BY ordinal"


def model_faults(
    warehouse: Warehouse,
    dump_ids: list[int],
    found: Iterable[Fault] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Fault]:
    """Prove the rows that stored models have of some dumps; where these are all, also that there are no others.

    `found` are faults of raw: what their dumps derive is not looked at. Returns at most one fault a dump.
    """
    con = warehouse.con
    built = con.execute(_BUILT).fetchall()
    names = [name for name, is_incremental, *_ in built if is_incremental]
    wrong = {fault.dump_id for fault in found}
    proved = [dump_id for dump_id in dump_ids if dump_id not in wrong]
    faults: list[Fault] = []
    pieces = chunks(con, proved, dump_count=_CHUNK_DUMPS, text_bytes=_CHUNK_BYTES, progress=progress)
    for frames in pieces if names else ():
        faults += _differences(warehouse, frames, built, names)
    if con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()[0] == len(dump_ids):
        faults += _strays(con, names)
    return one_each(faults)


def view_faults(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return a line for each view that does not say what the warehouse was built with: no row of its own proves it."""
    # How DuckDB prints what it read is how it keeps nearly all views.
    built = con.execute(
        "SELECT model_name, model_sql, json_deserialize_sql(json_serialize_sql(model_sql))"
        " FROM meta.models WHERE NOT is_incremental ORDER BY ordinal"
    ).fetchall()
    marts = con.execute("SELECT model_name FROM meta.models WHERE layer = 'marts'").fetchall()
    newest = newest_names(name for (name,) in marts)
    built += [(stem, text := f"SELECT * FROM {name}", text) for stem, name in newest.items()]
    there = _texts(con, "database_name = current_database()")
    others = {name: sql for name, sql, printed in built if there.get(name) != printed}
    planned = _planned(con, {name: sql for name, sql in others.items() if name in there})
    return [
        f"{name}: the view is {'not the one that was built' if name in there else 'gone'}; {_WAY_OUT}"
        for name in others
        if name not in there or there[name] != planned.get(name, there[name])
    ]


def _planned(con: duckdb.DuckDBPyConnection, views: Mapping[str, str]) -> dict[str, str]:
    """Return how DuckDB prints statements that it has planned, by name; without those that it cannot plan.

    Beneath such a one a view is gone or another one, which is told.
    """
    names = {}
    for number, (name, sql) in enumerate(views.items()):
        with suppress(duckdb.Error):
            con.execute(f"CREATE TEMP VIEW bufferhouse_view_{number} AS {sql}")
            names[f"main.bufferhouse_view_{number}"] = name
    texts = _texts(con, "database_name = 'temp'") if names else {}
    for view in names:
        con.execute(f"DROP VIEW temp.{view}")
    return {name: texts[view] for view, name in names.items()}


def _texts(con: duckdb.DuckDBPyConnection, where: str) -> dict[str, str]:
    """Return the statements of views by name."""
    rows = con.execute(f"SELECT schema_name || '.' || view_name, sql FROM duckdb_views() WHERE {where}").fetchall()
    return {name: sql.partition(" AS ")[2].rstrip().removesuffix(";") for name, sql in rows}


def _differences(
    warehouse: Warehouse, frames: Mapping[str, pl.DataFrame], built: list[tuple], names: list[str]
) -> list[Fault]:
    con = warehouse.con
    faults = []
    with batch_catalog(warehouse, frames, built=built), registered(con, "chosen", frames["dumps"].select("dump_id")):
        for name in names:
            cells = ", ".join(map(identifier, column_types(con, name)))
            # Equal rows are one group: how many more of them there should be. Each side is read once.
            rows = con.execute(
                "SELECT dump_id, SUM(greatest(missing, 0)), SUM(greatest(-missing, 0))"
                " FROM (SELECT dump_id, SUM(bufferhouse_side) AS missing FROM ("
                f"SELECT {cells}, 1 AS bufferhouse_side FROM {CATALOG}.{name}"
                f" UNION ALL SELECT {cells}, -1 FROM {name} SEMI JOIN chosen USING (dump_id))"
                f" GROUP BY {cells} HAVING SUM(bufferhouse_side) <> 0) GROUP BY dump_id ORDER BY dump_id"
            ).fetchall()
            faults += [
                Fault(
                    dump_id,
                    f"{name}: {counted(missing, 'row')} missing and {counted(others, 'row')} too many; {_WAY_OUT}",
                )
                for dump_id, missing, others in rows
            ]
    return faults


def _strays(con: duckdb.DuckDBPyConnection, names: list[str]) -> list[Fault]:
    faults = []
    for name in names:
        rows = con.execute(f"SELECT DISTINCT dump_id FROM {name} ANTI JOIN raw.dumps USING (dump_id)").fetchall()
        faults += [Fault(dump_id, f"{name}: rows of a dump that is not there; {_WAY_OUT}") for (dump_id,) in rows]
    return faults
