"""Let statements of DuckDB name a table that lies in memory."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb


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
