"""Connections are closed when DuckDB's threads have gone home."""

import os
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from bufferhouse.closing import close


def thread_count() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the kernel lists threads on Linux only")
def test_its_threads_are_gone_before_the_database_is(tmp_path):
    """Seen while a second connection keeps the database: the threads are gone, the database answers."""
    con, other = (duckdb.connect(str(tmp_path / "w.duckdb"), config={"threads": 5}) for _ in range(2))
    with closing(other):
        busy = thread_count()
        close(con)
        assert busy - 4 == thread_count()
        assert [(1,)] == other.execute("SELECT 1").fetchall()


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
    con = duckdb.connect()
    con.close()
    close(con)
