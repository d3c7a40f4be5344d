"""Pages of reports for tests: what a browser would find in their text, and names that would do harm."""

import json
from html.parser import HTMLParser

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
