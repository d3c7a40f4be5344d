"""The read-only door for ad-hoc SQL.

The barrier is the engine's own: a reading transaction, no files, no network, no extensions, no names of Python, and
settings that are locked. What is said here about a statement before it runs gives better messages, and keeps out the
few functions of DuckDB that change its state or open a file of their own though they stand in a SELECT.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb

from bufferhouse.engine.limits import OUTSIDE_BYTES, Limits, bounded_memory, interrupted_after
from bufferhouse.engine.sql import literal
from bufferhouse.errors import UsageError
from bufferhouse.query.hints import explained

SEARCH_PATH = "marts,staging,raw"
_ALLOWED = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.RELATION,
}
# They change the state of the connection, write to a place of their own, or run SQL that is not seen here.
_REFUSED_FUNCTIONS = frozenset(
    (
        *("checkpoint", "force_checkpoint", "query", "json_execute_serialized_sql"),
        *("enable_logging", "disable_logging", "enable_profiling", "disable_profiling"),
        *("truncate_duckdb_logs", "write_log"),
        *("arrow_scan", "arrow_scan_dumb", "pandas_scan", "python_map_function"),
    )
)
# They ask or change the catalog of a lake, beside its snapshot.
_REFUSED_FAMILIES = ("ducklake_", "postgres_")
_CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Answer:
    """Columns and rows of one statement."""

    columns: list[str]
    rows: list[tuple]


def check_statement(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the one statement of `sql` if it only reads.

    DuckDB itself says what kind of statement a text is; DESCRIBE, SUMMARIZE, PIVOT and FROM-first count as SELECT.

    Raises:
        UsageError: the text is no SQL, holds several statements, or one that does not only read.
    """
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise UsageError(str(error)) from None
    kinds = [statement.type for statement in statements]
    _check_functions(sql)
    if kinds == [duckdb.StatementType.CREATE, duckdb.StatementType.SELECT] and not statements[0].query:
        # A PIVOT over whatever values there are: DuckDB itself puts a temporary type of these values in front of it.
        return sql
    if len(statements) != 1:
        raise UsageError(f"expected one statement, found {len(statements)}")
    if kinds[0] not in _ALLOWED:
        raise UsageError(
            f"query only reads: expected SELECT, EXPLAIN, DESCRIBE, SUMMARIZE or PIVOT, found {kinds[0].name}"
        )
    return statements[0].query


def _check_functions(sql: str) -> None:
    # DuckDB's names have no escapes: a function that is called stands in the text by its letters. Offsets are of bytes.
    text = sql.encode()
    starts = [start for start, _ in duckdb.tokenize(sql)]
    ends = [*starts[1:], len(text)]
    words = [text[start:end].decode(errors="replace") for start, end in zip(starts, ends, strict=False)]
    for word, following in pairwise(words):
        # A comment behind a name belongs to the slice of the name.
        name = word.strip().split("/*")[0].split("--")[0].strip().strip('"').lower()
        if (name in _REFUSED_FUNCTIONS or name.startswith(_REFUSED_FAMILIES)) and following.startswith("("):
            raise UsageError(f"query only reads: the function {name} does more than that")


class Door:
    """Answers statements on a connection that is locked down; made by `door`."""

    def __init__(self, con: duckdb.DuckDBPyConnection, limits: Limits, give_up: Callable[[], None] | None) -> None:
        self.con = con
        self.limits = limits
        self._give_up = give_up

    def ask(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Return what one reading statement answers.

        Raises:
            UsageError: the statement is refused, DuckDB cannot run it, or it takes more than the limits.
        """
        with self._running(sql, parameters) as cursor:
            columns = [column[0] for column in cursor.description]
            rows: list[tuple] = []
            while chunk := cursor.fetchmany(_CHUNK):
                rows += chunk
                if len(rows) > self.limits.rows:
                    raise UsageError(
                        f"the answer has more than {self.limits.rows:,} rows; put a LIMIT behind the statement, or "
                        "allow more with --max-rows"
                    )
            return Answer(columns, rows)

    def arrow(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Return the same as an Arrow table.

        Raises:
            UsageError: as `ask`.
        """
        with self._running(sql, parameters) as cursor:
            return cursor.to_arrow_table()

    @contextmanager
    def _running(self, sql: str, parameters: Mapping[str, Any] | None) -> Iterator[duckdb.DuckDBPyConnection]:
        limits = self.limits
        statement = check_statement(self.con, sql)
        self._check_parameters(sql, parameters or {})
        watch = interrupted_after(self.con, limits.seconds, self._give_up)
        try:
            with bounded_memory(limits.memory_bytes + OUTSIDE_BYTES), watch as ctrl_c:
                self.con.execute("BEGIN TRANSACTION READ ONLY")
                yield self.con.execute(statement, dict(parameters) if parameters else None)
        except duckdb.InterruptException:
            if ctrl_c.is_set():
                raise KeyboardInterrupt from None
            raise UsageError(f"stopped after {limits.seconds:g} s; --timeout SECONDS gives it more") from None
        except (MemoryError, duckdb.OutOfMemoryException) as error:
            if "max_temp_directory_size" in str(error):
                raise UsageError(
                    f"stopped: it needs more than {limits.temporary_bytes >> 20:,} MiB of temporary files"
                ) from None
            raise UsageError(
                f"stopped: it needs more than {limits.memory_bytes >> 20:,} MiB of memory; --memory MIB gives it more"
            ) from None
        except duckdb.Error as error:
            self._roll_back()
            raise UsageError(explained(self.con, error)) from None
        finally:
            self._roll_back()

    def _check_parameters(self, sql: str, given: Mapping[str, Any]) -> None:
        wanted = {name for statement in self.con.extract_statements(sql) for name in statement.named_parameters}
        if missing := sorted(wanted - given.keys()):
            raise UsageError(f"the statement has a parameter ${missing[0]}; give it with --param {missing[0]}=VALUE")
        if unknown := sorted(given.keys() - wanted):
            has = f"it has {', '.join(f'${name}' for name in sorted(wanted))}" if wanted else "it has none"
            raise UsageError(f"the statement has no parameter ${unknown[0]}: {has}")

    def _roll_back(self) -> None:
        with suppress(duckdb.Error):  # nothing may have been begun
            self.con.execute("ROLLBACK")


@contextmanager
def door(
    con: duckdb.DuckDBPyConnection,
    limits: Limits | None = None,
    *,
    give_up: Callable[[], None] | None = None,
) -> Iterator[Door]:
    """Lock a connection down for good and yield a door to it; temporary files are gone behind it.

    `give_up` is called, from another thread, when a statement neither ends nor answers to an interrupt in its time.
    """
    limits = limits or Limits()
    directory = tempfile.mkdtemp(prefix="bufferhouse-")

    def clean_and_give_up() -> None:
        shutil.rmtree(directory, ignore_errors=True)
        give_up()

    try:
        lock_down(con, limits, directory)
        yield Door(con, limits, clean_and_give_up if give_up else None)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def lock_down(con: duckdb.DuckDBPyConnection, limits: Limits, directory: str) -> None:
    """Close files, network, extensions, Python and settings to whatever runs on this connection, and bound it.

    The warehouse that is open for reading can be read on, wherever its files are. Temporary files go to `directory`.
    The names of marts, staging and raw need no schema, in this order.
    """
    held = con.execute("SELECT CAST(COALESCE(SUM(memory_usage_bytes), 0) AS BIGINT) FROM duckdb_memory()").fetchone()[0]
    for name, value in {
        "search_path": SEARCH_PATH,
        "temp_directory": directory,
        "max_temp_directory_size": f"{limits.temporary_bytes >> 10}KiB",
        "memory_limit": f"{(limits.memory_bytes + held) >> 10}KiB",
        "threads": limits.threads,
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "enable_external_access": False,
        "lock_configuration": True,
    }.items():
        con.execute(f"SET {name} = {literal(value)}")
