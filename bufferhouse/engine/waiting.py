"""Try again what does not succeed at once."""

import time
from collections.abc import Iterator


def tries(seconds: float, pause: float = 0.05, longest_pause: float | None = None) -> Iterator[bool]:
    """Yield before each try whether it is the last one: the first at once, and others until `seconds` are over.

    Whoever succeeds leaves the loop. `pause` is the time between two tries; it grows up to `longest_pause`.
    """
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        yield is_last
        if is_last:
            return
        time.sleep(pause)
        pause = min(pause * 1.5, longest_pause or pause)
