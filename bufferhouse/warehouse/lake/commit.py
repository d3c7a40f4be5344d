"""The commit of a load where several workers commit: in turn, fenced by its claims, and tried again after a fault."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import duckdb

from bufferhouse.engine.connection import LAKE
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lake.retry import passes, patiently

T = TypeVar("T")
_PAUSE_SECONDS = 0.2


@contextmanager
def fenced_transaction(con: duckdb.DuckDBPyConnection, claims: Claims) -> Iterator[None]:
    """Commit what is done inside, and end all claims with it, in one moment; or roll it back when it raises.

    Where the answer to a commit was lost it is asked whether it came through: then nothing is raised.
    """
    token = claims.token()
    con.execute("BEGIN")
    try:
        yield
        con.execute(f"CALL {LAKE}.set_commit_message('bufferhouse', 'load', extra_info => ?)", [token])
        with claims.commit_turn():
            con.execute("COMMIT")
    except BaseException as error:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        # Any other error comes before the commit, or is its refusal.
        if not passes(error) or not patiently(lambda: claims.was_committed(token)):
            raise
    claims.ended()
