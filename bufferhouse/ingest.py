"""The one path of data: discover, read and hash, parse, tabulate, load. The command line and Prefect both walk it."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from datetime import UTC, datetime

import duckdb

from bufferhouse import __version__, interrupts
from bufferhouse.batch import ParsedBatch
from bufferhouse.batches import ReadBatch, read_batches, read_chunks
from bufferhouse.contents import ParsedContents, parse_contents
from bufferhouse.frames import merged
from bufferhouse.known_files import unknown_files
from bufferhouse.load import load
from bufferhouse.parsing import parse_work
from bufferhouse.run_changes import complete_runs
from bufferhouse.sources import Discovery
from bufferhouse.storing import next_number
from bufferhouse.summary import Summary
from bufferhouse.warehouse import Warehouse


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
    for sightings in read_chunks(unknown_files(warehouse, discovery, summary, rehash=rehash), [batch]):
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
