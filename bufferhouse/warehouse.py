"""The warehouse file: open it for writing or for reading, look up what it knows, publish it."""

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import duckdb

from bufferhouse import building, migrate
from bufferhouse.blank import copy_of_blank, fill_from_blank
from bufferhouse.closing import close
from bufferhouse.copying import copy_file, flush, lacks_space
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError, WarehouseFull
from bufferhouse.lake.address import LakeAddress, address_of
from bufferhouse.lake.claims import Claims
from bufferhouse.lock import WriterLock
from bufferhouse.transaction import transaction

STORAGE_VERSION = "v1.5.0"  # the newest this DuckDB writes: it brings zstd for long text
BLOCK_SIZE = 65536  # bytes; a quarter of DuckDB's own suits the many small columns (docs/decisions/0006)


def default_path() -> Path | LakeAddress:
    """Return `$BUFFERHOUSE_WAREHOUSE`, else `warehouse.duckdb` in the working directory."""
    return address_of(os.environ.get("BUFFERHOUSE_WAREHOUSE") or "warehouse.duckdb")


def published_path(path: Path | LakeAddress) -> Path | None:
    """Return where the published copy of a warehouse lies: `x.duckdb` is published as `x.published.duckdb`.

    A lake has none.
    """
    if isinstance(path, LakeAddress):
        return None
    return path.with_name(f"{path.stem}.published{path.suffix or '.duckdb'}")


class Warehouse:
    """A warehouse open for writing: a file, which has one writer at a time, a lake, or in memory with `path` None.

    Opening migrates the schema and builds what changed in the models. A new one is a copy of the blank warehouse,
    unless `use_blank` is False.

    Raises:
        WarehouseBusy: another process writes, or reads the file itself, for longer than `wait` seconds.
        WarehouseError: the file is no warehouse, or one of a newer version.
    """

    def __init__(
        self, path: Path | LakeAddress | None, *, wait: float = 0.0, build_models: bool = True, use_blank: bool = True
    ) -> None:
        self.path = path
        self.use_blank = use_blank
        self.wait = wait
        self.build_models = build_models
        self._stack = ExitStack()
        self.con: duckdb.DuckDBPyConnection
        self.claims: Claims | None = None  # where others write, too

    def __enter__(self) -> "Warehouse":
        with ExitStack() as stack:
            if isinstance(self.path, LakeAddress):
                from bufferhouse.lake.writing import open_writer

                writer = open_writer(self.path, self.wait, build_models=self.build_models)
                self.con, self.claims = stack.enter_context(writer)
                _settle(self.con)
                self._stack = stack.pop_all()
                return self
            if self.path is not None:
                if not self.path.absolute().parent.is_dir():
                    raise UsageError(f"the folder of the warehouse does not exist: {self.path.absolute().parent}")
                deadline = time.monotonic() + self.wait
                stack.enter_context(WriterLock(self.path, self.wait))
                self._connect(max(0.0, deadline - time.monotonic()))
                _outdate_copy(self.path)
            else:
                self._connect(0.0)
                if self.build_models and self.use_blank:
                    fill_from_blank(_make, self.con)
            stack.callback(lambda: close(self.con))
            self._prepare()
            self._stack = stack.pop_all()
        return self

    def _prepare(self) -> None:
        try:
            migrate.migrate(self.con, self.path)
            if self.build_models:
                building.build(self.con)
        except duckdb.Error as error:
            raise _full(self.path, error) or WarehouseError(
                f"{self.path} cannot be brought to this version, and is as it was: {_first_line(error)}"
            ) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error  # DuckDB wraps a Ctrl-C that meets it in a statement
        if isinstance(error, duckdb.Error) and (full := _full(self.path, error)):
            raise full from error
        if isinstance(error, duckdb.Error) and isinstance(self.path, LakeAddress):
            from bufferhouse.lake.patience import away, passes

            if passes(error):
                raise away(error) from error

    def _connect(self, wait: float) -> None:
        if self.path is not None and not (self.path.exists() and self.path.stat().st_size):
            _create(self.path, from_blank=self.build_models and self.use_blank)
        self.con = _connect(self.path, read_only=False, wait=wait)
        _settle(self.con)
        self.con.execute("SET zstd_min_string_length = 64")

    def build(self, *, force: bool = False, progress: building.Progress | None = None) -> list[str]:
        """Build the models that changed, and back-fill them; return their names. See `building.build`."""
        if isinstance(self.path, LakeAddress):
            from bufferhouse.lake.modelling import build_lake

            return build_lake(self.con, self.path, force=force, progress=progress)
        return building.build(self.con, force=force, progress=progress)

    def replace_file(self, new: Path) -> None:
        """Put a whole new file in the place of the warehouse, in one step; the writer's lock is held throughout."""
        if not isinstance(self.path, Path):
            raise UsageError("only a warehouse that is a file has one")
        close(self.con)
        os.replace(new, self.path)
        self._connect(self.wait)

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context manager around what is committed as one load, or rolled back."""
        if self.claims is None:
            return transaction(self.con)
        from bufferhouse.lake.commits import fenced_transaction

        return fenced_transaction(self.con, self.claims)

    def alone(self) -> AbstractContextManager[None]:
        """Return a context manager in which nobody else writes: in a file that is always so.

        Raises:
            WarehouseBusy: other workers are at a lake.
        """
        return nullcontext() if self.claims is None else self.claims.alone(self.wait)

    def known_contents(self, dump_ids: Iterable[int]) -> dict[int, tuple[str, int]]:
        """Return SHA-256 and signature id of those of `dump_ids` whose content is stored."""
        if isinstance(self.path, LakeAddress):
            from bufferhouse.lake.patience import patiently

            asked = list(dump_ids)
            return patiently(lambda: self._known_contents(asked))
        return self._known_contents(dump_ids)

    def _known_contents(self, dump_ids: Iterable[int]) -> dict[int, tuple[str, int]]:
        import pyarrow as pa

        self.con.register("wanted", pa.table({"dump_id": pa.array(dump_ids, pa.int64())}))
        rows = self.con.execute(
            # Twice: of those that are not wanted, nearly all in a large warehouse, only the id is read.
            "SELECT d.dump_id, d.sha256, d.signature_id FROM raw.dumps AS d SEMI JOIN"
            " (SELECT w.dump_id FROM wanted AS w SEMI JOIN raw.dumps USING (dump_id)) AS known USING (dump_id)"
        ).fetchall()
        self.con.unregister("wanted")
        return {dump_id: (sha256, signature_id) for dump_id, sha256, signature_id in rows}

    def known_refusals(self, hashes: Iterable[str], parser_version: str) -> set[tuple[str, str, str]]:
        """Return run name, relative path and SHA-256 of open refusals that this parser has already spoken."""
        rows = self.con.execute(
            "SELECT u.run_name, r.relative_path, r.sha256 FROM raw.rejects AS r JOIN raw.runs AS u USING (run_id)"
            " WHERE r.state = 'open' AND r.parser_version = ?"
            " AND r.sha256 IN (SELECT unnest(CAST(? AS VARCHAR[])))",
            [parser_version, list(set(hashes))],
        ).fetchall()
        return set(rows)

    def known_files(
        self, run_names: Iterable[str], parser_version: str
    ) -> dict[tuple[str, str], tuple[int, int | None, bool]]:
        """Return size, modification time and whether it was refused, as last seen, by run name and relative path."""
        # The rows of one file come in the order of their loads: the last one stands.
        rows = self.con.execute(
            "WITH asked AS (SELECT run_id, run_name FROM raw.runs WHERE run_name IN (SELECT unnest($names::VARCHAR[])))"
            " SELECT run_name, relative_path, source_size_bytes, source_mtime_ns, FALSE, load_id"
            " FROM raw.observations JOIN asked USING (run_id)"
            " UNION ALL SELECT run_name, relative_path, source_size_bytes, source_mtime_ns, TRUE, load_id"
            " FROM raw.rejects JOIN asked USING (run_id)"
            " WHERE parser_version = $version AND state = 'open' ORDER BY load_id",
            {"names": list(run_names), "version": parser_version},
        ).fetchall()
        return {(run, path): (size, mtime, refused) for run, path, size, mtime, refused, _ in rows}

    def publish(self) -> Path | LakeAddress:
        """Copy the warehouse to its published name, so that readers need not wait for writers; return that name.

        Readers of a lake read a snapshot: there is nothing to copy, and it is its own name.
        """
        if self.path is None:
            raise UsageError("an in-memory warehouse cannot be published")
        if isinstance(self.path, LakeAddress):
            return self.path
        self.con.execute("CHECKPOINT")
        target = published_path(self.path)
        copy_file(self.path, target)
        return target


def _outdate_copy(path: Path) -> None:
    """Make sure that the published copy is not taken for newer than what is written from now on.

    Its time says so, and lies ahead where the clock was set back since: readers would go on with the copy.
    """
    copy, now = published_path(path), time.time()
    if copy.exists() and copy.stat().st_mtime >= now:
        os.utime(copy, (now - 1, now - 1))


def _settle(con: duckdb.DuckDBPyConnection) -> None:
    """Make a connection answer alike wherever it is opened."""
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET enable_progress_bar = false")  # DuckDB draws its own on standard output
    con.execute("SET python_enable_replacements = false")  # a table that is not there is no variable of ours


def _connect(path: Path | None, *, read_only: bool, wait: float) -> duckdb.DuckDBPyConnection:
    """Connect, waiting up to `wait` seconds for whoever has the file open."""
    if path is None:
        return duckdb.connect()
    deadline = time.monotonic() + wait
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only)
        except duckdb.IOException as error:
            if "Could not set lock" not in str(error):
                raise _full(path, error) or WarehouseError(f"{path} cannot be opened: {_first_line(error)}") from None
            if time.monotonic() >= deadline:
                raise WarehouseBusy(
                    f"{path} is open in another process ({_holder(error)}); "
                    "try again later, or wait for it with --wait SECONDS"
                ) from None
            time.sleep(0.05)
        except duckdb.Error as error:
            raise WarehouseError(f"{path} is no warehouse: {_first_line(error)}") from None


def _make(path: Path) -> None:
    with Warehouse(path, use_blank=False):
        pass


def _create(path: Path, *, from_blank: bool) -> None:
    """Make a database, whole or not at all: DuckDB does not open a file whose first bytes were cut short."""
    for leftover in path.parent.glob(f".{path.name}.*.new*"):
        leftover.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    config = {"storage_compatibility_version": STORAGE_VERSION, "default_block_size": str(BLOCK_SIZE)}
    try:
        if not (from_blank and copy_of_blank(_make, temporary)):
            duckdb.connect(str(temporary), config=config).close()
        flush(temporary)
        os.replace(temporary, path)
    except duckdb.Error as error:
        raise _full(path, error) or WarehouseError(f"{path} cannot be made: {_first_line(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _full(path: Path | None, error: Exception) -> WarehouseFull | None:
    if not lacks_space(error):
        return None
    return WarehouseFull(
        f"no space left for {path}: {_first_line(error)}; what was committed is kept, make space and run the same "
        "command again"
    )


def _holder(error: Exception) -> str:
    found = re.search(r"PID \d+", str(error))
    return found[0] if found else "its number is not known"


def open_reader(path: Path | LakeAddress, *, wait: float = 0.0) -> tuple[duckdb.DuckDBPyConnection, str | None]:
    """Open a warehouse for reading; return the connection and a note where it is not the newest state.

    Reads the published copy where nothing was written since, which is in no writer's way. Else reads the file itself
    when nobody writes, else the published copy as it is, else waits up to `wait` seconds.

    Raises:
        UsageError: there is no warehouse at `path`.
        WarehouseBusy: it is being written, there is no published copy, and `wait` is over.
    """
    if isinstance(path, LakeAddress):
        from bufferhouse.lake.writing import open_snapshot

        con = open_snapshot(path, wait)
        _settle(con)
        return con, None
    if not path.exists():
        raise UsageError(
            f"there is no warehouse at {path}; make one with: bufferhouse ingest SOURCE --warehouse {path}"
        )
    published = published_path(path)
    note = None
    if _is_current(published, path):
        con = _connect(published, read_only=True, wait=wait)
    else:
        try:
            con = _connect(path, read_only=True, wait=0.0 if published.exists() else wait)
        except WarehouseBusy:
            if not published.exists():
                raise
            con = _connect(published, read_only=True, wait=wait)
            moment = datetime.fromtimestamp(published.stat().st_mtime, UTC)
            note = f"{path} is being written; this is the published copy, as of {moment:%Y-%m-%d %H:%M:%S} UTC"
    _settle(con)
    version = migrate.applied_version(con)
    if version != max(migrate.migrations()):
        close(con)
        known = max(migrate.migrations())
        way = "any ingest migrates it" if version < known else "install the newer bufferhouse that wrote it"
        raise WarehouseError(f"{path} has schema version {version}, this bufferhouse reads version {known}; {way}")
    return con, note


def is_there(path: Path | LakeAddress) -> bool:
    """Say whether there is a warehouse."""
    if isinstance(path, LakeAddress):
        from bufferhouse.lake.opening import exists

        return exists(path)
    return path.exists()


@contextmanager
def reading(path: Path | LakeAddress, *, wait: float = 0.0) -> Iterator[tuple[duckdb.DuckDBPyConnection, str | None]]:
    """Yield what `open_reader` returns, and close it.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `open_reader`.
    """
    con, note = open_reader(path, wait=wait)
    try:
        yield con, note
    finally:
        close(con)


@contextmanager
def only_asked(path: Path | LakeAddress, *, wait: float = 0.0) -> Iterator[tuple[Warehouse, str | None]]:
    """Yield a warehouse to look things up in, and the note of `open_reader`.

    It is neither made, nor migrated, nor locked; where there is none, it is an empty one in memory.
    """
    if not is_there(path):
        with Warehouse(None) as warehouse:
            yield warehouse, None
        return
    warehouse = Warehouse(path)
    with reading(path, wait=wait) as (warehouse.con, note):
        yield warehouse, note


def _is_current(published: Path, path: Path) -> bool:
    """Say whether nothing was committed since the copy was made: neither to the file nor to the log beside it."""
    try:
        is_newer = published.stat().st_mtime_ns > path.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return is_newer and not path.with_name(f"{path.name}.wal").exists()
