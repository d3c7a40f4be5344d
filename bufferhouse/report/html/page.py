"""One HTML file that needs nothing else: the frame of every report's page.

Pages are made of the templates in `templates/`, which escape every text that they are given. The environment makes it
`printable` before, so that no template can forget it. In scripts, texts of dumps stand as JSON in blocks that no
browser runs. A content security policy in the page lets only the scripts run that were written here, by their hashes,
and forbids every request. The scripts themselves lie in `assets/`.

This is the only module that writes `Markup`, text that is not escaped.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, Record
from bufferhouse.redaction import redactor
from bufferhouse.report.html.charts import Chart
from bufferhouse.report.html.frame import Frame
from bufferhouse.report.html.vega import vega
from bufferhouse.report.text.columns import NAME_LENGTH, Column, said
from bufferhouse.report.text.figures import exact_bytes, human_bytes, percent, printable, reject_line
from bufferhouse.report.text.sections import Section
from bufferhouse.version import __version__

FIRST_ROWS = 25  # of an answer, in the page itself
FIRST_ROWS_IN_SITE = 6  # of thousands of pages: the script shows more at once
_HERE = Path(__file__).parent
_EXACT_IN_JAVASCRIPT = 2**53
# A page of a site runs the scripts of the site and asks nobody for anything. Vega writes style attributes.
SITE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
_LONG = 4  # headings: from here on a page of a site has a table of contents
_OUTSIDE = ("https://", "http://")  # source lines are in another place, which the configuration names
_AS_THEY_ARE = (Markup, int, float)  # what templates write without a look at it


def page(
    template: str,
    title: str,
    answers: Mapping[str, Answer],
    *,
    warehouse: str = "",
    asked_at: datetime | None = None,
    loaded_at: datetime | None = None,
    scripts: Sequence[str] = (),
    shared_texts: Collection[str] = (),
    frame: Frame | None = None,
    **given: Any,
) -> str:
    """Return a whole page: `template`, which is `given` what it shows, inside the frame.

    The answers, by the names of their statements, are embedded in the element `answers` as `{name: {"columns": [...],
    "rows": [[...]]}}`: the figures of the page for machines. Integers that JavaScript would round stand there as text.
    Of the answers named in `shared_texts` each text is embedded once: they have `"texts": {column: [...]}` besides,
    and a cell of such a column is the place of its text there.

    With `frame` the page is one of a site: scripts and styles are files that all pages share, and cells are links. Its
    figures for machines lie beside it: without further scripts it embeds what its tables and charts read, and no more.

    `scripts` are further scripts of `assets/`, by name. The last line of a page that stands alone names the
    `warehouse`, when it was asked (now, where that is not given), and when it was last loaded.
    """
    below = Below(frame)
    body = _environment().get_template(template).render(given, below=below, root=frame.root if frame else "")
    shown = below.read_of(answers) if frame and not scripts else answers
    blocks: dict[str, Any] = {"answers": {name: _embedded(shown[name], name in shared_texts) for name in shown}}
    if below.sources:
        blocks["tables"] = below.sources
    if below.charts:
        blocks["charts"] = [
            {"spec": chart.spec, "source": chart.source, "where": chart.where, "texts": chart.texts}
            for chart in below.charts
        ]
    written = {name: Markup(json_block(block)) for name, block in blocks.items()}
    wanted = ["tables"] * ("<table" in body) + ["charts"] * bool(below.charts) + list(scripts)
    if frame:
        wanted += ["columns"] * ("<table" in body) + ["contents"] * (body.count("<h2") >= _LONG)
        return _in_site(frame, title, body, written, wanted, has_charts=bool(below.charts))
    running = [vega()] * bool(below.charts) + [_own(wanted)] * bool(wanted)
    return _environment().get_template("page.html").render(
        title=title,
        # Each of these is made by us: templates escape what is not, and a policy has words of ours and Base64.
        policy=Markup(_policy(running)),
        style=Markup(_asset("page.css")),
        body=Markup(body),
        blocks=written,
        scripts=[Markup(script) for script in running],
        version=__version__,
        warehouse=warehouse,
        asked_at=asked_at or datetime.now(UTC),
        loaded_at=loaded_at,
    )  # fmt: skip


def _in_site(
    frame: Frame, title: str, body: str, blocks: Mapping[str, Markup], wanted: Sequence[str], *, has_charts: bool
) -> str:
    """Return a page of a site, and leave the files that it needs with the frame."""
    files = [frame.keep("vega", "js", vega)] * has_charts
    if wanted:
        files.append(frame.keep("-".join(wanted), "js", lambda: _own(wanted)))
    return _environment().get_template("site.html").render(
        title=title,
        policy=Markup(SITE_POLICY),
        style=frame.keep("site", "css", lambda: _asset("page.css") + _asset("site.css")),
        frame=frame,
        root=frame.root,
        body=Markup(body),
        blocks=blocks,
        scripts=[*frame.scripts, *files],
        version=__version__,
    )  # fmt: skip


def fragment(template: str, **values: object) -> str:
    """Return a part of a page that stands alone, such as what a notebook shows; texts are escaped."""
    return _environment().get_template(template).render(**values)


@cache
def waiting_page(root: str) -> str:
    """Return a page that says that a page of a site is being made; `root` leads to the root of the site."""
    return _environment().get_template("waiting.html").render(policy=Markup(_policy(())), root=root)


class Below:
    """What the scripts below the body of a page need, gathered while the templates write the body."""

    def __init__(self, frame: Frame | None) -> None:
        self.frame = frame
        self.charts: list[Chart] = []
        self.sources: dict[str, Any] = {}

    def place(self, chart: Chart) -> int:
        """Return the number of a chart, from 1."""
        self.charts.append(chart)
        return len(self.charts)

    def first_rows(self, section: Section) -> Sequence[Record]:
        """Return the rows of a section that stand in the page: all, or the first, and the script finds the others."""
        if not section.source:
            return section.records
        columns = [
            {"column": column.name, "kind": column.kind, "limit": column.limit}
            | ({"link": column.link, "root": self.frame.root} if self.frame and column.link else {})
            for column in section.columns
        ]
        self.sources[section.name] = {"source": section.source, "where": dict(section.where), "columns": columns}
        return section.records[: FIRST_ROWS_IN_SITE if self.frame else FIRST_ROWS]

    def read_of(self, answers: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return what tables and charts read of the answers: charts read each column that their specification names."""
        read: dict[str, set[str]] = {name: set() for name in answers}
        for table in self.sources.values():
            links = (column.get("link", "") for column in table["columns"])
            read[table["source"]].update(table["where"], (column["column"] for column in table["columns"]), links)
        for chart in self.charts:
            looked_up = (column for column, _ in chart.texts.values())
            read[chart.source].update(chart.where, looked_up, re.findall(r"\w+", json.dumps(chart.spec)))
        return {name: answers[name].only(read[name]) for name in answers if read[name]}

    def link(self, record: Record, column: Column) -> str | None:
        """Return where a cell leads to, from the page; None in a page that stands alone, and where there is no page."""
        found = record.get(column.link) if self.frame and column.link else None
        return None if found is None else found if found.startswith(_OUTSIDE) else self.frame.root + found


@cache
def _environment() -> Environment:
    """Return what makes the templates; it is made once, so that each template is compiled once."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=_told,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "counted": counted,
        "cut": lambda text, limit=NAME_LENGTH: printable(str(text), limit),
        "exact": exact_bytes,
        "grouped": lambda count: f"{count:,}",
        "human": human_bytes,
        "minute": lambda time: f"{time:%Y-%m-%d %H:%M}",
        "reject_line": reject_line,
        "share": percent,
        "way": lambda change: "rise" if change > 0 else "fall" if change < 0 else "soft",
    }
    made.globals |= {"NAME_LENGTH": NAME_LENGTH, "cell_texts": _cell_texts}
    return made


def _told(value: object) -> object:
    """Return what a template is about to write: of a text no secret, and nothing that a browser would obey."""
    return value if isinstance(value, _AS_THEY_ARE) else printable(str(value))


def _cell_texts(value: Any, column: Column) -> tuple[str, str]:
    """Return the text of a cell and its tooltip; equal to CELLS in assets/tables.js."""
    if column.is_text:
        return printable(str(value), column.limit), said(value, column)
    exact = said(value, column, exact=True) if column.kind in ("bytes", "change") else ""
    return said(value, column), exact


def _policy(scripts: Sequence[str]) -> str:
    """Return a policy that runs these scripts and no other, and lets the page ask nobody for anything."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    # Vega writes style attributes.
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def json_block(value: object) -> str:
    """Return JSON in ASCII that no text in it can end: dates are text, no text is a secret."""
    written = json.dumps(_plain(value, cache(redactor())), ensure_ascii=True, separators=(",", ":"))
    for char in "<>&":
        written = written.replace(char, f"\\u{ord(char):04x}")
    return written


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
    if type(value) in (list, tuple):
        # Most of a page are rows of numbers: a call for each of their cells would take most of the time.
        return [
            one
            if one is None or (type(one) is int and -_EXACT_IN_JAVASCRIPT <= one <= _EXACT_IN_JAVASCRIPT)
            else _plain(one, redact)
            for one in value
        ]
    if isinstance(value, str):
        return redact(str(value))
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
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def _own(names: Sequence[str]) -> str:
    """Return scripts of `assets/` as one, behind what they all use; their names are nobody else's."""
    written = "\n".join(_asset(f"{name}.js") for name in ("data", *names))
    return f'(() => {{\n"use strict";\n{written}}})();\n'
