"""The commit of a load where several workers commit: in turn, fenced by its claims, and tried again after a fault."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import tries
from bufferhouse.engine.sql import quoted
from bufferhouse.errors import UsageError
from bufferhouse.tabulate.batch import ParsedBatch, without
from bufferhouse.warehouse.lake.attach import LAKE, clear_away
from bufferhouse.warehouse.lake.claims import Claims, file_key
from bufferhouse.warehouse.lake.retry import passes, patiently
from bufferhouse.warehouse.warehouse import Warehouse

T = TypeVar("T")
_PAUSE_SECONDS = 0.2


@contextmanager
def fenced_transaction(con: duckdb.DuckDBPyConnection, claims: Claims) -> Iterator[None]:
    """Commit what is done inside, and end all claims with it, in one moment; or roll it back when it raises.

    Where the answer to a commit was lost it is asked whether it came through: then nothing is raised.
    """
    token = claims.token()
    claims.brought = []
    con.execute("BEGIN")
    try:
        yield
        said = quoted("\n".join([token, *claims.brought]))  # PostgreSQL keeps the token, and takes the contents out
        con.execute(f"CALL {LAKE}.set_commit_message('bufferhouse', 'load', extra_info => {said})")
        with claims.commit_turn():
            con.execute("COMMIT")
    except BaseException as error:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        # Any other error comes before the commit, or is its refusal.
        if not passes(error) or not patiently(lambda: claims.was_committed(token)):
            raise
    claims.ended()


def load_claimed(warehouse: Warehouse, parsed: ParsedBatch, load: Callable[[ParsedBatch], T]) -> T:
    """Load a batch of which all contents and files are claimed, and try again after a fault; then nothing is claimed.

    What is not claimed yet is claimed first, or again where the session was lost meanwhile. What others have taken over
    is waited for, and loaded without the contents that are known by then.

    Raises:
        WarehouseBusy: as `patiently`.
    """
    claims = warehouse.claims
    files = {file_key(sighting.run_name, sighting.relative_path) for sighting in parsed.sightings}
    needed = files.union(parsed.tables.frames["dumps"]["dump_id"].to_list())
    is_again = False

    def attempt() -> T:
        if is_again:
            warehouse.wake()
            clear_away(warehouse.con)
        elif needed <= claims.held:
            return load(parsed)  # a try before may have met one who removed rows: then what is known is asked again
        while not needed <= claims.take(needed):
            claims.release()  # whoever waits holds nothing: two would wait for each other
            for _ in tries(math.inf, _PAUSE_SECONDS):
                interrupts.check()
                if not claims.others(needed):
                    break
        known = warehouse.known_contents({number for number in needed if number >= 0})
        seen = {sighting.content.dump_id for sighting in parsed.sightings} - needed - parsed.refusals.keys()
        if len(warehouse.known_contents(seen)) < len(seen):
            raise UsageError(
                "another process removed contents that this load took for known; run the same command again"
            )
        return load(replace(parsed, tables=without(parsed.tables, set(known))))

    def failed() -> None:
        nonlocal is_again
        is_again = True
        claims.retries += 1

    try:
        return patiently(attempt, failed, claims.is_cut_off)
    finally:
        claims.release()
