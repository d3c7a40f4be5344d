"""Memory that the C library keeps after it was freed, and how it goes back to the system."""

import ctypes
from collections.abc import Callable
from functools import cache

_WORTH_BYTES = 8 << 20


def give_back(text_bytes: int) -> None:
    """Give back what parsing so much text has left, where it is much and the C library can.

    glibc keeps up to 64 MB that large lists have left, in pieces which fit nothing that comes after: DuckDB's tables.
    """
    if text_bytes >= _WORTH_BYTES and (trim := _malloc_trim()):
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
