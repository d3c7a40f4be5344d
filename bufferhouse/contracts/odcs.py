"""The tables of `raw` as a data contract of the Open Data Contract Standard (bitol.io), version 3.1.0.

A table or a view is a schema object, a column a property with its rules: the key, whether it may be null, the least
value, the only values, the pattern.
"""

from typing import Any

import polars as pl

from bufferhouse.version import __version__
from schemas import TABLES
from schemas.contract import Column, Contract

_TYPES = {
    pl.Int64: "integer",
    pl.String: "string",
    pl.Boolean: "boolean",
    pl.Binary: "string",
    pl.List: "array",
    pl.Datetime: "timestamp",
}


def data_contract() -> dict[str, Any]:
    """Return the contract as the object that its YAML holds."""
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "bufferhouse.raw",
        "name": "bufferhouse raw",
        "version": __version__,
        "status": "active",
        "description": {
            "purpose": "What XLA decided about memory for every program that it compiled, as its dumps print it.",
            "usage": "Query the marts; they are made from these tables and have versions.",
            "limitations": "Bytes of different memory spaces, and peaks of different programs, are never added up.",
        },
        "servers": [{"server": "warehouse", "type": "duckdb", "database": "warehouse.duckdb", "schema": "raw"}],
        "schema": [_object(contract) for contract in TABLES.values()],
    }


def _object(contract: Contract) -> dict[str, Any]:
    return {
        "name": contract.name,
        "physicalName": contract.name,  # in the schema of the server: with it in the name no tool finds the table
        "physicalType": "table" if contract.query is None else "view",
        "logicalType": "object",
        "description": contract.description,
        "dataGranularityDescription": contract.grain,
        "properties": [_property(contract, name, column) for name, column in contract.columns.items()],
    }


def _property(contract: Contract, name: str, column: Column) -> dict[str, Any]:
    kind = column.dtype.base_type()
    found: dict[str, Any] = {
        "name": name,
        "logicalType": _TYPES[kind],
        "physicalType": column.sql_type,
        "description": column.description,
        "required": not column.nullable,
    }
    if name in contract.key:
        found |= {"primaryKey": True, "primaryKeyPosition": contract.key.index(name) + 1}
    if kind is pl.List:
        found["items"] = {"logicalType": "integer", "physicalType": "BIGINT"}
    if kind is pl.Binary:
        found["logicalTypeOptions"] = {"format": "binary"}
    if column.minimum is not None:
        found["logicalTypeOptions"] = {"minimum": column.minimum}
    if column.matches is not None:
        found["logicalTypeOptions"] = {"pattern": column.matches}
    if column.one_of is not None:
        found["quality"] = [
            {
                "type": "library",
                "metric": "invalidValues",
                "arguments": {"validValues": list(column.one_of)},
                "mustBe": 0,
            }
        ]
    return found
