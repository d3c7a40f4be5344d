"""The warehouse open for writing: bring it to this version, look up what it knows, publish it."""

import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from types import TracebackType

import duckdb

from bufferhouse.engine.connection import close_writer, connect, no_space, settle
from bufferhouse.engine.journal import checkpoint, guard, roll_back
from bufferhouse.engine.sql import registered, transaction
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError, first_line
from bufferhouse.models import build as building
from bufferhouse.warehouse import migrate
from bufferhouse.warehouse.copying import copy_file, flush
from bufferhouse.warehouse.files import file_of, has_names, outdate_copy, published_path, sweep
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lock import WriterLock
from bufferhouse.warehouse.template import copy_of_blank, fill_from_blank, stamp

STORAGE_VERSION = "v1.5.0"  # the newest this DuckDB writes: it brings zstd for long text
BLOCK_SIZE = 65536  # bytes; a quarter of DuckDB's own suits the many small columns (docs/decisions/0006)


class Warehouse:
    """A warehouse open for writing: a file, which has one writer at a time, a lake, or in memory with `path` None.

    Opening migrates the schema and builds what changed in the models; `progress` hears of those that are back-filled.
    A new one is a copy of the blank warehouse, unless `use_blank` is False. `path` is that of the file, where the one
    given is a link to it.

    Raises:
        WarehouseBusy: another process writes, or reads the file itself, for longer than `wait` seconds.
        WarehouseError: the file is no warehouse, or one of a newer version.
    """

    def __init__(
        self,
        path: Path | LakeAddress | None,
        *,
        wait: float = 0.0,
        build_models: bool = True,
        use_blank: bool = True,
        progress: building.Progress | None = None,
    ) -> None:
        self.path = file_of(path) if isinstance(path, Path) else path
        self.use_blank = use_blank
        self.wait = wait
        self.build_models = build_models
        self.progress = progress
        self._stack = ExitStack()
        self._is_copy = False  # of the blank warehouse, made just now
        self.con: duckdb.DuckDBPyConnection
        self.claims: Claims | None = None  # where others write, too

    def __enter__(self) -> "Warehouse":
        with ExitStack() as stack:
            if isinstance(self.path, LakeAddress):
                from bufferhouse.warehouse.lake.open import open_writer

                writer = open_writer(self.path, self.wait, build_models=self.build_models, progress=self.progress)
                self.con, self.claims = stack.enter_context(writer)
                settle(self.con)
                self._stack = stack.pop_all()
                return self
            if self.path is not None:
                if not self.path.absolute().parent.is_dir():
                    raise UsageError(f"the folder of the warehouse does not exist: {self.path.absolute().parent}")
                deadline = time.monotonic() + self.wait
                stack.enter_context(WriterLock(self.path, self.wait))
                sweep(self.path)
                self._connect(max(0.0, deadline - time.monotonic()))
                outdate_copy(self.path)
            else:
                self._connect(0.0)
                if self.build_models and self.use_blank:
                    fill_from_blank(_make, self.con)
            stack.callback(lambda: close_writer(self.con))
            self._prepare()
            self._stack = stack.pop_all()
        return self

    def _prepare(self) -> None:
        try:
            if self._is_copy:
                stamp(self.con)
            migrate.migrate(self.con, self.path)
            if self.build_models:
                building.build(self.con, progress=self.progress)
        except duckdb.Error as error:
            raise no_space(self.path, error) or WarehouseError(
                f"{self.path} cannot be brought to this version, and is as it was: {first_line(error)}"
            ) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error  # DuckDB wraps a Ctrl-C that meets it in a statement
        if isinstance(error, duckdb.Error) and (full := no_space(self.path, error)):
            raise full from error
        if isinstance(error, duckdb.Error) and isinstance(self.path, LakeAddress):
            from bufferhouse.warehouse.lake.retry import away, passes

            if passes(error):
                raise away(error) from error

    def _connect(self, wait: float) -> None:
        is_new = self.path is not None and not (self.path.exists() and self.path.stat().st_size)
        self._is_copy = is_new and _create(self.path, from_blank=self.build_models and self.use_blank)
        if self.path is not None:
            _roll_back(self.path, wait)
        self.con = connect(self.path, read_only=False, wait=wait)
        guard(self.con)
        if self.path is not None and has_names(self.path):
            self.con.close()  # after it was opened: who writes by the other name at this moment is waited for first
            raise UsageError(
                f"{self.path} has a second name, a hard link (find -samefile {self.path} names it): lock and log lie"
                " beside one name, and who comes by the other does not see them; remove one, or make it a symbolic link"
            )
        settle(self.con)
        self.con.execute("SET zstd_min_string_length = 64")

    def build(self, *, force: bool = False, progress: building.Progress | None = None) -> list[str]:
        """Build the models that changed, and back-fill them; return their names. See `building.build`."""
        if isinstance(self.path, LakeAddress):
            from bufferhouse.warehouse.lake.build import build_lake

            return build_lake(self.con, self.path, claims=self.claims, force=force, progress=progress)
        return building.build(self.con, force=force, progress=progress)

    def replace_file(self, new: Path) -> None:
        """Put a whole new file in the place of the warehouse, in one step; the writer's lock is held throughout."""
        if not isinstance(self.path, Path):
            raise UsageError("only a warehouse that is a file has one")
        close_writer(self.con)
        os.replace(new, self.path)
        self._connect(self.wait)

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context manager around what is committed as one load, or rolled back."""
        if self.claims is None:
            return transaction(self.con)
        from bufferhouse.warehouse.lake.commit import fenced_transaction

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
            from bufferhouse.warehouse.lake.retry import patiently

            asked = list(dump_ids)
            return patiently(lambda: self._known_contents(asked))
        return self._known_contents(dump_ids)

    def _known_contents(self, dump_ids: Iterable[int]) -> dict[int, tuple[str, int]]:
        import pyarrow as pa

        with registered(self.con, "wanted", pa.table({"dump_id": pa.array(dump_ids, pa.int64())})):
            rows = self.con.execute(
                # Twice: of those that are not wanted, nearly all in a large warehouse, only the id is read.
                "SELECT d.dump_id, d.sha256, d.signature_id FROM raw.dumps AS d SEMI JOIN"
                " (SELECT w.dump_id FROM wanted AS w SEMI JOIN raw.dumps USING (dump_id)) AS known USING (dump_id)"
            ).fetchall()
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
        checkpoint(self.con)
        target = published_path(self.path)
        copy_file(self.path, target)
        return target


def _roll_back(path: Path, wait: float) -> None:
    """Undo a checkpoint that was cut short: nobody writes to a file that is one in part."""
    try:
        if roll_back(path, wait):
            return
    except OSError as error:
        raise WarehouseError(f"{path} cannot be opened: {error}") from None
    raise WarehouseBusy(f"{path} is open in another process; try again later, or wait for it with --wait SECONDS")


def _make(path: Path) -> None:
    with Warehouse(path, use_blank=False):
        pass


def _create(path: Path, *, from_blank: bool) -> bool:
    """Make a database, whole or not at all: DuckDB does not open a file whose first bytes were cut short.

    Return whether it is a copy of the blank warehouse.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    config = {"storage_compatibility_version": STORAGE_VERSION, "default_block_size": str(BLOCK_SIZE)}
    try:
        is_copy = from_blank and copy_of_blank(_make, temporary)
        if not is_copy:
            duckdb.connect(str(temporary), config=config).close()
        flush(temporary)
        os.replace(temporary, path)
        return is_copy
    except duckdb.Error as error:
        raise no_space(path, error) or WarehouseError(f"{path} cannot be made: {first_line(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)
