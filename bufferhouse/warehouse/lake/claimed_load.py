"""A load where several workers load: of what is claimed, tried again after a fault."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import LAKE
from bufferhouse.errors import UsageError
from bufferhouse.tabulate.contracts import without
from bufferhouse.tabulate.tables import ParsedBatch
from bufferhouse.warehouse.batch_catalog import CATALOG
from bufferhouse.warehouse.lake.claims import file_key
from bufferhouse.warehouse.lake.retry import patiently
from bufferhouse.warehouse.warehouse import Warehouse

T = TypeVar("T")
_PAUSE_SECONDS = 0.2


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
            # What could not be cleared away while the catalog was gone.
            warehouse.con.execute(f"USE {LAKE}; DETACH DATABASE IF EXISTS {CATALOG}")
        if needed <= claims.held:
            return load(parsed)
        while not needed <= claims.take(needed):
            claims.release()  # whoever waits holds nothing: two would wait for each other
            while claims.others(needed):
                interrupts.check()
                time.sleep(_PAUSE_SECONDS)
        known = warehouse.known_contents({number for number in needed if number >= 0})
        seen = {sighting.content.dump_id for sighting in parsed.sightings} - needed - parsed.refusals.keys()
        if len(warehouse.known_contents(seen)) < len(seen):
            raise UsageError("contents of the lake were removed while they were seen; run the same command again")
        return load(replace(parsed, tables=without(parsed.tables, set(known))))

    def failed() -> None:
        nonlocal is_again
        is_again = True
        claims.retries += 1

    try:
        return patiently(attempt, failed, claims.is_cut_off)
    finally:
        claims.release()
