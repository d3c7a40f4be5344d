"""`bufferhouse contracts`."""

from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands.options import guarded, local_folder
from bufferhouse.errors import counted


@guarded
def contracts(
    directory: Annotated[
        Path, typer.Argument(parser=local_folder, metavar="directory", help="The folder to write into.")
    ],
) -> None:
    """Write the contracts for other tools: an Open Data Contract, JSON Schema of each table, sources of dbt.

    No warehouse is needed: they are made from the contracts and the models of this release.

    Example: bufferhouse contracts build/contracts
    """
    from bufferhouse.contracts.files import write

    print(f"{counted(len(write(directory)), 'file')} written to {directory}")
