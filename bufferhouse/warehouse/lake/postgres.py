"""Sessions with the PostgreSQL of a lake's catalog, and the tables and triggers that writers need there."""

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from types import ModuleType
from typing import TYPE_CHECKING

from bufferhouse.dump.identity import key_of
from bufferhouse.engine import faults
from bufferhouse.errors import UsageError, WarehouseBusy, first_line
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.address import LakeAddress

if TYPE_CHECKING:
    import psycopg

STATEMENTS = CHECKOUT / "sql" / "lake" / "claims.sql"
_SETUP_LOCK = (0x62756669, 2)
_MAKE_LOCK = (0x62756669, 4)  # 1 and 3 are of bufferhouse.warehouse.lake.claims
_CONNECT_SECONDS = 10
_RIGHTS = """
SELECT quote_ident(current_user), quote_ident(current_database()),
    has_database_privilege(current_database(), 'CREATE'), has_schema_privilege(to_regnamespace('public'), 'CREATE')
"""


def connect(catalog: str) -> "psycopg.Connection":
    """Begin a session with the catalog, and make the tables and the fence of `sql/lake/claims.sql` if they are missing.

    Raises:
        UsageError: psycopg is not installed.
        psycopg.OperationalError: PostgreSQL does not answer, or refuses the role or password.
    """
    con = _connect(catalog)
    try:
        _set_up(con)
    except BaseException:
        con.close()
        raise
    return con


def _connect(catalog: str) -> "psycopg.Connection":
    return psycopg_module().connect(
        catalog,
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        application_name="bufferhouse",
        # If the host of a worker is gone, its session ends within a minute, and its claims are free.
        keepalives_idle=30, keepalives_interval=10, keepalives_count=3,
    )  # fmt: skip


def answers(address: LakeAddress) -> bool:
    """Return whether a session with PostgreSQL can begin at this moment.

    Raises:
        UsageError: psycopg is not installed.
    """
    psycopg = psycopg_module()
    try:
        _connect(address.connection_string).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def answering() -> Iterator[None]:
    """Translate errors of psycopg: those of a session that ended, or cannot begin, and those of missing rights.

    Raises:
        UsageError: psycopg is not installed, PostgreSQL refuses the role or password, or the role may only read.
        WarehouseBusy: PostgreSQL does not answer.
    """
    psycopg = psycopg_module()
    try:
        yield
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise UsageError(
            f"expected a role that may write to the catalog of the lake, found: {first_line(error)}; connect as the "
            "role that ingests, whose tables these are (docs/lake.md)"
        ) from None
    except psycopg.OperationalError as error:
        reason = first_line(error)
        if faults.keeps_out(error):
            raise UsageError(f"PostgreSQL lets nobody in to the catalog of the lake: {reason}") from None
        raise WarehouseBusy(f"the catalog of the lake does not answer: {reason}; try again later") from None


def unless_ended() -> suppress:
    """Return a context that ends without an error if the session has ended."""
    return suppress(psycopg_module().OperationalError)


@contextmanager
def alone(address: LakeAddress, what: str) -> Iterator[bool]:
    """Yield whether this worker is the only one that does `what`; if so, it stays the only one until the end.

    The lock belongs to a session of PostgreSQL, so it ends with its worker. A catalog file has one worker anyway.

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
        try:
            yield is_alone
        finally:
            # PostgreSQL ends a closed session a moment later, and whoever asks next would be refused until then.
            with suppress(psycopg_module().Error):
                session.execute("SELECT pg_advisory_unlock_all()")


@contextmanager
def making(address: LakeAddress) -> Iterator["psycopg.Connection | None"]:
    """Wait until no other process makes a lake in the same catalog, and keep others from it: no key protects it yet.

    Yield the session that holds the lock; None if the catalog is a file.

    Raises:
        UsageError: the package psycopg is not installed, or PostgreSQL refuses the role or password.
        WarehouseBusy: PostgreSQL does not answer.
    """
    if not address.is_postgres:
        yield None
        return
    with answering():
        session = _connect(address.connection_string)
    with closing(session):
        with answering():
            session.execute("SELECT pg_advisory_lock(%s, %s)", _MAKE_LOCK)
        yield session


def prove_role(session: "psycopg.Connection | None") -> None:
    """Refuse a role that may not make the schemas and tables of a lake: since PostgreSQL 15 few roles may in `public`.

    Raises:
        UsageError: the role may not.
    """
    if session is None:
        return
    with answering():
        role, database, *rights = session.execute(_RIGHTS).fetchone()
    if not all(rights):
        raise UsageError(
            f"expected a role that may make schemas in the database {database} and tables in its schema public, found "
            f"{role}, who may not; let their owner say: GRANT CREATE ON DATABASE {database} TO {role}; "
            f"GRANT USAGE, CREATE ON SCHEMA public TO {role}; no lake was made"
        )


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
    """Make tables and fence, or replace them if the catalog has them from another text."""
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
