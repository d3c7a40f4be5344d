"""Statements on two connections at once, each as soon as those whose results it reads are done.

DuckDB plans a statement in one thread, and works through small tables in one: a second connection uses a second core.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Thread
from typing import NamedTuple

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import settle


class Step(NamedTuple):
    """Something to do on a connection, after all steps that it `needs`; other names among these are there already."""

    name: str
    needs: Sequence[str]
    run: Callable[[duckdb.DuckDBPyConnection], object]


def run_steps(con: duckdb.DuckDBPyConnection, steps: Sequence[Step], *, catalog: str) -> None:
    """Carry out steps on a connection and a second one beside it, which uses `catalog`; each commits by itself.

    What a step needs must stand before it. After one that fails no other is begun; its error is raised when none is
    under way any more.
    """
    queue = _Queue(steps)
    with _beside(con, catalog) as other:
        helper = Thread(target=queue.work, args=(other, con), daemon=True)
        helper.start()
        try:
            queue.work(con, other)
        finally:
            helper.join()  # nothing may be under way when its connection is closed
    if queue.failure is not None:
        raise queue.failure


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
    """Steps that wait, the names of those that are done, and the first error of any; two connections are `working`."""

    def __init__(self, steps: Sequence[Step]) -> None:
        names = {step.name for step in steps}
        self.waiting = [(step, names.intersection(step.needs)) for step in steps]
        self.done: set[str] = set()
        self.failure: BaseException | None = None
        self.working = 2
        self.changed = Condition()

    def work(self, con: duckdb.DuckDBPyConnection, other: duckdb.DuckDBPyConnection) -> None:
        """Carry out on a connection what `other` does not, until both are at the end."""
        try:
            while step := self._next():
                step.run(con)
                with self.changed:
                    self.done.add(step.name)
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

    def _next(self) -> Step | None:
        with self.changed:
            while self.waiting and self.failure is None:
                for place, (step, needs) in enumerate(self.waiting):
                    if needs <= self.done:
                        del self.waiting[place]
                        return step
                self.changed.wait()
        return None
