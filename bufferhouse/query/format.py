"""Rows as text: for a terminal, for other programs, for documents."""

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from bufferhouse.redaction import lines, printable

FORMATS = ("table", "csv", "json", "markdown")
# What Markdown takes for emphasis, code, an escape, a tag or an entity; underscores within a word it leaves alone.
_MARKS = re.compile(r"[\\`*<~]|\](?=\()|&(?=#?\w)|(?<![^\W_])_|_(?![^\W_])")
_IN_QUOTES = re.compile(r'[",\r\n]')  # what CSV has in quotes only
_PLAN = ("explain_key", "explain_value")  # the columns of EXPLAIN


def formatted(columns: Sequence[str], rows: Sequence[Sequence], form: str) -> str:
    """Return rows in one of FORMATS, without a line feed behind the last line; texts may be Markdown."""
    return {"table": _table, "csv": _csv, "json": _json, "markdown": _markdown}[form](columns, rows)


def answer_text(columns: Sequence[str], rows: Sequence[Sequence], form: str) -> str:
    """Return rows of an answer as `formatted`, whose texts are no Markdown: `f.<locals>.g` is shown as it is."""
    if form != "markdown":
        return formatted(columns, rows, form)
    columns, *rows = [[_MARKS.sub(r"\\\g<0>", _cell(one)) for one in row] for row in (columns, *rows)]
    return _markdown(columns, rows)


def unique(columns: Sequence[str]) -> list[str]:
    """Return names of columns of which none is there twice: the second `a` is `a_1`, as in a subquery of DuckDB."""
    found: list[str] = []
    for name in columns:
        number, new = 0, name
        while new in found or (number and new in columns):
            number += 1
            new = f"{name}_{number}"
        found.append(new)
    return found


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else _text(value)


def _text(value: object) -> str:
    """Return a value as DuckDB's own text of it, a text in quotes; bytes hexadecimal, as in JSON."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {_text(one)}' for key, one in value.items())}}}"
    return repr(value) if isinstance(value, str) else str(value)


def _table(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    if tuple(columns) == _PLAN:  # a drawing of many lines
        return "\n".join(lines(_cell(plan)).rstrip("\n") for _, plan in rows)
    cells = [[printable(_cell(value)) for value in row] for row in rows]
    columns = [printable(name) for name in columns]
    widths = [max([_width(name), *(_width(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    is_number = [
        bool(rows)
        and all(isinstance(row[i], int | float | Decimal | None) and not isinstance(row[i], bool) for row in rows)
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
    lines = [",".join(map(_csv_cell, row)) for row in (columns, *rows)]
    # Of one column a null would be an empty line, which readers pass by.
    return "\n".join(line or '""' for line in lines)


def _csv_cell(value: object) -> str:
    """Return a value as DuckDB writes it into CSV: an empty text in quotes, unlike null."""
    text = _cell(value)
    # The module csv of Python 3.12 and older leaves a carriage return without quotes, and readers end the row there.
    is_quoted = _IN_QUOTES.search(text) or (not text and value is not None)
    return '"' + text.replace('"', '""') + '"' if is_quoted else text


def _json(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    names = unique(columns)
    return plain_json([dict(zip(names, map(_plain, row), strict=True)) for row in rows])


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"  # JSON has no such numbers
    if isinstance(value, int | float | str | None):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _text(key): _plain(one) for key, one in value.items()}
    return str(value)


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
