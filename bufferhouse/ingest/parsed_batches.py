"""Batches that were read become batches to load: parsed while the next ones are read and those before are loaded."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Generic, NamedTuple, TypeVar

from bufferhouse.ingest.batching import InFlight, ReadBatch
from bufferhouse.ingest.workers import Parsers, parse_work
from bufferhouse.tabulate.batch import merged
from bufferhouse.tabulate.tables import ParsedBatch
from bufferhouse.tabulate.worker import ParsedContents, parse_contents
from bufferhouse.warehouse.warehouse import Warehouse

T = TypeVar("T")


class Begun(NamedTuple, Generic[T]):
    """A batch that is being parsed, and what is known about it; `outcome` waits for its contents."""

    number: int
    batch: ReadBatch
    about: T
    started_at: datetime
    outcome: Callable[[], Sequence[ParsedContents]]


def parsed_batches(
    warehouse: Warehouse, parsers: Parsers, read: Callable[[InFlight], Iterator[tuple[ReadBatch, T]]]
) -> Iterator[tuple[Begun[T], ParsedBatch]]:
    """Yield the batches that `read` gives, with something about each, in their order; numbers begin with 1.

    Each must be loaded before the next one is asked for. The parsers say how many are begun by then.
    """
    begun: deque[Begun[T]] = deque()

    def ahead() -> int:
        # What is claimed for a batch is free when the next one is asked for.
        return 0 if warehouse.is_shared else parsers.ahead

    def first() -> tuple[Begun[T], ParsedBatch]:
        one = begun[0]
        return one, put_together(one.batch, [*one.outcome(), *settle(warehouse, one.batch)])

    for number, (batch, about) in enumerate(read(lambda: [one.batch for one in begun]), 1):
        begun.append(Begun(number, batch, about, datetime.now(UTC), parsers.begin(number, batch.work)))
        while len(begun) > ahead():
            yield first()
            begun.popleft()
    while begun:
        yield first()
        begun.popleft()


def settle(warehouse: Warehouse, batch: ReadBatch) -> list[ParsedContents]:
    """Look up what a batch awaits, now that all batches before it are loaded; parse what was refused there.

    Those are refused again, as they would be in a batch that is read later: another file, another reject.
    """
    if not batch.awaited:
        return []
    batch.known.update(warehouse.known_contents(batch.awaited))
    refused = batch.awaited.keys() - batch.known.keys()
    if not refused:
        return []
    for sighting in batch.sightings:
        if sighting.content.dump_id in refused:
            sighting.files = batch.awaited[sighting.content.dump_id].files  # a reject keeps the bytes
    return [parse_contents((batch.awaited[dump_id].content, batch.awaited[dump_id].files) for dump_id in refused)]


def put_together(batch: ReadBatch, results: Sequence[ParsedContents]) -> ParsedBatch:
    """Return a batch with all that came of parsing its new contents."""
    refusals = dict(batch.refusals)
    signatures = {dump_id: signature for dump_id, (_, signature) in batch.known.items()}
    for result in results:
        refusals.update(result.refusals)
        signatures.update(result.signature_ids)
    return ParsedBatch(merged([result.tables for result in results]), batch.sightings, refusals, signatures)


def parse_batch(batch: ReadBatch) -> ParsedBatch:
    """Parse the new contents of one batch, each once, in this process."""
    return put_together(batch, parse_work(batch.work))
