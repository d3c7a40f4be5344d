"""Flow runs in surroundings that go wrong: each ends at once, with a message, and the warehouse is whole."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported

# isort: split

import os
import signal
import threading

import duckdb
import pytest
from prefect.exceptions import TerminationSignal

from flows.ingest import ingest
from flows.steps import outcome
from tests.warehouse.disks import space
from tests.warehouses import contents, counts

pytest_plugins = ["tests.flows.prefect_server", "tests.system.surroundings"]


def test_expired_credentials_fail_a_flow_run_at_once(prefect_server, warehouse, expired):
    """The message has the server's words and the way out; nothing is tried again, and nothing is loaded."""
    before = contents(warehouse)
    state = ingest(["s3://dumps/fleet"], warehouse=str(warehouse), return_state=True)
    expected = "s3://dumps/fleet: ExpiredToken: The provided token has expired.; renew the credentials and try again"
    assert ("Failed", True) == (state.name, expected in state.message)
    assert before == contents(warehouse)


def test_a_full_disk_fails_a_flow_run_and_the_next_one_ends_it(prefect_server, disk, fleet, monkeypatch):
    """What was committed is whole; with more space the next flow run loads the rest."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "25")
    warehouse = disk / "w.duckdb"
    state = ingest([str(fleet)], warehouse=str(warehouse), publish_copy=False, return_state=True)
    assert "Failed" == state.name
    assert f"no space left for {warehouse}: " in state.message
    space(disk, "200m")
    loaded = counts(warehouse)["dumps"]
    assert 0 < loaded < 126
    monkeypatch.delenv("BUFFERHOUSE_BATCH_DUMPS")
    again = ingest([str(fleet)], warehouse=str(warehouse), publish_copy=False, return_state=True)
    assert f"{126 - loaded} new, {loaded} known" == again.message


def test_a_signal_that_meets_a_statement_is_the_end_of_a_flow_run():
    """DuckDB makes an error of its own of it, which would be a flow run that failed, and not one that was ended."""

    def end(number: int, _frame: object) -> None:
        raise TerminationSignal(number)

    before = signal.signal(signal.SIGTERM, end)
    with duckdb.connect() as con:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
        try:
            with pytest.raises(RuntimeError, match="Query interrupted") as caught:
                con.execute("SELECT SUM(a.range * b.range) FROM range(1000000) AS a, range(20000) AS b")
        finally:
            con.interrupt()
            signal.signal(signal.SIGTERM, before)
    ended = outcome(caught.value)
    assert (TerminationSignal, signal.SIGTERM) == (type(ended), ended.signal)
    told = ValueError("a fault of its own")
    assert told is outcome(told)
