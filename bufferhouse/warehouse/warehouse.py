"""What a warehouse can do, whatever it is kept in: the protocol that a file and a lake carry out, each in its own way.

`open.py` chooses between `file.py` and `lake/lake.py` when a warehouse is opened; nobody else asks which it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from bufferhouse.engine.connection import close_writer
from bufferhouse.engine.faults import damage, no_space, reason
from bufferhouse.engine.sql import execute, streamed
from bufferhouse.models.build import Progress
from bufferhouse.version import __version__
from bufferhouse.warehouse.address import Address

if TYPE_CHECKING:  # frames, which a reader does without
    from bufferhouse.tabulate.batch import ParsedBatch
    from bufferhouse.warehouse.lake.claims import Claims

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes before and after, how many contents were stored twice, and why some of these still are."""

    before: int
    after: int
    mended_count: int = 0
    not_mended: Sequence[str] = ()


class Warehouse(ABC):
    """A warehouse, opened by `with` for writing or by `open_to_read` for reading; in memory where there is no address.

    Opening for writing makes it where there is none, migrates the schema and builds what changed in the models;
    `progress` hears of those that are back-filled. A new file is a copy of the blank warehouse, unless `use_blank` is
    False.

    Raises:
        WarehouseBusy: somebody is in the way for longer than `wait` seconds.
        WarehouseError: it is no warehouse, or one of a newer version.
    """

    con: duckdb.DuckDBPyConnection
    # Says of a warehouse that is read where it is not the newest state, and of one that was written, as soon as it is
    # closed, where the log did not go into the file.
    note: str | None = None
    claims: "Claims | None" = None  # what this worker alone loads, where others load too

    def __init__(
        self,
        address: Address | None,
        *,
        wait: float = 0.0,
        build_models: bool = True,
        use_blank: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.address = address
        self.wait = wait
        self.build_models = build_models
        self.use_blank = use_blank
        self.progress = progress
        self._stack = ExitStack()

    def __enter__(self) -> "Warehouse":
        with ExitStack() as stack:
            self._open_to_write(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._stack.close()
        if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error  # DuckDB wraps a Ctrl-C that meets it in a statement
        if isinstance(error, duckdb.Error) and (told := self.told(error)):
            raise told from error

    def _close_writer(self) -> None:
        """Close `con`, whichever it is by then; whoever copies the file alone wants to know that its log stayed."""
        if (error := close_writer(self.con)) is not None:
            self.note = (
                f"{self.address}: what was committed stays in the log beside it, which is part of it: {reason(error)}; "
                "the next command that writes takes it in, where there is space by then"
            )

    @abstractmethod
    def _open_to_write(self, stack: ExitStack) -> None:
        """Set `con`, and leave in `stack` what is to be done when the warehouse is closed."""

    @abstractmethod
    def open_to_read(self, *, is_long: bool) -> None:
        """Set `con`, which reads and does not change any more, and `note`. Who reads `is_long` keeps no writer out.

        Raises:
            UsageError: there is no warehouse.
            WarehouseBusy, WarehouseError: as `Warehouse`; also one of an older version.
        """

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there is a warehouse at the address."""

    def told(self, error: duckdb.Error) -> Exception | None:
        """Return what to raise in the place of an error of DuckDB, which says what one can do; None for most."""
        return no_space(self.address, error) or damage(self.address, error)

    # Work that is committed whole, or not at all.

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Return a context manager around what is committed as one load, or rolled back."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[None]:
        """Return a context manager in which nobody else writes.

        Raises:
            WarehouseBusy: other workers are there.
        """

    @abstractmethod
    def turn(self) -> AbstractContextManager[None]:
        """Return a context manager in which nobody else commits: what a transaction reads in it is still so at its end.

        Raises:
            WarehouseBusy: a lake does not answer.
        """

    @property
    def is_shared(self) -> bool:
        """Whether other workers may load at the same time: each claims what it loads, one batch after the other."""
        return self.claims is not None

    def may_pass(self, error: Exception) -> bool:
        """Return whether an error is of a fault that passes: trying again can help."""
        return False

    def persistently(self, what: Callable[[], T]) -> T:
        """Run an action; in a lake, run it again after a temporary fault."""
        return what()

    def wake(self) -> None:  # noqa: B027 - what ends that of a file ends the command
        """Open the warehouse anew where DuckDB answers nothing more: a fatal error ends all work on its connection.

        Raises:
            WarehouseBusy: the catalog of a lake does not answer.
        """

    def evict(self) -> None:  # noqa: B027 - most have nothing to do
        """Give back memory that holds only what the storage has, too."""

    def load_persistently(self, parsed: "ParsedBatch", load: "Callable[[ParsedBatch], T]") -> T:
        """Load a batch with everything that this worker has claimed for it; try again after a temporary fault."""
        return load(parsed)

    def commit_faults(self) -> tuple[int, int] | None:
        """Return the number of conflicting commits and of repeated loads; None if there is only one writer."""
        return None

    # How rows of raw are kept: see docs/decisions/0010.

    @abstractmethod
    def stored(self, table: str) -> str:
        """Return the table that rows of `raw.<table>` are added to, and removed from."""

    def besides(self, table: str) -> str:
        """Return what rows that are added to `stored(table)` have besides, to put behind `SELECT *`."""
        return ""

    @abstractmethod
    def next_number(self, table: str, column: str, count: int = 1) -> int:
        """Return the first of `count` new numbers in a row for loads or rejects, which no other writer gets."""

    @abstractmethod
    def shape_numbers(self, texts: Sequence[str], known: Mapping[int, int]) -> list[int]:
        """Return the number of each shape of a batch; `known` gives those that are stored, by place in `texts`."""

    @abstractmethod
    def run_numbers(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of new runs."""

    @abstractmethod
    def change_run(self, name: str, changes: Mapping[str, object], *, is_whole: bool = True) -> None:
        """Change columns of a run. A change that only adds facts is not `is_whole`, as others may add facts, too."""

    @abstractmethod
    def change_rejects(self, state: str, which: str, parameters: Mapping[str, object]) -> None:
        """Give another state to the rejects that a condition over `raw.rejects AS r`, with parameters, chooses."""

    # The models.

    @abstractmethod
    def build(self, *, force: bool = False, progress: Progress | None = None) -> list[str]:
        """Build the models that changed, and back-fill them; return their names. See `models.build.build`."""

    def models(self) -> list[str]:
        """Return the names of the models that are stored."""
        rows = self.con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY ordinal").fetchall()
        return [name for (name,) in rows]

    def model_tables(self) -> list[str]:
        """Return the tables that keep rows of models: whoever removes a dump removes its rows in all of them."""
        return self.models()

    def begin_batch(self, catalog: str) -> None:  # noqa: B027 - most have nothing to do
        """Hear that the stored models are about to be computed for a batch in a catalog of its own."""

    def end_batch(self, catalog: str, bad: Set[int]) -> None:  # noqa: B027 - most have nothing to do
        """Hear, in the transaction of a load, that a batch and its models were copied, but for the `bad` dumps."""

    def end_copy(self) -> None:  # noqa: B027 - most have nothing to do
        """Hear, in a transaction, that the rows of all tables and models were copied from another warehouse."""

    # Keeping it.

    @abstractmethod
    def publish(self) -> Path | Address:
        """See to it that readers need not wait for writers; return the name of what they read."""

    @abstractmethod
    def compact(self, *, keep_seconds: float | None = None) -> Compacted:
        """Give free space back. What only older readers need is kept for `keep_seconds`, else a day."""

    @abstractmethod
    def size(self) -> int:
        """Return the bytes of all files."""

    @abstractmethod
    def sizes(self, tables: Iterable[str]) -> Mapping[str, int]:
        """Return the bytes of tables, by name with the schema."""

    @property
    def title(self) -> str:
        """Return what a report says that it was made from."""
        return self.address.name

    def state(self) -> dict[str, Any]:
        """Return what a collector of metrics wants to know of the storage itself."""
        return {"file_bytes": self.size()}

    def writer(self) -> str | None:
        """Say who alone writes at this moment, None for nobody."""
        return None

    # What is known already.

    def known_contents(self, dump_ids: Iterable[int]) -> dict[int, tuple[str, int]]:
        """Return SHA-256 and signature id of those of `dump_ids` whose content is stored."""
        asked = list(dump_ids)
        return self.persistently(lambda: self._known_contents(asked)) if asked else {}

    def _known_contents(self, dump_ids: list[int]) -> dict[int, tuple[str, int]]:
        import polars as pl

        with streamed(self.con, "wanted", pl.DataFrame({"dump_id": dump_ids}, schema={"dump_id": pl.Int64})):
            rows = self.con.execute(
                # Twice: of those that are not wanted, nearly all in a large warehouse, only the id is read.
                "SELECT d.dump_id, d.sha256, d.signature_id FROM raw.dumps AS d SEMI JOIN"
                " (SELECT w.dump_id FROM wanted AS w SEMI JOIN raw.dumps USING (dump_id)) AS known USING (dump_id)"
            ).fetchall()
        return {dump_id: (sha256, signature_id) for dump_id, sha256, signature_id in rows}

    def known_refusals(self, hashes: Iterable[str]) -> dict[tuple[str, str, str], str]:
        """Return the rules of open refusals that this parser has spoken, by run name, relative path and SHA-256."""
        rows = execute(
            self.con,
            "SELECT u.run_name, r.relative_path, r.sha256, r.rule"
            " FROM raw.rejects AS r JOIN raw.runs AS u USING (run_id)"
            " WHERE r.state = 'open' AND r.parser_version = $version"
            " AND r.sha256 IN (SELECT unnest(CAST($hashes AS VARCHAR[])))",
            version=__version__,
            hashes=list(set(hashes)),
        ).fetchall()
        return {tuple(key): rule for *key, rule in rows}

    def known_files(self, run_names: Iterable[str]) -> dict[tuple[str, str], tuple[int, int | None]]:
        """Return size and modification time of files, refused ones too, as last seen, by run name and relative path."""
        # The rows of one file come in the order of their loads: the last one stands.
        rows = execute(
            self.con,
            "WITH asked AS (SELECT run_id, run_name FROM raw.runs WHERE run_name IN (SELECT unnest($names::VARCHAR[])))"
            " SELECT run_name, relative_path, source_size_bytes, source_mtime_ns, load_id"
            " FROM raw.observations JOIN asked USING (run_id)"
            " UNION ALL SELECT run_name, relative_path, source_size_bytes, source_mtime_ns, load_id"
            " FROM raw.rejects JOIN asked USING (run_id)"
            " WHERE parser_version = $version AND state = 'open' ORDER BY load_id",
            names=list(run_names),
            version=__version__,
        ).fetchall()
        return {(run, path): (size, mtime) for run, path, size, mtime, _ in rows}
