"""Worker processes that parse: they inherit neither lock nor connection, and are gone when their parent is."""

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, parent_process

from bufferhouse.spawning import lean_context
from bufferhouse.trees import Found

SMALLEST_INPUT_BYTES = 24 << 20  # below it, starting processes costs more than they save


def worker_count(given: int | None, dumps: Iterable[Found]) -> int:
    """Return how many processes should parse what is new in `dumps`: 1 stands for none beside this one."""
    if given is not None:
        return max(given, 1)
    # Only contents are parsed, and files of one name and size nearly always repeat one.
    files = {(dump.relative_path.rsplit("/", 1)[-1], dump.size_bytes) for dump in dumps}
    sizes = [size for _, size in files]
    # One dump is one process's work: what counts is what the others have to do meanwhile.
    is_worth_it = sum(sizes) - max(sizes, default=0) >= SMALLEST_INPUT_BYTES
    return min(os.cpu_count() or 1, len(files)) if is_worth_it else 1


@contextmanager
def executor(workers: int) -> Iterator[Executor | None]:
    """Yield a pool of `workers` processes, None for one worker.

    Processes are spawned, not forked: a forked one would inherit locks and connections.
    """
    if workers < 2:
        yield None
        return
    with _Pool(workers, mp_context=lean_context(), initializer=_begin) as pool:
        try:
            yield pool
        except BaseException:
            # Nobody wants the rest: waiting for what is being parsed would keep Ctrl-C waiting.
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()
            raise


class _Pool(ProcessPoolExecutor):
    """Starts its processes at the first `submit`, deaf to Ctrl-C from their first instruction on."""

    def submit(self, *args, **kwargs):
        # A process that is being started inherits the mask; until `_begin` it would die of Ctrl-C with a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(*args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    # Ctrl-C is for the parent, which then ends its workers in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
