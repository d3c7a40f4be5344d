"""Close a connection when no thread of DuckDB is at work."""

import time
from contextlib import suppress

import duckdb

from bufferhouse import interrupts, journal

_LAST_TASKS = 0.01  # seconds


def close(con: duckdb.DuckDBPyConnection) -> None:
    """Close a connection, and the database with the last of its connections. A closed one stays closed.

    DuckDB 1.5.5 now and then (twice in some 8,000 times, on busy cores) ends the process with SIGSEGV, in one of its
    own threads, while a database is taken down. So they are sent home first: `SET threads` returns when they are gone.
    """
    interrupts.forget(con)
    try:
        con.execute("SET threads = 1")
    except duckdb.Error:
        time.sleep(_LAST_TASKS)  # settings are locked, or the transaction broke: what they still do is short
    finally:
        con.close()


def close_writer(con: duckdb.DuckDBPyConnection) -> None:
    """Take the log into the file, and close a connection that wrote it; where that fails, the log stays."""
    interrupts.forget(con)
    try:
        with suppress(duckdb.Error, OSError):
            journal.checkpoint(con)
    finally:
        close(con)
