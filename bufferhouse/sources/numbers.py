"""Whole numbers as people give them: in a file, on the command line, in the environment."""

import os
from contextlib import suppress

from bufferhouse.errors import UsageError

LARGEST_NUMBER = 2**63 - 1


def whole_number(text: str, where: str) -> int:
    """Return the number a text stands for.

    Raises:
        UsageError: it is none from 0 to 2^63 - 1; `where` says whose it is.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_NUMBER):
        raise UsageError(f"{where}: expected a number, found {text!r}")
    return int(text)


def given_number(variable: str, usual: int) -> int:
    """Return the number in a variable of the environment; where it is not set, or empty, the usual one.

    Raises:
        UsageError: what it holds is no number of at least 1.
    """
    text = os.environ.get(variable)
    if not text:
        return usual
    with suppress(UsageError):
        if number := whole_number(text, variable):
            return number
    raise UsageError(f"${variable}: expected a number of at least 1, found {text!r}")
