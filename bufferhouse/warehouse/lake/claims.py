"""Which process loads what, if several write to one lake: claims in the PostgreSQL of its catalog.

A claim is a number that one worker at a time holds. A worker lives as long as its session with PostgreSQL, which holds
an advisory lock: if a process is killed, its session ends, and its claims are free. There are no clocks and
no leases. The commit of a load ends its claims in the same transaction, or is refused (`sql/lake/claims.sql`).
"""

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bufferhouse.dump.identity import key_of
from bufferhouse.engine.connection import tries
from bufferhouse.errors import WarehouseBusy, WarehouseInUse
from bufferhouse.warehouse.lake.postgres import answering, connect, unless_ended

if TYPE_CHECKING:
    import psycopg

# The two halves of an advisory lock: the kind, and which one.
_WORKER_LOCK = 0x62756668
_COMMIT_LOCK, _ALONE_LOCK = (0x62756669, 1), (0x62756669, 3)  # 2 and 4 are of bufferhouse.warehouse.lake.postgres
_LEAST_WAIT_SECONDS = 10.0  # for workers that only look up contents


class Claims:
    """The claims of one worker; a context manager that keeps the worker alive.

    `catalog` is a connection string of libpq without a password; the first connection is tried for `wait` seconds.
    `conflicts` counts the attempts of commits that DuckLake repeated because another commit came first, `retries` the
    loads that were repeated after a fault. `turn_seconds` is how long this worker held the turn to commit, and
    `waited_seconds` how long it waited for it. `brought` are the contents that the current transaction adds, as its
    commit has to name them.

    Raises:
        UsageError: psycopg is not installed, or PostgreSQL refuses the role or password.
        WarehouseBusy: PostgreSQL does not answer.
    """

    def __init__(self, catalog: str, wait: float = 0.0) -> None:
        self.catalog, self.wait = catalog, wait
        self.worker_id = 0
        self.held: set[int] = set()
        self.lost: set[int] = set()
        self.brought: list[str] = []
        self.conflicts = self.retries = 0
        self.turn_seconds = self.waited_seconds = 0.0
        self._token_count = 0
        self._con: psycopg.Connection | None = None

    def __enter__(self) -> "Claims":
        for is_last in tries(self.wait):
            try:
                with answering():
                    self.session()
                break
            except WarehouseBusy:
                if is_last:
                    raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._con is not None:
            with suppress(Exception):  # the end of the session tells the server the same
                self.release()
                self._con.execute("DELETE FROM bufferhouse.workers WHERE worker_id = %s", [self.worker_id])
            self._con.close()

    def take(self, wanted: Iterable[int]) -> set[int]:
        """Claim numbers in one statement, also those of dead workers; return those that this worker holds now.

        Others hold the rest. After a session was lost, claims are lost, too, and have to be taken again.
        """
        asked = set(wanted)
        with answering():
            con = self.session()
            self.lost -= asked
            # Sorted, as in every worker: two workers that add the same rows wait for each other in one direction only.
            numbers = sorted(asked - self.held)
            with con.transaction():
                self._forget_the_dead(con)
                rows = con.execute(
                    "INSERT INTO bufferhouse.claims (claim_id, worker_id) SELECT unnest(%s::BIGINT[]), %s"
                    " ON CONFLICT DO NOTHING RETURNING claim_id",
                    [numbers, self.worker_id],
                ).fetchall()
        self.held.update(number for (number,) in rows)
        return self.held & asked

    def release(self, numbers: Iterable[int] | None = None) -> None:
        """Give back some claims, or all for None. If the session has ended, they are free already."""
        given = set(self.held) if numbers is None else self.held.intersection(numbers)
        self.held -= given
        self.lost = set() if numbers is None else self.lost.difference(numbers)
        if given and self._con is not None:
            with unless_ended():
                self._con.execute(
                    "DELETE FROM bufferhouse.claims WHERE worker_id = %s AND claim_id = ANY(%s)",
                    [self.worker_id, list(given)],
                )

    def others(self, numbers: Iterable[int]) -> set[int]:
        """Return those of some numbers that other living workers have claimed."""
        return {number for (number,) in self._of_others("claim_id", numbers)}

    def holders(self, numbers: Iterable[int]) -> list[tuple[str, int]]:
        """Return host and process of the other living workers that hold one of these claims."""
        return self._of_others("DISTINCT host_name, process_id", numbers)

    def _of_others(self, cells: str, numbers: Iterable[int]) -> list[tuple]:
        with answering():
            con = self.session()
            with con.transaction():
                self._forget_the_dead(con)
                return con.execute(
                    f"SELECT {cells} FROM bufferhouse.claims LEFT JOIN bufferhouse.workers USING (worker_id)"
                    " WHERE claim_id = ANY(%s) AND worker_id <> %s",
                    [list(numbers), self.worker_id],
                ).fetchall()

    def reserve(self, least: int, count: int) -> int:
        """Reserve consecutive numbers from `least` on that no other worker gets; return the first."""
        with answering():
            (last,) = (
                self.session()
                .execute(
                    "UPDATE bufferhouse.numbers SET last_number = GREATEST(last_number, %s) + %s RETURNING last_number",
                    [least - 1, count],
                )
                .fetchone()
            )
        return last - count + 1

    def is_cut_off(self) -> bool:
        """Return whether the session has ended; it asks the server, because an end may be unnoticed."""
        with unless_ended():
            self._con.execute("SELECT 1")
            return False
        return True

    def token(self) -> str:
        """Return the extra information that a commit needs, so that it ends all claims that are held.

        Raises:
            WarehouseBusy: other workers took over some claims, and load what the commit would add.
        """
        if self.lost:
            raise WarehouseBusy(
                "the catalog of the lake ended this session, and other workers load the same files now; try again"
            )
        self._token_count += 1
        return json.dumps(
            {"worker_id": self.worker_id, "claim_count": len(self.held), "commit_number": self._token_count}
        )

    def ended(self) -> None:
        """Note that a commit has ended all claims."""
        self.held.clear()
        self.lost.clear()

    def was_committed(self, token: str) -> bool:
        """Return whether a commit without an answer came through; if it did not, it cannot come through later.

        First the claims pass to a new row of this worker. From then on the commit is either complete or will be
        refused.
        """
        with answering():
            self._enrol(self.session())
            row = self._con.execute(
                "SELECT 1 FROM public.ducklake_snapshot_changes WHERE commit_extra_info = %s", [token]
            ).fetchone()
        return row is not None

    @contextmanager
    def commit_turn(self) -> Iterator[None]:
        """Wait until no other worker commits, and hold the turn to commit; count the failed attempts inside.

        The turn only saves attempts: the key of DuckLake's snapshots keeps commits apart, and the fence keeps them
        correct. So it does no harm if the session ends in between.
        """
        asked = time.monotonic()
        with answering():
            con = self.session()
            con.execute("SELECT pg_advisory_lock(%s, %s)", _COMMIT_LOCK)
            before = _attempt_count(con)
        begun = time.monotonic()
        self.waited_seconds += begun - asked
        try:
            yield
        finally:
            self.turn_seconds += time.monotonic() - begun
            with unless_ended():  # it ended with the session
                self.conflicts += max(0, _attempt_count(con) - before - 1)
                con.execute("SELECT pg_advisory_unlock(%s, %s)", _COMMIT_LOCK)

    @contextmanager
    def alone(self, wait: float = 0.0) -> Iterator[None]:
        """Wait until no other worker is there, and let none begin: for removing rows that others may take for known.

        Raises:
            WarehouseInUse: others were there for `wait` seconds.
        """
        import psycopg

        seconds = max(wait, _LEAST_WAIT_SECONDS)
        with answering():
            con = self.session()
            con.execute("SELECT pg_advisory_unlock_shared(%s, %s)", _ALONE_LOCK)
            con.execute(f"SET lock_timeout = {int(seconds * 1000)}")
            try:
                con.execute("SELECT pg_advisory_lock(%s, %s)", _ALONE_LOCK)
            except psycopg.errors.LockNotAvailable:
                con.execute("SELECT pg_advisory_lock_shared(%s, %s)", _ALONE_LOCK)
                raise WarehouseInUse(
                    f"other workers were busy with the lake for {seconds:.0f} seconds; try again when they are done"
                ) from None
            finally:
                con.execute("RESET lock_timeout")
            self._forget_the_dead(con)
        try:
            yield
        finally:
            self._let_others_come(con)

    @contextmanager
    def alone_at_once(self) -> Iterator[bool]:
        """Yield whether no other worker is there at this moment; if so, let none begin until the end."""
        with answering():
            con = self.session()
            con.execute("SELECT pg_advisory_unlock_shared(%s, %s)", _ALONE_LOCK)
            (is_alone,) = con.execute("SELECT pg_try_advisory_lock(%s, %s)", _ALONE_LOCK).fetchone()
            if is_alone:
                self._forget_the_dead(con)  # so that a worker whose session ended unnoticed can no longer commit
            else:
                con.execute("SELECT pg_advisory_lock_shared(%s, %s)", _ALONE_LOCK)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._let_others_come(con)

    @staticmethod
    def _let_others_come(con: "psycopg.Connection") -> None:
        with unless_ended():  # it ended with the session
            con.execute("SELECT pg_advisory_unlock(%s, %s)", _ALONE_LOCK)
            con.execute("SELECT pg_advisory_lock_shared(%s, %s)", _ALONE_LOCK)

    def session(self) -> "psycopg.Connection":
        """Return the session; if it has ended, a new one with a new row of this worker."""
        if self._con is None or self._con.closed or self._con.broken:
            con = connect(self.catalog)
            try:
                con.execute("SELECT pg_advisory_lock_shared(%s, %s)", _ALONE_LOCK)
                self._enrol(con)
            except BaseException:
                con.close()
                raise
            self._con = con
        return self._con

    def _enrol(self, con: "psycopg.Connection") -> None:
        """Become a new worker, which gets those claims of the old one that others have not taken over."""
        old_id = self.worker_id
        with con.transaction():  # so that nobody sees a worker before it holds its lock
            (self.worker_id,) = con.execute(
                "INSERT INTO bufferhouse.workers (host_name, process_id) VALUES (%s, %s) RETURNING worker_id",
                [socket.gethostname(), os.getpid()],
            ).fetchone()
            con.execute("SELECT pg_advisory_lock(%s, %s)", [_WORKER_LOCK, self.worker_id])
            rows = con.execute(
                "UPDATE bufferhouse.claims SET worker_id = %s WHERE worker_id = %s RETURNING claim_id",
                [self.worker_id, old_id],
            ).fetchall()
            con.execute("DELETE FROM bufferhouse.workers WHERE worker_id = %s", [old_id])
        kept = {number for (number,) in rows}
        self.lost |= self.held - kept
        self.held = kept

    def _forget_the_dead(self, con: "psycopg.Connection") -> None:
        rows = con.execute(
            "DELETE FROM bufferhouse.workers WHERE worker_id <> %s AND pg_try_advisory_xact_lock(%s, worker_id)"
            " RETURNING worker_id",
            [self.worker_id, _WORKER_LOCK],
        ).fetchall()
        if rows:
            dead = [worker_id for (worker_id,) in rows]
            con.execute("DELETE FROM bufferhouse.claims WHERE worker_id = ANY(%s)", [dead])


def file_key(run_name: str, relative_path: str) -> int:
    """Return the number under which a file of a run is claimed: negative, because dump ids are not."""
    return -1 - key_of(run_name, relative_path)


def _attempt_count(con: "psycopg.Connection") -> int:
    """Return how many attempts of all workers to write a snapshot there were since the lake was made."""
    return con.execute(
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM bufferhouse.commit_attempts"
    ).fetchone()[0]  # fmt: skip
