"""The catalog of the warehouse as a page of documentation, made from the contracts and the models."""

from collections.abc import Iterable, Sequence
from typing import Any

from bufferhouse.models.project import Model, newest_marts, read
from bufferhouse.query.format import formatted

_INTRODUCTION = """\
# Catalog

Every table and view of a warehouse. People read marts and staging; reports quote marts, by their version. The same
sentences are comments in the database: `DESCRIBE` shows the columns, `duckdb_columns()` the comments.

This page is made from `schemas/` and `dbt_like_models/` by `bufferhouse catalog --markdown`.
"""
# In the order in which a reader asks for them, each with what it is for.
_LAYERS = {
    "marts": "Made to be quoted. The meaning of a version never changes; the name without it shows the newest.",
    "staging": "The tables of `raw` with names, shapes and live ranges put back in their places.",
    "intermediate": "Steps between staging and marts; they may change at any time.",
    "checks": "Each finds offenders; no rows means pass. Errors make rejects of dumps, warnings are kept as rows.",
}
_RAW = "What was ingested, names and shapes interned. Declared in `schemas/`, where every load is held to it."


def catalog_markdown() -> str:
    """Return the page: purpose, grain, key and columns of every model and of every table of raw.

    Raises:
        ModelError: a model is not written as models are.
    """
    sections = catalog_sections()
    page = [_INTRODUCTION]
    for layer, purpose in {**_LAYERS, "raw": _RAW}.items():
        own = [text for name, text in sections.items() if name.startswith(f"{layer}.")]
        page += [f"## {layer}\n\n{purpose}\n", *own]
    return "\n".join(page)


def catalog_sections() -> dict[str, str]:
    """Return the section of each model and of each table of raw, by its name, in the order of the page.

    Raises:
        ModelError: as `catalog_markdown`.
    """
    from schemas import TABLES

    models = sorted(read(), key=lambda model: model.name)
    newest = {model.name: name for name, model in newest_marts(models).items()}
    sections = {
        model.name: _model(model, newest.get(model.name))
        for layer in _LAYERS
        for model in models
        if model.layer == layer
    }
    return sections | {f"raw.{name}": _table(contract) for name, contract in TABLES.items()}


def _model(model: Model, pointer: str | None) -> str:
    facts = [f"Grain: {_words(model.grain)}."] if model.grain else []
    if model.severity:
        facts.append(f"Severity: {model.severity}.")
    if model.is_incremental:
        facts.append("Stored as a table, computed once for each dump.")
    if pointer:
        facts.append(f"`{pointer}` shows it.")
    facts.append(f"Reads {_words(model.reads)}." if model.reads else "Reads nothing: it is written out in its file.")
    rows = ((f"`{name}`", _text(comment)) for name, comment in model.columns.items())
    return _section(model.name, model.purpose, facts, ("column", "description"), rows)


def _table(contract: Any) -> str:
    facts = [f"A row is {contract.grain}.", f"Key: {_words(contract.key)}."]
    columns = (
        (f"`{name}`", column.sql_type, "null" if column.nullable else "", _text(column.description))
        for name, column in contract.columns.items()
    )
    heads = ("column", "type", "may be", "description")
    return _section(f"raw.{contract.name}", contract.description, facts, heads, columns)


def _section(name: str, purpose: str, facts: Sequence[str], heads: Sequence[str], rows: Iterable[Sequence]) -> str:
    return f"### {name}\n\n{_text(purpose)}\n\n{' '.join(facts)}\n\n{formatted(heads, list(rows), 'markdown')}\n"


def _text(sentence: str) -> str:
    # What stands in angle brackets would be taken for HTML.
    return sentence.replace("<", "&lt;")


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
