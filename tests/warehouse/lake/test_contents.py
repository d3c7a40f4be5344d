"""The table of contents of a lake in a real PostgreSQL: it says what a scan of raw.dumps says, or is not believed."""

from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Thread

import pytest

from tests.flows.clock import until
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import copied, needs_lake
from tests.warehouses import load_parsed, parsed

psycopg = pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

from bufferhouse.tabulate.batch import Refusal  # noqa: E402
from bufferhouse.warehouse import load as loading  # noqa: E402
from bufferhouse.warehouse import retention  # noqa: E402
from bufferhouse.warehouse.address import LakeAddress, address_of  # noqa: E402
from bufferhouse.warehouse.copy import copy_warehouse  # noqa: E402
from bufferhouse.warehouse.lake import contents as contents_module  # noqa: E402
from bufferhouse.warehouse.lake.attach import LAKE  # noqa: E402
from bufferhouse.warehouse.lake.compact import compact  # noqa: E402
from bufferhouse.warehouse.lake.lake import Lake  # noqa: E402
from bufferhouse.warehouse.open import writing  # noqa: E402
from bufferhouse.warehouse.reparse import load_once, reparse  # noqa: E402
from bufferhouse.warehouse.warehouse import Warehouse  # noqa: E402
from tests.warehouse.lake.writers import Writer, make_empty, wait_for_loads  # noqa: E402

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = [needs_lake, pytest.mark.slow]

ALL = range(60)


@pytest.fixture
def address(postgres, empty_lake) -> LakeAddress:
    """A lake of its own for each test."""
    return address_of(f"ducklake:postgres:{postgres.make_database(empty_lake.connection_string)}")


@pytest.fixture
def lake(address):
    """It, opened to write."""
    with writing(address, build_models=False) as opened:
        yield opened


@pytest.fixture
def other(address):
    """The same lake, opened by another worker."""
    with writing(address, build_models=False) as opened:
        yield opened


@pytest.fixture
def ask(address):
    """A function that asks PostgreSQL itself."""
    with psycopg.connect(address.connection_string, autocommit=True) as con:

        def answer(statement: str) -> list[tuple]:
            cursor = con.execute(statement)
            return cursor.fetchall() if cursor.description else []

        yield answer


def add(lake: Warehouse, *numbers: int) -> None:
    """Load dumps, in a run of their own."""
    name = f"run-{numbers[0]}"
    load_parsed(lake, parsed([small_dump(number) for number in numbers], name), name)


def remove(lake: Warehouse) -> None:
    """Remove the run that begins with dump 2, as `prune` and `runs rm` do."""
    runs = lake.con.execute("SELECT run_id, run_name FROM raw.runs WHERE run_name = 'run-2'").fetchall()
    retention.remove_runs(lake, runs)


@cache
def ids() -> list[int]:
    """The numbers of all dumps that tests here load, and of some that they do not."""
    return [sighting.content.dump_id for sighting in parsed([small_dump(number) for number in ALL]).sightings]


def scan(lake: Warehouse) -> dict[int, tuple[str, int]]:
    """What raw.dumps says of them."""
    return super(Lake, lake)._known_contents(ids())


def by_table(lake: Warehouse) -> dict[int, tuple[str, int]] | None:
    """What the table says of them, None where it is in doubt; it is not filled for that."""
    table = contents_module.Contents(lake.con, lake.claims)
    table.may_fill = False
    return table.known(ids())


def assert_filled_anew(address: LakeAddress) -> None:
    """The table is in doubt; the next worker scans nothing but to fill it, and finds what a scan finds."""
    with writing(address, build_models=False) as fresh:
        assert_filled(fresh)


def assert_filled(worker: Warehouse) -> None:
    """As `assert_filled_anew`, with one worker: it would fill the table only once, and may do so once more."""
    worker.contents.may_fill = True
    assert by_table(worker) is None
    expected = scan(worker)
    assert expected == worker.known_contents(ids())
    assert expected == by_table(worker)


def test_loads_keep_the_table(lake, ask):
    """It is whole from the first look-up on, through small loads and large ones and those that only see again."""
    assert {} == lake.known_contents(ids())
    for numbers in ((0,), range(1, 40), (2, 3), (40, 41)):
        add(lake, *numbers)
        assert scan(lake) == by_table(lake)
    assert [(42,)] == ask("SELECT COUNT(*) FROM bufferhouse.contents")
    assert [] == ask("SELECT 1 FROM ducklake_snapshot_changes WHERE commit_extra_info LIKE E'%\\n%'")


def test_a_dump_that_is_refused_is_not_in_it(lake, monkeypatch):
    """What a check takes out of a batch is not known afterwards, and the table is not in doubt."""
    lake.known_contents(ids())
    (bad,) = {sighting.content.dump_id for sighting in parsed([small_dump(1)]).sightings}
    monkeypatch.setattr(loading, "run_checks", lambda con, checks: ({bad: Refusal("check:x", "a", "b")}, {}))
    add(lake, 0, 1, 2)
    assert bad not in by_table(lake)
    assert 2 == len(by_table(lake))
    assert scan(lake) == by_table(lake)


def parse_again(lake: Warehouse) -> None:
    assert 2 == reparse(lake, list(scan(lake))[:2]).count


def delete_by_hand(lake: Warehouse) -> None:
    lake.con.execute(f"DELETE FROM raw.dumps WHERE dump_id = {min(scan(lake))}")


@pytest.mark.parametrize("count", [3, 30], ids=["in the catalog", "in files"])
def test_whatever_removes_rows_leaves_the_table_in_doubt(lake, count):
    """Nobody has to remember it: the table is filled again, and what was removed is not known."""
    lake.known_contents(ids())
    add(lake, 0, 1)
    add(lake, *range(2, 2 + count))
    for remove_rows in (delete_by_hand, parse_again, remove):
        assert scan(lake) == by_table(lake)
        remove_rows(lake)
        assert_filled(lake)


def test_a_removal_that_is_stopped_changes_nothing(lake, monkeypatch):
    """Before its commit: all is there as before, and the table is believed."""
    lake.known_contents(ids())
    add(lake, *range(2, 20))

    def stop(warehouse: Warehouse) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(retention, "remove_unused_shapes", stop)
    with pytest.raises(KeyboardInterrupt):
        remove(lake)
    assert 18 == len(scan(lake))
    assert scan(lake) == by_table(lake)


def test_compaction_changes_nothing(lake, ask):
    """Files are merged, rows flushed, old snapshots go: the same contents are there, and the table is believed."""
    lake.known_contents(ids())
    for numbers in (range(20, 40), range(2, 17), (0, 1)):
        add(lake, *numbers)
    compact(lake.con, nullcontext(True), keep_seconds=0)
    assert 37 == len(by_table(lake))
    assert scan(lake) == by_table(lake)
    remove(lake)
    lake.contents.may_fill = True
    lake.known_contents(ids())
    lake.con.execute(f"CALL ducklake_rewrite_data_files('{LAKE}', delete_threshold => 0.0)")
    assert 22 == len(by_table(lake))


def test_a_copy_into_a_lake(postgres, lake_to_copy, tmp_path):
    """The copy brings no table along; its first worker fills it."""
    address = copied(postgres, lake_to_copy, tmp_path / "files")
    with writing(tmp_path / "a.duckdb") as warehouse:
        add(warehouse, *range(20))
    assert 20 == copy_warehouse(tmp_path / "a.duckdb", address)["raw.dumps"]
    assert_filled_anew(address)


def test_a_content_that_is_there_twice(lake, address, ask):
    """Where somebody put the triggers aside the count of rows gives it away; it is known, also when it is mended."""
    lake.known_contents(ids())
    add(lake, *range(3))
    ask("ALTER TABLE ducklake_snapshot_changes DISABLE TRIGGER USER")
    lake.con.execute("INSERT INTO raw.dumps SELECT * FROM raw.dumps ORDER BY dump_id LIMIT 1")
    ask("ALTER TABLE ducklake_snapshot_changes ENABLE TRIGGER USER")
    lake.__exit__(None, None, None)
    assert_filled_anew(address)
    with writing(address, build_models=False) as warehouse:
        assert 1 == load_once(warehouse).count
    assert_filled_anew(address)


BY_HAND = (
    "DELETE FROM bufferhouse.contents",
    "DELETE FROM bufferhouse.contents WHERE dump_id = (SELECT MIN(dump_id) FROM bufferhouse.contents)",
    "TRUNCATE bufferhouse.contents",
    "UPDATE bufferhouse.contents SET signature_id = 7",
    "INSERT INTO bufferhouse.contents VALUES (5, 'x', 5)",
)


def test_what_is_done_to_the_table_by_hand_is_not_believed(lake, ask):
    """Rows that go, come or change without a snapshot leave it in doubt; filled again it has the right ones only."""
    lake.known_contents(ids())
    add(lake, *range(3))
    assert scan(lake) == by_table(lake)
    for statement in BY_HAND:
        ask(statement)
        assert_filled(lake)
        assert [(3,)] == ask("SELECT COUNT(*) FROM bufferhouse.contents")


def test_without_its_state_the_table_is_never_believed(lake, ask):
    """Look-ups scan, and loads go on."""
    add(lake, 0)
    ask("DELETE FROM bufferhouse.contents_state")
    assert 1 == len(lake.known_contents(ids()))
    add(lake, 1)
    assert by_table(lake) is None
    assert scan(lake) == lake.known_contents(ids())


def test_a_lake_of_an_older_version(lake, address, ask):
    """It has no table: the first writer of this version makes and fills it."""
    add(lake, *range(20))
    lake.__exit__(None, None, None)
    ask("DROP TABLE bufferhouse.contents, bufferhouse.contents_state")
    ask("DROP FUNCTION bufferhouse.keep_contents, bufferhouse.doubt_contents, bufferhouse.dumps_given CASCADE")
    ask("COMMENT ON SCHEMA bufferhouse IS 'of another text'")
    assert_filled_anew(address)


def test_an_older_version_that_loads_beside_this_one(lake, other, address, monkeypatch):
    """Its commits name no contents: look-ups scan from then on, and once more a worker fills the table."""
    lake.known_contents(ids())
    add(lake, 0, 1)
    with monkeypatch.context() as patch:
        patch.setattr("bufferhouse.warehouse.lake.lake.named", lambda con, catalog, bad: [])
        add(other, 2, 3)
    assert by_table(lake) is None
    assert 4 == len(lake.known_contents(ids()))
    add(lake, 4)
    assert_filled_anew(address)


def in_the_transaction(monkeypatch, what: Callable[[], object]) -> list[int]:
    """Do something in the transaction of the next load, when its rows are there; return a list of all its tries."""
    told, calls = loading.observe, []

    def observe(*words):
        calls.append(1)
        if len(calls) == 1:
            what()
        return told(*words)

    monkeypatch.setattr(loading, "observe", observe)
    return calls


def test_a_commit_that_is_refused(lake, other, ask, monkeypatch):
    """It leaves nothing in the table; when the load was done anew its contents are in it."""
    lake.known_contents(ids())
    calls = in_the_transaction(monkeypatch, lambda: ask("DELETE FROM bufferhouse.claims"))
    add(lake, *range(15))
    assert (2, 1) == (len(calls), lake.claims.retries)
    assert 15 == len(by_table(other))
    assert scan(other) == by_table(other)


def test_a_commit_that_meets_another_one(lake, other, monkeypatch):
    """DuckLake tries it again: the contents of both are known."""
    lake.known_contents(ids())
    in_the_transaction(monkeypatch, lambda: add(other, 1, 2))
    add(lake, 3, 4)
    assert (1, 0) == (lake.claims.conflicts, lake.claims.retries)
    assert 4 == len(by_table(lake))
    assert scan(lake) == by_table(lake)


def test_a_table_that_is_filled_while_a_load_is_under_way(lake, other, ask, monkeypatch):
    """The load began before the table was whole, and commits afterwards: its contents are in the table all the same."""
    add(lake, 0)
    ask("TRUNCATE bufferhouse.contents")
    in_the_transaction(monkeypatch, lambda: other.known_contents(ids()))
    add(lake, 1, 2)
    assert (1, 0) == (lake.claims.conflicts, lake.claims.retries)
    assert 3 == len(by_table(other))
    assert scan(other) == by_table(other)


@pytest.mark.parametrize("what", ["load", "fill"])
def test_who_comes_while_the_table_is_filled_waits(lake, other, ask, monkeypatch, what):
    """A commit, and another worker that wants to fill it; no content is missed."""
    add(lake, *range(20))
    ask("TRUNCATE bufferhouse.contents")
    lake.contents.may_fill = True
    told, threads = contents_module.transaction, []

    @contextmanager
    def reading(con):
        with told(con):
            if con is lake.con:
                do = {"load": lambda: add(other, 20, 21), "fill": lambda: other.known_contents(ids())}[what]
                threads.append(Thread(target=do))
                threads[0].start()
                until(lambda: ask("SELECT 1 FROM pg_locks WHERE NOT granted"), "somebody who waits", 60)
            yield

    monkeypatch.setattr(contents_module, "transaction", reading)
    assert 20 == len(lake.known_contents(ids()))
    threads[0].join()
    assert {"load": 22, "fill": 20}[what] == len(by_table(lake))
    assert scan(lake) == by_table(lake)


@pytest.mark.soak
def test_workers_and_postgres_that_are_killed(postgres, tmp_path, fleet, monkeypatch):
    """At any moment: the table says what a scan says, or is in doubt; in the end it has every content."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "12")
    monkeypatch.setenv("HOME", str(tmp_path))
    address = address_of(f"ducklake:postgres:{postgres.make_database()}").with_data_path(str(tmp_path / "files"))
    make_empty(address)
    for number in range(1, 4):
        writers = [Writer([fleet], address).start() for _ in range(2)]
        wait_for_loads(address, 2 * number)
        assert [True, True] == [writer.kill() for writer in writers]
        if number == 2:
            postgres.kill()
            postgres.start()
        with writing(address) as warehouse:
            asked = [dump_id for (dump_id,) in warehouse.con.execute("SELECT dump_id FROM raw.dumps").fetchall()]
            expected = super(Lake, warehouse)._known_contents(asked)
            assert expected == contents_module.Contents(warehouse.con, warehouse.claims).known(asked)
    Writer([fleet], address).start().end()
    with psycopg.connect(address.connection_string) as con:
        assert (126,) == con.execute("SELECT COUNT(*) FROM bufferhouse.contents").fetchone()
