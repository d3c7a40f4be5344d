"""The one path of data: discover, read and hash, parse, tabulate, load. The command line and Prefect both walk it."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.ingest.batching import InFlight, ReadBatch, read_chunks
from bufferhouse.ingest.claimed import read_batches
from bufferhouse.ingest.known import unknown_files
from bufferhouse.ingest.parsed_batches import parsed_batches
from bufferhouse.ingest.summary import Summary
from bufferhouse.ingest.workers import HERE, Parsers
from bufferhouse.sources.discover import Discovery
from bufferhouse.version import __version__
from bufferhouse.warehouse.load import load
from bufferhouse.warehouse.rows import next_number
from bufferhouse.warehouse.runs import complete_runs
from bufferhouse.warehouse.warehouse import Warehouse


def ingest(
    warehouse: Warehouse,
    discovery: Discovery,
    *,
    rehash: bool = False,
    parsers: Parsers = HERE,
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
        _ingest(warehouse, discovery, summary, rehash, parsers, progress)
    except BaseException:
        _count_committed(warehouse, summary)
        raise
    return summary


def _ingest(
    warehouse: Warehouse,
    discovery: Discovery,
    summary: Summary,
    rehash: bool,
    parsers: Parsers,
    progress: Callable[[int, int, Summary], None] | None,
) -> None:
    interrupts.check()
    fresh = unknown_files(warehouse, discovery, summary, rehash=rehash)
    complete_runs(warehouse.con, discovery.runs)
    done = 0

    def read(in_flight: InFlight) -> Iterator[tuple[ReadBatch, None]]:
        for batch in read_batches(warehouse, fresh, in_flight=in_flight):
            summary.unreadable += batch.unreadable
            yield batch, None

    for begun, parsed in parsed_batches(warehouse, parsers, read):
        interrupts.check()
        summary.add(load(warehouse, parsed, discovery.runs, begun.started_at))
        done += len(begun.batch.sightings) + len(begun.batch.unreadable)
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
