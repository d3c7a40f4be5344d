"""The origin of a column: the columns it is computed from, model by model, down to columns of raw."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bufferhouse.errors import UsageError, did_you_mean
from bufferhouse.models.project import Model, newest_names
from schemas import TABLES


@dataclass(slots=True)
class Origin:
    """A column, `layer.table.column`, and the columns it is computed from; a column of raw has none."""

    column: str
    sources: list["Origin"] = field(default_factory=list)

    def leaves(self) -> list[str]:
        """Return the columns of raw at the leaves, each once."""
        if not self.sources:
            return [self.column]
        return list(dict.fromkeys(leaf for source in self.sources for leaf in source.leaves()))

    def as_dict(self) -> dict:
        """Return the tree as nested dicts for JSON."""
        return {"column": self.column, "sources": [source.as_dict() for source in self.sources]}

    def lines(self, indent: str = "") -> list[str]:
        """Return the tree as lines; a column is indented below the column computed from it."""
        return [indent + self.column, *(line for source in self.sources for line in source.lines(indent + "    "))]


class Lineage:
    """Traces columns model by model: each model is qualified once, each column traced once."""

    def __init__(self, models: Iterable[Model]) -> None:
        self.models = {model.name: model for model in models}
        self.schema: dict[str, dict] = {"raw": {}}
        for table, contract in TABLES.items():
            self.schema["raw"][table] = {name: column.sql_type for name, column in contract.columns.items()}
        for name, model in self.models.items():
            layer, stem = name.split(".")
            self.schema.setdefault(layer, {})[stem] = dict.fromkeys(model.columns, "UNKNOWN")
        self.mapping: object = None
        self.scopes: dict[str, object] = {}
        self.known: dict[tuple[str, str], Origin] = {}

    def of(self, column: str) -> Origin:
        """Return the origin of `layer.model.column`, `model.column` of a mart, or such as `peak_memory.column`.

        Raises:
            UsageError: there is no such column.
        """
        model, name = _target(column, self.models)
        return self.trace(model.name, name)

    def model_of(self, word: str) -> Model | None:
        """Return the model that a word names, with its layer or as a mart, with a version or the newest; else None."""
        return self.models.get(_newest(word, self.models))

    def trace(self, table: str, column: str) -> Origin:
        """Return the origin of a column of a model, or of raw."""
        key = table, column
        if key not in self.known:
            self.known[key] = Origin(f"{table}.{column}")
            if table in self.models:
                sources = [self.trace(*source) for source in self._direct(table, column)]
                # A column computed from no other one, such as COUNT(*), is computed from rows.
                sources = sources or [Origin(f"rows of {name}") for name in self.models[table].reads]
                # A table that is written out in its file reads nothing.
                sources = sources or [Origin(f"text of {table}")]
                self.known[key].sources = sources
        return self.known[key]

    def _direct(self, table: str, column: str) -> list[tuple[str, str]]:
        """Return the columns of other tables that a column is computed from, by name."""
        from sqlglot import exp
        from sqlglot.lineage import lineage as traced
        from sqlglot.optimizer.qualify import qualify
        from sqlglot.optimizer.scope import build_scope
        from sqlglot.schema import MappingSchema

        if self.mapping is None:
            self.mapping = MappingSchema(self.schema, dialect="duckdb")  # made once: it normalizes each name
        if table not in self.scopes:
            expression = qualify(
                self.models[table].expression.copy(), schema=self.mapping, dialect="duckdb", quote_identifiers=False
            )
            self.scopes[table] = expression, build_scope(expression)
        expression, scope = self.scopes[table]
        # With a scope the expression is only handed on, and to copy it took most of the time.
        node = traced(
            column, expression, scope=scope, dialect="duckdb", schema=self.mapping, trim_selects=False, copy=False
        )
        found = set()
        for leaf in node.walk():
            if not leaf.downstream and isinstance(leaf.expression, exp.Table) and leaf.expression.db:
                source = f"{leaf.expression.db}.{leaf.expression.name}"
                found.add((source, leaf.name.rpartition(".")[2].strip('"')))
        # sqlglot gathers columns in sets: their own order differs from process to process.
        return sorted(found)


def _target(column: str, models: Mapping[str, Model]) -> tuple[Model, str]:
    table, _, name = column.rpartition(".")
    if not table:
        raise UsageError(f"expected a mart, or MODEL.COLUMN, such as peak_memory.reserved_bytes, found {column!r}")
    # A layer alone is no model: then the last part is its name.
    table = column if table in {model.partition(".")[0] for model in models} else _newest(table, models)
    if table not in models:
        raise UsageError(f"there is no model {table}{did_you_mean(table, models)}")
    if name not in models[table].columns:
        raise UsageError(f"{table} has no column {name!r}{did_you_mean(name, models[table].columns)}")
    return models[table], name


def _newest(table: str, models: Mapping[str, Model]) -> str:
    """Return the full name of a model: that of a mart without its layer, the newest version without one."""
    table = table if "." in table else f"marts.{table}"
    return table if table in models else newest_names(models).get(table, table)
