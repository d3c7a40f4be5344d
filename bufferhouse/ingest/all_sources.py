"""One pass over several sources, configured or named: the command line and the flow both walk it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from bufferhouse.config.load import FILE_NAME, Config
from bufferhouse.errors import SourceUnavailable, UsageError
from bufferhouse.ingest.arrivals import Arrivals
from bufferhouse.ingest.batching import InFlight, ReadBatch
from bufferhouse.ingest.claimed import read_batches
from bufferhouse.ingest.parsed_batches import parsed_batches
from bufferhouse.ingest.source import Pass, Seen, Source, choose, finish
from bufferhouse.ingest.workers import OpenParsers
from bufferhouse.tabulate.tables import ParsedBatch
from bufferhouse.warehouse.warehouse import Warehouse

# Takes the number of a batch, the batch, what was seen of its source, the figures to add to, and when it was begun.
LoadOne = Callable[[int, ParsedBatch, Seen, Pass, datetime], None]


def chosen_sources(
    conf: Config, names: Sequence[str] | None = None, run: str | None = None, labels: Mapping[str, str] | None = None
) -> list[Source]:
    """Return the configured sources of some names, all for None, and one source of all that is no such name.

    Raises:
        UsageError: none is named, and none is configured.
    """
    if names is None and not conf.sources:
        where = f" in {conf.path}" if conf.path else ""
        raise UsageError(f"expected sources, or [[sources]]{where or f' in a {FILE_NAME}'}; found none")
    named = conf.sources if names is None else [one for one in conf.sources if one["name"] in names]
    chosen = [Source.configured(one, map(conf.place, one["paths"])) for one in named]
    known = {source.name for source in chosen}
    paths = [name for name in names or () if name not in known]
    if paths:
        chosen.append(Source(", ".join(paths), paths))
    for source in chosen:
        source.run_name = run
        source.labels = {**source.labels, **(labels or {})}
    return chosen


@contextmanager
def faults_of(result: Pass) -> Iterator[None]:
    """Note what stops one source; what concerns the warehouse stops all."""
    try:
        yield
    except (UsageError, SourceUnavailable) as error:
        result.fault, result.error = str(error), error


def load_ready(
    writer: Warehouse,
    chosen: Sequence[Source],
    seen: Mapping[str, Seen | None],
    by_source: Mapping[str, Pass],
    open_parsers: OpenParsers,
    load_one: LoadOne,
    reach: Callable[[int, int], None],
) -> int:
    """Read, parse and load what is new and ready in all sources, batch by batch; return how many batches there were.

    The parsers say how many batches are parsed while the next ones are read; `load_one` loads them in their order, one
    at a time. `reach` hears how many of the ready dumps are done, and of how many. A source that was not seen is
    passed by.
    """
    work = []
    for source in chosen:
        found, result = seen[source.name], by_source[source.name]
        if found is not None:
            with faults_of(result):
                work.append((found, choose(writer, source, found, result), result))
    ready = [dump for _, arrivals, _ in work for dump in arrivals.ready]
    done = number = 0
    with open_parsers() as parsers:
        for begun, parsed in parsed_batches(writer, parsers, partial(_read_all, writer, work)):
            number = begun.number
            load_one(number, parsed, *begun.about, begun.started_at)
            done += len(begun.batch.sightings) + len(begun.batch.unreadable)
            reach(done, len(ready))
    return number


def _read_all(
    writer: Warehouse, work: Sequence[tuple[Seen, Arrivals, Pass]], in_flight: InFlight
) -> Iterator[tuple[ReadBatch, tuple[Seen, Pass]]]:
    """Yield the batches of all sources; a source that cannot be read further ends alone."""
    for found, arrivals, result in work:
        with faults_of(result):
            for batch in read_batches(writer, arrivals.ready, hold=arrivals.hold, in_flight=in_flight):
                result.unreadable += batch.unreadable
                yield batch, (found, result)
        finish(arrivals, result)


def total_of(by_source: Mapping[str, Pass]) -> Pass:
    """Return the figures of all sources together."""
    total = Pass()
    for one in by_source.values():
        total.include(one)
    return total
