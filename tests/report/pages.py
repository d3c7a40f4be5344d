"""Pages of reports for tests: what a browser would find in their text, and names that would do harm."""

import json
import re
from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from html.parser import HTMLParser

from bufferhouse.query.statements import Answer

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&<!-- \x1b[31m\x07\u202e\u2028שלום "

# All that the fleet's page is made of; a program's page has more.
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "dl", "div", "dt", "dd", "bdi"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "span", "svg", "polyline", "script", "noscript"),
    *("ul", "li", "footer"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "role", "aria-label", "aria-hidden", "scope"),
    *("title", "tabindex", "type", "viewbox", "preserveaspectratio", "points", "data-key"),
}


def assert_alone(text: str, elements: set[str] = ELEMENTS, attributes: set[str] = ATTRIBUTES) -> None:
    """No element loads anything, the policy lets the page ask for nothing, and only its own scripts run."""
    parts = Parts(text)
    assert {tag for tag, _ in parts.elements} <= elements
    assert {name for _, names in parts.elements for name in names} <= attributes
    (policy,) = [a["content"] for _, a in parts.elements if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert parts.hashes == set(rules.pop("script-src").split())
    nothing = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    assert nothing | {"style-src": "'unsafe-inline'"} == rules
    (vega,) = [script for script in parts.running if len(script) > 500_000]
    rest = re.sub(r"'sha256-[^']+'", "", text.replace(vega, ""))  # a hash in Base64 may hold //
    assert [] == re.findall(r"https?:|//\w[\w.]+/|\$schema|@import|url\(|src=|href=", rest)


def assert_only_text_differs(harmless: str, hostile: str) -> None:
    """Hostile names give the elements and scripts of harmless ones; what is embedded is ASCII that none can end."""
    expected, actual = Parts(harmless), Parts(hostile)
    assert [(tag, [*names]) for tag, names in expected.elements] == [(tag, [*names]) for tag, names in actual.elements]
    assert expected.running == actual.running
    without_scripts = re.sub(r"<script.*?</script>", "", hostile, flags=re.DOTALL).replace("\n", "")
    assert set() == {char for char in set(without_scripts) if not char.isprintable()}
    for block in ("answers", "charts", "tables"):
        (text,) = [text for attributes, text in actual.scripts if attributes.get("id") == block]
        assert text.isascii()
        assert not set("<>&") & set(text)


def as_embedded(answer: Answer) -> tuple[list[str], list[list]]:
    """Columns and rows as a page embeds an answer: times in ISO form, as text what JavaScript would round."""

    def plain(value: object) -> object:
        if isinstance(value, datetime):
            return value.isoformat()
        return str(value) if isinstance(value, int) and abs(value) > 2**53 else value

    return answer.columns, [list(map(plain, row)) for row in answer.rows]


class Parts(HTMLParser):
    """What a browser would find in a page: elements with their attributes, in order, and what is in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self.rows: list[list[tuple[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "polyline", "input"):
            self._open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attributes), ""))
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(("", dict(attributes).get("title")))

    def handle_endtag(self, tag: str) -> None:
        if tag != "polyline":
            assert tag == self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], data)
        elif self._open and self._open[-1] != "style":
            self.texts.append(data)
            if {"td", "th"} & set(self._open):
                said, exact = self.rows[-1][-1]
                self.rows[-1][-1] = (f"{said} {data}".strip(), exact)

    @property
    def running(self) -> list[str]:
        """The scripts that a browser runs: no blocks of data."""
        return [text for attributes, text in self.scripts if "type" not in attributes]

    @property
    def hashes(self) -> set[str]:
        """Their hashes, as a policy names them."""
        return {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in self.running}

    def embedded(self, name: str):
        """The JSON of a block of data."""
        (block,) = [text for attributes, text in self.scripts if attributes.get("id") == name]
        return json.loads(block)

    def answer(self, name: str) -> tuple[list[str], list[list]]:
        """Columns and rows of an embedded answer, texts in their places."""
        found = self.embedded("answers")[name]
        columns, texts = found["columns"], found.get("texts", {})
        known = [texts.get(column) for column in columns]
        rows = [
            [cell if cell is None or among is None else among[cell] for cell, among in zip(row, known, strict=True)]
            for row in found["rows"]
        ]
        return columns, rows
