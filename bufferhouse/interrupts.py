"""Ctrl-C that is not lost.

DuckDB tries imports (pandas at every parameter, pyarrow.dataset at the first Arrow table), and where Ctrl-C meets one
of them it takes the KeyboardInterrupt for a failed import and goes on. So it is remembered here, too, and long work
asks.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_came = False


@contextmanager
def remembered() -> Iterator[None]:
    """Remember a Ctrl-C that comes inside, for `check`; it raises KeyboardInterrupt at once, as ever.

    Does nothing where somebody else handles Ctrl-C, or outside the main thread.
    """
    global _came
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _came = False


def _remember(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt


def check() -> None:
    """Raise a KeyboardInterrupt that got lost on its way."""
    if _came:
        raise KeyboardInterrupt
