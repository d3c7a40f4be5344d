"""The marts as sources of a dbt project: columns with descriptions, and tests that need no package.

The grain of a mart is its test: rows are unique in it, and its ids are never null.
"""

from typing import Any

from bufferhouse.models.project import Model, read


def sources() -> dict[str, Any]:
    """Return the object that `sources.yml` holds: each mart by its version."""
    marts = sorted((model for model in read() if model.layer == "marts"), key=lambda model: model.name)
    return {
        "version": 2,
        "sources": [
            {
                "name": "bufferhouse",
                "description": "What XLA decided about memory. The meaning of a mart's version never changes. Bytes of "
                "different memory spaces, and peaks of different programs, are never added up.",
                "schema": "marts",
                "tables": [_table(model) for model in marts],
            }
        ],
    }


def _table(model: Model) -> dict[str, Any]:
    found: dict[str, Any] = {"name": model.name.removeprefix("marts."), "description": model.purpose}
    if len(model.grain) > 1:
        found["data_tests"] = [{"unique": {"arguments": {"column_name": unique_together(model.grain)}}}]
    return {**found, "columns": [_column(model, name, comment) for name, comment in model.columns.items()]}


def _column(model: Model, name: str, comment: str) -> dict[str, Any]:
    tests = ["unique"] if model.grain == (name,) else []
    tests += ["not_null"] if name in model.grain and name.endswith("_id") else []
    return {"name": name, "description": comment, **({"data_tests": tests} if tests else {})}


def unique_together(columns: tuple[str, ...]) -> str:
    """Return an expression of SQL that tells rows apart by several columns, in which nulls are equal."""
    return " || '|' || ".join(f"COALESCE(CAST({name} AS VARCHAR), '')" for name in columns)
