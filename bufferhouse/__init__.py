"""bufferhouse: a data warehouse for the memory decisions of XLA.

import bufferhouse
con = bufferhouse.connect("warehouse.duckdb")
con.sql("FROM peak_memory WHERE memory_space = 0").pl()

explained = bufferhouse.explain(jax.jit(train_step, donate_argnums=0), params, batch)
print(explained.reserved, explained.report())
"""

from typing import TYPE_CHECKING, Any

from bufferhouse.version import __version__

if TYPE_CHECKING:
    import os

    import duckdb

    from bufferhouse.compiled.explain import Explained
    from bufferhouse.report.program.notebook import ProgramView

__all__ = ["__version__", "connect", "explain", "program"]


def connect(warehouse: "str | os.PathLike | None" = None, *, wait: float = 0.0) -> "duckdb.DuckDBPyConnection":
    """Return a read-only DuckDB connection to a warehouse, for notebooks and scripts.

    Names of marts need no schema, nor do names of staging and raw that no mart has. A cursor of the connection needs
    the schema, and for a lake also the database: `bufferhouse_lake.marts.peak_memory`. The default warehouse is
    $BUFFERHOUSE_WAREHOUSE, else `warehouse.duckdb` in the working directory. While somebody writes, the connection
    reads the published copy, and a warning says how old that is; without a copy, the call waits up to `wait` seconds.
    The connection keeps no writer out: where nothing is published it reads a copy of its own, in the user's cache.
    Only if there is no cache, or no space there, it reads the file itself, which nobody can write until it is closed.

    Raises:
        UsageError: there is no warehouse.
        WarehouseBusy: it is being written, there is no published copy, and `wait` is over.
        WarehouseError: it has another version.
    """
    from bufferhouse.errors import WarehouseBusy, WarehouseInUse, or_wait
    from bufferhouse.query.notebooks import connect

    try:
        return connect(warehouse, wait=wait)
    except WarehouseInUse as error:
        raise WarehouseBusy(or_wait(error, "wait=SECONDS")) from None


def explain(jitted: Any, *args: Any, chip: str | None = None, **kwargs: Any) -> "Explained":
    """Compile a jitted function of JAX for its arguments, and explain what the program takes.

    Arguments may be shapes (`jax.ShapeDtypeStruct`). To compile ahead of time for another chip, pass what
    `jitted.lower(…)` returned, without arguments. `chip` is the name of the chip in a lock; the default is the kind of
    device. The answer has `.reserved`, `.peak`, `.values`, `.report()` and `.whatif("reschedule")`.

    What the compiler raises is raised on. If the program does not fit, the exception has a note that says why, as
    `bufferhouse oom` does.

    Raises:
        UsageError: `jitted` is no jitted function, a lowered function came with arguments, or the compilation left no
            dump that can be read.
    """
    from bufferhouse.compiled.explain import explain

    return explain(jitted, args, kwargs, chip=chip)


def program(
    name: str | int, run: str | None = None, *, warehouse: "str | os.PathLike | None" = None, wait: float = 0.0
) -> "ProgramView":
    """Return a program of a run, or of the newest run that has it; a notebook shows timeline and owners of the peak.

    `name` is the name or program_id, or the beginning of either. The default warehouse is that of `connect`. The view
    keeps no file open.

    Raises:
        UsageError: there is no such warehouse, program or run, or several fit; the message names them.
        WarehouseBusy, WarehouseError: as `connect`.
    """
    import sys

    from bufferhouse.errors import WarehouseBusy, WarehouseInUse, or_wait
    from bufferhouse.report.program.data import read_program
    from bufferhouse.report.program.notebook import ProgramView
    from bufferhouse.warehouse import address_of

    place = address_of(warehouse)
    place.check_file()
    try:
        # A page lists the largest owners; what is computed with has to sum to the peak.
        return ProgramView(
            read_program(place, str(name), run=None if run is None else str(run), wait=wait, owners=sys.maxsize)
        )
    except WarehouseInUse as error:
        raise WarehouseBusy(or_wait(error, "wait=SECONDS")) from None
