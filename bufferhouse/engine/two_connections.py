"""Statements on two connections at once, each as soon as those whose results it reads are done.

DuckDB plans a statement in one thread, and works through small tables in one: a second connection uses a second core.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Condition, Thread

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import settle
from bufferhouse.engine.sql import registered


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of SQL, carried out after all that it `needs`; other names among these are there already.

    `given` is a table of Arrow that it reads by this name. Where all tables `of` are known to have fewer rows than
    `least` together, `otherwise` is carried out in its place, if there is such.
    """

    name: str
    needs: Collection[str]
    sql: str
    given: object = None
    of: Collection[str] = ()
    least: int = 0
    otherwise: str | None = None


def run_statements(con: duckdb.DuckDBPyConnection, statements: Sequence[Statement], *, catalog: str) -> dict[str, int]:
    """Carry out statements on a connection and a second one beside it, which uses `catalog`; each commits by itself.

    Return how many rows each has made, where it makes a table. What a statement needs must stand before it. After one
    that fails no other is begun; its error is raised when none is under way any more.
    """
    queue = _Queue(statements)
    with _beside(con, catalog) as other:
        helper = Thread(target=queue.work, args=(other, con), daemon=True)
        helper.start()
        try:
            queue.work(con, other)
        finally:
            helper.join()  # nothing may be under way when its connection is closed
    if queue.failure is not None:
        raise queue.failure
    return queue.rows


@contextmanager
def _beside(con: duckdb.DuckDBPyConnection, catalog: str) -> Iterator[duckdb.DuckDBPyConnection]:
    other = con.cursor()
    settle(other)
    try:
        other.execute(f"USE {catalog}")
        yield other
    finally:
        interrupts.forget(other)
        other.close()


class _Queue:
    """Statements that wait, those that are done with the rows they made, the first error; two are `working`."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        names = {statement.name for statement in statements}
        self.waiting = [(statement, names.intersection(statement.needs)) for statement in statements]
        self.done: set[str] = set()
        self.rows: dict[str, int] = {}
        self.failure: BaseException | None = None
        self.working = 2
        self.changed = Condition()

    def work(self, con: duckdb.DuckDBPyConnection, other: duckdb.DuckDBPyConnection) -> None:
        """Carry out on a connection what `other` does not, until both are at the end."""
        try:
            while statement := self._next():
                made = self._carry_out(statement, con)
                with self.changed:
                    self.rows.update(made)
                    self.done.add(statement.name)
                    self.changed.notify_all()
        except BaseException as error:
            con.interrupt()  # at Ctrl-C DuckDB gives up waiting for a statement, which goes on in its threads
            with self.changed:
                self.failure = self.failure or error
        finally:
            with self.changed:
                self.working -= 1
                self.changed.notify_all()
        with self.changed:
            while self.working:
                if self.failure is not None:
                    other.interrupt()  # again and again: its statement may have been about to begin
                self.changed.wait(interrupts.AGAIN_SECONDS)

    def _carry_out(self, statement: Statement, con: duckdb.DuckDBPyConnection) -> dict[str, int]:
        sql: str | None = statement.sql
        if statement.of and all(table in self.rows for table in statement.of):
            sql = sql if sum(map(self.rows.get, statement.of)) >= statement.least else statement.otherwise
        if sql is None:
            return {}
        with registered(con, "given", statement.given) if statement.given is not None else nullcontext():
            made = con.execute(sql).fetchone()
        return {statement.name: made[0]} if made else {}

    def _next(self) -> Statement | None:
        with self.changed:
            while self.waiting and self.failure is None:
                for place, (statement, needs) in enumerate(self.waiting):
                    if needs <= self.done:
                        del self.waiting[place]
                        return statement
                self.changed.wait()
        return None
