"""Columns of an answer and the text of their cells: the same on a page, on a terminal and in Markdown."""

from dataclasses import dataclass
from typing import Any

from bufferhouse.report.text.figures import bytes_form, percent, printable

NAME_LENGTH = 60  # characters


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer, as a table shows it.

    `kind` is text, bytes, change (bytes with a sign), count, share (0 to 1) or figure (a number that is text already;
    not on pages). A narrow terminal leaves out the columns of the highest `rank` first, and those of rank 0 never:
    columns that identify a row are of rank 0. It cuts a text with `is_whole` only when no other column can be left out,
    and breaks one with `is_prose` into lines.
    In a site and in Markdown a cell leads to the address that the record has in its column `link`, if any.
    """

    name: str
    heading: str
    kind: str = "text"
    limit: int = NAME_LENGTH  # characters of a text, whose middle is left out
    rank: int = 0
    is_whole: bool = False
    is_prose: bool = False
    link: str = ""

    @property
    def is_text(self) -> bool:
        """Whether its cells are aligned to the left."""
        return self.kind == "text"


def said(value: Any, column: Column, *, exact: bool = False) -> str:
    """Return the text of a cell, uncut; `exact` writes bytes to the byte."""
    if value is None:
        return "–"
    if column.kind in ("text", "figure"):
        return printable(str(value))
    if column.kind in ("bytes", "change"):
        return bytes_form(exact=exact)(value, signed=column.kind == "change")
    return percent(value) if column.kind == "share" else f"{value:,}"
