"""Rows of a lake are only added: their numbers, the tables they go to, and changes that are rows themselves.

A run is numbered by its name, a shape by its text, so that several writers need not ask each other; a load or a reject
by the moment, which also orders them. All numbers are below 2^62, so that a file can go on counting from them.
"""

import secrets
import time
from collections.abc import Mapping

import duckdb

from bufferhouse.dump.identity import key_of
from bufferhouse.engine.sql import execute, literal
from bufferhouse.errors import WarehouseBusy
from bufferhouse.warehouse.lake.schema import HISTORIES

_RANDOM_BITS = 10  # beside microseconds since 1970, below 2^62 until the year 2112


def moment_number(least: int = 0) -> int:
    """Return a number that grows with time, and is larger than `least`, so that a clock behind another does no harm."""
    now = (time.time_ns() // 1000) << _RANDOM_BITS
    return max(now, least + 1) + secrets.randbelow(1 << _RANDOM_BITS)


def shape_id_of(shape_text: str) -> int:
    """Return the number of a shape that the lake has not seen."""
    return key_of(shape_text) >> 1


def run_id_of(run_name: str, taken: set[int]) -> int:
    """Return the number of a new run; `taken` are those of other runs, which may have had its name before."""
    number, suffix = key_of(run_name) >> 1, 1
    while number in taken:
        suffix += 1
        number = key_of(run_name, str(suffix)) >> 1
    return number


def stored(table: str) -> str:
    """Return the table of a lake that rows of `raw.<table>` are added to."""
    return f"appended.{table}" if table in HISTORIES else f"raw.{table}"


def besides(table: str) -> str:
    """Return what new rows have besides, for `SELECT *`: those of a new run are the first that is said of it."""
    return f", {moment_number()} AS changed_id, FALSE AS is_whole" if table == "runs" else ""


def change_run(con: duckdb.DuckDBPyConnection, name: str, changes: Mapping[str, object], *, is_whole: bool) -> None:
    """Add a row that says more about a run; `is_whole` also takes back what it says no more."""
    of_run = f"FROM raw.runs WHERE run_name = {literal(name)}"
    last = con.execute(
        f"SELECT COALESCE(MAX(changed_id), 0) FROM appended.runs WHERE run_id IN (SELECT run_id {of_run})"
    ).fetchone()[0]
    said = ", ".join(f"{literal(value)} AS {column}" for column, value in changes.items())
    con.execute(
        f"INSERT INTO appended.runs BY NAME SELECT * REPLACE ({said}),"
        f" CAST({moment_number(last)} AS BIGINT) AS changed_id, {literal(is_whole)} AS is_whole {of_run}"
    )


def change_rejects(con: duckdb.DuckDBPyConnection, state: str, which: str, parameters: Mapping[str, object]) -> None:
    """Add a change of state for each reject that a condition over `raw.rejects AS r` chooses."""
    last = con.execute("SELECT COALESCE(MAX(changed_id), 0) FROM appended.reject_states").fetchone()[0]
    execute(
        con,
        "INSERT INTO appended.reject_states (reject_id, state, changed_id)"
        f" SELECT r.reject_id, $state, $changed_id FROM raw.rejects AS r WHERE {which}",
        state=state,
        changed_id=moment_number(last),
        **parameters,
    )


def remember_models(con: duckdb.DuckDBPyConnection, batch: str) -> None:
    """Keep in the catalog of a batch which text of each stored model its rows are computed by."""
    con.execute(
        f"CREATE TABLE {batch}.main.computed AS SELECT model_name, fingerprint FROM meta.models WHERE is_incremental"
    )


def note_models(con: duckdb.DuckDBPyConnection, batch: str) -> None:
    """Add, in the transaction of a load, which models have rows for it.

    Raises:
        WarehouseBusy: the models were built anew since the batch was computed.
    """
    built = "SELECT model_name, fingerprint FROM meta.models WHERE is_incremental"
    computed = f"FROM {batch}.main.computed"
    if con.execute(f"({computed} EXCEPT {built}) UNION ALL ({built} EXCEPT {computed})").fetchall():
        raise WarehouseBusy("the models of the lake changed while this batch was computed; run the same command again")
    con.execute(
        "INSERT INTO appended.model_loads SELECT c.model_name, c.fingerprint, d.load_id"
        f" FROM {batch}.main.computed AS c CROSS JOIN (SELECT DISTINCT load_id FROM {batch}.raw.dumps) AS d"
    )


def note_copy(con: duckdb.DuckDBPyConnection) -> None:
    """Add, in the transaction of a copy, that all models have rows for all loads."""
    con.execute(
        "INSERT INTO appended.model_loads SELECT m.model_name, m.fingerprint, d.load_id FROM meta.models AS m"
        " CROSS JOIN (SELECT DISTINCT load_id FROM raw.dumps) AS d WHERE m.is_incremental"
    )
