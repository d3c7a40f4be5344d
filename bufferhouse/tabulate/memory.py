"""Python's collector of cycles, which is paused while millions of small objects are made (decision 0021)."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python's collector of cycles from running; also a decorator.

    For work that makes very many small objects, keeps them and makes no cycles: the collector would walk over all of
    them again and again, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_young() -> None:
    """Free cycles of young objects, while the collector is paused; older objects are not walked over."""
    gc.collect(1)
