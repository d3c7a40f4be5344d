"""What statements stand in: tables of memory that they read by name, and transactions."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

from bufferhouse.engine.journal import commit


@contextmanager
def registered(con: duckdb.DuckDBPyConnection, name: str, table: object) -> Iterator[None]:
    """Give a table of Arrow a name inside; afterwards it is free again, also where a statement failed."""
    con.register(name, table)
    try:
        yield
    except BaseException:
        con.unregister(name)
        # By the bare name alone DuckDB finds nothing while the catalog of a lake is away: it would stay for good.
        with suppress(duckdb.Error):  # in a transaction that is lost anyway
            con.execute(f"DROP VIEW IF EXISTS temp.main.{name}")
        raise
    con.unregister(name)


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
