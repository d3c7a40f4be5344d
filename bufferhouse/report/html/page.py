"""One HTML file that needs nothing else: the frame of every report's page.

Text from dumps is data. In HTML it passes through `text`; in scripts it stands as JSON in blocks that no browser
runs. A content security policy in the page lets only the scripts run that were written here, by their hashes, and
forbids every request. The scripts themselves lie in `assets/`.
"""

import base64
import hashlib
import html
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from bufferhouse.query.statements import Answer
from bufferhouse.redaction import redactor
from bufferhouse.report.html.charts import Chart
from bufferhouse.report.html.vega import vega
from bufferhouse.report.text.figures import printable

_ASSETS = Path(__file__).parent / "assets"
_EXACT_IN_JAVASCRIPT = 2**53


def text(value: object, limit: int | None = None) -> str:
    """Return any text as HTML that shows it and does nothing else; its direction stays its own."""
    return f"<bdi>{html.escape(printable(str(value), limit))}</bdi>"


def chart_place(number: int, chart: Chart) -> str:
    """Return the element that chart `number`, from 1, is drawn in."""
    return (
        f'<div class="chart" id="chart-{number}" role="img" aria-label="{html.escape(printable(chart.description))}">'
        "<noscript>The chart needs JavaScript; the table that follows has its figures.</noscript></div>"
    )


def page(
    title: str,
    body: str,
    answers: Mapping[str, Answer],
    charts: Sequence[Chart],
    *,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    scripts: Sequence[str] = (),
    shared_texts: Collection[str] = (),
) -> str:
    """Return a whole page.

    `title` and `body` are HTML. The answers, by the names of their statements, are embedded in the element `answers`
    as `{name: {"columns": [...], "rows": [[...]]}}`: the figures of the page for machines. Integers that JavaScript
    would round stand there as text. Of the answers named in `shared_texts` each text is embedded once: they have
    `"texts": {column: [...]}` besides, and a cell of such a column is the place of its text there.

    Tables sort and search, if the body has any; `tables` says which of them, by the ids of their elements, have
    their rows in an answer (`bufferhouse.report.html.tables`). `scripts` are further scripts of `assets/`, by name.
    """
    data = {name: _embedded(answer, name in shared_texts) for name, answer in answers.items()}
    blocks = [_data("answers", data)]
    wanted = ["tables"] * ("<table" in body) + ["charts"] * bool(charts) + list(scripts)
    if tables:
        blocks.append(_data("tables", tables))
    if charts:
        drawn = [{"spec": c.spec, "source": c.source, "where": c.where, "texts": c.texts} for c in charts]
        blocks.append(_data("charts", drawn))
    running = [vega()] * bool(charts) + [_own(wanted)] * bool(wanted)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(running)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>\n{_asset('page.css')}</style>",
            "</head>",
            "<body>",
            body,
            *blocks,
            *(f"<script>{script}</script>" for script in running),
            "</body>",
            "</html>",
            "",
        ]
    )


def _policy(scripts: Sequence[str]) -> str:
    """Return a policy that runs these scripts and no other, and lets the page ask nobody for anything."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    # Vega writes style attributes.
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _data(name: str, value: object) -> str:
    """Return a block of JSON that no browser runs, and that no text in it can end."""
    written = json.dumps(_plain(value, redactor()), ensure_ascii=True, separators=(",", ":"))
    for char in "<>&":
        written = written.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="{name}">{written}</script>'


def _embedded(answer: Answer, shares_texts: bool) -> dict[str, Any]:
    if not shares_texts:
        return {"columns": answer.columns, "rows": answer.rows}
    columns = [list(column) for column in zip(*answer.rows, strict=True)]
    texts: dict[str, list[str]] = {}
    for place, (name, cells) in enumerate(zip(answer.columns, columns, strict=False)):
        if any(isinstance(cell, str) for cell in cells):
            places: dict[str, int] = {}
            columns[place] = [None if cell is None else places.setdefault(cell, len(places)) for cell in cells]
            texts[name] = list(places)
    return {"columns": answer.columns, "texts": texts, "rows": list(zip(*columns, strict=True))}


def _plain(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if value is None or isinstance(value, float | bool):
        return value
    if isinstance(value, int):
        return str(value) if abs(value) > _EXACT_IN_JAVASCRIPT else value
    if isinstance(value, Mapping):
        return {key: _plain(item, redact) for key, item in value.items()}
    if isinstance(value, datetime | date):
        return value.isoformat()
    return [_plain(item, redact) for item in value]


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _own(names: Sequence[str]) -> str:
    """Return scripts of `assets/` as one, behind what they all use; their names are nobody else's."""
    written = "\n".join(_asset(f"{name}.js") for name in ("data", *names))
    return f'(() => {{\n"use strict";\n{written}}})();\n'
