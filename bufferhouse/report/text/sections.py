"""Sections of a report, sentences and a table each: in Markdown, as JSON, on a page; `terminal_text` prints them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from urllib.parse import quote

from bufferhouse.errors import counted
from bufferhouse.query import format as tables
from bufferhouse.query.format import formatted
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.text.columns import Column, said
from bufferhouse.report.text.figures import printable

FORMATS = ("table", "markdown", "json")
_IN_ADDRESSES = ":/?#@!$&'*+,;=%~"  # nothing that ends a link of Markdown or a cell of a table


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, some lines, and a table of records.

    `name` is the id of the table on a page. The table shows those records of the answer `source` that
    equal `where`. The first `shown` rows are printed, and a line counts the others; None prints all.
    """

    title: str
    lines: Sequence[str] = ()
    columns: Sequence[Column] = ()
    records: Sequence[Record] = ()
    name: str = ""
    source: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    shown: int | None = None

    @property
    def printed(self) -> Sequence[Record]:
        """The records that are printed."""
        return self.records[: self.shown]

    @property
    def left(self) -> str:
        """The line about the rows that are not printed; empty if all are."""
        left = len(self.records) - len(self.printed)
        return f"{counted(left, 'more row')}: --format json has them" if left else ""


def markdown_text(title: str, sections: Sequence[Section], *, exact: bool = False) -> str:
    """Return a report in Markdown; `exact` writes all bytes to the byte."""
    return "\n\n".join([f"# {marked(title)}", *(_markdown(section, exact) for section in sections)])


def json_text(about: Mapping[str, Any], answers: Mapping[str, Answer]) -> str:
    """Return a report as one object: what it is about, and `answers` by the names of their statements.

    Each answer is a list of records; bytes and ids are numbers, times are text in ISO 8601.
    """
    return plain_json({**about, "answers": {name: answer.records for name, answer in answers.items()}})


def plain_json(found: Any) -> str:
    """Return an object as JSON; times are text in ISO 8601."""
    return tables.plain_json(found, _iso)


def marked(text: str) -> str:
    """Return Markdown that shows exactly this text. Bars in table cells are escaped later."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#&~" else char for char in printable(text))


def _markdown(section: Section, exact: bool) -> str:
    parts = [f"## {marked(section.title)}"] if section.title else []
    parts += map(marked, section.lines)
    if section.columns:
        rows = [[_cell(record, column, exact) for column in section.columns] for record in section.printed]
        table = formatted([marked(column.heading) for column in section.columns], rows, "markdown").split("\n")
        table[1] = f"| {' | '.join('---' if column.is_text else '---:' for column in section.columns)} |"
        parts += ["\n".join(table), *filter(None, [section.left])]
    return "\n\n".join(parts)


def _cell(record: Record, column: Column, exact: bool) -> str:
    cell = marked(said(record[column.name], column, exact=exact))
    address = record.get(column.link) if column.link else None
    return f"[{cell}]({quote(address, safe=_IN_ADDRESSES)})" if address else cell


def _iso(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a report")
