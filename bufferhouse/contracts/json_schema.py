"""A row of each table of `raw` as JSON Schema (draft 2020-12), for what is exported as JSON."""

from typing import Any

import polars as pl

from schemas import TABLES
from schemas.contract import Column, Contract

_TYPES: dict[Any, dict[str, Any]] = {
    pl.Int64: {"type": "integer"},
    pl.String: {"type": "string"},
    pl.Boolean: {"type": "boolean"},
    pl.Binary: {"type": "string", "pattern": "^([0-9a-f]{2})*$"},  # as `query --format json` writes bytes
    pl.List: {"type": "array", "items": {"type": "integer"}},
    pl.Datetime: {"type": "string", "format": "date-time"},
}


def row_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of a row of each table, by the table's name."""
    return {contract.name: _row(contract) for contract in TABLES.values()}


def _row(contract: Contract) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"raw.{contract.name}",
        "description": f"{contract.description} A row is {contract.grain}.",
        "type": "object",
        "properties": {name: _column(column) for name, column in contract.columns.items()},
        "required": list(contract.columns),
        "additionalProperties": False,
    }


def _column(column: Column) -> dict[str, Any]:
    found = {**_TYPES[column.dtype.base_type()]}
    if column.minimum is not None:
        found["minimum"] = column.minimum
    if column.one_of is not None:
        found["enum"] = [*column.one_of, *([None] if column.nullable else [])]
    if column.matches is not None:
        found["pattern"] = column.matches
    if column.nullable:
        found["type"] = [found["type"], "null"]
    return {"description": column.description, **found}
