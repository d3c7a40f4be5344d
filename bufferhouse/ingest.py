"""The one path of data: discover, read and hash, parse, tabulate, load. The command line and Prefect both walk it."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb

from bufferhouse import __version__, interrupts
from bufferhouse.batch import ParsedBatch, Refusal, Sighting
from bufferhouse.collecting import collector_paused
from bufferhouse.compression import CompressionError
from bufferhouse.contents import ParsedContents, parse_contents
from bufferhouse.frames import merged
from bufferhouse.identity import Content, content_of, read_file_name
from bufferhouse.known_files import unknown_files
from bufferhouse.load import load
from bufferhouse.observing import module_text_of
from bufferhouse.parsing import Work, parse_work
from bufferhouse.run_changes import complete_runs
from bufferhouse.sources import Discovery, Found, read
from bufferhouse.storing import next_number
from bufferhouse.summary import Summary
from bufferhouse.warehouse import Warehouse

# One transaction: a third of a second goes into each, however small. It is bytes that memory hangs on.
BATCH_DUMPS = int(os.environ.get("BUFFERHOUSE_BATCH_DUMPS", 4000))
BATCH_BYTES = int(os.environ.get("BUFFERHOUSE_BATCH_BYTES", 16 << 20))
_MOST_SIGHTINGS = 50_000
_CHUNK_SIGHTINGS = 10_000
_CHUNK_DUMPS = min(1000, BATCH_DUMPS)
_CHUNK_BYTES = min(4 << 20, BATCH_BYTES)


@dataclass(slots=True)
class ReadBatch:
    """Files that were read and hashed: sightings, refusals of damaged files, what cannot be read.

    `known` gives SHA-256 and signature id of contents the warehouse has; only new contents keep their bytes.
    `awaited` are contents that a batch brings which was read before and is not loaded yet, as they were sighted there.
    """

    sightings: list[Sighting] = field(default_factory=list)
    refusals: dict[int, Refusal] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    known: dict[int, tuple[str, int]] = field(default_factory=dict)
    new: dict[int, Sighting] = field(default_factory=dict)
    awaited: dict[int, Sighting] = field(default_factory=dict)
    new_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Say whether it is time to load the batch."""
        return len(self.new) >= BATCH_DUMPS or self.new_bytes >= BATCH_BYTES or len(self.sightings) >= _MOST_SIGHTINGS

    @property
    def work(self) -> Work:
        """What there is to parse: each new content once."""
        return [(sighting.content, sighting.files) for sighting in self.new.values()]

    def stored(self, dump_id: int) -> str | None:
        """Return the SHA-256 of the content with an id, where its bytes are here, on their way or in the warehouse."""
        if dump_id in self.known:
            return self.known[dump_id][0]
        first = self.new.get(dump_id) or self.awaited.get(dump_id)
        return first.content.sha256 if first else None

    def has(self, content: Content) -> bool:
        """Say whether the bytes of a content need not be kept again."""
        return self.stored(content.dump_id) == content.sha256


Hold = Callable[[Found, Mapping[str, bytes] | Exception], bool]


def read_batches(
    warehouse: Warehouse, dumps: Sequence[Found], *, hold: Hold | None = None, in_flight: Collection[ReadBatch] = ()
) -> Iterator[ReadBatch]:
    """Read and hash dumps; yield a batch when about 4,000 new contents or 16 MB of new text are together.

    A dump for which `hold` says so, which hears its bytes or why it cannot be read, is passed by.

    Most files of a fleet repeat a content, and a repeat costs a row: so it is contents that fill a batch. A batch
    must be loaded before the next one is asked for, which looks up what is known by then, or stand in `in_flight`
    until it is loaded. Batches must be loaded in their order, each after `settle`. Of a lake that others write to, too,
    a batch has what nobody else loads, and the rest comes at the end.
    """
    if warehouse.claims is None:
        yield from _read_batches(warehouse, dumps, hold, in_flight)
        return
    from bufferhouse.lake.claiming import claimed_batches

    yield from claimed_batches(_read_batches, warehouse, dumps, hold)


def _read_batches(
    warehouse: Warehouse, dumps: Sequence[Found], hold: Hold | None, in_flight: Collection[ReadBatch] = ()
) -> Iterator[ReadBatch]:
    batch = ReadBatch()
    current = [batch]  # what is read while a chunk fills belongs to the batch of that moment
    chunks = _chunks(dumps, current, hold)
    while sightings := _next(chunks):
        interrupts.check()
        unasked = {s.content.dump_id for s in sightings} - batch.known.keys() - batch.new.keys()
        batch.known.update(warehouse.known_contents(unasked))
        for other in in_flight:
            batch.awaited.update({key: other.new[key] for key in unasked & other.new.keys()})
        for sighting in sightings:
            sort_in(batch, sighting)
        if batch.is_full:
            yield batch
            batch = current[0] = ReadBatch()
    if batch.sightings or batch.unreadable:
        yield batch


@collector_paused()
def _next(chunks: Iterator[list[Sighting]]) -> list[Sighting] | None:
    return next(chunks, None)


def _chunks(dumps: Sequence[Found], batch: list[ReadBatch], hold: Hold | None = None) -> Iterator[list[Sighting]]:
    """Read and hash dumps, in pieces small enough to hold before it is known which of them are new."""
    chunk: list[Sighting] = []
    count = size = 0
    for dump, files in read(dumps):
        if hold is not None and dump.content is None and hold(dump, files):
            continue
        if isinstance(files, CompressionError):
            data = {"combined": files.data}
            batch[0].refusals[content_of(data).dump_id] = Refusal(
                "compression", "readable compressed data", str(files), role=files.role
            )
            files = data
        elif isinstance(files, Exception):
            batch[0].unreadable.append(f"{dump.uri}: {getattr(files, 'strerror', None) or files}")
            continue
        chunk.append(_sighting(dump, files))
        if batch[0].has(chunk[-1].content):
            chunk[-1].files = None  # a repeat: what it costs is a row
        else:
            count += 1
            size += chunk[-1].text_bytes
        if count >= _CHUNK_DUMPS or size >= _CHUNK_BYTES or len(chunk) >= _CHUNK_SIGHTINGS:
            yield chunk
            chunk, count, size = [], 0, 0
    if chunk:
        yield chunk


def _sighting(dump: Found, files: Mapping[str, bytes]) -> Sighting:
    return Sighting(
        dump.run_name,
        dump.relative_path,
        dump.uri,
        dump.size_bytes,
        dump.mtime_ns,
        dump.content or content_of(files),
        read_file_name(dump.relative_path),
        sum(map(len, files.values())),
        files,
        module_text_of(dump),
    )


def sort_in(batch: ReadBatch, sighting: Sighting) -> None:
    """Put a sighting into the batch, as a new content, a repeat, or a refused collision of two contents."""
    batch.sightings.append(sighting)
    content = sighting.content
    if content.dump_id in batch.refusals:
        return
    stored = batch.stored(content.dump_id)
    if stored is None:
        batch.new[content.dump_id] = sighting
        batch.new_bytes += sighting.text_bytes
    elif stored == content.sha256:
        sighting.files = None
    else:
        # Equal first 63 bits of two contents: the second is refused, under a key that no content has.
        key = -1 - len(batch.sightings)
        sighting.content = content._replace(dump_id=key)
        batch.refusals[key] = Refusal("identity", "a dump_id of its own", f"that of the content {stored}")


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


def parse_batch(batch: ReadBatch, *, executor: Executor | None = None, workers: int = 1) -> ParsedBatch:
    """Parse the new contents of a batch, each once; `executor` shares the work out to its processes."""
    return put_together(batch, parse_work(batch.work, executor, workers))


def ingest(
    warehouse: Warehouse,
    discovery: Discovery,
    *,
    rehash: bool = False,
    executor: Executor | None = None,
    workers: int = 1,
    progress: Callable[[int, int, Summary], None] | None = None,
    summary: Summary | None = None,
) -> Summary:
    """Load what is new in `discovery`; `progress` hears dumps done, dumps to do and the summary so far.

    `summary` may be given to see what was committed when this is interrupted.
    """
    summary = summary if summary is not None else Summary()
    if warehouse.claims is not None:
        summary.conflicts = summary.retries = 0
    summary.last_load_id = next_number(warehouse.con, "loads", "load_id") - 1
    try:
        _ingest(warehouse, discovery, summary, rehash, executor, workers, progress)
    except BaseException:
        _count_committed(warehouse, summary)
        raise
    return summary


def _ingest(
    warehouse: Warehouse,
    discovery: Discovery,
    summary: Summary,
    rehash: bool,
    executor: Executor | None,
    workers: int,
    progress: Callable[[int, int, Summary], None] | None,
) -> None:
    interrupts.check()
    fresh = unknown_files(warehouse, discovery, summary, rehash=rehash)
    complete_runs(warehouse.con, discovery.runs)
    done = 0
    for batch in read_batches(warehouse, fresh):
        started_at = datetime.now(UTC)
        summary.unreadable += batch.unreadable
        parsed = parse_batch(batch, executor=executor, workers=workers)
        interrupts.check()
        summary.add(load(warehouse, parsed, discovery.runs, started_at))
        done += len(batch.sightings) + len(batch.unreadable)
        if progress:
            progress(done, len(fresh), summary)


def _count_committed(warehouse: Warehouse, summary: Summary) -> None:
    """Count the load that an interrupt met between its commit and its count, if there is one."""
    with suppress(duckdb.Error):  # after a fatal error (a full disk) DuckDB answers nothing more
        missed = warehouse.con.execute(
            "SELECT new_count, known_count, (SELECT COUNT(*) FROM raw.rejects AS r WHERE r.load_id = l.load_id)"
            " FROM raw.loads AS l WHERE load_id > ?",
            [summary.last_load_id],
        ).fetchall()
        for new, known, rejected in missed:
            summary.new += new
            summary.known += known
            summary.rejected += rejected


def plan(warehouse: Warehouse, discovery: Discovery, summary: Summary, *, rehash: bool = False) -> None:
    """Count in `summary` what `ingest` would do; what it would read is read and hashed, and nothing is written.

    Nothing is parsed either: what would be refused counts as new, unless this parser has refused the content before.
    """
    batch = ReadBatch()
    taken: set[int] = set()
    for sightings in _chunks(unknown_files(warehouse, discovery, summary, rehash=rehash), [batch]):
        taken |= warehouse.known_contents({s.content.dump_id for s in sightings} - taken).keys()
        spoken = warehouse.known_refusals((s.content.sha256 for s in sightings), __version__)
        refused = {sha256 for _, _, sha256 in spoken}
        for sighting in sightings:
            content = sighting.content
            if (sighting.run_name, sighting.relative_path, content.sha256) in spoken:
                summary.known_rejected += 1
            elif content.dump_id in batch.refusals or content.sha256 in refused:
                summary.rejected += 1
            elif content.dump_id in taken:
                summary.known += 1
            else:
                summary.new += 1
                taken.add(content.dump_id)
    summary.unreadable += batch.unreadable
