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

    Names of marts need no schema; staging and raw come behind them. A cursor of it needs the schema, and of a lake the
    database: `bufferhouse_lake.marts.peak_memory`. Without a warehouse it is $BUFFERHOUSE_WAREHOUSE, else
    `warehouse.duckdb` here. While somebody writes it is the published copy, and a warning says as of when; without one,
    the call waits up to `wait` seconds. As long as the connection is open nobody can write to the file it reads.

    Raises:
        UsageError: there is no warehouse.
        WarehouseBusy: it is being written, there is no published copy, and `wait` is over.
        WarehouseError: it is one of another version.
    """
    from bufferhouse.errors import WarehouseBusy, WarehouseInUse, or_wait
    from bufferhouse.query.notebooks import connect

    try:
        return connect(warehouse, wait=wait)
    except WarehouseInUse as error:
        raise WarehouseBusy(or_wait(error, "wait=SECONDS")) from None


def explain(jitted: Any, *args: Any, chip: str | None = None, **kwargs: Any) -> "Explained":
    """Compile a jitted function of JAX for its arguments, and explain what the program takes.

    Arguments may be shapes (`jax.ShapeDtypeStruct`). What `jitted.lower(…)` returned is taken, too, without arguments:
    so a program is compiled ahead of time for another chip. `chip` is what a lock calls it, else the kind of device.
    The answer has `.reserved`, `.peak`, `.values`, `.report()` and `.whatif("reschedule")`.

    Raises:
        UsageError: it is no jitted function, there are arguments beside what is lowered, or the compilation left no
            dump that can be read.
    """
    from bufferhouse.compiled.explain import explain

    return explain(jitted, args, kwargs, chip=chip)


def program(
    name: str | int, run: str | None = None, *, warehouse: "str | os.PathLike | None" = None, wait: float = 0.0
) -> "ProgramView":
    """Return a program of a run, else of the newest that has it; a notebook shows timeline and owners of the peak.

    `name` is its name or program_id, or the beginning of either. The warehouse is that of `connect`. The view holds
    nothing open.

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
