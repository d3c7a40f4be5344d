"""`bufferhouse models` and `bufferhouse lineage`."""

import json
from typing import Annotated

import typer

from bufferhouse.commands.shared import (
    FormatOption,
    WaitOption,
    WarehouseOption,
    check_format,
    guarded,
    reading,
    warehouse_path,
)


@guarded
def models(warehouse: WarehouseOption = None, wait: WaitOption = 0.0, output_format: FormatOption = "table") -> None:
    """List the models of a warehouse: version, grain, when they were built, how many rows."""
    from bufferhouse.frozen import locked
    from bufferhouse.tables import formatted

    check_format(output_format, "table", "json")
    frozen = locked()
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con:
        built = con.execute(
            "SELECT model_name, is_incremental, severity, grain, built_at, purpose FROM meta.models ORDER BY ordinal"
        ).fetchall()
        rows = [
            (
                name,
                "table" if is_incremental else "check" if severity else "view",
                ", ".join(grain) or severity,
                "frozen" if name in frozen else "",
                built_at,
                con.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0],
                purpose if output_format == "json" else purpose.split(". ")[0].rstrip("."),
            )
            for name, is_incremental, severity, grain, built_at, purpose in built
        ]
    print(formatted(("model", "kind", "grain", "version", "built_at", "rows", "purpose"), rows, output_format))


@guarded
def lineage(
    column: Annotated[str, typer.Argument(help="MART.COLUMN, such as peak_memory.reserved_bytes.")],
    output_format: Annotated[str, typer.Option("--format", help="tree, list or json.")] = "tree",
) -> None:
    """Show which columns of raw a column comes from, model by model."""
    from bufferhouse.lineage import lineage
    from bufferhouse.models import read
    from schemas import TABLES
    from schemas.ddl import sql_type

    check_format(output_format, "tree", "list", "json")
    tables = {
        name: {column: sql_type(declared) for column, declared in contract.columns.items()}
        for name, contract in TABLES.items()
    }
    origin = lineage(column, read(), tables)
    if output_format == "json":
        print(json.dumps({**origin.as_dict(), "raw": origin.leaves()}, indent=1))
    else:
        print("\n".join(origin.lines() if output_format == "tree" else origin.leaves()))
