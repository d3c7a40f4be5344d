"""Which changes are shown first. Every byte is a fact; this decides about attention alone. See docs/relevance.md."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bufferhouse.errors import UsageError

METRICS = ("reserved", "occupied", "temp", "footprint")  # by which sizes runs are compared
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_SHARE = re.compile(rf"{_NUMBER}\s*%")
_SIZE = re.compile(rf"{_NUMBER}\s*({'|'.join(_UNITS)})")


class Threshold(NamedTuple):
    """A change counts if it is at least `share` of the bytes before (0 to 1), and at least `size_bytes`."""

    share: float
    size_bytes: int

    def is_crossed(self, before_bytes: int, delta_bytes: int) -> bool:
        """Return whether a change counts, whichever way it goes; from nothing, any share is reached."""
        # As it was written: 0.07 * 100 is more than 7 as a float, and a byte is a fact.
        return abs(delta_bytes) >= max(Fraction(repr(self.share)) * before_bytes, self.size_bytes, 1)

    def __str__(self) -> str:
        return self.said()

    def said(self, *, exact: bool = False) -> str:
        """Return the threshold as a person reads it; `exact` writes bytes to the byte."""
        units = ["B"] if exact else [*reversed(_UNITS)]
        unit = next(unit for unit in units if self.size_bytes % _UNITS[unit] == 0 or unit == "B")
        size = [f"{self.size_bytes // _UNITS[unit]:,} {unit}"] if self.size_bytes else []
        return ", ".join([*([f"{self.share * 100:g} %"] if self.share or not size else []), *size])


RELEVANT = Threshold(0.01, 2**20)


def parse_threshold(text: str) -> Threshold:
    """Return the threshold that a word such as `5%`, `16MiB` or `5%,16MiB` means; with both, both must be reached.

    Raises:
        UsageError: it is none.
    """
    share, size = 0.0, 0
    for part in text.split(","):
        if found := _SHARE.fullmatch(part.strip()):
            share = float(Decimal(found[1]) / 100)
        elif found := _SIZE.fullmatch(part.strip()):
            size = int(Decimal(found[1]) * _UNITS[found[2]])
        else:
            raise UsageError(f"expected a limit such as 5%, 16MiB or 5%,16MiB, found {text!r}")
    return Threshold(share, size)
