"""`bufferhouse catalog`: the pages that are made from schemas/, dbt_like_models/ and sql/queries/."""

from typing import Annotated

import typer

from bufferhouse.commands.options import guarded, say


@guarded
def catalog(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when the page is not up to date.")
    ] = False,
) -> None:
    """Write the pages that are made: docs/catalog.md of tables and models, sql/queries/README.md of the cookbook."""
    from bufferhouse.query import cookbook
    from bufferhouse.query.catalog import PAGE, catalog_markdown

    for path, text, origin in (
        (PAGE, catalog_markdown(), "schemas/ and dbt_like_models/ say"),
        (cookbook.PAGE, cookbook.page(), "sql/queries/ says"),
    ):
        if not check:
            path.write_text(text)
            print(path)
        elif not path.exists() or path.read_text() != text:
            say(f"bufferhouse: {path} is not what {origin}; write it with: bufferhouse catalog")
            raise typer.Exit(1)
