"""Connections are closed when DuckDB's threads have gone home."""

from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.connection import close, evict
from tests.command_line import run

# Closes one of two connections to a database, and prints how many threads that ended and what the other answers.
ONE_OF_TWO = """
import os, sys
from contextlib import closing
import duckdb
from bufferhouse.engine.connection import close, evict

con, other = (duckdb.connect(sys.argv[1], config={"threads": 5}) for _ in range(2))
with closing(other):
    busy = len(os.listdir("/proc/self/task"))
    close(con)
    gone = busy - len(os.listdir("/proc/self/task"))
    print(f"{gone} threads gone, {other.execute('SELECT 1').fetchall()}")
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the kernel lists threads on Linux only")
def test_its_threads_are_gone_before_the_database_is(tmp_path):
    """Seen while a second connection keeps the database: the threads are gone, the database answers.

    In a process of its own, because what other tests started may end its threads at any moment.
    """
    seen = run(tmp_path / "w.duckdb", code=ONE_OF_TWO)
    assert ("4 threads gone, [(1,)]\n", 0) == (seen.out, seen.code), seen.err


def test_a_connection_whose_settings_are_locked_is_closed():
    con = duckdb.connect()
    con.execute("SET lock_configuration = true")
    close(con)
    with pytest.raises(duckdb.ConnectionException):
        con.execute("SELECT 1")


def test_a_connection_in_a_broken_transaction_is_closed():
    con = duckdb.connect()
    con.execute("BEGIN")
    with pytest.raises(duckdb.ConversionException):
        con.execute("SELECT CAST('x' AS BIGINT)").fetchall()
    close(con)
    with pytest.raises(duckdb.ConnectionException):
        con.execute("SELECT 1")


def test_a_closed_connection_stays_closed():
    """To close it once more is no error, and opens nothing."""
    con = duckdb.connect()
    con.close()
    close(con)
    with pytest.raises(duckdb.ConnectionException):
        con.execute("SELECT 1")


@pytest.mark.parametrize("is_in_use", [False, True], ids=["nothing in use", "more in use than may stay"])
def test_evicting_gives_back_blocks_and_lets_it_take_as_much_as_before(tmp_path, is_in_use):
    """Of a file whose blocks were read nothing stays; tables in memory stay, and statements need no smaller ones."""
    with duckdb.connect(tmp_path / "w.duckdb", config={"threads": 1}) as con:
        con.execute("SET preserve_insertion_order = false")
        con.execute("CREATE TABLE t AS SELECT hash(range) AS n FROM range(2_000_000)")
        con.execute("CHECKPOINT")
        if is_in_use:
            con.execute("CREATE TEMP TABLE held AS FROM t")
        expected = con.execute("SELECT SUM(n) FROM t").fetchall()
        limit = con.execute("SELECT current_setting('memory_limit')").fetchone()[0]
        before = _blocks_mb(con)
        folder = con.execute("SELECT current_setting('temp_directory')").fetchone()[0]
        evict(con, limit)
        after = _blocks_mb(con)
        assert ["w.duckdb"] == [path.name for path in tmp_path.iterdir()]
        assert folder == con.execute("SELECT current_setting('temp_directory')").fetchone()[0]
        # More than the little that it may take while it evicts.
        con.execute("CREATE TEMP TABLE large AS SELECT hash(range) AS n FROM range(12_000_000)")
        assert expected == con.execute("SELECT SUM(n) FROM t").fetchall()
    assert before >= 15
    assert after == 0


def _blocks_mb(con: duckdb.DuckDBPyConnection) -> int:
    return con.execute(
        "SELECT memory_usage_bytes // 1_000_000 FROM duckdb_memory() WHERE tag = 'BASE_TABLE'"
    ).fetchone()[0]
