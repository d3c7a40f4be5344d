"""The read-only door for ad-hoc SQL.

Two walls, each of which holds alone. What a statement may be is judged before it runs, on DuckDB's own tree
(`guard`). And where it runs there is nothing to reach: a reading transaction on a database attached to read, no
files, no network, no extensions, no names of Python, and settings that are locked; the files of a lake are read through
a file system that cannot write (`lake.files`). docs/decisions/0013-what-a-reader-may-ask.md says why.
"""

import re
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date, datetime
from typing import Any, TypeVar

import duckdb

from bufferhouse.engine import faults
from bufferhouse.engine.limits import OUTSIDE_BYTES, Limits, bounded_memory, interrupted_after
from bufferhouse.engine.sql import literal, words
from bufferhouse.errors import UsageError, counted
from bufferhouse.query.guard import judged, other_databases
from bufferhouse.query.hints import explained
from bufferhouse.query.spill import spill_folder
from bufferhouse.query.statements import Answer

SEARCH_PATH = "marts,staging,raw"
_CHUNK = 2048  # rows
_BATCH = 65536  # rows, which make a row group of Parquet
T = TypeVar("T")


def types_outside_quotes(*names: str) -> re.Pattern[str]:
    """Return a pattern of types in the text of a type of DuckDB; what it finds in quotes is its group 1.

    What is in quotes, or before a type, is a name of a field or a value of an ENUM.
    """
    return re.compile(rf"""('[^']*'|"[^"]*")|\b(?:{"|".join(names)})(?=[\[(),]|$)""")


_UNHELD = types_outside_quotes("INTERVAL", "TIMESTAMP_NS", "TIME_NS")  # Python has neither months nor nanoseconds
# Python has no infinite ones.
_MOMENTS = types_outside_quotes("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE")


class Door:
    """Answers statements on a connection that is locked down; made by `door`."""

    def __init__(self, con: duckdb.DuckDBPyConnection, limits: Limits, give_up: Callable[[], None] | None) -> None:
        self.con = con
        self.limits = limits
        self._others = other_databases(con)
        self._give_up = give_up

    def ask(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Return what one reading statement answers.

        Raises:
            UsageError, WarehouseBusy: as `told`.
        """
        return self.told(sql, parameters, lambda answer: answer)

    def told(self, sql: str, parameters: Mapping[str, Any] | None, tell: Callable[[Answer], T]) -> T:
        """Return what `tell` makes of the answer of one reading statement, within the same limits.

        Raises:
            UsageError: the statement is refused, DuckDB cannot run it, or it takes more than the limits.
            WarehouseBusy: the catalog of a lake went away meanwhile.
        """
        with self._running(sql, parameters) as (cursor, statement):
            columns, types = ([str(one[part]) for one in cursor.description] for part in (0, 1))
            held = [_as_text(_UNHELD, kind) for kind in types]
            if held != types:
                cursor = self._execute(cast(statement, types, held), parameters)
            rows = self._fetched(cursor)
            texts = [
                _as_text(_MOMENTS, kind) if _MOMENTS.search(kind) and any(_is_last(row[i]) for row in rows) else kind
                for i, kind in enumerate(held)
            ]
            if texts != held:
                rows = self._fetched(self._execute(cast(statement, types, texts), parameters))
            return tell(Answer(columns, rows))

    def _fetched(self, cursor: duckdb.DuckDBPyConnection) -> list[tuple]:
        rows: list[tuple] = []
        while chunk := cursor.fetchmany(_CHUNK):
            rows += chunk
            if len(rows) > self.limits.rows:
                raise UsageError(
                    f"the answer has more than {counted(self.limits.rows, 'row')}; put a LIMIT behind the "
                    "statement, or allow more with --max-rows"
                )
        return rows

    def batches(self, sql: str, parameters: Mapping[str, Any] | None, tell: Callable[[list[str], Any], T]) -> T:
        """Return what `tell` makes of DuckDB's types of the columns and an Arrow reader of the answer.

        However long the answer is, little of it is in memory.

        Raises:
            UsageError, WarehouseBusy: as `told`.
        """
        with self._running(sql, parameters) as (cursor, _):
            return tell([str(one[1]) for one in cursor.description], cursor.to_arrow_reader(_BATCH))

    def _execute(self, statement: str, parameters: Mapping[str, Any] | None) -> duckdb.DuckDBPyConnection:
        return self.con.execute(statement, dict(parameters) if parameters else None)

    @contextmanager
    def _running(
        self, sql: str, parameters: Mapping[str, Any] | None
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """Yield a cursor of the answer, and the statement that may be run once more."""
        limits = self.limits
        watch = interrupted_after(self.con, limits.seconds, self._give_up)
        try:
            with bounded_memory(limits.memory_bytes + OUTSIDE_BYTES), watch as ctrl_c:
                statement = judged(self.con, sql, self._others)
                self._check_parameters(sql, parameters or {})
                self.con.execute("BEGIN TRANSACTION READ ONLY")
                yield self._execute(statement, parameters), statement
        except duckdb.InterruptException:
            if ctrl_c.is_set():
                raise KeyboardInterrupt from None
            raise UsageError(f"stopped after {limits.seconds:g} s; --timeout SECONDS gives it more") from None
        except (MemoryError, duckdb.OutOfMemoryException) as error:
            if faults.fills_temporary_files(error):
                raise UsageError(
                    f"stopped: it needs more than {limits.temporary_bytes >> 20:,} MiB of temporary files, all that "
                    "your other queries leave"
                ) from None
            raise self._too_large() from None
        except (RuntimeError, OverflowError, UnicodeError) as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise
            if faults.lacks_memory(error):
                raise self._too_large() from None
            raise UsageError(f"Python cannot hold a parameter or a value of the answer: {error}") from None
        except duckdb.Error as error:
            self._roll_back()
            if faults.is_expired(error):  # a statement can say the same: then the warehouse answers as ever
                self.con.execute("SELECT 1 FROM raw.loads LIMIT 1")
            of_lake = faults.raised_inside(error) or faults.lost_catalog(error)
            raise of_lake or UsageError(explained(self.con, error, parameters)) from None
        finally:
            self._roll_back()

    def _too_large(self) -> UsageError:
        given = resource.getrlimit(resource.RLIMIT_AS)[0]
        # Whoever called set it, and more of ours would not help.
        if resource.RLIM_INFINITY != given < self.limits.memory_bytes + OUTSIDE_BYTES:
            return UsageError(f"stopped: it needs more memory than `ulimit -v` leaves it, {given >> 20:,} MiB")
        return UsageError(
            f"stopped: it needs more than {self.limits.memory_bytes >> 20:,} MiB of memory; --memory MIB gives it more"
        )

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


def _as_text(pattern: re.Pattern[str], kind: str) -> str:
    """Return a type with text in place of what Python cannot hold.

    Of `1 month` Python makes 30 days, it cuts nanoseconds off, and of `infinity` it makes the end of the year 9999.
    """
    return pattern.sub(lambda found: found[1] or "VARCHAR", kind)


def _is_last(value: Any) -> bool:
    """Return whether a value is, or holds, the first or the last moment of Python: it may be an infinite one."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None) in (datetime.min, datetime.max)
    if isinstance(value, dict):
        return any(map(_is_last, (*value, *value.values())))
    return any(map(_is_last, value)) if isinstance(value, list | tuple) else value in (date.min, date.max)


def cast(statement: str, types: list[str], others: list[str]) -> str:
    """Return a statement that answers the same, with columns of some other types: text is as DuckDB writes it."""
    said = words(statement)
    while said[-1].startswith(b";"):
        said.pop()
    names = [f"column{number}" for number in range(len(types))]
    told = [
        name if new == one else f"CAST({name} AS {new})" for name, one, new in zip(names, types, others, strict=True)
    ]
    return f"SELECT {', '.join(told)} FROM (\n{b''.join(said).decode()}\n) AS answer({', '.join(names)})"


@contextmanager
def door(
    con: duckdb.DuckDBPyConnection, limits: Limits | None = None, *, give_up: Callable[[], None] | None = None
) -> Iterator[Door]:
    """Lock a connection down for good and yield a door to it; temporary files are gone behind it.

    `give_up` is called, from another thread, when a statement neither ends nor answers to an interrupt in its time.
    """
    limits = limits or Limits()
    with spill_folder(limits.temporary_bytes) as (directory, temporary_bytes):
        limits = replace(limits, temporary_bytes=temporary_bytes)
        lock_down(con, limits, str(directory))
        yield Door(con, limits, give_up)


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
        # Where it is full before the last branch of a UNION ALL of joins begins, DuckDB 1.5.5 waits for ever.
        "streaming_buffer_size": f"{limits.memory_bytes >> 14}KiB",  # a sixteenth
        "threads": limits.threads,
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "enable_external_access": False,
        "lock_configuration": True,
    }.items():
        con.execute(f"SET {name} = {literal(value)}")
