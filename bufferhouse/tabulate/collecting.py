"""Python's collector of cycles, and when it only costs."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the collector from running; also a decorator.

    For work that makes very many small objects at once, keeps them and makes no cycles: the collector would walk over
    all of them again and again, a third of the time, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
