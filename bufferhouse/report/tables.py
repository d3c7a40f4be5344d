"""Tables of a page: they sort and search where scripts run, and are all there where none do.

A short table has all its rows in the page: `html_table`. A long one has its first rows there, and the others come
from an embedded answer when somebody asks: `answer_table`.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bufferhouse.report.answers import Record
from bufferhouse.report.figures import exact_bytes, human_bytes, printable
from bufferhouse.report.page import text

NAME_LENGTH = 60  # characters
FIRST_ROWS = 25  # of an answer, in the page itself


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer, as a table shows it.

    `kind` is text, bytes, change (bytes with a sign), count or share (0 to 1).
    """

    name: str
    heading: str
    kind: str = "text"
    limit: int = NAME_LENGTH  # characters of a text, whose middle is left out


def html_table(
    headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], caption: str = "", texts: int = 1
) -> str:
    """Return a table; headings are HTML, a row is its name as text and its cells as HTML.

    The first `texts` columns hold text, the others numbers. What a cell is sorted by is its text, or its `data-key`.
    """
    kinds = [' class="text"'] * texts + [""] * (len(headings) - texts)
    head = "".join(f'<th scope="col"{kind}>{heading}</th>' for heading, kind in zip(headings, kinds, strict=True))
    body = "\n".join(
        f'<tr><th scope="row" class="text" title="{html.escape(printable(name))}">{text(name, NAME_LENGTH)}</th>'
        f"{''.join(cells)}</tr>"
        for name, cells in rows
    )
    return _framed(head, body, caption)


def bytes_cell(count: int | None, *, signed: bool = False, way: str = "") -> str:
    """Return a cell with bytes: readable, exact when pointed at, sorted by the figure; `way` is a class."""
    if count is None:
        return '<td class="soft">–</td>'
    shown, exact = human_bytes(count, signed=signed), exact_bytes(count, signed=signed)
    title = f' title="{exact}"' if exact != shown else ""
    kind = f' class="{way}"' if way else ""
    return f'<td{kind} data-key="{count}"{title}>{shown}</td>'


def answer_table(name: str, columns: Sequence[Column], records: Sequence[Record], caption: str = "") -> str:
    """Return the table `name` with the first rows of an answer; `answer_source` says where the others are."""
    kinds = [' class="text"' if column.kind == "text" else "" for column in columns]
    head = "".join(
        f'<th scope="col"{kind}>{html.escape(column.heading)}</th>' for column, kind in zip(columns, kinds, strict=True)
    )
    body = "\n".join(
        f"<tr>{''.join(_cell(record[column.name], column, place == 0) for place, column in enumerate(columns))}</tr>"
        for record in records[:FIRST_ROWS]
    )
    return _framed(head, body, caption, f' id="{name}"')


def answer_source(columns: Sequence[Column], source: str, where: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what `page` has to know of an answer table: the rows of answer `source` that equal `where`."""
    listed = [{"column": column.name, "kind": column.kind, "limit": column.limit} for column in columns]
    return {"source": source, "where": where or {}, "columns": listed}


def _cell(value: Any, column: Column, is_first: bool) -> str:
    tag, scope = ("th", ' scope="row"') if is_first else ("td", "")
    kind = ["text"] * (column.kind == "text") + ["soft"] * (value is None)
    attributes = scope + (f' class="{" ".join(kind)}"' if kind else "")
    if value is None:
        return f"<{tag}{attributes}>–</{tag}>"
    shown, exact = _said(value, column)
    if exact and exact != shown:
        attributes += f' title="{html.escape(exact)}"'
    inside = f"<bdi>{html.escape(shown)}</bdi>" if column.kind == "text" else shown
    return f"<{tag}{attributes}>{inside}</{tag}>"


def _said(value: Any, column: Column) -> tuple[str, str]:
    """Return what a cell shows and what it says when pointed at. The same as CELLS in assets/tables.js."""
    if column.kind == "text":
        return printable(value, column.limit), printable(value)
    if column.kind in ("bytes", "change"):
        signed = column.kind == "change"
        return human_bytes(value, signed=signed), exact_bytes(value, signed=signed)
    return (f"{value:.1%}" if column.kind == "share" else f"{value:,}"), ""


def _framed(head: str, body: str, caption: str, attributes: str = "") -> str:
    about = f"<caption>{caption}</caption>" if caption else ""
    table = f"<table{attributes}>{about}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'  # the keyboard can scroll what has the focus
