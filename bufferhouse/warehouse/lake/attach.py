"""Open a lake: attach its catalog, and make the lake if the catalog has none."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb

from bufferhouse.engine import faults
from bufferhouse.engine.connection import tries
from bufferhouse.engine.journal import HEADER_BYTES, guard, roll_back
from bufferhouse.engine.sql import quoted
from bufferhouse.errors import UsageError, WarehouseError, WarehouseFull, WarehouseInUse, unwritable
from bufferhouse.warehouse.address import ROOT, LakeAddress
from bufferhouse.warehouse.lake import extensions

LAKE = "bufferhouse_lake"  # the database of a lake in its connection
_PAUSE_SECONDS = 0.1
_TRIAL, _TRIAL_BYTES = "bufferhouse-trial", b"Nobody needs this file.\n"  # written below a new data path, and removed
_OF_DUCKLAKE, _ROWS = "ducklake-", ".parquet"  # how the names of its files begin and end
_MODELS = "meta/models"  # where DuckLake puts those of one of its tables
# DuckLake itself tries appends of several writers again, for about a minute in all.
_SETTINGS = {"ducklake_max_retry_count": 40, "ducklake_retry_wait_ms": 50, "ducklake_retry_backoff": 1.15}


def _data_path(con: duckdb.DuckDBPyConnection, address: LakeAddress) -> str:
    """Return where the files of a lake are, as its catalog keeps it: a folder or a URL, with a slash behind it.

    Raises:
        UsageError: the call asked for another place.
    """
    [(found,)] = con.execute(
        f"SELECT value FROM __ducklake_metadata_{LAKE}.ducklake_metadata WHERE key = 'data_path' AND scope IS NULL"
    ).fetchall()
    # A folder may have several names; in a URL this removes slashes.
    if address.is_path_asked and os.path.realpath(found) != os.path.realpath(address.data_path):
        raise UsageError(
            f"--data-path {address.data_path}: {address} has its files at {found}, for good; leave --data-path out, "
            "or name another catalog"
        )
    return found


class NoLake(UsageError):
    """There is no lake at an address: exit 2. An ingest makes one."""

    def __init__(self, address: LakeAddress) -> None:
        super().__init__(
            f"there is no lake at {address}; make one with: bufferhouse ingest SOURCE --warehouse '{address}' "
            "--data-path FOLDER or s3://BUCKET/PREFIX"
        )


def snapshot_of(con: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the snapshot that a connection reads."""
    return con.execute(f"SELECT id FROM ducklake_current_snapshot('{LAKE}')").fetchone()[0]


def open_lake(address: LakeAddress, *, read_only: bool, wait: float = 0.0) -> duckdb.DuckDBPyConnection:
    """Return a connection whose database is the lake; a reader stays at the newest snapshot of this moment.

    Raises:
        NoLake: there is none at the address.
        UsageError: the extensions are not installed, PostgreSQL refuses the role or password, there are no keys for the
            bucket, or the files are not where the call says.
        WarehouseInUse: the catalog does not answer, or another process has the catalog file open, for `wait` seconds.
        WarehouseError: the catalog refuses, or is no catalog.
    """
    if not address.is_postgres and not _is_rolled_back(address, 0.0 if read_only else wait) and not read_only:
        raise WarehouseInUse(f"{address} is open in another process; try again later")
    con = extensions.connect()
    try:
        guard(con)
        con.execute("SET enable_progress_bar = false")  # DuckDB draws its own on standard output
        _load_catalog(con, address)
        if read_only:
            _attach_snapshot(con, address, wait)
        else:
            _attach(con, address, [], wait)
            _open_bucket(con, _data_path(con, address))
        for name, value in _SETTINGS.items():
            con.execute(f"SET {name} = {value}")
        extensions.end_loading(con)
    except BaseException as error:
        con.close()
        if isinstance(error, duckdb.Error) and faults.is_away(error):  # since it was attached
            raise WarehouseInUse(f"{address} does not answer: {faults.reason(error)}; try again later") from None
        raise
    return con


def _load_catalog(con: duckdb.DuckDBPyConnection, address: LakeAddress) -> None:
    extensions.load(con, "ducklake", *(["postgres_scanner"] if address.is_postgres else []))


def _attach_snapshot(con: duckdb.DuckDBPyConnection, address: LakeAddress, wait: float) -> None:
    """Attach the newest snapshot, whose files are read through a file system that cannot write."""
    from bufferhouse.warehouse.lake.files import LakeFiles
    from bufferhouse.warehouse.lake.reader import reading_address

    target = reading_address(address)
    read = LakeFiles()
    con.register_filesystem(read)
    options = ["READ_ONLY", f"DATA_PATH {quoted(ROOT)}", "OVERRIDE_DATA_PATH true"]
    # Not used at first: DuckLake reads all tables and views of a database that is in use.
    _attach(con, address, options, wait, target, is_used=False)
    snapshot = snapshot_of(con)
    read.show(_data_path(con, address))
    con.execute(f"DETACH {LAKE}")
    _attach(con, address, [*options, f"SNAPSHOT_VERSION {snapshot}"], wait, target)


def _is_rolled_back(address: LakeAddress, wait: float) -> bool:
    try:
        return roll_back(address.file, wait)
    except OSError:
        return False  # this user may only read


def clear_away(con: duckdb.DuckDBPyConnection) -> None:
    """Detach the batch that an earlier attempt left, which lost its catalog; it may still be the database in use."""
    from bufferhouse.warehouse.batch_catalog import CATALOG  # and with it Polars, which a reader does without

    con.execute(f"USE {LAKE}; DETACH DATABASE IF EXISTS {CATALOG}")


def make_lake(address: LakeAddress, *, wait: float = 0.0) -> None:
    """Make the tables of DuckLake itself in a catalog that has none; the new lake is empty.

    Raises:
        UsageError: no data path is given, nobody can write there, or others have rows there.
        SourceUnavailable, WarehouseFull: the data path does not answer, or is full.
        WarehouseInUse, WarehouseError: as `open_lake`.
    """
    data_path = address.data_path
    if data_path is None and address.is_postgres:
        raise UsageError(
            f"there is no lake at {address}; to make one, say where its files go: --data-path FOLDER or "
            "s3://BUCKET/PREFIX, or $BUFFERHOUSE_DATA_PATH"
        )
    if not address.is_postgres and not address.folder.is_dir():
        raise UsageError(f"the folder of the lake's catalog does not exist: {address.folder}")
    data_path = data_path or f"{Path(address.catalog).absolute()}.files/"
    with extensions.connect() as con:
        _load_catalog(con, address)
        _open_bucket(con, data_path)
        _prove_unused(data_path)
        _prove_writable(data_path)  # the path in a catalog cannot be changed later
        was_there = not address.is_postgres and address.file.exists()
        try:
            _attach(con, address, [f"DATA_PATH {quoted(data_path)}"], wait, is_new=True)
        except WarehouseFull:
            # DuckDB cannot open a file that was cut short within its headers, and such a file holds no data.
            with suppress(FileNotFoundError):
                if not address.is_postgres and not was_there and address.file.stat().st_size < HEADER_BYTES:
                    address.file.unlink()
            raise


def _prove_writable(data_path: str) -> None:
    """Write a file below a data path, and remove it.

    Raises:
        UsageError, SourceUnavailable, WarehouseFull: it cannot be written; folders that were made are removed again.
    """
    if "://" in data_path:
        from bufferhouse.sources.s3 import Store

        store = Store(data_path)
        try:
            store.put(_TRIAL, _TRIAL_BYTES, "text/plain")
        except UsageError as error:
            raise UsageError(f"expected a data path that can be written to, found {error}; no lake was made") from None
        with suppress(UsageError):  # keys that may only add are enough for a lake
            store.remove(_TRIAL)
        return
    file = Path(data_path, _TRIAL)
    made = [folder for folder in file.parents if not folder.exists()]
    try:
        os.makedirs(data_path, exist_ok=True)
        file.write_bytes(_TRIAL_BYTES)
        file.unlink(missing_ok=True)  # another process may try it, too
    except OSError as error:
        with suppress(OSError):
            file.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()
        raise unwritable(f"the data path {data_path}", error) from None


def _prove_unused(data_path: str) -> None:
    """Refuse a data path with Parquet files below it, such as those of another lake, or that is below another lake's.

    When a lake is compacted, DuckLake removes files below its data path that it does not know
    (`ducklake_delete_orphaned_files`).

    Raises:
        UsageError: the path is refused.
        SourceUnavailable: the bucket does not answer.
    """
    for above in _above(data_path):
        if _has_lake(above):
            raise UsageError(
                f"{data_path} lies below {above}, the data path of another lake, whose compact would remove the files "
                "of this one; name another place with --data-path; no lake was made"
            )
    found = None
    if "://" in data_path:
        from bufferhouse.sources.s3 import Store

        with suppress(UsageError):  # keys that may not list are enough for a lake
            found = Store(data_path).any_name(_ROWS)
    elif (path := next(Path(data_path).rglob(f"*{_ROWS}"), None)) is not None:
        found = path.relative_to(data_path)
    if found is not None:
        raise UsageError(
            f"{data_path}{found} is a file of somebody else, which compact would remove; name another place with "
            "--data-path; no lake was made"
        )


def _above(data_path: str) -> Iterator[str]:
    """Yield the folders or prefixes above a data path, each with a slash behind it."""
    if "://" not in data_path:
        yield from (os.path.join(path, "") for path in Path(os.path.realpath(data_path)).parents)
        return
    parts = data_path.removeprefix("s3://").rstrip("/").split("/")
    yield from (f"s3://{'/'.join(parts[:count])}/" for count in range(len(parts) - 1, 0, -1))


def _has_lake(data_path: str) -> bool:
    """Return whether a lake has its files there: every lake has files of `meta.models`, too many rows for its catalog.

    Only these files are looked for, because a folder may hold any number of other files.
    """
    if "://" in data_path:
        from bufferhouse.sources.s3 import Store

        with suppress(UsageError):  # keys may be for what lies below alone
            return Store(f"{data_path}{_MODELS}").any_name(_ROWS, _OF_DUCKLAKE) is not None
        return False
    with suppress(OSError):  # this user may not list the folder
        return any(Path(data_path, _MODELS).glob(f"{_OF_DUCKLAKE}*{_ROWS}"))
    return False


def _attach(
    con: duckdb.DuckDBPyConnection,
    address: LakeAddress,
    options: list[str],
    wait: float,
    target: str | None = None,
    *,
    is_new: bool = False,
    is_used: bool = True,
) -> None:
    if not is_new and not address.is_postgres and not Path(address.catalog).exists():
        raise NoLake(address)  # DuckDB would leave an empty file there
    words = ", ".join([*options, *([] if is_new else ["CREATE_IF_NOT_EXISTS false"])])
    for is_last in tries(wait, _PAUSE_SECONDS):
        try:
            _attach_once(con, f"ATTACH {quoted(target or address.target)} AS {LAKE} ({words})")
            if is_used:
                con.execute(f"USE {LAKE}")
            return
        except duckdb.Error as error:
            # The server's words, without the connection string before them.
            reason = faults.reason(str(error).rpartition(" failed: ")[2])
            if faults.is_no_lake(error):
                raise NoLake(address) from None
            if told := faults.no_space(address, error) or faults.damage(address, error):
                raise told from None
            if faults.keeps_out(error):
                raise UsageError(
                    f"{address}: PostgreSQL lets nobody in: {reason}; expected a role and a database that exist, and "
                    "the role's password in $PGPASSWORD or in the file $PGPASSFILE"
                ) from None
            is_busy = faults.is_locked(error)
            if not is_busy and not faults.is_away(error):
                raise WarehouseError(f"{address} cannot be opened: {reason}") from None
            if is_last:
                held = f"is open in another process ({faults.holder(error)})"
                what = held if is_busy else f"does not answer: {reason}"
                raise WarehouseInUse(f"{address} {what}; try again later") from None


def _attach_once(con: duckdb.DuckDBPyConnection, statement: str) -> None:
    try:
        con.execute(statement)
    except duckdb.Error as error:
        if not faults.wants_buckets(error):
            raise
        extensions.load(con, "httpfs")  # takes most of a tenth of a second, and a lake in a folder does not need it
        con.execute(statement)


def _open_bucket(con: duckdb.DuckDBPyConnection, data_path: str) -> None:
    """Let a writer's connection read and write below an s3:// URL, with endpoint, region and keys of `sources.s3`.

    Raises:
        UsageError: as `check_bucket`.
    """
    if "://" not in data_path:
        return
    from bufferhouse.sources import s3
    from bufferhouse.warehouse.lake.files import check_bucket

    found = check_bucket(data_path)
    extensions.load(con, "httpfs")
    # With DuckDB's own backoff of 4, nine tries take nine minutes; these take half a minute, as obstore's do.
    con.execute(f"SET http_retries = {s3.tries() - 1}; SET http_retry_wait_ms = 100; SET http_retry_backoff = 2")
    values = {
        "KEY_ID": found["access_key_id"],
        "SECRET": found["secret_access_key"],
        "SESSION_TOKEN": found.get("session_token"),
        "REGION": found.get("region", "us-east-1"),
        "SCOPE": "s3://" + data_path.removeprefix("s3://").split("/", 1)[0],
    }
    if endpoint := found.get("endpoint"):
        scheme, _, host = endpoint.rpartition("://")
        values.update(ENDPOINT=host.rstrip("/"), URL_STYLE="path", USE_SSL=str(scheme != "http").lower())
    words = ", ".join(f"{name} {quoted(value)}" for name, value in values.items() if value is not None)
    try:
        con.execute(f"CREATE TEMPORARY SECRET bufferhouse_bucket (TYPE s3, {words})")
    except duckdb.Error as error:  # its message may quote the statement
        raise UsageError(f"{data_path}: DuckDB refuses these keys ({type(error).__name__})") from None
