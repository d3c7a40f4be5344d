"""The statements of a batch, on two connections: each when what it needs is done, and none after a failure."""

import os
import signal
import threading
import time

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.tabulate.batch import COLUMNS
from bufferhouse.warehouse.batch_catalog import CATALOG, Statement, batch_catalog, run_statements
from bufferhouse.warehouse.open import writing
from schemas import DERIVED

ENDLESS = "SELECT SUM(range) FROM range(1000000000000000)"


@pytest.fixture
def con():
    with duckdb.connect() as opened:
        yield opened


@st.composite
def needs(draw) -> list[list[int]]:
    """Draw for each statement some of those before it."""
    count = draw(st.integers(0, 12))
    return [draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else [] for i in range(count)]


@given(needs())
@settings(max_examples=25, deadline=None)
def test_each_finds_what_it_needs(graph):
    """Every statement is carried out once, after those it needs; a name that is no statement is there already."""
    statements = []
    for i, above in enumerate(graph):
        sums = " + ".join(["1", *(f"(SELECT SUM(n) FROM made_{other})" for other in above)])
        needed = ["elsewhere", *(f"made_{other}" for other in above)]
        statements.append(Statement(f"made_{i}", needed, f"CREATE TABLE made_{i} AS SELECT {sums} AS n"))
    with duckdb.connect() as con:
        rows = run_statements(con, statements, catalog="memory")
        found = [con.execute(f"SELECT n FROM made_{i}").fetchone()[0] for i in range(len(graph))]
    expected = []
    for above in graph:
        expected.append(1 + sum(expected[other] for other in above))
    assert (expected, {f"made_{i}": 1 for i in range(len(graph))}) == (found, rows)


@pytest.mark.parametrize(("count", "found"), [(0, "few"), (2, "few"), (3, "many")])
def test_what_is_carried_out_hangs_on_rows(con, count, found):
    """Of tables that other statements have made: so many rows together, else the other statement, or none."""
    filled = Statement("filled", (), f"CREATE TABLE filled AS SELECT * FROM range({count - count // 2})")
    given = Statement("given", (), "CREATE TABLE more AS FROM given", given=pl.DataFrame({"x": range(count // 2)}))
    of = {"needs": ["filled", "given"], "of": ["filled", "given"], "least": 3}
    told = Statement(
        "told", sql="CREATE TABLE told AS SELECT 'many' AS n", otherwise="CREATE TABLE told AS SELECT 'few' AS n", **of
    )
    gone = Statement("gone", sql="DROP TABLE filled", **of)
    rows = run_statements(con, [filled, given, told, gone], catalog="memory")
    assert {"filled": count - count // 2, "given": count // 2, "told": 1} == rows
    assert [(found,)] == con.execute("FROM told").fetchall()
    left = con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'filled'").fetchall()
    assert (found == "few") == bool(left)


def test_two_are_under_way_at_once(con, tmp_path):
    """Each of two waits for the other: one writes what the other reads, through a pipe."""
    os.mkfifo(pipe := tmp_path / "pipe")
    writes = Statement("writes", (), f"COPY (SELECT 7 AS n) TO '{pipe}' (FORMAT csv, HEADER false, USE_TMP_FILE false)")
    reads = Statement(
        "reads", (), f"CREATE TABLE reads AS SELECT * FROM read_csv('{pipe}', columns={{'n': 'INTEGER'}})"
    )
    for order in ([writes, reads], [reads, writes]):
        assert {"writes": 1, "reads": 1} == run_statements(con, order, catalog="memory")
        assert [(7,)] == con.execute("FROM reads").fetchall()
        con.execute("DROP TABLE reads")


def test_what_fails_stops_the_other_and_all_that_would_follow(con):
    """The error comes out as it is, although the other statement would take for ever."""
    fails = Statement("fails", (), "SELECT CAST('x' AS INTEGER)")
    endless = Statement("endless", (), ENDLESS)
    later = Statement("later", ["fails"], "CREATE TABLE later (n INTEGER)")
    for order in ([fails, endless, later], [endless, fails, later]):
        with pytest.raises(duckdb.ConversionException):
            run_statements(con, order, catalog="memory")
    assert [] == con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'later'").fetchall()


def test_ctrl_c_stops_both(con, tmp_path):
    """While both work on statements that would take for ever."""
    names = ("one", "two")

    def press() -> None:
        while not all((tmp_path / name).exists() for name in names):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    statements = [
        *(Statement(name, (), f"COPY (SELECT 1) TO '{tmp_path / name}' (FORMAT csv)") for name in names),
        *(Statement(f"endless {name}", [name], ENDLESS) for name in names),
    ]
    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        run_statements(con, statements, catalog="memory")
    pressing.join()
    assert isinstance(caught.value, KeyboardInterrupt) or isinstance(caught.value.__cause__, KeyboardInterrupt)
    assert [(1,)] == con.execute("SELECT 1").fetchall()


def test_ctrl_c_while_the_second_thread_begins(con, monkeypatch):
    """Nothing is under way on a connection that is about to be closed: DuckDB would end the process with SIGSEGV."""
    begin, begun = threading.Thread.start, []

    def begin_and_press(thread: threading.Thread) -> None:
        begun.append(thread)
        begin(thread)
        raise KeyboardInterrupt

    for is_slow in (False, True):
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", begin_and_press)
            with pytest.raises(KeyboardInterrupt):
                run_statements(con, [Statement("endless", (), ENDLESS)] * is_slow, catalog="memory")
        begun.pop().join(10)
    assert [(1,)] == con.execute("SELECT 1").fetchall()


def test_ctrl_c_is_said_whatever_else_has_failed(con, monkeypatch):
    """Else whoever looks for the dump that made a model fail would go on looking."""
    begin = threading.Thread.start

    def begin_and_press(thread: threading.Thread) -> None:
        begin(thread)
        thread.join(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", begin_and_press)
    with pytest.raises(KeyboardInterrupt):
        run_statements(con, [Statement("fails", (), "SELECT CAST('x' AS INTEGER)")], catalog="memory")


def test_of_a_batch_only_what_a_model_reads_is_put_into_its_catalog():
    """A table of raw, a view of raw with the tables behind it; which dumps there are is asked of every batch."""
    frames = {table: pl.DataFrame(schema=columns) for table, columns in COLUMNS.items()}
    model = "SELECT dump_id, COUNT(*) AS n FROM raw.{} GROUP BY dump_id"
    for read, expected in (
        ([], {"dumps"}),
        (["allocations"], {"dumps", "allocations"}),
        (["positions"], {"dumps", "hlo_values", "further_positions", "positions"}),
    ):
        built = [(f"intermediate.n_{name}", True, None, [f"raw.{name}"], model.format(name)) for name in read]
        with writing(None, build_models=False) as warehouse, batch_catalog(warehouse, frames, built=built):
            there = warehouse.con.execute(
                "SELECT table_name FROM information_schema.tables"
                f" WHERE table_catalog = '{CATALOG}' AND table_schema = 'raw'"
            ).fetchall()
        assert expected == {name for (name,) in there} & (frames.keys() | DERIVED.keys())


def test_nothing_that_was_streamed_stays_behind_a_failure(con):
    """An interrupt may have met the end of a statement over rows: their name is free for whoever goes on."""
    con.register("given", pl.DataFrame({"a": [1]}).to_arrow())
    with pytest.raises(duckdb.ConversionException):
        run_statements(con, [Statement("fails", (), "SELECT CAST('x' AS INTEGER)")], catalog="memory")
    again = Statement("made", (), "CREATE TABLE made AS SELECT * FROM given", given=pl.DataFrame({"a": [1, 2]}))
    assert {"made": 2} == run_statements(con, [again], catalog="memory")
