"""A warehouse that is a lake: many may read and write it at once, and rows are only added.

The number of a run comes from its name, that of a shape from its text, so writers need not ask each other. The number
of a load or a reject comes from the moment, which also orders them. All numbers are below 2^62, so that a file can
continue to count from them.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from bufferhouse.dump.identity import key_of
from bufferhouse.engine import faults
from bufferhouse.engine.connection import close, settle
from bufferhouse.engine.sql import execute, literal, quoted, transaction
from bufferhouse.errors import WarehouseBusy, WarehouseError
from bufferhouse.models import build
from bufferhouse.models.build import Progress
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.address import ROOT, Address
from bufferhouse.warehouse.lake import attach, compact, retry, schema
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lake.contents import Contents, named
from bufferhouse.warehouse.lake.postgres import answers, making, prove_role
from bufferhouse.warehouse.migrate import applied_version, check_version
from bufferhouse.warehouse.warehouse import Compacted, Warehouse

if TYPE_CHECKING:
    from bufferhouse.tabulate.batch import ParsedBatch

T = TypeVar("T")
_RANDOM_BITS = 10  # beside microseconds since 1970, below 2^62 until the year 2112
_INTERNAL = (duckdb.InternalException, duckdb.FatalException)  # of a statement, and of those after it
_STORED_MODELS = "SELECT model_name, fingerprint FROM meta.models WHERE is_incremental"


class Lake(Warehouse):
    """A lake with the schema and the models of this version; it has `claims` if its catalog is in PostgreSQL."""

    def _open_to_write(self, stack: ExitStack) -> None:
        self.address.check_writable()
        try:
            self.con = attach.open_lake(self.address, read_only=False, wait=self.wait)
        except attach.NoLake:
            if self.address.must_exist:
                raise
            self._make()
            self.con = attach.open_lake(self.address, read_only=False, wait=self.wait)
        stack.callback(self._close_writer)
        if self.address.is_postgres:
            # Before models are computed: from now on nobody removes the rows that they read.
            self.claims = stack.enter_context(Claims(self.address.connection_string, self.wait))
            self.contents = Contents(self.con, self.claims)
        self._prepare()
        settle(self.con)

    def _make(self) -> None:
        """Make the lake; if several processes come at once, one makes it, and the others wait until it is made."""
        with making(self.address) as session:
            if not self.exists():
                prove_role(session)
                attach.make_lake(self.address, wait=self.wait)

    def _prepare(self) -> None:
        """Bring schema and models up to date as soon as catalog and bucket answer; continue what was stopped.

        Raises:
            WarehouseBusy: they do not answer, or other writers conflict, for two minutes.
            WarehouseError: it failed; the next writer continues from there.
        """
        try:
            self.persistently(self._bring_along)
        except duckdb.Error as error:
            raise self.told(error) or WarehouseError(
                f"{self.address} cannot be migrated to this version: {faults.reason(error)}; no row was changed, and "
                "the next ingest continues from there"
            ) from error

    def _bring_along(self) -> None:
        """Do so once; if several writers come at once, one does it, and the others find it done."""
        self.wake()
        attach.clear_away(self.con)
        try:
            schema.migrate_lake(self.con, str(self.address))
            if self.build_models and not build.is_current(self.con, MODELS):
                self.build(progress=self.progress)
        except WarehouseBusy:
            if not self.con.execute("SELECT 1 FROM meta.models LIMIT 1").fetchall():
                raise
            # Another worker builds them: until it is done, loads use the old models.

    def wake(self) -> None:
        try:
            self.con.execute("SELECT 1")
        except (duckdb.FatalException, duckdb.ConnectionException):
            close(self.con)
            self.con = attach.open_lake(self.address, read_only=False, wait=self.wait)
            if self.claims is not None:
                self.contents = Contents(self.con, self.claims)
            settle(self.con)

    def open_to_read(self, *, is_long: bool) -> None:
        """Read the newest snapshot, and go on reading it."""
        self.con = attach.open_lake(self.address, read_only=True, wait=self.wait)
        try:
            check_version(applied_version(self.con), str(self.address), is_reader=True)
            schema.check_models(self.con, str(self.address))
            # Its files are read when a statement asks for them, through a file system that cannot write.
            self.con.execute(f"SET allowed_directories = [{quoted(ROOT)}]")
            settle(self.con)
        except BaseException as error:
            close(self.con)
            if isinstance(error, duckdb.Error) and (told := self.told(error)):
                raise told from error
            raise

    def exists(self) -> bool:
        """Return whether there is a lake at the address; raises all that `open_lake` does but `NoLake`."""
        try:
            attach.open_lake(self.address, read_only=True).close()
        except attach.NoLake:
            return False
        return True

    def told(self, error: duckdb.Error) -> Exception | None:
        if faults.is_expired(error):
            return WarehouseBusy(
                "the snapshot that was being read is no longer in the lake: it was compacted meanwhile; run the same "
                "command again, and compact with a longer --keep-snapshots"
            )
        told = faults.raised_inside(error) or super().told(error) or faults.refused(error)
        return told or (faults.away(error) if retry.passes(error) or self._died(error) else None)

    def _died(self, error: duckdb.Error) -> bool:
        """Return whether an internal error of DuckLake means a lost catalog. It connects: readers have no session."""
        return self.address.is_postgres and isinstance(error, _INTERNAL) and not answers(self.address)

    def transaction(self) -> AbstractContextManager[None]:
        if self.claims is None:
            return transaction(self.con)
        from bufferhouse.warehouse.lake.commit import fenced_transaction

        return fenced_transaction(self.con, self.claims)

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext() if self.claims is None else self.claims.alone(self.wait)

    def turn(self) -> AbstractContextManager[None]:
        return nullcontext() if self.claims is None else self.claims.commit_turn()

    def may_pass(self, error: Exception) -> bool:
        return retry.passes(error)

    def persistently(self, what: Callable[[], T]) -> T:
        return retry.patiently(what, is_cut_off=self._is_cut_off)

    def _is_cut_off(self) -> bool:
        """Return whether the catalog went away: DuckLake may report that as any error, even an internal one."""
        return self.claims is not None and self.claims.is_cut_off()

    def load_persistently(self, parsed: "ParsedBatch", load: "Callable[[ParsedBatch], T]") -> T:
        if self.claims is None:
            return load(parsed)
        from bufferhouse.warehouse.lake.commit import load_claimed

        return load_claimed(self, parsed, load)

    def commit_faults(self) -> tuple[int, int] | None:
        return None if self.claims is None else (self.claims.conflicts, self.claims.retries)

    def stored(self, table: str) -> str:
        return f"appended.{table}" if table in schema.HISTORIES else f"raw.{table}"

    def besides(self, table: str) -> str:
        # The row of a new run is the first one about it.
        return f", {moment_number()} AS changed_id, FALSE AS is_whole" if table == "runs" else ""

    def next_number(self, table: str, column: str, count: int = 1) -> int:
        """Return numbers larger than those of all loads it can see; no other worker is given the same."""
        loaded = self.con.execute("SELECT COALESCE(MAX(load_id), 0) FROM raw.loads").fetchone()[0]
        least = moment_number(loaded)
        return least if self.claims is None else self.claims.reserve(least, count)

    def shape_numbers(self, texts: Sequence[str], known: Mapping[int, int]) -> list[int]:
        return [known.get(row) or shape_id_of(text) for row, text in enumerate(texts)]

    def run_numbers(self, names: Sequence[str]) -> list[int]:
        taken = {number for (number,) in self.con.execute("SELECT DISTINCT run_id FROM appended.runs").fetchall()}
        return [_run_id_of(name, taken) for name in names]

    def change_run(self, name: str, changes: Mapping[str, object], *, is_whole: bool = True) -> None:
        """Add a row with changed facts of a run; with `is_whole` it replaces all earlier rows."""
        of_run = f"FROM raw.runs WHERE run_name = {literal(name)}"
        last = self.con.execute(
            f"SELECT COALESCE(MAX(changed_id), 0) FROM appended.runs WHERE run_id IN (SELECT run_id {of_run})"
        ).fetchone()[0]
        said = ", ".join(f"{literal(value)} AS {column}" for column, value in changes.items())
        self.con.execute(
            f"INSERT INTO appended.runs BY NAME SELECT * REPLACE ({said}),"
            f" CAST({moment_number(last)} AS BIGINT) AS changed_id, {literal(is_whole)} AS is_whole {of_run}"
        )

    def change_rejects(self, state: str, which: str, parameters: Mapping[str, object]) -> None:
        """Add a change of state for each of the rejects."""
        last = self.con.execute("SELECT COALESCE(MAX(changed_id), 0) FROM appended.reject_states").fetchone()[0]
        execute(
            self.con,
            "INSERT INTO appended.reject_states (reject_id, state, changed_id)"
            f" SELECT r.reject_id, $state, $changed_id FROM raw.rejects AS r WHERE {which}",
            state=state,
            changed_id=moment_number(last),
            **parameters,
        )

    def build(self, *, force: bool = False, progress: Progress | None = None) -> list[str]:
        from bufferhouse.warehouse.lake.build import build_lake

        return build_lake(self, force=force, progress=progress)

    def model_tables(self) -> list[str]:
        return self.models() + schema.tables_beside(self.con)

    def begin_batch(self, catalog: str) -> None:
        """Note in the catalog of a batch with which text of each stored model its rows are computed."""
        self.con.execute(f"CREATE TABLE {catalog}.main.computed AS {_STORED_MODELS}")

    def end_batch(self, catalog: str, bad: Set[int]) -> None:
        note_models(self.con, catalog)
        if self.claims is not None:
            self.claims.brought = named(self.con, catalog, bad)

    def end_copy(self) -> None:
        """Note that all models have rows for all loads."""
        self.con.execute(
            "INSERT INTO appended.model_loads SELECT m.model_name, m.fingerprint, d.load_id FROM meta.models AS m"
            " CROSS JOIN (SELECT DISTINCT load_id FROM raw.dumps) AS d WHERE m.is_incremental"
        )

    def publish(self) -> Address:
        return self.address  # readers read a snapshot

    def compact(self, *, keep_seconds: float | None = None) -> Compacted:
        """Remove second copies of contents, merge small files, and remove old snapshots."""
        from bufferhouse.warehouse.reparse import load_once

        mended = load_once(self)
        seconds = compact.KEPT_SECONDS if keep_seconds is None else keep_seconds
        before = self.size()
        alone = nullcontext(True) if self.claims is None else self.claims.alone_at_once()
        compact.compact(self.con, alone, keep_seconds=seconds)
        return Compacted(before, self.size(), mended.count, mended.refused)

    def size(self) -> int:
        """Return the bytes of the files of all snapshots that can be read, because old snapshots take space, too.

        Files that were merged and wait to be removed are in no snapshot, and the catalog has no size for them.
        """
        files = " UNION ALL ".join(
            f"SELECT file_size_bytes FROM __ducklake_metadata_{attach.LAKE}.ducklake_{kind}_file"
            for kind in ("data", "delete")
        )
        sql = f"SELECT CAST(COALESCE(SUM(file_size_bytes), 0) AS BIGINT) FROM ({files})"
        return self.con.execute(sql).fetchone()[0]

    def sizes(self, tables: Iterable[str]) -> Mapping[str, int]:
        """Return the bytes of the files of all tables, without rows that are stored in the catalog."""
        rows = self.con.execute(
            "SELECT s.schema_name || '.' || t.table_name, CAST(t.file_size_bytes + t.delete_file_size_bytes AS BIGINT)"
            f" FROM ducklake_table_info('{attach.LAKE}') AS t"
            f" JOIN __ducklake_metadata_{attach.LAKE}.ducklake_schema AS s"
            " ON t.schema_id = s.schema_id AND s.end_snapshot IS NULL"
        ).fetchall()
        return dict(rows)

    @property
    def title(self) -> str:
        return f"{self.address.name}, snapshot {attach.snapshot_of(self.con)}"

    def _known_contents(self, dump_ids: list[int]) -> dict[int, tuple[str, int]]:
        self.wake()  # here, because it is called before each load
        if self.claims is not None:
            known = self.contents.known(dump_ids)
            if known is not None:
                return known
        return super()._known_contents(dump_ids)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "snapshot": attach.snapshot_of(self.con)}


def moment_number(least: int = 0) -> int:
    """Return a number that grows with time and is larger than `least`, so that a slow clock does no harm."""
    now = (time.time_ns() // 1000) << _RANDOM_BITS
    return max(now, least + 1) + secrets.randbelow(1 << _RANDOM_BITS)


def shape_id_of(shape_text: str) -> int:
    """Return the number of a shape that the lake has not seen."""
    return key_of(shape_text) >> 1


def _run_id_of(run_name: str, taken: set[int]) -> int:
    """Return the number of a new run; `taken` are the numbers of other runs, which may have had its name before."""
    number, suffix = key_of(run_name) >> 1, 1
    while number in taken:
        suffix += 1
        number = key_of(run_name, str(suffix)) >> 1
    return number


def note_models(con: duckdb.DuckDBPyConnection, batch: str) -> None:
    """Note, in the transaction of a load, which models have rows for it.

    Raises:
        WarehouseBusy: the models were built again since the batch was computed.
    """
    computed = f"FROM {batch}.main.computed"
    if con.execute(f"({computed} EXCEPT {_STORED_MODELS}) UNION ALL ({_STORED_MODELS} EXCEPT {computed})").fetchall():
        raise WarehouseBusy("the models of the lake changed while this batch was computed; run the same command again")
    con.execute(
        "INSERT INTO appended.model_loads SELECT c.model_name, c.fingerprint, d.load_id"
        f" FROM {batch}.main.computed AS c CROSS JOIN (SELECT DISTINCT load_id FROM {batch}.raw.dumps) AS d"
    )
