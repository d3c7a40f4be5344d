"""Claims of several writers of a lake, in a real PostgreSQL: one worker at a time, and none for the dead."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.command_line import CHECKOUT

psycopg = pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

from bufferhouse.errors import WarehouseBusy  # noqa: E402
from bufferhouse.warehouse.lake import claims as claims_module  # noqa: E402
from bufferhouse.warehouse.lake.claims import Claims, file_key  # noqa: E402 - it needs the extra

pytest_plugins = ["tests.servers.lake_servers"]

_DUCKLAKE = """
CREATE TABLE ducklake_snapshot (snapshot_id BIGINT PRIMARY KEY);
CREATE TABLE ducklake_snapshot_changes (
    snapshot_id BIGINT PRIMARY KEY, changes_made VARCHAR, commit_extra_info VARCHAR
);
CREATE TABLE ducklake_schema (schema_id BIGINT, schema_name VARCHAR);
CREATE TABLE ducklake_table (table_id BIGINT, schema_id BIGINT, table_name VARCHAR, end_snapshot BIGINT);
CREATE TABLE ducklake_table_stats (table_id BIGINT, next_row_id BIGINT);
INSERT INTO ducklake_schema VALUES (7, 'raw');
INSERT INTO ducklake_table VALUES (12, 7, 'dumps', NULL);
"""
_WORKER = """
import sys
from bufferhouse.errors import WarehouseBusy  # noqa: E402
from bufferhouse.warehouse.lake.claims import Claims
with Claims(sys.argv[1]) as claims:
    print(sorted(claims.take(map(int, sys.argv[2:]))), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def catalog(postgres) -> str:
    """A PostgreSQL that has those tables of DuckLake which the fence stands at."""
    catalog = postgres.make_database()
    with psycopg.connect(catalog) as con:
        con.execute(_DUCKLAKE)
    return catalog


@pytest.fixture
def ask(catalog):
    """A function that asks PostgreSQL itself."""
    with psycopg.connect(catalog, autocommit=True) as con:
        yield lambda statement, *values: con.execute(statement, values).fetchall()


def commit(catalog: str, number: int, token: str | None, changes: str = "inserted_into_table:12") -> None:
    """Do what DuckLake does at the end of a commit."""
    with psycopg.connect(catalog) as con:
        con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        con.execute("INSERT INTO ducklake_snapshot VALUES (%s)", [number])
        con.execute("INSERT INTO ducklake_snapshot_changes VALUES (%s, %s, %s)", [number, changes, token])


def test_one_worker_at_a_time(catalog):
    """Of what several want each number goes to one; what is given back, or whose worker has left, is free."""
    with Claims(catalog) as first, Claims(catalog) as second:
        assert {1, 2, 3} == first.take([1, 2, 3])
        assert {4} == second.take([2, 3, 4])
        assert [os.getpid()] == [process_id for _, process_id in second.holders([2, 3])]
        first.release([2])
        assert {2, 4} == second.take([2, 3, 4])
        first.release()
        assert {2, 3, 4} == second.take([2, 3, 4])
    with Claims(catalog) as third:
        assert {1, 2, 3, 4} == third.take([1, 2, 3, 4])


def test_the_dead_hold_nothing(catalog):
    """What a killed worker had claimed is taken by the next one that asks, and what a living one has is not."""
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER, catalog, "11", "12"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, text=True,
    )  # fmt: skip
    assert [11, 12] == json.loads(worker.stdout.readline())
    with Claims(catalog) as claims:
        assert {13} == claims.take([11, 12, 13])
        assert [worker.pid] == [process_id for _, process_id in claims.holders([11])]
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        taken: set[int] = set()
        while not taken >= {11, 12}:  # the server sees the end of the session a moment later
            taken = claims.take([11, 12, 13])


def test_a_commit_ends_its_claims(catalog, ask):
    """The commit of a load takes its claims away in the same transaction, and says afterwards that it was."""
    with Claims(catalog) as claims:
        claims.take([21, file_key("run", "a.txt")])
        token = claims.token()
        commit(catalog, 1, token)
        assert claims.was_committed(token)
        claims.ended()
        assert set() == claims.held
        assert [] == ask("SELECT claim_id FROM bufferhouse.claims")


def test_a_commit_names_its_contents(catalog, ask):
    """They are in the table of contents with it, and not in what it says of itself, by which it is found again."""
    with Claims(catalog) as claims:
        token = claims.token()
        commit(catalog, 11, f"{token}\n5 0a0b 7\n6 0c0d -8")
        assert claims.was_committed(token)
        rows = ask("SELECT dump_id, encode(sha256, 'hex'), signature_id FROM bufferhouse.contents ORDER BY 1")
        assert [(5, "0a0b", 7), (6, "0c0d", -8)] == rows


def test_a_worker_that_lost_its_claims_cannot_commit(catalog, ask):
    """Whose session ended between the check and the commit, and whose claims went to others, is refused whole."""
    with Claims(catalog) as slow, Claims(catalog) as quick:
        slow.take([31, 32])
        token = slow.token()
        (row,) = ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = %s AND granted", slow.worker_id)
        assert (True,) == row
        while {31, 32} != quick.take([31, 32]):
            pass
        with pytest.raises(psycopg.errors.RaiseException, match="its session ended, and others load them"):
            commit(catalog, 2, token)
        assert [(0,)] == ask("SELECT COUNT(*) FROM ducklake_snapshot WHERE snapshot_id = 2")
        assert {31, 32} == quick.take([31, 32])


def test_a_worker_whose_claims_went_to_others_begins_no_commit(catalog, ask):
    """Nor does one who notices only when it asks for a number: what it holds no longer is not what it counted on."""
    with Claims(catalog) as slow, Claims(catalog) as quick:
        slow.take([33, 34])
        ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = %s AND granted", slow.worker_id)
        while {33, 34} != quick.take([33, 34]):
            pass
        with pytest.raises(WarehouseBusy):
            slow.reserve(1, 1)
        slow.reserve(1, 1)
        assert set() == slow.held
        for _ in range(2):
            with pytest.raises(WarehouseBusy, match="other workers load the same"):
                slow.token()
        assert set() == slow.take([33, 34])
        slow.token()


def test_a_worker_that_only_lost_its_session_can_commit(catalog, ask):
    """Claims that nobody has taken over are still its worker's: nothing that was read and parsed is thrown away."""
    with Claims(catalog) as claims:
        claims.take([41])
        token = claims.token()
        ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = %s AND granted", claims.worker_id)
        commit(catalog, 3, token)
        assert [] == ask("SELECT claim_id FROM bufferhouse.claims")


def test_conflicts_are_counted(catalog):
    """A commit that meets another one is counted, although nothing else of it stays."""
    with Claims(catalog) as claims:
        with claims.commit_turn():
            commit(catalog, 4, claims.token())
        assert 0 == claims.conflicts
        with claims.commit_turn():
            with pytest.raises(psycopg.errors.UniqueViolation):
                commit(catalog, 4, claims.token())
            commit(catalog, 5, claims.token())
        assert 1 == claims.conflicts


def test_a_commit_of_unknown_end_cannot_come_through_later(catalog, ask):
    """Once it was asked what became of a commit, one that was not there is refused, and the claims are still ours."""
    with Claims(catalog) as claims:
        claims.take([51, 52])
        token = claims.token()
        assert not claims.was_committed(token)
        assert {51, 52} == claims.held
        with pytest.raises(psycopg.errors.RaiseException):
            commit(catalog, 6, token)
        commit(catalog, 6, claims.token())


def test_a_new_session_has_the_claims_of_the_old_one(catalog, ask):
    """Whose session ended is another worker afterwards, who has what nobody has taken over."""
    with Claims(catalog) as slow, Claims(catalog) as quick:
        slow.take([61, 62])
        ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = %s AND granted", slow.worker_id)
        while 62 not in quick.take([62]):
            pass
        with pytest.raises(WarehouseBusy):
            slow.take([63])
        assert {63} == slow.take([63])
        assert set() == slow.others([61, 63])
        assert {62} == slow.others([61, 62, 63])


def test_nobody_adds_dumps_without_claims(catalog):
    """A commit that adds rows to raw.dumps and names no worker is refused, whoever it is; another one is not."""
    with Claims(catalog):
        for change in ("inserted_into_table:12", "created_table:x,inlined_insert:12,inserted_into_table:3"):
            with pytest.raises(psycopg.errors.RaiseException, match="by nobody else"):
                commit(catalog, 7, None, change)
        commit(catalog, 7, None, "inserted_into_table:121,merge_adjacent:12")


def test_no_number_is_given_twice(catalog):
    """Not where two workers ask in the same moment for many, as those who refuse thousands of files do."""
    moment = 1 << 60
    with Claims(catalog) as first, Claims(catalog) as second:
        given = [(one.reserve(moment, 4000)) for one in (first, second, first)]
        assert [moment, moment + 4000, moment + 8000] == given
        assert moment + 20_000 == second.reserve(moment + 20_000, 1)
        assert moment + 20_001 == first.reserve(moment, 1)


def test_one_worker_alone(catalog, monkeypatch):
    """Whoever removes rows waits until the others have left, says so when they do not, and lets none come meanwhile."""
    monkeypatch.setattr("bufferhouse.warehouse.lake.claims._LEAST_WAIT_SECONDS", 0.1)
    with Claims(catalog) as first:
        with (
            Claims(catalog),
            pytest.raises(WarehouseBusy, match="other workers were busy with the lake"),
            first.alone(),
        ):
            pass
        with first.alone(), psycopg.connect(catalog, autocommit=True) as con:
            assert [(False,)] == con.execute(
                "SELECT pg_try_advisory_lock_shared(%s, %s)", claims_module._ALONE_LOCK
            ).fetchall()
        with Claims(catalog) as second:
            assert {71} == second.take([71])
