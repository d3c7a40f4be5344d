"""`bufferhouse catalog`."""

from typing import Annotated

import typer

from bufferhouse.commands.shared import guarded, say


@guarded
def catalog(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when the page is not up to date.")
    ] = False,
) -> None:
    """Write docs/catalog.md, the page of all tables and models, anew from schemas/ and dbt_like_models/."""
    from bufferhouse.catalog import PAGE, catalog_markdown

    text = catalog_markdown()
    if not check:
        PAGE.write_text(text)
        print(PAGE)
    elif not PAGE.exists() or PAGE.read_text() != text:
        say(f"bufferhouse: {PAGE} is not what schemas/ and dbt_like_models/ say; write it with: bufferhouse catalog")
        raise typer.Exit(1)
