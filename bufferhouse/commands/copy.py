"""`bufferhouse copy`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bufferhouse.commands.options import KEPT, DataPathOption, WaitOption, address, guarded, say, warehouse_path
from bufferhouse.commands.progress import progress_of, proved, verdict
from bufferhouse.errors import counted
from bufferhouse.redaction import printable


@partial(guarded, kept=KEPT)
def copy(
    source: Annotated[
        Path, typer.Argument(parser=address, metavar="FROM", help="The warehouse to copy: a file or a lake.")
    ],
    target: Annotated[
        Path, typer.Argument(parser=address, metavar="TO", help="The target: a new warehouse, or one without rows.")
    ],
    data_path: DataPathOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Copy a warehouse to another file or lake, and prove the copy.

    The rows of each table are counted and hashed on both sides before one commit of all tables. Then every dump is
    rendered from the copy, as `verify` does. Exit 1 if a dump cannot be proved.

    Example: bufferhouse copy warehouse.duckdb backup.duckdb
    """
    from bufferhouse.warehouse.copy import copy_warehouse
    from bufferhouse.warehouse.open import reading
    from bufferhouse.warehouse.verify import chosen_dumps

    target = warehouse_path(target, data_path=data_path)
    with progress_of("tables") as step:
        rows = copy_warehouse(warehouse_path(source, must_exist=True), target, wait=wait, progress=step)
    print(f"{counted(sum(rows.values()), 'row')} of {counted(len(rows), 'table')} copied", flush=True)
    with reading(target, wait=wait) as copy:
        ids = chosen_dumps(copy.con)
        faults = proved(copy, ids)
    for fault in faults:
        say(f"dump {fault.dump_id}: {printable(fault.what)}")
    print(verdict(ids, faults))
    raise typer.Exit(int(bool(faults)))
