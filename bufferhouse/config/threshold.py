"""The threshold from which a change is shown first or refused: see docs/relevance.md."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bufferhouse.errors import UsageError

METRICS = ("reserved", "occupied", "temp", "footprint")  # runs are compared by one of these sizes
RESHAPED_MODES = ("fail", "warn", "ignore")  # what a gate makes of the growth of reshaped programs
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_SHARE = re.compile(rf"{_NUMBER}\s*%")
_SIZE = re.compile(rf"{_NUMBER}\s*({'|'.join(_UNITS)})")


class Threshold(NamedTuple):
    """A change counts if it is at least `share` of the bytes before (0 to 1), and at least `size_bytes`."""

    share: float
    size_bytes: int

    def is_crossed(self, before_bytes: int, delta_bytes: int) -> bool:
        """Return whether a change counts, up or down; from 0 bytes on, any share is reached."""
        # The share as it was written: as a float 0.07 * 100 is more than 7.
        return abs(delta_bytes) >= max(Fraction(repr(self.share)) * before_bytes, self.size_bytes, 1)

    def __str__(self) -> str:
        return self.said()

    def said(self, *, exact: bool = False) -> str:
        """Return the text of the threshold; `exact` writes bytes to the byte."""
        units = ["B"] if exact else [*reversed(_UNITS)]
        unit = next(unit for unit in units if self.size_bytes % _UNITS[unit] == 0 or unit == "B")
        size = [f"{self.size_bytes // _UNITS[unit]:,} {unit}"] if self.size_bytes else []
        return " and ".join([*([f"{self.share * 100:g} %"] if self.share else []), *size]) or "1 B"


RELEVANT = Threshold(0.01, 2**20)
LIMIT = "a limit such as 5%, 16MiB or 5%,16MiB"


def parse_threshold(text: str, option: str = "") -> Threshold:
    """Return the threshold of a text such as `5%`, `16MiB` or `5%,16MiB`; with both, both must be reached.

    The message about another text names the `option` that it was given to.

    Raises:
        UsageError: the text is not a threshold.
    """
    share = size = None
    for part in text.split(","):
        if share is None and (found := _SHARE.fullmatch(part.strip())):
            share = float(Decimal(found[1]) / 100)
        elif size is None and (found := _SIZE.fullmatch(part.strip())):
            size = int(Decimal(found[1]) * _UNITS[found[2]])
        else:
            place = f"{option}: " if option else ""
            raise UsageError(f"{place}expected {LIMIT}, found {text!r}")
    return Threshold(share or 0.0, size or 0)


def parse_share(text: str, option: str) -> float:
    """Return the share of a text such as `5%`, from 0 to 1, which was given to an `option`.

    Raises:
        UsageError: the text is no share.
    """
    found = _SHARE.fullmatch(text.strip())
    if found is None or float(found[1]) >= 100:
        raise UsageError(f"{option}: expected a share such as 5%, found {text!r}")
    return float(Decimal(found[1]) / 100)
