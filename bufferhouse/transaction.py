"""One transaction: all of it, or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

from bufferhouse.journal import commit


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection, *, keep_journal: bool = True) -> Iterator[None]:
    """Commit what is done inside, or roll it back when it raises; with a journal (`journal`) where it is a file."""
    con.execute("BEGIN")
    try:
        yield
        commit(con) if keep_journal else con.execute("COMMIT")
    except BaseException:
        # After a fatal error (a full disk in COMMIT) DuckDB answers nothing more, and the file has the old state: the
        # first error is the one to hear.
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
