"""What Python and the C library do about memory where millions of small objects are made (decision 0021)."""

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_WORTH_BYTES = 8 << 20


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python's collector of cycles from running; also a decorator.

    For work that makes very many small objects at once, keeps them and makes no cycles: the collector would walk over
    all of them again and again, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_young() -> None:
    """Let go the cycles that were made since the collector was paused; it walks over nothing older."""
    gc.collect(1)


def give_back(text_bytes: int) -> None:
    """Give the system the memory back that parsing so much text has left, where it is much and the C library can.

    glibc keeps up to 64 MB that large lists have left, in pieces which fit nothing that comes after: DuckDB's tables.
    """
    if text_bytes >= _WORTH_BYTES and (trim := _malloc_trim()):
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
