"""Close a connection when no thread of DuckDB is at work."""

import time

import duckdb

from bufferhouse.engine import interrupts

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
