"""Batches whose contents and files this worker alone has claimed; what others have claimed is checked again later.

A sighting that is put back is never lost: as soon as nobody claims it any more, either its content is known, and the
sighting is one more row, or the load of the content failed, and it is read again.
"""

from collections.abc import Iterator

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import tries
from bufferhouse.errors import WarehouseBusy, counted
from bufferhouse.ingest.read import Hold, Limits, ReadBatch, read_batches
from bufferhouse.sources.found import FoundDumps
from bufferhouse.tabulate.batch import Sighting
from bufferhouse.warehouse.lake.claims import file_key
from bufferhouse.warehouse.warehouse import Warehouse

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
_PATIENCE_SECONDS = 600  # without any other worker getting on


PutBack = list[tuple[Sighting, set[int]]]
"""Sightings whose content or file others have claimed, each with the claims that it waits for."""


def claimed_batches(
    warehouse: Warehouse, dumps: FoundDumps, limits: Limits, *, hold: Hold | None
) -> Iterator[ReadBatch]:
    """Yield the batches that `read_batches` yields, without what other workers load; that comes last, when they have.

    Raises:
        WarehouseBusy: another worker neither ends nor makes progress for ten minutes.
    """
    waiting: PutBack = []
    for batch in read_batches(warehouse, dumps, limits, hold=hold):
        yield from _claimed(warehouse, batch, waiting)
    while waiting:
        ready, waiting = _await(warehouse, waiting)
        known = warehouse.known_contents({sighting.content.dump_id for sighting in ready})
        repeats = ReadBatch(known=known)
        for sighting in ready:
            if sighting.content.dump_id in known:
                repeats.take(sighting)
        if repeats.sightings:
            yield from _claimed(warehouse, repeats, waiting)
        again = {(s.run_name, s.relative_path) for s in ready if s.content.dump_id not in known}
        numbers = [dump.number for dump in dumps if (dump.run_name, dump.relative_path) in again] if again else []
        for batch in read_batches(warehouse, dumps.only(numbers), limits):
            yield from _claimed(warehouse, batch, waiting)


def _await(warehouse: Warehouse, waiting: PutBack) -> tuple[list[Sighting], PutBack]:
    """Wait until some of what was put back is free; return that, and the others."""
    wanted = set().union(*(numbers for _, numbers in waiting))
    for _ in tries(_PATIENCE_SECONDS, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS):
        blocked = warehouse.persistently(lambda: warehouse.claims.others(wanted))
        if ready := [sighting for sighting, numbers in waiting if not numbers & blocked]:
            return ready, [(sighting, numbers) for sighting, numbers in waiting if numbers & blocked]
        interrupts.check()
    names = ", ".join(f"process {process_id} on {host}" for host, process_id in warehouse.claims.holders(wanted))
    raise WarehouseBusy(
        f"{names}: still loading {counted(len(waiting), 'dump')} after {_PATIENCE_SECONDS} seconds; "
        "see whether it still works, end it if not, and run the same command again"
    )


def _claimed(warehouse: Warehouse, batch: ReadBatch, waiting: PutBack) -> Iterator[ReadBatch]:
    """Yield what of a batch is ours, if anything is; what is claimed for it is free when the caller is done."""
    try:
        own = _claim(warehouse, batch, waiting)
        if own.sightings or own.unreadable:
            yield own
    finally:
        warehouse.claims.release()


def _claim(warehouse: Warehouse, batch: ReadBatch, waiting: PutBack) -> ReadBatch:
    claims = warehouse.claims
    needs = [_needs(sighting, batch) for sighting in batch.sightings]
    wanted = set().union(*needs)
    ours = warehouse.persistently(lambda: claims.take(wanted))
    # Whoever had a content claimed until a moment ago has loaded it: what was known when it was read is not enough.
    own = ReadBatch(refusals=batch.refusals, unreadable=batch.unreadable)
    own.known = batch.known | warehouse.known_contents(ours & batch.new.keys())
    for sighting, numbers in zip(batch.sightings, needs, strict=True):
        if numbers <= ours:
            if sighting.content.dump_id in batch.new:  # the one with the bytes may be put back
                sighting.files = batch.new[sighting.content.dump_id].files
            own.take(sighting)
    for sighting, numbers in zip(batch.sightings, needs, strict=True):
        if not numbers <= ours:
            sighting.files = None  # whoever loads it has them
            waiting.append((sighting, numbers - ours))
    kept = {file_key(sighting.run_name, sighting.relative_path) for sighting in own.sightings}
    claims.release(ours - kept - own.new.keys())
    return own


def _needs(sighting: Sighting, batch: ReadBatch) -> set[int]:
    """Return the claims that it takes to load a sighting."""
    numbers = {file_key(sighting.run_name, sighting.relative_path)}
    if sighting.content.dump_id in batch.new:
        numbers.add(sighting.content.dump_id)
    return numbers
