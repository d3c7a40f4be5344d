"""An ingest as the command line runs it: a bar or lines of progress, Ctrl-C, and what the user is told of it."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from bufferhouse.commands.options import reader
from bufferhouse.commands.progress import Bar, writing
from bufferhouse.config.load import Config
from bufferhouse.engine.interrupts import remembered
from bufferhouse.errors import counted
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.pipeline import Progress, ingest
from bufferhouse.ingest.pipeline import plan as count_only
from bufferhouse.ingest.source import Source, chosen_sources
from bufferhouse.ingest.summary import Summary, total_of
from bufferhouse.warehouse.open import Place, exists
from bufferhouse.warehouse.warehouse import Warehouse


def run_ingest(
    sources: Sequence[str],
    path: Place,
    *,
    run_name: str | None = None,
    labels: Mapping[str, str] | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    plan: bool = False,
    rehash: bool = False,
    reparse: bool = False,
    publish: bool = False,
    allow_empty: bool = True,
    wait: float = 0.0,
) -> Summary:
    """Ingest `sources` into the warehouse at `path`, saying on standard error how far it is.

    With `reparse` first parse again what an older version parsed, or all of it with `rehash`.

    Raises:
        UsageError, WarehouseError, WarehouseBusy, SourceUnavailable: what was committed before is kept.
        KeyboardInterrupt: it says what is committed.
    """
    started = time.monotonic()
    named = Source.named(
        sources,
        run_name=run_name,
        labels=labels or {},
        include=include,
        exclude=exclude,
        may_be_empty=allow_empty or reparse,
    )
    if plan:
        summary = count_only(named, _asked(path, wait), rehash=rehash)
    else:
        again = Summary()
        writer = _reparsed(path, wait, rehash, again) if reparse else writing(path, wait=wait)
        summary = _ingested([named], writer, rehash=rehash, publish=publish)[named.name]
        if reparse:
            summary.reparsed = again.reparsed
            summary.unreadable += again.unreadable
    if summary.error is not None:
        raise summary.error
    for line in summary.archive_lines():
        print(f"bufferhouse: {line}", file=sys.stderr)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def run_configured(
    conf: Config,
    path: Place,
    *,
    run_name: str | None,
    labels: Mapping[str, str] | None,
    publish: bool,
    wait: float,
) -> dict[str, Summary]:
    """Carry out one pass over the configured sources, as the flow `ingest` does; return what was done by source.

    A source that is missing or does not answer does not stop the others: its summary has a `fault`. With `publish` the
    warehouse is published if something was loaded or the published copy is out of date.

    Raises:
        UsageError, WarehouseError, WarehouseBusy: as `pipeline.ingest`.
        KeyboardInterrupt: it says what is committed.
    """
    chosen = chosen_sources(conf, None, run_name, labels)
    return _ingested(chosen, writing(path, wait=wait), listings=Listings.beside(path), publish=publish)


def _ingested(sources: Sequence[Source], writer: Iterator[Warehouse], **options: object) -> dict[str, Summary]:
    """Ingest, and say how far it is; a KeyboardInterrupt says what is committed."""
    by_source: dict[str, Summary] = {}
    try:
        with remembered(), Bar() as bar:
            return ingest(sources, writer, tell=partial(_show, bar, by_source), by_source=by_source, **options)
    except KeyboardInterrupt:
        summary = total_of(by_source)
        raise KeyboardInterrupt(
            f"committed before: {summary.new:,} new, {summary.known:,} known, {summary.rejected:,} rejected; the same "
            "command continues from there"
        ) from None


@contextmanager
def _asked(path: Place, wait: float) -> Iterator[Warehouse]:
    """Yield a warehouse to look things up in, not made, migrated or locked; an empty one where there is none."""
    with reader(path, wait) if exists(path) else writing(None) as warehouse:
        yield warehouse


@contextmanager
def _reparsed(path: Place, wait: float, every: bool, again: Summary) -> Iterator[Warehouse]:
    """Yield a warehouse in which what an older version parsed is parsed again, and count that in."""
    from bufferhouse.warehouse.reparse import dumps_of, reparse

    with writing(path, wait=wait) as warehouse:
        done = reparse(warehouse, dumps_of(warehouse.con, outdated_only=not every), progress=_say_reparsed)
        again.reparsed, again.unreadable = done.count, done.refused
        yield warehouse


def _say_reparsed(done: int, total: int) -> None:
    print(f"{done:,}/{counted(total, 'dump')} parsed again", file=sys.stderr)


def _show(bar: Bar, by_source: Mapping[str, Summary], progress: Progress) -> None:
    """Show that a batch is loaded: a bar on a terminal, one line a batch elsewhere; both on standard error."""
    summary = total_of(by_source)
    rejected = f", {summary.rejected:,} rejected" if summary.rejected else ""
    if bar.is_shown:
        bar.reach("dumps", progress.done, progress.total, f"{summary.new:,} new{rejected}")
        return
    dumps = counted(progress.total, "dump")
    print(f"{progress.done:,}/{dumps}: {summary.new:,} new, {progress.known:,} known{rejected}", file=sys.stderr)
