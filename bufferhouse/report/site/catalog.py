"""The catalog and the lineage of a site: every table, mart, column and question, and how models read each other."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from bufferhouse.compare.groups import by, gathered
from bufferhouse.models.lineage import Lineage
from bufferhouse.models.project import Model, newest_marts, read
from bufferhouse.query.cookbook import Question, questions, shown
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.site.addresses import table_address
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.figures import figures
from bufferhouse.report.site.manifest import Manifest, code
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.sections import Section

LIST, LINEAGE = "catalog/index.html", "lineage/index.html"
_LAYERS = {
    "marts": "Made to be quoted. The meaning of a version never changes.",
    "staging": "The tables of raw with names, shapes and live ranges put back in their places.",
    "intermediate": "Steps between staging and marts; they may change at any time.",
    "checks": "Each finds offenders; no rows means pass.",
    "raw": "What was ingested, names and shapes interned.",
}
_ACROSS = ("raw", "staging", "intermediate", "marts")  # columns of the picture
_WIDTH, _GAP, _HEIGHT = 170, 60, 19  # pixels of a box and between columns and rows
_COLUMNS = [
    Column("column", "column"),
    Column("description", "description", limit=400),
    Column("origin", "comes from", limit=400),
]
_PARAMETERS = [Column("name", "parameter"), Column("default", "default"), Column("meaning", "meaning", limit=200)]


class Catalog:
    """The pages of all tables, models and questions, and the picture of the models.

    They depend only on the release: pages in `known` are not made again, because reading models takes a second.
    """

    def __init__(self, shared: Shared, manifest: Manifest) -> None:
        self._shared = shared
        known = {
            address: shown
            for address, (shown, _) in manifest.pages.items()
            if address.startswith(("catalog/", "lineage/")) and shown == code()
        }
        if LIST in known and LINEAGE in known:
            self.wanted = known
        else:
            self.wanted = dict.fromkeys([*_described(), LIST, LINEAGE], code())

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages."""
        pages = _described()
        models = {one.name: one for one in pages.values() if isinstance(one, Model)}
        readers = gathered((table, model.name) for model in models.values() for table in model.reads)
        lineage = _lineage()
        for address in addresses:
            if address == LIST:
                yield self._list(models)
            elif address == LINEAGE:
                yield self._picture(models)
            elif isinstance(one := pages[address], Model):
                yield self._model(address, one, readers.get(one.name, []), lineage)
            elif isinstance(one, Question):
                yield self._question(address, one, models)
            else:
                yield self._table(address, one, readers.get(f"raw.{one.name}", []))

    def _frame(self, address: str, place: str = "Catalog") -> Frame:
        crumbs = [] if address in (LIST, LINEAGE) else [("Catalog", LIST)]
        return Frame(address, place, self._shared, crumbs)

    def _page(self, address: str, title: str, about: Record, section: Section, **given: Any) -> Made:
        answers = {section.name: Answer.of(section.records)}
        text = page(
            "site_table.html", title, {}, frame=self._frame(address),
            heading=title, section=section, **{"facts": [], "reads": [], "readers": [], "sql": "", **given},
        )  # fmt: skip
        return Made(address, text, figures(address, about, answers))

    def _model(self, address: str, model: Model, readers: Sequence[str], lineage: Lineage) -> Made:
        records = [
            {"column": name, "description": said, "origin": _origin(lineage, model, name)}
            for name, said in model.columns.items()
        ]
        facts = [f"Grain: {', '.join(model.grain)}."] if model.grain else []
        facts += [f"Severity: {model.severity}."] if model.severity else []
        facts += ["Stored as a table, computed once for each dump."] if model.is_incremental else []
        columns = _COLUMNS if any(row["origin"] for row in records) else _COLUMNS[:2]
        return self._page(
            address,
            model.name,
            {"name": model.name, "purpose": model.purpose, "grain": list(model.grain), "reads": list(model.reads)},
            Section("", (), columns, records, "columns"),
            purpose=model.purpose,
            facts=facts,
            reads=_named(model.reads),
            readers=_named(readers),
            sql=model.sql,
        )

    def _table(self, address: str, contract: Any, readers: Sequence[str]) -> Made:
        records = [
            {"column": name, "type": column.sql_type, "nullable": "null" if column.nullable else "",
             "description": column.description}
            for name, column in contract.columns.items()
        ]  # fmt: skip
        columns = [_COLUMNS[0], Column("type", "type"), Column("nullable", "may be"), _COLUMNS[1]]
        name = f"raw.{contract.name}"
        return self._page(
            address,
            name,
            {"name": name, "purpose": contract.description, "key": list(contract.key)},
            Section("", (), columns, records, "columns"),
            purpose=contract.description,
            facts=[f"A row is {contract.grain}.", f"Key: {', '.join(contract.key)}."],
            readers=_named(readers),
        )

    def _question(self, address: str, question: Question, models: Mapping[str, Model]) -> Made:
        records = [
            {"name": one.name, "default": shown(one.default), "meaning": one.meaning}
            for one in question.parameters.values()
        ]
        return self._page(
            address,
            question.sentence,
            {"name": question.name, "topic": question.topic, "sql": question.sql},
            Section("", (), _PARAMETERS if records else [], records, "parameters"),
            purpose=f"bufferhouse query --ask {question.name}",
            facts=[f"Topic: {question.topic}."],
            reads=_named([name for name in models if name in question.sql]),
            sql=question.sql,
        )

    def _list(self, models: Mapping[str, Model]) -> Made:
        newest = {model.name for model in newest_marts(models.values()).values()}
        layers = [
            (
                layer,
                purpose,
                [
                    (name, table_address(name), said, name in newest or layer != "marts")
                    for name, said in self._entries(models, layer)
                ],
            )
            for layer, purpose in _LAYERS.items()
        ]
        asked = gathered(
            (one.topic, (one.sentence, address)) for address, one in _described().items() if isinstance(one, Question)
        )
        text = page(
            "site_catalog.html", "Catalog", {}, frame=self._frame(LIST),
            layers=layers, questions=sorted(asked.items()),
        )  # fmt: skip
        names = [(name, address) for _, _, rows in layers for name, address, *_ in rows]
        return Made(LIST, text, figures(LIST, {}, {"tables": Answer(["name", "page"], names)}))

    def _entries(self, models: Mapping[str, Model], layer: str) -> list[tuple[str, str]]:
        if layer == "raw":
            tables = [one for one in _described().values() if not isinstance(one, Model | Question)]
            return [(f"raw.{one.name}", one.description) for one in tables]
        return sorted((name, one.purpose) for name, one in models.items() if one.layer == layer)

    def _picture(self, models: Mapping[str, Model]) -> Made:
        """Return the picture: a box for each model, a line for each time that one reads another."""
        rows = _arranged({name: one.reads for name, one in models.items() if one.layer != "checks"})
        place = {
            name: (i * (_WIDTH + _GAP), 24 + j * _HEIGHT)
            for i, names in enumerate(rows)
            for j, name in enumerate(names)
        }
        boxes = [(name, table_address(name), name.partition(".")[2][:26], *place[name]) for name in place]
        lines = [
            _curve(*place[table], *place[name])
            for name, one in models.items()
            if name in place
            for table in one.reads
            if table in place
        ]
        text = page(
            "site_lineage.html", "Lineage", {},
            frame=self._frame(LINEAGE, "Lineage"),
            boxes=boxes, lines=lines, box_width=_WIDTH, box_height=_HEIGHT - 4,
            heads=_heads(rows), width=len(rows) * (_WIDTH + _GAP) - _GAP, height=24 + _HEIGHT * max(map(len, rows)),
        )  # fmt: skip
        pairs = [(table, name) for name, one in models.items() for table in one.reads]
        return Made(LINEAGE, text, figures(LINEAGE, {}, {"reads": Answer(["table", "model"], pairs)}))


def _heads(rows: Sequence[Sequence[str]]) -> list[tuple[str, int]]:
    """Return the name of each layer, and the place of its first column."""
    first: dict[str, int] = {}
    for i, row in enumerate(rows):
        first.setdefault(row[0].partition(".")[0], i * (_WIDTH + _GAP))
    return list(first.items())


@cache
def _described() -> dict[str, Any]:
    """Return the models, tables and questions by address; read once."""
    from schemas import TABLES

    models = {table_address(model.name): model for model in read()}
    tables = {table_address(f"raw.{name}"): table for name, table in TABLES.items()}
    asked = {table_address(f"question.{one.name}"): one for one in questions().values()}
    return {**models, **tables, **asked}


def _named(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, table_address(name)) for name in names]


@cache
def _lineage() -> Lineage:
    """Return the lineage, which traces each column once."""
    return Lineage(one for one in _described().values() if isinstance(one, Model))


def _origin(lineage: Lineage, model: Model, column: str) -> str:
    """Return the columns of raw from which a column of a mart comes; columns of other models are not traced."""
    return ", ".join(lineage.trace(model.name, column).leaves()) if model.layer == "marts" else ""


def _arranged(reads: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the names in each column of the picture, from top to bottom; a layer has a column for each depth."""
    names = {*reads, *(table for tables in reads.values() for table in tables)}
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        """Return the length of the longest chain of models of its own layer that a model reads."""
        if name not in depth:
            own = [one for one in reads.get(name, ()) if one.partition(".")[0] == name.partition(".")[0]]
            depth[name] = 1 + max(map(deep, own)) if own else 0
        return depth[name]

    drawn = sorted(name for name in names if name.partition(".")[0] in _ACROSS)
    columns = by(lambda name: (_ACROSS.index(name.partition(".")[0]), deep(name)), drawn)
    rows = [columns[place] for place in sorted(columns)]
    for _ in range(4):
        height = {name: place / max(len(row), 1) for row in rows for place, name in enumerate(row)}
        for row in rows[1:]:
            beside = {name: [height[one] for one in reads.get(name, ()) if one in height] for name in row}
            row.sort(key=lambda name: (sum(beside[name]) / len(beside[name]) if beside[name] else height[name], name))
            height |= {name: place / len(row) for place, name in enumerate(row)}
    return rows


def _curve(left: float, top: float, right: float, bottom: float) -> str:
    """Return the path from the right side of one box to the left side of another."""
    x0, y0, x1, y1 = left + _WIDTH, top + _HEIGHT / 2 - 2, right, bottom + _HEIGHT / 2 - 2
    bend = max(abs(x1 - x0) / 2, _GAP / 2)
    return f"M{x0} {y0:g}C{x0 + bend:g} {y0:g} {x1 - bend:g} {y1:g} {x1} {y1:g}"
