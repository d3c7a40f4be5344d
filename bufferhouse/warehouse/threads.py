"""How many threads of DuckDB a batch is worth."""

import duckdb

from bufferhouse.tabulate.batch import Batch

_ROW_GROUP = 122_880  # rows: a scan of fewer is one thread's work


def choose_threads(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """Let DuckDB work in one thread from here on, or in all of them where a table of the batch is large enough.

    Several threads share out every small step of a small batch: that takes a half more of CPU time, and no less of the
    clock. The choice stays until the next batch, since to start threads again takes as long as a model.
    """
    is_large = max(map(len, batch.frames.values()), default=0) > _ROW_GROUP
    con.execute("RESET threads" if is_large else "SET threads = 1")
