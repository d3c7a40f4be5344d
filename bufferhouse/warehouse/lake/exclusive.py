"""What one worker does at a time, though many have the lake open."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from bufferhouse.dump.identity import key_of
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.lake.postgres import answering, connect


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
    with answering():
        session = connect(address.connection_string)
    with closing(session):
        with answering():
            (is_alone,) = session.execute("SELECT pg_try_advisory_lock(%s)", [key_of("bufferhouse", what)]).fetchone()
        yield is_alone
