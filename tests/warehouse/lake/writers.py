"""Several processes that write to one lake, and the proofs of what they leave there."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from bufferhouse.warehouse.address import LakeAddress
from bufferhouse.warehouse.lake.attach import LAKE, open_lake
from bufferhouse.warehouse.open import reading, writing
from schemas import TABLES
from tests.command_line import start

# What differs from load to load without meaning anything, and the numbers that stand for a text.
_OF_THE_LOAD = {"load_id", "reject_id", "started_at", "finished_at", "rejected_at"}
_TEXTS = {
    "run_id": "(SELECT run_name FROM raw.runs WHERE run_id = t.run_id)",
    "shape_id": "(SELECT shape_text FROM raw.shapes WHERE shape_id = t.{})",
}


@dataclass
class Writer:
    """A process that ingests some sources into a lake."""

    sources: Sequence[Path]
    address: LakeAddress
    process: subprocess.Popen | None = None

    def start(self) -> "Writer":
        """Start it."""
        words = ["ingest", *self.sources, "--warehouse", self.address, "--workers", "1", "--wait", "120"]
        self.process = start(*words, "--format", "json")
        return self

    def kill(self) -> bool:
        """Kill it with everything it started; say whether it was still at work."""
        was_at_work = self.process.poll() is None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        return was_at_work

    def end(self) -> dict:
        """Wait for its end; return the summary."""
        out, err = self.process.communicate(timeout=1800)
        assert 0 == self.process.returncode, err[-3000:]
        return json.loads(out)


@dataclass
class Reader:
    """Looks into a lake while others write, and sees whole loads only."""

    address: LakeAddress
    seen: list[int] = field(default_factory=list)

    def look(self) -> None:
        """Look once."""
        with reading(self.address, wait=60) as opened:
            con = opened.con
            self.seen.append(assert_whole(con))


def assert_whole(con: duckdb.DuckDBPyConnection) -> int:
    """Every load that can be seen has all of its rows, and every row its load; return the number of dumps."""
    loads = con.execute(
        "SELECT COALESCE(SUM(new_count), 0)::BIGINT, COALESCE(SUM(rejected_count), 0)::BIGINT FROM raw.loads"
    ).fetchall()[0]
    dumps, rejects = (
        con.execute(f"SELECT COUNT(*) FROM raw.{table}").fetchall()[0][0] for table in ("dumps", "rejects")
    )
    assert loads == (dumps, rejects)
    for table in ("dump_files", "allocations", "hlo_values", "observations"):
        assert dumps == con.execute(f"SELECT COUNT(DISTINCT dump_id) FROM raw.{table}").fetchall()[0][0]
    return dumps


def assert_every_snapshot_whole(address: LakeAddress) -> int:
    """What is promised of a reader holds of all snapshots that any reader can have seen; return how many there are."""
    with open_lake(address, read_only=False) as con:
        numbers = [
            number
            for (number,) in con.execute(
                f"SELECT snapshot_id FROM ducklake_snapshots('{LAKE}') WHERE commit_extra_info IS NOT NULL"
            ).fetchall()
        ]
        con.execute(f"USE memory; DETACH {LAKE}")
        for number in numbers:
            con.execute(f"ATTACH '{address}' AS {LAKE} (READ_ONLY, SNAPSHOT_VERSION {number})")
            con.execute(f"USE {LAKE}")
            assert_whole(con)
            con.execute(f"USE memory; DETACH {LAKE}")
    return len(numbers)


def tables_of(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple]]:
    """All rows of raw and of the incremental models, with names of runs and texts of shapes instead of numbers."""
    con.execute("SET TimeZone = 'UTC'")
    found = {}
    for table, contract in TABLES.items():
        if table != "loads":
            cells = [_cell(name) for name in contract.columns if name not in _OF_THE_LOAD]
            found[table] = con.execute(f"SELECT {', '.join(cells)} FROM raw.{table} AS t ORDER BY ALL").fetchall()
    for (name,) in con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY 1").fetchall():
        columns = sorted(column[0] for column in con.execute(f"DESCRIBE {name}").fetchall())
        found[name] = con.execute(f"SELECT {', '.join(columns)} FROM {name} ORDER BY ALL").fetchall()
    return found


def _cell(name: str) -> str:
    return _TEXTS["shape_id"].format(name) if name.endswith("shape_id") else _TEXTS.get(name, name)


def assert_same(expected: dict[str, list[tuple]], actual: dict[str, list[tuple]]) -> None:
    """Two warehouses have the same rows in every table."""
    assert expected.keys() == actual.keys()
    for table, rows in expected.items():
        assert rows == actual[table], table


def make_empty(address: LakeAddress) -> None:
    """Make a lake with all its tables and models, and no rows."""
    with writing(address):
        pass


def files_of(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The files that the tables of a lake are made of, without the place where they lie."""
    tables = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()"
    ).fetchall()
    return {
        path.rpartition("/")[2]
        for schema, table in tables
        for row in con.execute(f"FROM ducklake_list_files('{LAKE}', '{table}', schema => '{schema}')").fetchall()
        for path in (row[0], row[4])
        if path
    }


def wait_for_loads(address: LakeAddress, count: int) -> None:
    """Wait until so many loads were committed."""
    while True:
        with reading(address, wait=60) as opened:
            con = opened.con
            if con.execute("SELECT COUNT(*) FROM raw.loads").fetchall()[0][0] >= count:
                return
        time.sleep(0.1)
