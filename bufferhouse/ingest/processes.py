"""Worker processes that parse: they inherit neither lock nor connection, and are gone when their parent is."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, parent_process

from bufferhouse.ingest.spawning import lean_context


def worker_count(given: int | None) -> int:
    """Return how many processes should parse where that is worth it: 1 stands for none beside this one."""
    return max(given, 1) if given is not None else os.cpu_count() or 1


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
