"""Sessions of readers with the PostgreSQL of a lake: they only read, and the password goes to its host alone."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from bufferhouse.warehouse.address import PREFIX, LakeAddress

_ONLY_READ = "-c default_transaction_read_only=on"


def reading_address(address: LakeAddress) -> str:
    """Return the address by which DuckDB attaches a lake for a reader: PostgreSQL itself refuses to write.

    Raises:
        UsageError: psycopg is not installed.
    """
    if not address.is_postgres:
        return address.target
    from bufferhouse.warehouse.lake.postgres import psycopg_module

    conninfo = psycopg_module().conninfo
    parts = conninfo.conninfo_to_dict(address.connection_string)
    own = parts.pop("options", None) or os.environ.get("PGOPTIONS", "")
    return f"{PREFIX}postgres:{conninfo.make_conninfo('', **parts, options=f'{own} {_ONLY_READ}'.strip())}"


@contextmanager
def bound_password(address: object) -> Iterator[None]:
    """Restrict $PGPASSWORD to the catalog's host for a while: libpq would send it to any host that it is given.

    The password is put into an in-memory file in the form of $PGPASSFILE. On systems without such files (macOS) it
    stays in the variable. Only for a process that does nothing else, because all its threads share the environment.
    """
    password = os.environ.get("PGPASSWORD")
    has_memory_files = hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")
    if not password or not isinstance(address, LakeAddress) or not address.is_postgres or not has_memory_files:
        yield
        return
    file = os.memfd_create("passwords", os.MFD_CLOEXEC)
    try:
        os.fchmod(file, 0o600)
        os.write(file, "".join(f"{_field(host)}:*:*:*:{_field(password)}\n" for host in _hosts(address)).encode())
        before = os.environ.get("PGPASSFILE")
        os.environ["PGPASSFILE"] = f"/proc/self/fd/{file}"
        del os.environ["PGPASSWORD"]
        try:
            yield
        finally:
            os.environ["PGPASSWORD"] = password
            del os.environ["PGPASSFILE"]
            if before is not None:
                os.environ["PGPASSFILE"] = before
    finally:
        os.close(file)


def _hosts(address: LakeAddress) -> set[str]:
    from bufferhouse.warehouse.lake.postgres import psycopg_module

    parts = psycopg_module().conninfo.conninfo_to_dict(address.connection_string)
    hosts = parts.get("host") or parts.get("hostaddr") or os.environ.get("PGHOST") or os.environ.get("PGHOSTADDR") or ""
    # For a local socket libpq looks for the host `localhost`, whether the socket is named or not.
    return {host or "localhost" for host in str(hosts).split(",")} | (
        {"localhost"} if str(hosts).startswith(("/", "@")) else set()
    )


def _field(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")
