"""Tables of a page. Scripts add sorting and search; without scripts the tables are complete.

`html_table` writes a short table, with all rows in the page. `answer_table` writes a long one: the page has its first
rows, and the script takes the others from an embedded answer on demand.
"""

import html
from collections.abc import Sequence
from typing import Any

from bufferhouse.query.statements import Record
from bufferhouse.report.html.page import text
from bufferhouse.report.text.columns import NAME_LENGTH, Column, said
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable

FIRST_ROWS = 25  # of an answer, in the page itself


def html_table(
    label: str,
    headings: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    caption: str = "",
    texts: int = 1,
    last_texts: int = 0,
) -> str:
    """Return a table; headings are HTML, a row is its name as text and its cells as HTML.

    `label` names the table for screen readers. The first `texts` columns and the last `last_texts` hold text,
    the others numbers. A cell is sorted by its `data-key`, else by its text.
    """
    kinds = [' class="text"'] * texts + [""] * (len(headings) - texts - last_texts) + [' class="text"'] * last_texts
    head = "".join(f'<th scope="col"{kind}>{heading}</th>' for heading, kind in zip(headings, kinds, strict=True))
    body = "\n".join(
        f'<tr><th scope="row" class="text" title="{html.escape(printable(name))}">{text(name, NAME_LENGTH)}</th>'
        f"{''.join(cells)}</tr>"
        for name, cells in rows
    )
    return _framed(label, head, body, caption)


def bytes_cell(count: int | None, *, signed: bool = False, way: str = "") -> str:
    """Return a cell with bytes: readable, exact when pointed at, sorted by the figure; `way` is a class."""
    if count is None:
        return '<td class="soft">–</td>'
    shown, exact = human_bytes(count, signed=signed), exact_bytes(count, signed=signed)
    title = f' title="{exact}"' if exact != shown else ""
    kind = f' class="{way}"' if way else ""
    return f'<td{kind} data-key="{count}"{title}>{shown}</td>'


def answer_table(
    name: str,
    label: str,
    columns: Sequence[Column],
    records: Sequence[Record],
    caption: str = "",
    first: int | None = FIRST_ROWS,
) -> str:
    """Return the table `name` with the first rows of an answer; `answer_source` says where the others are.

    `label` names the table for screen readers. Without a source all rows have to be in the page: `first` is None.
    """
    kinds = [' class="text"' if column.is_text else "" for column in columns]
    head = "".join(
        f'<th scope="col"{kind}>{html.escape(column.heading)}</th>' for column, kind in zip(columns, kinds, strict=True)
    )
    rows = [
        [_cell(record[column.name], column, i == 0, first is None) for i, column in enumerate(columns)]
        for record in records[:first]
    ]
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return _framed(label, head, body, caption, f' id="{html.escape(name)}"')


def answer_source(columns: Sequence[Column], source: str, where: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the description of an answer table for `page`: the rows of answer `source` that equal `where`."""
    listed = [{"column": column.name, "kind": column.kind, "limit": column.limit} for column in columns]
    return {"source": source, "where": where or {}, "columns": listed}


def _cell(value: Any, column: Column, is_first: bool, is_keyed: bool) -> str:
    tag, scope = ("th", ' scope="row"') if is_first else ("td", "")
    kind = ["text"] * column.is_text + ["soft"] * (value is None)
    if column.kind == "change" and value:
        kind.append("rise" if value > 0 else "fall")
    attributes = scope + (f' class="{" ".join(kind)}"' if kind else "")
    if value is None:
        return f"<{tag}{attributes}>–</{tag}>"
    shown, exact = _said(value, column)
    if is_keyed and not column.is_text:
        attributes += f' data-key="{value}"'  # what the script sorts by, which knows no answer
    if exact and exact != shown:
        attributes += f' title="{html.escape(exact)}"'
    inside = f"<bdi>{html.escape(shown)}</bdi>" if column.is_text else shown
    return f"<{tag}{attributes}>{inside}</{tag}>"


def _said(value: Any, column: Column) -> tuple[str, str]:
    """Return the text of a cell and its tooltip; equal to CELLS in assets/tables.js."""
    if column.is_text:
        return printable(str(value), column.limit), said(value, column)
    exact = said(value, column, exact=True) if column.kind in ("bytes", "change") else ""
    return said(value, column), exact


def _framed(label: str, head: str, body: str, caption: str, attributes: str = "") -> str:
    about = f"<caption>{caption}</caption>" if caption else ""
    said = f' aria-label="{html.escape(printable(label))}"'
    table = f"<table{attributes}{said}>{about}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    # The keyboard can scroll what has the focus.
    return f'<div class="wide" tabindex="0" role="region"{said}>{table}</div>'
