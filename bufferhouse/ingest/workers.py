"""Who parses new contents: this process, and others beside it from when there is so much that they are worth it."""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from queue import SimpleQueue
from typing import BinaryIO, Protocol, Self

from bufferhouse.paths import CHECKOUT
from bufferhouse.tabulate.contents import ParsedContents, Work, parse_contents

# Of new text. Below it processes are not worth their start and the memory they hold: with 39 MB, on two cores of which
# building models uses both, they save 8 % by the clock and take a sixth more of the processor.
WORTH_BYTES = 64 << 20


class Pending(Protocol):
    """Contents that are being parsed, or will be when somebody asks for them."""

    def result(self) -> Sequence[ParsedContents]:
        """Wait for them."""


class Pool(Protocol):
    """Those beside this process who parse. `ahead`: how many batches they parse while the one before them is loaded."""

    ahead: int

    def begin(self, number: int, work: Work) -> Pending:
        """Begin to parse the batch with a number."""


class Workers(AbstractContextManager):
    """Who parses the batches: this process, and from when they have `worth_bytes` of new text those of a pool.

    How much is new nobody knows before it was read: most files of a fleet repeat a content.
    """

    def __init__(
        self, open_pool: Callable[[], AbstractContextManager[Pool]] | None = None, worth_bytes: int = 0
    ) -> None:
        self.open_pool = open_pool
        self.worth_bytes = worth_bytes
        self.pool: Pool | None = None
        self._new_bytes = self._largest = 0
        self._stack = ExitStack()

    @classmethod
    def counted(
        cls, count: int | None, open_pool: "Callable[[int], AbstractContextManager[Pool]] | None" = None
    ) -> Self:
        """Return a pool of `count` workers, this process alone for 1; for None one for each core, once worth it."""
        number = count or os.cpu_count() or 1
        if number == 1:
            return cls()
        return cls(partial(open_pool or Processes, number), 0 if count else WORTH_BYTES)

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)

    @property
    def ahead(self) -> int:
        """How many batches may have been begun and not waited for when the next one is read."""
        return self.pool.ahead if self.pool else 0

    def begin(self, number: int, work: Work) -> Pending:
        """Begin to parse the batch with a number."""
        if self.pool is None and self.open_pool is not None and self._is_worth_it(work):
            self.pool = self._stack.enter_context(self.open_pool())
        return self.pool.begin(number, work) if self.pool else Here(work)

    def _is_worth_it(self, work: Work) -> bool:
        sizes = sizes_of(work)
        self._new_bytes += sum(sizes)
        self._largest = max([self._largest, *sizes])
        # One dump is one process's work: what counts is what the others have to do meanwhile.
        return self._new_bytes - self._largest >= self.worth_bytes


class Here:
    """Contents that this process parses when somebody asks for them."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def result(self) -> list[ParsedContents]:
        """Parse them."""
        return [parse_contents(self.work)]


class Processes:
    """A pool of processes that parse one batch while the one before it is loaded.

    Each is a Python of its own, which is told what to parse on its standard input and answers on its standard output.
    So it inherits neither lock nor connection, hears no Ctrl-C, imports nothing that it does not need, and ends when
    its input does: however this process ends, none is left.
    """

    ahead = 1

    def __init__(self, count: int) -> None:
        self.processes = [_started() for _ in range(count)]
        self._idle: SimpleQueue[subprocess.Popen] = SimpleQueue()
        for process in self.processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._threads.shutdown(wait=kind is None, cancel_futures=True)
        for process in self.processes:
            if kind is not None:
                process.kill()  # nobody wants the rest: to wait for what is being parsed would keep Ctrl-C waiting
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
        self._threads.shutdown()
        for process in self.processes:
            process.stdout.close()

    def begin(self, number: int, work: Work) -> Pending:
        """Begin to parse the batch with a number, shared out to all processes; one content is not worth sending."""
        if len(work) < 2:
            return Here(work)
        return _Shares([self._threads.submit(self.parse, share) for share in shares(work, len(self.processes))])

    def parse(self, work: Work) -> ParsedContents:
        """Let a process that has nothing else to do parse contents.

        Raises:
            ChildProcessError: it has ended; the operating system may have had no memory for it.
        """
        process = self._idle.get()
        try:
            pickle.dump(work, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise ChildProcessError(
                f"expected parsed dumps from worker process {process.pid}, found its end, exit code {process.wait()}; "
                "was it killed for its memory? ingest again with --workers 1"
            ) from error
        finally:
            self._idle.put(process)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class _Shares:
    def __init__(self, futures: Sequence[Future[ParsedContents]]) -> None:
        self.futures = futures

    def result(self) -> list[ParsedContents]:
        return [future.result() for future in self.futures]


def shares(work: Work, count: int) -> list[Work]:
    """Deal the largest dumps first, each to whom has the fewest bytes; in a share neighbours stay neighbours."""
    sizes = sizes_of(work)
    dealt: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for number in sorted(range(len(work)), key=lambda number: -sizes[number]):
        least = loads.index(min(loads))
        dealt[least].append(number)
        loads[least] += sizes[number]
    return [[work[number] for number in sorted(share)] for share in dealt if share]


def sizes_of(work: Work) -> list[int]:
    """Return the bytes of each content."""
    return [sum(map(len, files.values())) for _, files in work]


def _started() -> subprocess.Popen:
    # From the checkout, so that Python finds there what it is to run; in a group of its own, which Ctrl-C leaves alone.
    return subprocess.Popen(
        [sys.executable, "-m", "bufferhouse.ingest.workers"],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )


def _work() -> None:
    """Parse what comes on standard input, until it ends; answer on standard output, where nobody else may write."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    waiting: SimpleQueue[Work] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, waiting), daemon=True).start()
    while True:
        try:
            answer = parse_contents(waiting.get())
        except Exception as error:
            answer = error
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _listen(orders: BinaryIO, waiting: SimpleQueue) -> None:
    try:
        while True:
            waiting.put(pickle.load(orders))
    finally:  # at the end, or in the middle of an order: who gave them is gone, and whoever wants what is being parsed
        os._exit(0)


if __name__ == "__main__":
    _work()
