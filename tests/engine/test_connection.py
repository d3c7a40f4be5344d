"""Connections are closed when DuckDB's threads have gone home."""

from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.connection import close
from tests.command_line import run

# Closes one of two connections to a database, and prints how many threads that ended and what the other answers.
ONE_OF_TWO = """
import os, sys
from contextlib import closing
import duckdb
from bufferhouse.engine.connection import close

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
