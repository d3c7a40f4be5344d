"""What one worker does at a time, though many have the lake open."""

from collections.abc import Iterator
from contextlib import contextmanager

from bufferhouse.errors import UsageError, WarehouseBusy
from bufferhouse.identity import key_of
from bufferhouse.lake.address import LakeAddress


@contextmanager
def alone(address: LakeAddress, what: str) -> Iterator[bool]:
    """Yield whether this worker is the only one at it, which it stays until the end.

    A session of PostgreSQL holds it, so it ends with its worker. A catalog that is a file has one worker anyway.

    Raises:
        UsageError: the package psycopg is not installed.
        WarehouseBusy: the catalog does not answer.
    """
    if not address.is_postgres:
        yield True
        return
    try:
        import psycopg
    except ImportError:
        raise UsageError("a lake needs psycopg; install bufferhouse with its extra: pip install -e '.[lake]'") from None
    try:
        session = psycopg.connect(address.catalog.partition(":")[2], autocommit=True)
    except psycopg.OperationalError as error:
        raise WarehouseBusy(f"{address} does not answer: {str(error).splitlines()[0]}; try again later") from None
    with session:
        key = key_of("bufferhouse", what)
        yield session.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()[0]
