"""Connections are closed when DuckDB's threads have gone home."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from bufferhouse.closing import close

PROJECT = Path(__file__).parents[1]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the kernel lists threads on Linux only")
def test_its_threads_are_gone_before_the_database_is(tmp_path):
    """Seen while a second connection keeps the database: the threads are gone, the database answers.

    In a process of its own, because what other tests started may end its threads at any moment.
    """
    command = [sys.executable, "-m", "tests.test_closing", str(tmp_path / "w.duckdb")]
    seen = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert "4 threads gone, [(1,)]\n" == seen.stdout


def _close_one_of_two(path: str) -> None:
    con, other = (duckdb.connect(path, config={"threads": 5}) for _ in range(2))
    with closing(other):
        busy = len(os.listdir("/proc/self/task"))
        close(con)
        gone = busy - len(os.listdir("/proc/self/task"))
        print(f"{gone} threads gone, {other.execute('SELECT 1').fetchall()}")


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


if __name__ == "__main__":
    _close_one_of_two(sys.argv[1])
