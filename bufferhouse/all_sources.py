"""One pass over several sources, configured or named: the command line and the flow both walk it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager

from bufferhouse.config import FILE_NAME, Config
from bufferhouse.errors import SourceUnavailable, UsageError
from bufferhouse.ingest import ReadBatch, read_batches
from bufferhouse.passes import Pass, Seen, Source, choose, finish
from bufferhouse.warehouse import Warehouse
from bufferhouse.workers import executor, worker_count

# Takes the number of a batch, the batch, what was seen of its source, the figures to add to, and a pool of workers.
LoadOne = Callable[[int, ReadBatch, Seen, Pass, tuple[Executor | None, int]], None]


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
    workers: int | None,
    load_one: LoadOne,
    reach: Callable[[int, int], None],
) -> int:
    """Read, parse and load what is new and ready in all sources, batch by batch; return how many batches there were.

    `load_one` parses and loads a batch, `reach` hears how many of the ready dumps are done, and of how many. A source
    that was not seen is passed by.
    """
    work = []
    for source in chosen:
        found, result = seen[source.name], by_source[source.name]
        if found is not None:
            with faults_of(result):
                work.append((found, choose(writer, source, found, result), result))
    ready = [dump for _, arrivals, _ in work for dump in arrivals.ready]
    count = worker_count(workers, ready)
    number = done = 0
    with executor(count) as pool:
        for found, arrivals, result in work:
            with faults_of(result):
                for batch in read_batches(writer, arrivals.ready, hold=arrivals.hold):
                    number += 1
                    result.unreadable += batch.unreadable
                    load_one(number, batch, found, result, (pool, count))
                    done += len(batch.sightings) + len(batch.unreadable)
                    reach(done, len(ready))
            finish(arrivals, result)
    return number


def total_of(by_source: Mapping[str, Pass]) -> Pass:
    """Return the figures of all sources together."""
    total = Pass()
    for one in by_source.values():
        total.include(one)
    return total
