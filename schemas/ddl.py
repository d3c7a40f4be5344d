"""Contracts to DuckDB statements."""

import polars as pl

from schemas.contract import Column, Contract

_TYPES = {
    pl.Int64: "BIGINT",
    pl.String: "VARCHAR",
    pl.Boolean: "BOOLEAN",
    pl.Binary: "BLOB",
    pl.List: "BIGINT[]",
    pl.Datetime: "TIMESTAMP WITH TIME ZONE",
}


def sql_type(column: Column) -> str:
    """Return the DuckDB type of a declared column."""
    return _TYPES[column.dtype.base_type()]


def create_table(contract: Contract) -> str:
    """Return the statement that creates the table of a contract; keys are proved by checks, not by indexes."""
    columns = [
        f"    {name} {sql_type(column)}{'' if column.nullable else ' NOT NULL'}"
        for name, column in contract.columns.items()
    ]
    return f"CREATE TABLE raw.{contract.name} (\n" + ",\n".join(columns) + "\n);"


def create_view(contract: Contract) -> str:
    """Return the statement that creates the view of a contract whose rows are derived."""
    return f"CREATE VIEW raw.{contract.name} AS\n{contract.query};"


def comments(contract: Contract) -> list[str]:
    """Return the statements that attach a contract's descriptions."""
    table = f"raw.{contract.name}"
    kind = "TABLE" if contract.query is None else "VIEW"
    statements = [f"COMMENT ON {kind} {table} IS {_literal(contract.description)};"]
    statements += [
        f"COMMENT ON COLUMN {table}.{name} IS {_literal(column.description)};"
        for name, column in contract.columns.items()
    ]
    return statements


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
