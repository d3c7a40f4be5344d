"""Sizes as XLA prints them in messages: binary units, rounded.

libtpu prints them as `tsl::strings::HumanReadableNumBytes` does, which divides by 1024 in whole numbers while there is
another unit, and rounds only what is left: 17.345 GiB is `17.34G`.
"""

import re
from dataclasses import dataclass

# No figure is longer, and Python reads no number of any length.
SIZE = r"[0-9]{1,20}(?:\.[0-9]{1,9})?[KMGTPE](?:i?B)?|[0-9]{1,20}B?"
_PARTS = re.compile(r"(?P<number>[0-9]+)(?:\.(?P<decimals>[0-9]+))?(?P<unit>[KMGTPE]?)(?P<is_long>i?B)?")
_UNITS = "KMGTPE"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a message: its name, how it is printed, and its exact bytes where the message prints them."""

    name: str
    printed: str
    size_bytes: int | None = None


def printed(size_bytes: int) -> str:
    """Return a size as `HumanReadableNumBytes` prints it: `512B`, `30.0K`, `19.07G`."""
    if size_bytes < 1024:
        return f"{size_bytes}B"
    left, unit = size_bytes, 0
    while left >= 1 << 20:
        left, unit = left >> 10, unit + 1
    return f"{left / 1024:.{1 if unit == 0 else 2}f}{_UNITS[unit]}"


def shows(text: str, size_bytes: int) -> bool:
    """Return whether a printed size may stand for these bytes: as libtpu prints them, or rounded as `1.50GiB` is."""
    if text == printed(size_bytes):
        return True
    low, high = range_of(text)
    return _PARTS.fullmatch(text)["is_long"] is not None and low <= size_bytes <= high


def bytes_shown(text: str) -> tuple[int, int] | None:
    """Return the fewest and the most bytes of which `shows` is true; None where it is true of none.

    Of one unit all bytes between the two are printed so: a statement of SQL can compare with the range.

    Raises:
        ValueError: it is no size.
    """
    shown, scale, unit = _taken(text)
    parts = _PARTS.fullmatch(text)
    if parts["is_long"] is not None:
        return range_of(text)
    if unit == 1:
        return None  # bytes are printed with a B
    decimals = len(parts["decimals"] or "")
    shift = unit.bit_length() - 11  # what is divided by 1024 in whole numbers before it is printed
    near = range(max((shown - 1) * 1024 // scale, 1024), min((shown + 1) * 1024 // scale + 1, (1 << 20) - 1) + 1)
    lefts = [left for left in near if decimals == 1 + (shift > 0) and text == f"{left / 1024:.{decimals}f}{text[-1]}"]
    return (lefts[0] << shift, ((lefts[-1] + 1) << shift) - 1) if lefts else None


def range_of(text: str) -> tuple[int, int]:
    """Return the fewest and the most bytes that are printed so.

    Raises:
        ValueError: it is no size.
    """
    shown, scale, unit = _taken(text)
    if unit == 1:
        return shown, shown
    # Half a digit below; above half a digit, and what is cut off in whole numbers on the way.
    low, high = -((1 - 2 * shown) * unit // (2 * scale)), (2 * shown + 1) * unit // (2 * scale)
    return max(low, 0), high + unit // 1024


def nominal(text: str) -> int:
    """Return the bytes that a printed size names: 270,532,608 for `258.00M`, one of many that are printed so.

    Raises:
        ValueError: as `range_of`.
    """
    shown, scale, unit = _taken(text)
    return shown * unit // scale


def _taken(text: str) -> tuple[int, int, int]:
    """Return the digits of a size as one number, by what it is to be divided, and the bytes of its unit."""
    parts = _PARTS.fullmatch(text)
    if parts is None or (parts["decimals"] and not parts["unit"]):
        raise ValueError(f"expected a size such as 19.07G, found {text!r}")
    decimals = parts["decimals"] or ""
    unit = 1 << 10 * (_UNITS.index(parts["unit"]) + 1) if parts["unit"] else 1
    return int(parts["number"] + decimals), 10 ** len(decimals), unit
