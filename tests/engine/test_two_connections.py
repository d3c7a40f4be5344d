"""Steps run on two connections, each when what it needs is done; after a failure nothing is begun, nothing goes on."""

import os
import signal
import threading

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.engine.two_connections import Step, run_steps

ENDLESS = "SELECT SUM(range) FROM range(1000000000000000)"


@pytest.fixture
def con():
    with duckdb.connect() as opened:
        yield opened


@st.composite
def needs(draw) -> list[list[int]]:
    """Draw for each step some of those before it."""
    count = draw(st.integers(0, 12))
    return [draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else [] for i in range(count)]


@given(needs())
@settings(max_examples=50, deadline=None)
def test_each_finds_what_it_needs(graph):
    """Every step is carried out once, after those it needs; a name that is no step is there already."""
    done = []

    def run(number: int, con: duckdb.DuckDBPyConnection) -> None:
        above = " + ".join(["1", *(f"(SELECT n FROM step_{other})" for other in graph[number])])
        con.execute(f"CREATE TABLE step_{number} AS SELECT {above} AS n")
        done.append(number)

    steps = [
        Step(f"step_{i}", ["elsewhere", *(f"step_{other}" for other in graph[i])], lambda con, i=i: run(i, con))
        for i in range(len(graph))
    ]
    with duckdb.connect() as con:
        run_steps(con, steps, catalog="memory")
        found = [con.execute(f"SELECT n FROM step_{i}").fetchone()[0] for i in range(len(graph))]
    expected = []
    for above in graph:
        expected.append(1 + sum(expected[other] for other in above))
    assert (expected, list(range(len(graph)))) == (found, sorted(done))
    assert all(done.index(other) < done.index(i) for i, above in enumerate(graph) for other in above)


def test_two_are_under_way_at_once(con):
    """Each of two waits for the other."""
    both = threading.Barrier(2, timeout=60)
    seen = []

    def meet(own: duckdb.DuckDBPyConnection) -> None:
        both.wait()
        seen.append(own)

    run_steps(con, [Step("one", (), meet), Step("two", (), meet)], catalog="memory")
    assert 2 == len(set(map(id, seen)))


def test_what_fails_stops_the_other_and_all_that_would_follow(con):
    """The error comes out as it is, although the other statement would take for ever."""
    begun = threading.Event()

    def go_on(own: duckdb.DuckDBPyConnection) -> None:
        begun.set()
        own.execute(ENDLESS)

    def fail(own: duckdb.DuckDBPyConnection) -> None:
        begun.wait(60)
        own.execute("SELECT CAST('x' AS INTEGER)")

    later = []
    steps = [Step("fails", (), fail), Step("endless", (), go_on), Step("later", ("fails",), later.append)]
    for order in (steps, [steps[1], steps[0], steps[2]]):
        begun.clear()
        with pytest.raises(duckdb.ConversionException):
            run_steps(con, order, catalog="memory")
    assert [] == later
    assert [(1,)] == con.execute("SELECT 1").fetchall()


def test_ctrl_c_stops_both(con):
    """While both work on statements that would take for ever."""
    both = threading.Barrier(3, timeout=60)

    def go_on(own: duckdb.DuckDBPyConnection) -> None:
        both.wait()
        own.execute(ENDLESS)

    def press() -> None:
        both.wait()
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        run_steps(con, [Step("one", (), go_on), Step("two", (), go_on)], catalog="memory")
    pressing.join()
    assert isinstance(caught.value, KeyboardInterrupt) or isinstance(caught.value.__cause__, KeyboardInterrupt)
    assert [(1,)] == con.execute("SELECT 1").fetchall()
