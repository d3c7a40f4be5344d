"""An ingest as the command line runs it: with worker processes, a bar or lines of progress, and Ctrl-C."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from bufferhouse.commands.writing import writing
from bufferhouse.config.load import Config
from bufferhouse.engine import interrupts
from bufferhouse.engine.interrupts import remembered
from bufferhouse.errors import counted
from bufferhouse.ingest.all_sources import chosen_sources, faults_of, load_ready, total_of
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.pipeline import plan as count_only
from bufferhouse.ingest.source import Pass, Seen, look
from bufferhouse.ingest.summary import Summary
from bufferhouse.ingest.workers import own_parsers
from bufferhouse.redaction import terminal
from bufferhouse.sources import discover as finding
from bufferhouse.tabulate.tables import ParsedBatch
from bufferhouse.warehouse.files import is_published
from bufferhouse.warehouse.load import load
from bufferhouse.warehouse.read import only_asked
from bufferhouse.warehouse.warehouse import Warehouse


def run_ingest(
    sources: Sequence[str],
    path: Path,
    *,
    run_name: str | None = None,
    labels: Mapping[str, str] | None = None,
    workers: int | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    plan: bool = False,
    rehash: bool = False,
    reparse: bool = False,
    publish: bool = False,
    wait: float = 0.0,
) -> Summary:
    """Ingest `sources` into the warehouse at `path`, saying on standard error how far it is.

    With `reparse` first parse again what an older version parsed, or all of it with `rehash`.

    Raises:
        UsageError, WarehouseError, WarehouseBusy: nothing was loaded.
        KeyboardInterrupt: after a line that says what is committed.
    """
    started = time.monotonic()
    summary = Summary()
    discovery = finding.discover(sources, run_name=run_name, labels=labels, include=include, exclude=exclude)
    if discovery.archives:
        first, count = discovery.archives[0], len(discovery.archives)
        others = f" and {count - 1} more" if count > 1 else ""
        print(f"bufferhouse: {first}{others}: archives beside dumps are opened only when named", file=sys.stderr)
    if plan:
        with only_asked(path, wait=wait) as (warehouse, note):
            if note:
                print(f"bufferhouse: {note}", file=sys.stderr)
            count_only(warehouse, discovery, summary, rehash=rehash)
        summary.seconds = round(time.monotonic() - started, 3)
        return summary
    try:
        with (
            remembered(),
            own_parsers(workers) as parsers,
            writing(path, wait=wait) as warehouse,
            _progress() as advance,
        ):
            if reparse:
                _reparse(warehouse, summary, every=rehash)
            ingest(warehouse, discovery, rehash=rehash, parsers=parsers, progress=advance, summary=summary)
            if publish:
                warehouse.publish()
    except KeyboardInterrupt:
        _tell_committed(summary)
        raise
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def run_configured(
    conf: Config,
    path: Path,
    *,
    run_name: str | None = None,
    labels: Mapping[str, str] | None = None,
    workers: int | None = None,
    publish: bool = False,
    wait: float = 0.0,
) -> dict[str, Pass]:
    """Carry out one pass over the configured sources, as the flow `ingest` does; return what was done by source.

    A source that is missing or does not answer does not stop the others: its pass has a `fault`. With `publish` the
    warehouse is published if something was loaded or the published copy is out of date.

    Raises:
        UsageError, WarehouseError, WarehouseBusy: nothing was loaded.
        KeyboardInterrupt: after a line that says what is committed.
    """
    chosen = chosen_sources(conf, None, run_name, labels)
    by_source = {source.name: Pass() for source in chosen}
    seen: dict[str, Seen | None] = dict.fromkeys(by_source)
    for source in chosen:
        with faults_of(by_source[source.name]):
            seen[source.name] = look(source, Listings.beside(path))
    if not any(seen.values()):
        return by_source
    try:
        with remembered(), writing(path, wait=wait) as warehouse, _progress() as advance:

            def load_one(number: int, parsed: ParsedBatch, found: Seen, result: Pass, started_at: datetime) -> None:
                interrupts.check()
                result.add(load(warehouse, parsed, found.discovery.runs, started_at))

            def reach(done: int, total: int) -> None:
                advance(done, total, total_of(by_source))

            count = load_ready(warehouse, chosen, seen, by_source, partial(own_parsers, workers), load_one, reach)
            if publish and (count or not is_published(path)):
                warehouse.publish()
    except KeyboardInterrupt:
        _tell_committed(total_of(by_source))
        raise
    return by_source


def _tell_committed(summary: Summary) -> None:
    print(
        f"bufferhouse: committed before the interrupt: {summary.new} new, {summary.known} known, "
        f"{summary.rejected} rejected; the same command continues from there",
        file=sys.stderr,
    )


def _reparse(warehouse: Warehouse, summary: Summary, *, every: bool) -> None:
    from bufferhouse.warehouse.reparse import outdated, reparse

    def step(done: int, total: int) -> None:
        print(f"{done}/{counted(total, 'dump')} parsed again", file=sys.stderr)

    summary.unreadable += reparse(warehouse, outdated(warehouse.con, every=every), progress=step).refused


class _progress:
    """A bar on a terminal, one line a batch elsewhere; both on standard error."""

    def __enter__(self) -> Callable[[int, int, Summary], None]:
        self._bar = None
        return self._bar_step if sys.stderr.isatty() else self._line

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _line(self, done: int, total: int, summary: Summary) -> None:
        rejected = f", {summary.rejected} rejected" if summary.rejected else ""
        print(f"{done}/{counted(total, 'dump')}: {summary.new} new, {summary.known} known{rejected}", file=sys.stderr)

    def _bar_step(self, done: int, total: int, summary: Summary) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bar is None:
            self._bar = Progress(
                TextColumn("dumps"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                TextColumn("{task.description}"), console=Console(file=terminal(sys.stderr)), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, description=f"{summary.new} new, {summary.rejected} rejected")
