"""The rows of the first table: a work, what it took, its reference in the same run, and the target."""

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.turns import Spent

HEAD = "| work | ours | reference | figure | target | met |\n|---|---|---|---|---|---|"


class Row(NamedTuple):
    """A row of the table. `is_met` None is a row without a target; `bound` says what keeps it from its target."""

    work: str
    ours: str
    reference: str
    figure: str
    target: str
    is_met: bool | None
    bound: str = ""


def as_table(rows: Iterable[Row]) -> str:
    """Return rows as Markdown."""
    return "\n".join([HEAD, *(line(row) for row in rows)])


def line(row: Row) -> str:
    """Return a row as a line of the table."""
    met = {True: "yes", False: "**no**", None: ""}[row.is_met]
    if row.bound and not row.is_met:
        met += f": {row.bound}"
    return f"| {row.work} | {row.ours} | {row.reference} | {row.figure} | {row.target} | {met} |"


def times(found: Spent) -> str:
    """Return seconds by the clock, and of the processor in parentheses."""
    return f"{_rounded(found.seconds)} s ({_rounded(found.processor)} s)"


def factor(found: Spent) -> str:
    """Return a ratio by the clock, and of processor seconds in parentheses."""
    return f"{found.seconds:.2f}× ({found.processor:.2f}×)"


def _rounded(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"
