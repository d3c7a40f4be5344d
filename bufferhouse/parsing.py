"""Who parses the batches: this process, or others while the next batches are read and those before are loaded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from bufferhouse.contents import ParsedContents, parse_contents
from bufferhouse.identity import Content
from bufferhouse.trees import Found
from bufferhouse.workers import executor, worker_count

Work = list[tuple[Content, Mapping[str, bytes]]]
"""New contents with their bytes, all that parsing needs."""


class Parsers(NamedTuple):
    """Those who parse. `begin` takes the number of a batch and its work, and returns a function that waits for it.

    `ahead` is how many batches may have been begun and not waited for when the next one is read: 0 for one at a time.
    """

    begin: Callable[[int, Work], Callable[[], Sequence[ParsedContents]]]
    ahead: int


OpenParsers = Callable[[Sequence[Found]], AbstractContextManager[Parsers]]
"""Opens parsers for dumps, of which some are known contents."""

Parse = Callable[[int, Work, Executor | None, int], Sequence[ParsedContents]]
"""Parses the work of the batch with a number, by an executor of so many processes where there is one."""


def begin_work(work: Work, executor: Executor | None = None, workers: int = 1) -> Callable[[], list[ParsedContents]]:
    """Begin to parse contents; return a function that waits for them.

    `executor` shares the work out to its processes; what is not worth sharing is parsed here, when it is asked for.
    """
    if executor is None or len(work) < 2:
        return lambda: [parse_contents(work)]
    results = executor.map(parse_contents, _shares(work, workers))
    return lambda: list(results)


def parse_work(work: Work, executor: Executor | None = None, workers: int = 1) -> list[ParsedContents]:
    """Parse contents; `executor` shares the work out to its processes."""
    return begin_work(work, executor, workers)()


HERE = Parsers(lambda _number, work: begin_work(work), 0)
"""This process, when the contents are asked for."""


@contextmanager
def own_parsers(workers: int | None, dumps: Sequence[Found], *, parse: Parse | None = None) -> Iterator[Parsers]:
    """Yield this process, or a pool of others where the input is worth it or `workers` says so.

    A pool parses one batch ahead of the one that is waited for, unless `parse` wants to see each done.
    """
    count = worker_count(workers, dumps)
    with executor(count) as pool:

        def parsed(number: int, work: Work) -> Callable[[], Sequence[ParsedContents]]:
            results = parse(number, work, pool, count)
            return lambda: results

        if parse is not None:
            yield Parsers(parsed, 0)
        else:
            yield HERE if pool is None else Parsers(lambda _number, work: begin_work(work, pool, count), 1)


def _shares(work: Work, workers: int) -> list[Work]:
    """Deal the largest dumps first, each to the worker with the fewest bytes; in a share neighbours stay neighbours."""
    sizes = [sum(map(len, files.values())) for _, files in work]
    shares: list[list[int]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for number in sorted(range(len(work)), key=lambda number: -sizes[number]):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += sizes[number]
    return [[work[number] for number in sorted(share)] for share in shares if share]
