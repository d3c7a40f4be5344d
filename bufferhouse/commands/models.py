"""`bufferhouse models`, `bufferhouse lineage` and `bufferhouse catalog`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands.options import (
    FormatOption,
    WaitOption,
    WarehouseOption,
    check_format,
    file_option,
    folder_option,
    guarded,
    reading,
    say,
    warehouse_path,
)
from bufferhouse.commands.progress import progress_of
from bufferhouse.errors import UsageError, counted
from bufferhouse.paths import IS_WHEEL


@guarded
def models(
    warehouse: WarehouseOption = None,
    wait: WaitOption = 0.0,
    output_format: FormatOption = "table",
    no_rows: Annotated[
        bool, typer.Option("--no-rows", help="Count no rows, which computes every view and takes the most time.")
    ] = False,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="Instead write the portable marts for another engine: spark.")
    ] = None,
    output: Annotated[
        Path | None,
        folder_option("-o", "--output", help="With --dialect: a folder for one file per model; else standard output."),
    ] = None,
) -> None:
    """List the models of a warehouse: version, kind, grain, freshness, rows.

    The freshness of a model is the end of the newest load that its rows cover. A view is computed when it is queried
    and covers all loads; a table covers the loads that brought its dumps. With --no-rows the rows are empty, or null.

    With --dialect no warehouse is needed: the portable marts, and the models they read, are written as views in
    another SQL dialect, in the order in which they must be created. docs/engines.md explains how to run them.

    Example: bufferhouse models --format json
    """
    if dialect is not None:
        if output_format != "table":
            raise UsageError("--format: expected no --dialect beside it, which writes SQL")
        if no_rows:
            raise UsageError("--no-rows: expected no --dialect beside it, which counts no rows")
        _write_models(dialect, output)
        return
    if output is not None:
        raise UsageError("-o: expected --dialect beside it; the list of models goes to standard output")

    from bufferhouse.models.freeze import locked
    from bufferhouse.models.status import listed_models
    from bufferhouse.query.format import formatted

    check_format(output_format, "table", "json")
    with reading(warehouse_path(warehouse, must_exist=True), wait) as con, progress_of("models") as step:
        found = listed_models(con, locked(), None if no_rows else step)
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


def _write_models(dialect: str, output: Path | None) -> None:
    from bufferhouse.models.dialects import statements, write
    from bufferhouse.models.project import read

    known = read()
    made = statements(known, dialect)
    left_out = [model.name for model in known if model.layer == "marts" and model.name not in made]
    if left_out:
        print(
            f"bufferhouse: {counted(len(left_out), 'mart')} left out, not portable: {', '.join(sorted(left_out))}; "
            "export --parquet writes their rows",
            file=sys.stderr,
        )
    if output is None:
        print("".join(f"{statement};\n" for statement in made.values()), end="")
        return
    write(made, output)
    print(
        f"bufferhouse: {counted(len(made), 'statement')} written to {output}; run them in the order of their names",
        file=sys.stderr,
    )


@guarded
def lineage(
    column: Annotated[
        str, typer.Argument(help="MART.COLUMN, such as peak_memory.reserved_bytes; or a mart, for all its columns.")
    ],
    output_format: Annotated[str, typer.Option("--format", help="tree, list or json.")] = "tree",
) -> None:
    """Show the raw columns behind one column of a mart, or behind all its columns, model by model.

    Example: bufferhouse lineage marts.peak_memory
    """
    from bufferhouse.models.lineage import Lineage
    from bufferhouse.models.project import read

    check_format(output_format, "tree", "list", "json")
    traced = Lineage(read())
    model = traced.model_of(column)
    origins = [traced.of(column)] if model is None else [traced.trace(model.name, name) for name in model.columns]
    if output_format == "json":
        found = [{**origin.as_dict(), "raw": origin.leaves()} for origin in origins]
        print(json.dumps(found[0] if model is None else {"model": model.name, "columns": found}, indent=1))
        return
    lines = [line for origin in origins for line in (origin.lines() if output_format == "tree" else origin.leaves())]
    # In a list a column of raw is named once.
    print("\n".join(lines if output_format == "tree" else dict.fromkeys(lines)))


@guarded
def catalog(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if the page is out of date.")] = False,
    markdown: Annotated[
        Path | None, file_option("--markdown", help="Write all tables and models with their columns to this file.")
    ] = None,
) -> None:
    """Write the page of the cookbook, sql/queries/README.md; with --markdown the catalog of tables and models instead.

    The catalog is a page of the site: bufferhouse open.

    Example: bufferhouse catalog --markdown catalog.md
    """
    from bufferhouse.query import cookbook
    from bufferhouse.query.catalog import catalog_markdown
    from bufferhouse.warehouse.target import check_target

    if markdown is not None:
        if check:
            raise UsageError("expected --check or --markdown, not both")
        check_target("--markdown", markdown)
        markdown.write_text(catalog_markdown(), encoding="utf-8")
        print(markdown)
        return
    if IS_WHEEL:
        raise UsageError(
            "only a checkout has the page of the cookbook, and this bufferhouse was installed from a wheel; --markdown "
            "FILE writes the catalog"
        )
    text = cookbook.page()
    if not check:
        cookbook.PAGE.write_text(text, encoding="utf-8")
        print(cookbook.PAGE)
    elif not cookbook.PAGE.exists() or cookbook.PAGE.read_text(encoding="utf-8") != text:
        say(f"bufferhouse: {cookbook.PAGE} does not match sql/queries/; write it again with: bufferhouse catalog")
        raise typer.Exit(1)
