"""A warehouse in one file of DuckDB, or in memory: one writer at a time, rows numbered and changed in place."""

import errno
import fcntl
import os
import socket
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from bufferhouse.engine.connection import close, close_writer, connect, evict, settle, tries
from bufferhouse.engine.faults import damage, no_space
from bufferhouse.engine.journal import (
    checkpoint,
    guard,
    journal_path,
    log_path,
    make_log,
    make_logs,
    roll_back,
    unguard,
)
from bufferhouse.engine.sql import execute, identifier, literal, quoted, transaction
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError, WarehouseInUse, first_line
from bufferhouse.models import build
from bufferhouse.models.build import Progress
from bufferhouse.paths import cache_folder, remove_leftovers, replacing
from bufferhouse.warehouse.address import FileAddress
from bufferhouse.warehouse.file_copy import copy_file
from bufferhouse.warehouse.migrate import applied_version, check_empty, check_version, migrate, migrations
from bufferhouse.warehouse.template import Blank, copy_of_blank, fill_from_blank, stamp
from bufferhouse.warehouse.warehouse import Compacted, Warehouse

_COPIES = 3  # of a file that is written to meanwhile
_PROOF_MEMORY = "256MB"
_STORAGE_VERSION = "v1.5.0"  # the newest this DuckDB writes: it brings zstd for long text
BLOCK_SIZE = 65536  # bytes; a quarter of DuckDB's own suits the many small columns (docs/decisions/0006)
# In these tables rows of a dump that have much in common stand side by side: DuckDB packs what neighbors differ in.
_NEIGHBORS = {
    "raw.hlo_values": "t.size_bytes, t.offset_bytes, t.value_id",
    "raw.live_ranges": "t.start_position, t.end_position, t.ordinal",
    "intermediate.space_changes": "t.memory_space, t.occupied_change_bytes, t.position_in_schedule",
    "intermediate.peak_owners": "t.size_bytes, t.owned_bytes, t.value_id",
}


@contextmanager
def writer_lock(warehouse: Path, wait: float = 0.0) -> Iterator[Path]:
    """Hold the writer's lock beside the file, and yield where it lies; wait up to `wait` seconds for it.

    The lock is the kernel's, so it is gone when its holder is, however that ended; what stands in the file is only for
    the message. DuckDB's own lock is not enough to wait on: it is a POSIX lock, which a process loses when it opens and
    closes the file a second time.

    Raises:
        WarehouseInUse: another process held it all that time; the message names the holder.
        UsageError: a link lies where the lock should be, which would be written through; or this user may not write it.
    """
    path = FileAddress(warehouse).lock
    # Not inheritable: a worker process that outlives its parent must not go on holding the lock.
    descriptor = _made_lock(path, warehouse)
    try:
        for is_last in tries(wait):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if is_last:
                    raise _being_written(path.with_suffix(""), _holder(descriptor) or "another process") from None
        try:
            with suppress(OSError):  # a full disk: the lock holds without a name in it
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
            yield path
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


class File(Warehouse):
    """A file, which has one writer at a time; in memory without an address. `path` is that of the file itself."""

    def __init__(self, address: FileAddress | None, **options: Any) -> None:
        super().__init__(address, **options)
        self.path = None if address is None else address.file
        self._is_copy = False  # of the blank warehouse, made just now
        self._is_finished = False  # opened to write, with all tables and models
        self._memory_limit: str | None = None  # as DuckDB says it; each time it is rounded down

    def _open_to_write(self, stack: ExitStack) -> None:
        if self.path is None:
            self._connect(0.0)
            if self.use_blank:
                fill_from_blank(blank(build_models=self.build_models), self.con)
        else:
            self.address.check_writable()
            deadline = time.monotonic() + self.wait
            stack.enter_context(writer_lock(self.path, self.wait))
            self.address.check_not_emptied()
            _check_log(self.address.log)
            remove_leftovers(self.path, self.address.published)
            if self._is_new():
                stack.callback(self._remove_unfinished)
            self._connect(max(0.0, deadline - time.monotonic()))
            self.address.outdate_copy()
            stack.callback(self._check_still_there)  # after it was closed
        stack.callback(self._close_writer)
        self._prepare()
        self._is_finished = True

    def _check_still_there(self) -> None:
        """Say so where somebody removed or replaced the file meanwhile: what was written is not at its name.

        Raises:
            WarehouseError: so it is.
        """
        with suppress(OSError):
            if os.path.samestat(self._opened, os.stat(self.path)):
                return
        found = "another file in its place" if self.path.exists() else "none"
        raise WarehouseError(
            f"{self.path}: expected the file that was opened, found {found}: somebody moved or removed it meanwhile; "
            "what this command wrote is not in it, run it again"
        )

    def _is_new(self) -> bool:
        return not (self.path.exists() and self.path.stat().st_size)

    def _remove_unfinished(self) -> None:
        """Remove a file that was made just now and did not get all tables and models: nothing is in it."""
        if not self._is_finished:
            for file in (self.path, self.address.log, journal_path(self.path)):
                file.unlink(missing_ok=True)

    def _connect(self, wait: float) -> None:
        origin = blank(build_models=self.build_models) if self.use_blank else None
        self._is_copy = self.path is not None and self._is_new() and _create(self.path, origin)
        if self.path is not None:
            _roll_back(self.path, wait)
        self.con = connect(self.path, read_only=False, wait=wait)
        if self.path is not None:
            self._opened = os.stat(self.path)
        settle(self.con)
        guard(self.con)
        self.con.execute("SET zstd_min_string_length = 64")
        if self.path is not None and self.address.has_names:
            close(self.con)  # after it was opened: who writes by the other name at this moment is waited for first
            raise UsageError(
                f"{self.path} has a second name, a hard link (find -samefile {self.path} names it): lock and log lie"
                " beside one name, and who uses the other does not see them; remove one, or make it a symbolic link"
            )
        make_logs(self.con)

    def _prepare(self) -> None:
        try:
            if self._is_copy:
                stamp(self.con)
            migrate(self.con, self.path)
            if self.build_models:
                build.build(self.con, progress=self.progress)
        except duckdb.Error as error:
            raise no_space(self.path, error) or WarehouseError(
                f"{self.path} cannot be migrated to this version, and was not changed: {first_line(error)}"
            ) from error

    def open_to_read(self, *, is_long: bool) -> None:
        """Read the published copy where nothing was written since, which is in no writer's way.

        Else read the file itself when nobody writes, else the published copy as it is, else wait. Whoever reads for
        long reads a copy of its own of the file, since a writer cannot open a file that somebody reads.
        """
        self.address.check_file()
        published = self.address.published
        if self.address.is_published():
            self.con = connect(published, read_only=True, wait=self.wait)
        else:
            self.address.check_not_emptied()
            undo_left(self.path)
            try:
                own = self._of_its_own() if is_long else None
                self.con = own or self._connected_to_read(0.0 if published.exists() else self.wait)
                if self.address.has_names:
                    self.note = (
                        f"{self.path} has a second name, a hard link: what lies in a log beside that one is not seen"
                    )
            except WarehouseBusy:
                if not published.exists():
                    raise
                self._open_published()
            except WarehouseError as error:
                if not (journal := journal_path(self.path)).exists():
                    raise
                raise WarehouseError(
                    f"a writer of {self.path} was killed in the middle of a checkpoint; any bufferhouse command by a "
                    f"user who may write the file and its folder restores it from {journal}; try again after that"
                ) from error
        settle(self.con)
        version = applied_version(self.con)
        try:
            if version == 0:
                check_empty(self.con, str(self.path))
            check_version(version, str(self.path), is_reader=True)
        except WarehouseError:
            close(self.con)
            raise
        if not self.con.execute("SELECT 1 FROM meta.models LIMIT 1").fetchall():
            close(self.con)
            raise WarehouseError(
                f"{self.path} has no models yet: the command that made it was interrupted; any ingest builds them, as "
                "does bufferhouse build"
            )

    def _open_published(self) -> None:
        """Open the published copy, or wait for the file if the copy is of another version."""
        published = self.address.published
        self.con = connect(published, read_only=True, wait=self.wait)
        if applied_version(self.con) != max(migrations()):
            close(self.con)
            self.con = self._connected_to_read(self.wait)
            return
        moment = datetime.fromtimestamp(published.stat().st_mtime, UTC)
        self.note = f"{self.path} is being written; this is the published copy, as of {moment:%Y-%m-%d %H:%M:%S} UTC"

    def _connected_to_read(self, wait: float) -> duckdb.DuckDBPyConnection:
        """Connect to the file itself; of one that is being written readers hear the same as a second writer."""
        try:
            return connect(self.path, read_only=True, wait=wait)
        except WarehouseInUse:
            if holder := writer(self.path):
                raise _being_written(self.path, holder) from None
            raise

    def _of_its_own(self) -> duckdb.DuckDBPyConnection | None:
        """Connect to a copy of the file that nobody else sees, gone with the connection; None where there can be none.

        Nothing is locked: a copy during which somebody wrote is made again.
        """
        files = [self.path, self.address.log]
        # No cache, or no space there: the reader waits as it did without a copy.
        with suppress(OSError, RuntimeError, WarehouseError), _private_folder() as folder:
            for _ in range(_COPIES):
                before = [_state(file) for file in files]
                for file in files:
                    (folder / file.name).unlink(missing_ok=True)
                    if file.exists():
                        copy_file(file, folder / file.name, is_flushed=False)
                if writer(self.path) is None and before == [_state(file) for file in files]:
                    con = connect(folder / self.path.name, read_only=True, wait=0.0)
                    con.execute(f"SET temp_directory = {quoted(f'{self.path}.tmp')}")  # where the file's own would be
                    return con
        return None

    def exists(self) -> bool:
        return self.path.exists()

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self.con)

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()  # it is always so

    turn = alone

    def stored(self, table: str) -> str:
        return f"raw.{table}"

    def next_number(self, table: str, column: str, count: int = 1) -> int:
        return self.con.execute(f"SELECT COALESCE(MAX({column}), 0) + 1 FROM raw.{table}").fetchone()[0]

    def shape_numbers(self, texts: Sequence[str], known: Mapping[int, int]) -> list[int]:
        free = self.next_number("shapes", "shape_id")
        numbers = []
        for row in range(len(texts)):
            numbers.append(known.get(row, free))
            free += row not in known
        return numbers

    def run_numbers(self, names: Sequence[str]) -> list[int]:
        first = self.next_number("runs", "run_id")
        return list(range(first, first + len(names)))

    def change_run(self, name: str, changes: Mapping[str, object], *, is_whole: bool = True) -> None:
        assignments = ", ".join(f"{column} = {literal(value)}" for column, value in changes.items())
        self.con.execute(f"UPDATE raw.runs SET {assignments} WHERE run_name = {literal(name)}")

    def change_rejects(self, state: str, which: str, parameters: Mapping[str, object]) -> None:
        execute(self.con, f"UPDATE raw.rejects AS r SET state = $state WHERE {which}", state=state, **parameters)

    def evict(self) -> None:
        if self.path is None:
            return  # in memory there is no other place
        if self._memory_limit is None:
            self._memory_limit = self.con.execute("SELECT current_setting('memory_limit')").fetchone()[0]
        evict(self.con, self._memory_limit)

    def build(self, *, force: bool = False, progress: Progress | None = None) -> list[str]:
        return build.build(self.con, force=force, progress=progress)

    def publish(self) -> Path:
        """Copy the file to its published name, where every block of the copy can be read."""
        if self.path is None:
            raise UsageError("an in-memory warehouse cannot be published")
        checkpoint(self.con)
        published = self.address.published

        def prove(new: Path) -> None:
            _read_whole(new)
            # Of somebody who wrote to the copy before with DuckDB itself, which would take it for the log of this one.
            log_path(published).unlink(missing_ok=True)

        try:
            copy_file(self.path, published, prove=prove)
        except (duckdb.Error, WarehouseError) as error:
            if not (told := damage(self.path, error)):
                raise
            kept = f"; {published} stays as it was" if published.exists() else ""
            raise WarehouseError(f"{told}{kept}") from None
        return published

    def compact(self, *, keep_seconds: float | None = None) -> Compacted:
        """Write a new file without free blocks, which takes the place of the old one in one step."""
        if self.path is None:
            raise UsageError("an in-memory warehouse cannot be compacted")
        checkpoint(self.con)
        before = self.size()
        main = self.con.execute("SELECT current_database()").fetchone()[0]
        with replacing(self.path, is_flushed=True) as new:
            try:
                self.con.execute(f"ATTACH {quoted(str(new))} AS compacted"
                                 f" (STORAGE_VERSION '{_STORAGE_VERSION}', BLOCK_SIZE {BLOCK_SIZE})")  # fmt: skip
                _give_to_same(self.path, new)  # before there is a row in it
                make_log(new)
                unguard(self.con)  # the new file is nobody's yet, and nothing is written to the old one
                with transaction(self.con, keep_journal=False):
                    self.con.execute(f"COPY FROM DATABASE {identifier(main)} TO compacted (SCHEMA)")
                    _copy_rows(self.con, main)
                self.con.execute("DETACH compacted")
            finally:
                Path(f"{new}.wal").unlink(missing_ok=True)
            close_writer(self.con)
        self._connect(self.wait)
        return Compacted(before, self.size())

    def size(self) -> int:
        return self.path.stat().st_size

    def sizes(self, tables: Iterable[str]) -> Mapping[str, int]:
        """Return the bytes of the blocks that a table's columns lie in; one that small tables share counts for each."""
        size_of_block = self.con.execute("SELECT block_size FROM pragma_database_size()").fetchone()[0]
        return {name: _blocks(self.con, name) * size_of_block for name in tables}

    def writer(self) -> str | None:
        return writer(self.path)


def _read_whole(file: Path) -> None:
    """Read every block that a table lies in: DuckDB proves a block by its checksum, and only when it is read."""
    con = connect(file, read_only=True, wait=0.0)
    try:
        settle(con)
        tables = con.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
        [(limit,)] = con.execute("SELECT current_setting('memory_limit')").fetchall()
        con.execute("SET threads = 1")
        con.execute(f"SET memory_limit = '{_PROOF_MEMORY}'")  # a block is read once, and need not stay
        for schema, table in tables:
            read = f"SELECT BIT_XOR(hash(COLUMNS(*))) FROM {identifier(schema)}.{identifier(table)}"
            try:
                con.execute(read)
            except duckdb.OutOfMemoryException:  # some rows, of large rejects, take more
                con.execute(f"SET memory_limit = '{limit}'")
                con.execute(read)
    finally:
        close(con)


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Yield a folder in the user's cache that goes at the end, what is open in it included: the kernel keeps that.

    Raises:
        RuntimeError, OSError: there is no cache.
    """
    cache = cache_folder() / "readers"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _state(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def undo_left(path: Path) -> None:
    """Undo what a killed writer left of a checkpoint, before the file is read.

    Where another writes it now, or this user may not, it stays as it is.
    """
    with suppress(WarehouseBusy, UsageError, OSError):
        if journal_path(path).exists():
            with writer_lock(path):
                roll_back(path)


def _roll_back(path: Path, wait: float) -> None:
    """Undo a checkpoint that was cut short: nobody writes to a file that is one in part."""
    try:
        if roll_back(path, wait):
            return
    except OSError as error:
        raise WarehouseError(f"{path} cannot be opened: {error}") from None
    raise WarehouseInUse(f"{path} is open in another process; try again later")


def _create(path: Path, blank: Blank | None) -> bool:
    """Make a database, whole or not at all: DuckDB does not open a file whose first bytes were cut short.

    Return whether it is a copy of a blank warehouse.
    """
    config = {"storage_compatibility_version": _STORAGE_VERSION, "default_block_size": str(BLOCK_SIZE)}
    try:
        with replacing(path, is_flushed=True) as new:
            is_copy = blank is not None and copy_of_blank(blank, new)
            if not is_copy:
                duckdb.connect(str(new), config=config).close()
        return is_copy
    except OSError as error:
        raise no_space(path, OSError(error.strerror)) or error from None
    except duckdb.Error as error:
        raise no_space(path, error) or WarehouseError(f"{path} cannot be made: {first_line(error)}") from None


def _give_to_same(file: Path, successor: Path) -> None:
    """Let those read and write the successor of a file who may read and write the file."""
    found = file.stat()
    with suppress(PermissionError):  # only root gives files away; others keep what they can
        os.chown(successor, found.st_uid, found.st_gid)
    os.chmod(successor, stat.S_IMODE(found.st_mode))


def _copy_rows(con: duckdb.DuckDBPyConnection, main: str) -> None:
    tables = execute(
        con, "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $main ORDER BY ALL", main=main
    ).fetchall()
    for schema, table in tables:
        name = f'"{schema}"."{table}"'
        order = _NEIGHBORS.get(f"{schema}.{table}")
        # Dumps that were loaded one after the other are alike, too.
        sorting = f" LEFT JOIN raw.dumps AS d ON t.dump_id = d.dump_id ORDER BY d.rowid, {order}" if order else ""
        con.execute(f"INSERT INTO compacted.{name} SELECT t.* FROM {identifier(main)}.{name} AS t{sorting}")


def _blocks(con: duckdb.DuckDBPyConnection, table: str) -> int:
    return con.execute(
        "SELECT COUNT(DISTINCT block) FROM (SELECT unnest(list_append(additional_block_ids, block_id)) AS block"
        f" FROM pragma_storage_info('{table}')) WHERE block >= 0"
    ).fetchone()[0]


def blank(*, build_models: bool) -> Blank:
    """Return the blank warehouse of which new ones are copies: with models, or with tables alone."""

    def make(path: Path) -> None:
        with File(FileAddress(path), use_blank=False, build_models=build_models):
            pass

    return Blank("models" if build_models else "tables", make)


def _check_log(path: Path) -> None:
    """Refuse a log that is no file of its own: DuckDB writes to what a link leads to, and makes it where it is not."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise _no_plain_file(path, "log")


def _made_lock(path: Path, warehouse: Path) -> int:
    """Open a lock to write it. One that is made here is for those who may write the warehouse: root shuts nobody out.

    What lay there already keeps its permissions: it may be another name of any file.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return _opened_lock(path, os.O_RDWR | os.O_CREAT)
    with suppress(FileNotFoundError, PermissionError):  # it is new; or somebody else's, and only root gives files away
        found = warehouse.stat()
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        os.fchown(descriptor, found.st_uid, found.st_gid)
    return descriptor


def _opened_lock(path: Path, flags: int) -> int:
    """Open a lock, which is a file of its own: whoever may write to the folder does not choose what is written to."""
    try:
        # Not blocking: a pipe in its place would be waited for.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except PermissionError:
        raise UsageError(
            f"{path}: this user may not write the lock of the warehouse; let it read and write there, or remove it "
            "while nobody writes"
        ) from None
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise
    else:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    raise _no_plain_file(path, "lock")


def _being_written(path: Path, holder: str) -> WarehouseInUse:
    return WarehouseInUse(f"{path} is being written by {holder}; try again later")


def _holder(descriptor: int) -> str:
    """Return what stands in an open lock: the process that holds it, or nothing."""
    return os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()


def _no_plain_file(path: Path, what: str) -> UsageError:
    return UsageError(f"{path}: expected the {what} of a warehouse, a plain file, found something else; remove it")


def writer(warehouse: Path) -> str | None:
    """Say who writes a warehouse at this moment, None for nobody.

    The lock is tried only where its file names a holder: else a writer that comes at the same moment would be refused.
    """
    try:
        descriptor = _opened_lock(FileAddress(warehouse).lock, os.O_RDONLY)
    except (OSError, UsageError):
        return None
    try:
        if not (holder := _holder(descriptor)):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None  # it was killed: its name is still there
    except BlockingIOError:
        return holder
    finally:
        os.close(descriptor)
