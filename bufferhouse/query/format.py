"""Rows as text: for a terminal, for other programs, for documents."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from bufferhouse.redaction import printable

FORMATS = ("table", "csv", "json", "markdown")


def formatted(columns: Sequence[str], rows: Sequence[Sequence], form: str) -> str:
    """Return rows in one of FORMATS, without a line feed behind the last line."""
    return {"table": _table, "csv": _csv, "json": _json, "markdown": _markdown}[form](columns, rows)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value)


def _table(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    cells = [[printable(_cell(value)) for value in row] for row in rows]
    columns = [printable(name) for name in columns]
    widths = [max([_width(name), *(_width(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    is_number = [
        bool(rows) and all(isinstance(row[i], int | float | None) and not isinstance(row[i], bool) for row in rows)
        for i in range(len(columns))
    ]

    def line(parts: Sequence[str]) -> str:
        return "  ".join(
            " " * (width - _width(part)) + part if number else part + " " * (width - _width(part))
            for part, width, number in zip(parts, widths, is_number, strict=True)
        ).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, cells)])


def _width(text: str) -> int:
    """Return the cells of a terminal that a text takes; some letters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # as reports measure it; most answers need none

    return cell_len(text)


def _csv(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue().rstrip("\n")


def _json(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    def plain(value: object) -> object:
        if isinstance(value, datetime | date):
            return value.isoformat()
        if isinstance(value, bytes):
            return value.hex()
        return value if isinstance(value, int | float | str | list | dict | None) else str(value)

    return plain_json([dict(zip(columns, map(plain, row), strict=True)) for row in rows])


def plain_json(found: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Return an object as JSON whose text is readable; what is not printable stands there as an escape of JSON."""
    written = json.dumps(found, indent=1, ensure_ascii=False, default=default)
    return "\n".join(line if line.isprintable() else _escaped(line) for line in written.split("\n"))


def _escaped(line: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _markdown(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    def line(parts: Sequence[str]) -> str:
        return "| " + " | ".join(printable(part.replace("|", "\\|").replace("\n", " ")) for part in parts) + " |"

    return "\n".join([line(columns), line(["---"] * len(columns)), *(line([_cell(v) for v in row]) for row in rows)])
