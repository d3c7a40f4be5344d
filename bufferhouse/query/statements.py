"""The answers of the statements in `sql/reports/`, and which marts they were read from."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.errors import outdated
from bufferhouse.paths import REPORTS

Record = dict[str, Any]
Connection = duckdb.DuckDBPyConnection
_MART = re.compile(r"\bmarts\.\w+_v\d+\b")  # statements name marts by their version, and read nothing else
_IDS = re.compile(r"\(\$(\w+_ids)\)")  # the parameter of a statement that is asked for several at once
_asked: set[str] = set()  # names of statements


@dataclass(frozen=True)  # no slots: the records are made once
class Answer:
    """Columns and rows that a statement returned."""

    columns: list[str]
    rows: list[tuple]

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Answer":
        """Return the answer with these records, which have equal columns."""
        return cls(list(records[0]) if records else [], [tuple(record.values()) for record in records])

    @cached_property
    def records(self) -> list[Record]:
        """The rows, each as a mapping from column to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def only(self, columns: Collection[str]) -> "Answer":
        """Return the answer with these of its columns, in its own order."""
        kept = [place for place, name in enumerate(self.columns) if name in columns]
        return Answer(
            [self.columns[place] for place in kept], [tuple(row[place] for place in kept) for row in self.rows]
        )

    def without(self, *columns: str) -> "Answer":
        """Return the answer with its other columns."""
        return self.only([name for name in self.columns if name not in columns])


def ask(con: Connection, name: str, **parameters: int | str | Sequence[int]) -> Answer:
    """Return the answer of the statement `sql/reports/<name>.sql`.

    A list of numbers is written into the statement: DuckDB pushes `IN (1, 2)` down into tables, a list parameter not.

    Raises:
        WarehouseError: a mart that it reads is not there: an older bufferhouse built the models.
    """
    statement = _statement(name)
    for parameter, value in parameters.items():
        if not isinstance(value, int | str):
            statement = statement.replace(f"(${parameter})", f"({', '.join(map(str, map(int, value))) or 'NULL'})")
    scalars = {parameter: value for parameter, value in parameters.items() if isinstance(value, int | str)}
    cursor = _execute(con, statement, scalars)
    return Answer([column[0] for column in cursor.description], cursor.fetchall())


def ask_each(con: Connection, name: str, ids: Sequence[int], **parameters: int | str) -> dict[int, Answer]:
    """Return the answer of a statement for each of some dumps, runs or programs, asked at once.

    The first column of the statement is the id, and its parameter is called after that: `dump_ids` for `dump_id`. The
    answers lack this column; one without rows has the other columns still.

    Raises:
        WarehouseError: as `ask`.
    """
    whole = ask(con, name, **{_IDS.search(_statement(name))[1]: list(ids)}, **parameters)
    rows: dict[int, list[tuple]] = {one: [] for one in ids}
    for row in whole.rows:
        rows[row[0]].append(row[1:])
    return {one: Answer(whole.columns[1:], found) for one, found in rows.items()}


def keep(con: Connection, name: str) -> None:
    """Keep the answer of a statement as the temporary table `name`, for other statements that read it.

    Raises:
        WarehouseError: as `ask`.
    """
    _execute(con, f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {_statement(name)}", {})


def marts_read() -> list[str]:
    """Return the marts, with their versions, that the statements asked in this process read."""
    return sorted({mart for name in list(_asked) for mart in _MART.findall(_statement(name))})


def _statement(name: str) -> str:
    _asked.add(name)
    return (REPORTS / f"{name}.sql").read_text(encoding="utf-8")


def _execute(con: Connection, sql: str, parameters: Mapping[str, int | str]) -> Connection:
    try:
        return execute(con, sql, **parameters)
    except duckdb.CatalogException as error:
        raise outdated(error) from None
