"""Sessions with the PostgreSQL of a lake's catalog, and what the writers need to find there."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from bufferhouse.errors import UsageError, WarehouseBusy, first_line
from bufferhouse.paths import CHECKOUT

if TYPE_CHECKING:
    import psycopg

STATEMENTS = CHECKOUT / "sql" / "lake" / "claims.sql"
_SETUP_LOCK = (0x62756669, 2)
_CONNECT_SECONDS = 10


def connect(catalog: str) -> "psycopg.Connection":
    """Begin a session with the catalog, which has the tables and the fence of `sql/lake/claims.sql` then.

    Raises:
        UsageError: psycopg is not installed.
        psycopg.OperationalError: PostgreSQL does not answer, or refuses who connects.
    """
    psycopg = psycopg_module()
    con = psycopg.connect(
        catalog,
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        application_name="bufferhouse",
        # A worker whose host is gone is dead within a minute, and its claims are free.
        keepalives_idle=30, keepalives_interval=10, keepalives_count=3,
    )  # fmt: skip
    _set_up(con)
    return con


@contextmanager
def answering() -> Iterator[None]:
    """Say of a session that has ended, or cannot begin, that trying again can help.

    Raises:
        UsageError: psycopg is not installed.
        WarehouseBusy: PostgreSQL does not answer.
    """
    psycopg = psycopg_module()
    try:
        yield
    except psycopg.OperationalError as error:
        reason = first_line(error)
        raise WarehouseBusy(f"the catalog of the lake does not answer: {reason}; try again later") from None


def psycopg_module() -> ModuleType:
    """Return the package psycopg.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import psycopg
    except ModuleNotFoundError:
        raise UsageError(
            "a lake in PostgreSQL needs psycopg, which is not installed; install bufferhouse with its "
            "extra: pip install -e '.[lake]'"
        ) from None
    return psycopg


def _set_up(con: "psycopg.Connection") -> None:
    """Make tables and fence, anew where the catalog has another text of them."""
    text = STATEMENTS.read_text(encoding="utf-8")
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    if _fingerprint(con) == fingerprint:
        return
    with con.transaction():
        con.execute("SELECT pg_advisory_xact_lock(%s, %s)", _SETUP_LOCK)
        if _fingerprint(con) != fingerprint:
            con.execute(text)
            con.execute(f"COMMENT ON SCHEMA bufferhouse IS 'What the writers of a lake agree by: {fingerprint}'")


def _fingerprint(con: "psycopg.Connection") -> str | None:
    row = con.execute("SELECT obj_description(to_regnamespace('bufferhouse'))").fetchone()
    return None if row is None or row[0] is None else row[0].rpartition(" ")[2]
