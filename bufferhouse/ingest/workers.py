"""Who parses the batches: this process, or others while the next batches are read and those before are loaded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from bufferhouse.dump.identity import Content
from bufferhouse.ingest.processes import executor, worker_count
from bufferhouse.tabulate.contents import ParsedContents, parse_contents

# Of new text. Below it processes are not worth their start and the memory they hold: with 39 MB, on two cores of which
# building models uses both, they save 8 % by the clock and take a sixth more of the processor.
SMALLEST_INPUT_BYTES = 64 << 20

Work = list[tuple[Content, Mapping[str, bytes]]]
"""New contents with their bytes, all that parsing needs."""


@dataclass(slots=True)
class Parsers:
    """Those who parse. `begin` takes the number of a batch and its work, and returns a function that waits for it.

    `ahead` is how many batches may have been begun and not waited for when the next one is read: 0 for one at a time.
    Both may be others after a batch was begun: then there was so much to do that others parse from that batch on.
    """

    begin: Callable[[int, Work], Callable[[], Sequence[ParsedContents]]]
    ahead: int


OpenParsers = Callable[[], AbstractContextManager[Parsers]]
"""Opens parsers for some batches."""

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


def once_worth_it(here: Parsers, open_others: Callable[[], Parsers]) -> Parsers:
    """Return parsers that are `here` until there was so much new text that it is worth opening others.

    How much is new nobody knows before it was read: most files of a fleet repeat a content.
    """
    total = largest = 0

    def begin(number: int, work: Work) -> Callable[[], Sequence[ParsedContents]]:
        nonlocal total, largest
        sizes = _sizes(work)
        total += sum(sizes)
        largest = max([largest, *sizes])
        # One dump is one process's work: what counts is what the others have to do meanwhile.
        if total - largest < SMALLEST_INPUT_BYTES:
            return here.begin(number, work)
        others = open_others()
        parsers.begin, parsers.ahead = others.begin, others.ahead
        return parsers.begin(number, work)

    parsers = Parsers(begin, here.ahead)
    return parsers


@contextmanager
def own_parsers(workers: int | None, *, parse: Parse | None = None) -> Iterator[Parsers]:
    """Yield a pool of `workers` processes, this process for one; for None this one, and a pool once that is worth it.

    A pool parses one batch ahead of the one that is waited for, unless `parse` wants to see each done.
    """
    count = worker_count(workers)

    def parsers(pool: Executor | None) -> Parsers:
        if parse is not None:
            return Parsers(lambda number, work: partial(parse, number, work, pool, count), 0)
        return HERE if pool is None else Parsers(lambda _number, work: begin_work(work, pool, count), 1)

    with ExitStack() as stack:

        def open_pool() -> Parsers:
            return parsers(stack.enter_context(executor(count)))

        yield open_pool() if workers is not None else once_worth_it(parsers(None), open_pool)


def _sizes(work: Work) -> list[int]:
    return [sum(map(len, files.values())) for _, files in work]


def _shares(work: Work, workers: int) -> list[Work]:
    """Deal the largest dumps first, each to the worker with the fewest bytes; in a share neighbours stay neighbours."""
    sizes = _sizes(work)
    shares: list[list[int]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for number in sorted(range(len(work)), key=lambda number: -sizes[number]):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += sizes[number]
    return [[work[number] for number in sorted(share)] for share in shares if share]
