"""The one path of data: discover → read → parse → tabulate → load → publish.

The command line, a configured pass and the Prefect flow all use it. Each passes a function that runs a step, a function
that is told the progress, and the workers that parse.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.engine.sql import execute
from bufferhouse.errors import SourceUnavailable, UsageError
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.arrivals import Arrivals
from bufferhouse.ingest.claimed import claimed_batches
from bufferhouse.ingest.logs import LoadedLogs, load_logs
from bufferhouse.ingest.read import Limits, ReadBatch, Reader, read_batches
from bufferhouse.ingest.source import Seen, Source, choose, known_runs, look, ready_logs, unknown_files
from bufferhouse.ingest.summary import Summary
from bufferhouse.ingest.workers import Pending, Workers
from bufferhouse.redaction import printable
from bufferhouse.tabulate.batch import ParsedBatch, merged
from bufferhouse.tabulate.contents import ParsedContents, parse_contents
from bufferhouse.tabulate.memory import collect_young, collector_paused
from bufferhouse.warehouse.load import Loaded, load
from bufferhouse.warehouse.warehouse import Warehouse

T = TypeVar("T")
RunStep = Callable[..., Any]
"""Runs a step: takes its title, such as `load batch 3`, a function and its arguments; returns what that returns."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress after a batch is loaded: its number, its source, its contents and the result of the load.

    `done` of the `total` dumps to read have been read; of `known` of them the warehouse already had the content.
    """

    number: int
    source: str
    batch: ParsedBatch
    loaded: Loaded
    done: int
    known: int
    total: int


def at_once(_title: str, function: Callable[..., T], *arguments: Any) -> T:
    """Run a step directly."""
    return function(*arguments)


def silently(_progress: Progress) -> None:
    """Report no progress."""


@collector_paused()
def ingest(
    sources: Sequence[Source],
    warehouse: AbstractContextManager[Warehouse],
    *,
    run: RunStep = at_once,
    tell: Callable[[Progress], None] = silently,
    workers: Workers | None = None,
    limits: Limits | None = None,
    listings: Listings | None = None,
    rehash: bool = False,
    publish: bool = False,
    by_source: dict[str, Summary] | None = None,
) -> dict[str, Summary]:
    """Load the new dumps of some sources that are ready, one transaction for each batch; return a summary by source.

    The warehouse is opened after the sources were listed, and only if one of them could be listed and has dumps. A
    fault of one source is the `fault` of its summary and does not stop the others. With `publish` a copy is published
    at the end if something was loaded or the published copy is out of date. Pass `by_source` to see what was committed
    if this is interrupted.

    Raises:
        UsageError, WarehouseError, WarehouseBusy: of the warehouse; what was committed is kept.
    """
    by_source = {} if by_source is None else by_source
    seen: list[tuple[Source, Seen]] = []
    for source in sources:
        summary = by_source[source.name] = Summary()
        with _fault_of(summary):
            found = run(f"discover {source.name}", look, source, listings)
            summary.archives = found.discovery.archives
            summary.orphans = [] if source.is_configured else sorted(found.discovery.orphans)
            # A log alone is of the run that the call names.
            if source.may_be_empty or found.discovery.dumps or (source.run_name and found.discovery.logs):
                seen.append((source, found))
            else:
                summary.note_nothing(found.discovery)
    if not seen:
        return by_source
    with warehouse as writer, workers or Workers() as parsing:
        jobs = _chosen(writer, seen, by_source, rehash)
        count = _load_all(writer, jobs, run, tell, parsing, limits or Limits.of_environment())
        count += sum(_load_logs(writer, job, run, rehash) for job in jobs)
        if publish and (count or not writer.address.is_published()):
            run("publish", writer.publish)
    return by_source


@contextmanager
def _fault_of(summary: Summary) -> Iterator[None]:
    """Note a fault of one source in its summary; faults of the warehouse stop all sources."""
    try:
        yield
    except (UsageError, SourceUnavailable) as error:
        summary.fault, summary.error = printable(str(error)), error


@dataclass(slots=True)
class _Job:
    """The dumps to read from one source."""

    source: Source
    seen: Seen
    arrivals: Arrivals
    summary: Summary


@dataclass(slots=True)
class _Begun:
    """A batch that was read and is being parsed."""

    job: _Job
    number: int
    batch: ReadBatch
    started_at: datetime
    contents: Pending


def _chosen(
    writer: Warehouse, seen: Sequence[tuple[Source, Seen]], by_source: dict[str, Summary], rehash: bool
) -> list[_Job]:
    interrupts.check()
    jobs = []
    for source, found in seen:
        summary = by_source[source.name]
        if writer.is_shared:
            summary.conflicts = summary.retries = 0
        with _fault_of(summary):
            others = [job.seen.discovery for job in jobs]
            arrivals = choose(writer, source, found, summary, rehash=rehash, others=others)
            jobs.append(_Job(source, found, arrivals, summary))
    return jobs


def _load_all(
    writer: Warehouse,
    jobs: Sequence[_Job],
    run: RunStep,
    tell: Callable[[Progress], None],
    workers: Workers,
    limits: Limits,
) -> int:
    """Load all batches in their order; return how many there were."""
    total = sum(len(job.arrivals.ready) for job in jobs)
    number = done = known = 0
    # Closed here: what an interrupt raises in a generator that Python closes later is lost.
    with closing(_parsing(writer, jobs, workers, limits)) as batches:
        for begun in batches:
            number, batch, summary = begun.number, begun.batch, begun.job.summary
            parsed = put_together(batch, [*run(f"parse batch {number}", begun.contents.result), *settle(writer, batch)])
            interrupts.check()
            if number > 1:  # else memory grows with the warehouse, and by what batches leave behind
                writer.evict()
                collect_young()
            try:
                loaded = run(
                    f"load batch {number}", load, writer, parsed, begun.job.seen.discovery.runs, begun.started_at
                )
            except BaseException:
                _count_committed(writer, summary, begun.started_at)
                raise
            summary.add(loaded)
            done += len(batch.sightings) + len(batch.unreadable)
            known += loaded.known_count
            tell(Progress(number, begun.job.source.name, parsed, loaded, done, known, total))
            batch.clear()  # the next one is read before the names here stand for it
    return number


def _load_logs(writer: Warehouse, job: _Job, run: RunStep, rehash: bool) -> int:
    """Load the logs beside the dumps of a source, which are loaded by now; return how many logs were read."""
    loaded = LoadedLogs()
    with _fault_of(job.summary):
        if logs := ready_logs(writer, job.source, job.seen, job.summary, rehash=rehash):
            loaded = run(f"load logs {job.source.name}", load_logs, writer, logs, job.seen.discovery.runs)
    job.summary.add_logs(loaded)
    return loaded.log_count


def _parsing(writer: Warehouse, jobs: Sequence[_Job], workers: Workers, limits: Limits) -> Iterator[_Begun]:
    """Yield the batches of all sources in order, each with its pending result of parsing; numbers begin with 1.

    Load each batch before you ask for the next one. The workers say how many further batches are read ahead and parsed
    meanwhile.
    """
    begun: deque[_Begun] = deque()
    in_flight: deque[ReadBatch] = deque()
    is_shared = writer.is_shared
    with closing(_read(writer, jobs, limits, in_flight)) as batches:
        for number, (job, batch) in enumerate(batches, 1):
            begun.append(_Begun(job, number, batch, datetime.now(UTC), workers.begin(number, batch.work)))
            in_flight.append(batch)
            # In a lake, the claims of a batch end when the next one is asked for: so no batch is read ahead.
            while len(begun) > (0 if is_shared else workers.ahead):
                yield begun.popleft()
                in_flight.popleft()
    while begun:
        yield begun.popleft()
        in_flight.popleft()


def _read(
    writer: Warehouse, jobs: Sequence[_Job], limits: Limits, in_flight: deque[ReadBatch]
) -> Iterator[tuple[_Job, ReadBatch]]:
    """Yield the batches of all sources; if one source cannot be read any further, the others go on."""
    for job in jobs:
        arrivals, summary = job.arrivals, job.summary
        hold = arrivals.hold if job.source.is_configured else None
        with _fault_of(summary):
            if writer.is_shared:
                batches = claimed_batches(writer, arrivals.ready, limits, hold=hold)
            else:
                batches = read_batches(writer, arrivals.ready, limits, hold=hold, in_flight=in_flight)
            for batch in batches:
                summary.leave_out(batch.unreadable)
                yield job, batch
        summary.waiting += arrivals.waiting
        summary.waiting_dumps += arrivals.waiting_dumps


def settle(writer: Warehouse, batch: ReadBatch) -> list[ParsedContents]:
    """Look up the contents that a batch awaits, now that all batches before it are loaded; parse those refused there.

    They are refused again, as in a batch that is read later: each file with such a content makes a reject of its own.
    """
    if not batch.awaited:
        return []
    batch.known.update(writer.known_contents(batch.awaited))
    refused = batch.awaited.keys() - batch.known.keys()
    if not refused:
        return []
    for sighting in batch.sightings:
        if sighting.content.dump_id in refused:
            sighting.files = batch.awaited[sighting.content.dump_id].files  # a reject keeps the bytes
    return [parse_contents([(batch.awaited[dump_id].content, batch.awaited[dump_id].files) for dump_id in refused])]


def put_together(batch: ReadBatch, results: Sequence[ParsedContents]) -> ParsedBatch:
    """Return a batch with the results of parsing its new contents."""
    refusals = dict(batch.refusals)
    signatures = {dump_id: signature for dump_id, (_, signature) in batch.known.items()}
    for result in results:
        refusals.update(result.refusals)
        signatures.update(result.signature_ids)
    return ParsedBatch(merged([result.tables for result in results]), batch.sightings, refusals, signatures)


def parse_batch(batch: ReadBatch) -> ParsedBatch:
    """Parse the new contents of one batch, each once, in this process."""
    return put_together(batch, [parse_contents(batch.work)])


def _count_committed(writer: Warehouse, summary: Summary, started_at: datetime) -> None:
    """Count a load that was committed but not counted yet when an interrupt came.

    Its start identifies it: loads of other workers into a lake began at other moments.
    """
    with suppress(duckdb.Error):  # after a fatal error (a full disk) DuckDB answers nothing more
        missed = execute(
            writer.con,
            "SELECT new_count, known_count, (SELECT COUNT(*) FROM raw.rejects AS r WHERE r.load_id = l.load_id)"
            " FROM raw.loads AS l WHERE started_at = CAST($started_at AS TIMESTAMPTZ)",
            started_at=started_at,
        ).fetchall()
        for new, known, rejected in missed:
            summary.new += new
            summary.known += known
            summary.rejected += rejected


def plan(source: Source, warehouse: AbstractContextManager[Warehouse], *, rehash: bool = False) -> Summary:
    """Return what `ingest` would do: read and hash what it would read, but write nothing.

    Nothing is parsed either: a dump that would be refused counts as new, unless this parser has refused its content
    before.

    Raises:
        UsageError, SourceUnavailable: the source cannot be looked at.
    """
    discovery, summary = look(source).discovery, Summary()
    summary.archives, summary.orphans = discovery.archives, sorted(discovery.orphans)
    if not (source.may_be_empty or discovery.dumps):
        summary.note_nothing(discovery)
        return summary
    taken: set[int] = set()
    with warehouse as reader:
        reading = Reader(
            unknown_files(reader, discovery, known_runs(reader), summary, rehash=rehash), Limits.of_environment()
        )
        for sightings in reading.chunks():
            taken |= reader.known_contents({s.content.dump_id for s in sightings} - taken).keys()
            spoken = reader.known_refusals({s.content.sha256 for s in sightings})
            # Data that did not decompress may be a dump under another name.
            refused = {sha256 for (_, _, sha256), rule in spoken.items() if rule != "compression"}
            for sighting in sightings:
                content = sighting.content
                if (sighting.run_name, sighting.relative_path, content.sha256) in spoken:
                    summary.add_known_rejects([sighting.source_uri])
                elif content.dump_id in reading.batch.refusals or content.sha256 in refused:
                    summary.rejected += 1
                elif content.dump_id in taken:
                    summary.known += 1
                else:
                    summary.new += 1
                    taken.add(content.dump_id)
    summary.leave_out(reading.batch.unreadable)
    return summary
