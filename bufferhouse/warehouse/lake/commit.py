"""The commit of a load if several workers commit: in turns, fenced by its claims, and tried again after a fault."""

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
    """Commit the work inside, and end all claims in the same transaction; or roll it back when it raises.

    If the answer to the commit is lost, it is checked whether the commit came through; if it did, nothing is raised.
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
        # Any other error comes before the commit, or is a refusal of the commit.
        if not passes(error) or not patiently(lambda: claims.was_committed(token)):
            raise
    claims.ended()


def load_claimed(warehouse: Warehouse, parsed: ParsedBatch, load: Callable[[ParsedBatch], T]) -> T:
    """Load a batch whose contents and files are claimed, and try again after a fault; at the end release all claims.

    Numbers that are not claimed yet, or were lost with the session, are claimed first. The batch waits for numbers that
    others have taken over, and is then loaded without the contents that are known by that time.

    Raises:
        UsageError: another process removed contents that this batch repeats.
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
            return load(parsed)  # only the first attempt: later, another process may have removed or added contents
        while not needed <= claims.take(needed):
            claims.release()  # a worker that waits holds no claims, else two could wait for each other
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
