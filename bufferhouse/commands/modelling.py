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
    """List the models of a warehouse: version, kind, grain, freshness, rows.

    The freshness is the end of the newest load that the rows stand for. A view is computed when it is asked, so that is
    the newest load of all; a table holds what was stored for each dump, so it is the newest load that brought one of
    the dumps in it.
    """
    from bufferhouse.frozen import locked
    from bufferhouse.listing import listed_models
    from bufferhouse.tables import formatted

    check_format(output_format, "table", "json")
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con:
        found = listed_models(con, locked())
    is_short = output_format == "table"
    rows = [
        (
            m.name,
            m.version,
            m.kind,
            m.grain,
            m.fresh_at,
            m.row_count,
            m.purpose.split(". ")[0].rstrip(".") if is_short else m.purpose,
        )
        for m in found
    ]
    columns = ("model", "version", "kind", "grain", "freshness", "rows", "purpose")
    print(formatted(columns, rows, output_format))


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
