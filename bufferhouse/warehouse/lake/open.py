"""A lake as the warehouse opens it: to write, at the schema and the models of this version, or to read a snapshot."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import duckdb

from bufferhouse.engine.connection import close, close_writer
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError, first_line
from bufferhouse.models import build
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.lake.attach import make_lake, open_lake
from bufferhouse.warehouse.lake.build import build_lake
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lake.contracts import check_version, migrate_lake
from bufferhouse.warehouse.migrate import applied_version

_TRIES = 60
_PAUSE_SECONDS = 0.5


@contextmanager
def open_writer(
    address: LakeAddress, wait: float, *, build_models: bool, progress: build.Progress | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Claims | None]]:
    """Yield a connection that writes to a lake, made where there is none; the schema and the models are brought along.

    With it come the claims of this worker, where others may write, too.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `opening.open_lake`, `make_lake` and `migrate_lake`.
    """
    try:
        con = open_lake(address, read_only=False, wait=wait)
    except UsageError:
        make_lake(address, wait=wait)
        con = open_lake(address, read_only=False, wait=wait)
    with ExitStack() as stack:
        stack.callback(close_writer, con)
        # First of all: nobody removes rows while models are computed from them.
        claims = stack.enter_context(Claims(address.connection_string)) if address.is_postgres else None
        _prepare(con, address, claims, build_models, progress)
        yield con, claims


def open_snapshot(address: LakeAddress, wait: float) -> duckdb.DuckDBPyConnection:
    """Return a connection that reads the newest snapshot of a lake, and goes on reading it.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `opening.open_lake`, or the lake is of another version.
    """
    con = open_lake(address, read_only=True, wait=wait)
    try:
        check_version(applied_version(con), str(address), is_reader=True)
    except BaseException:
        close(con)
        raise
    return con


def _prepare(
    con: duckdb.DuckDBPyConnection,
    address: LakeAddress,
    claims: Claims | None,
    build_models: bool,
    progress: build.Progress | None,
) -> None:
    """Bring schema and models along; of several writers that come at once one does it, the others find it done."""
    for tries_left in reversed(range(_TRIES)):
        try:
            migrate_lake(con, str(address))
            if build_models and not build.is_current(con, MODELS):
                build_lake(con, address, claims=claims, progress=progress)
            return
        except WarehouseBusy:
            if con.execute("SELECT 1 FROM meta.models LIMIT 1").fetchall():
                return  # another worker builds them: until it is done, loads are computed by those of before
            if not tries_left:
                raise
            time.sleep(_PAUSE_SECONDS)
        except duckdb.Error as error:
            if not tries_left or not isinstance(error, duckdb.TransactionException):
                reason = first_line(error)
                raise WarehouseError(
                    f"{address} cannot be brought to this version, and is as it was: {reason}"
                ) from error
            time.sleep(_PAUSE_SECONDS)
