"""What an ingest that has begun does when others are at work too, or when Prefect's server goes away."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported

# isort: split

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

import duckdb
import pytest
from prefect.client.orchestration import get_client
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.ingest import ingest
from tests.flows.clock import artifacts, figures, free_port, until
from tests.ingests import write_dumps

pytest_plugins = ["tests.flows.prefect_server"]
pytestmark = pytest.mark.slow


class Road:
    """The only road to a server: while it is closed, connections are cut and new ones refused."""

    def __init__(self, url: str) -> None:
        self.target = (urlsplit(url).hostname, urlsplit(url).port)
        self.port: int | None = None
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def open(self) -> None:
        self.sockets: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", self.port or 0), reuse_port=False)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def close(self) -> None:
        for one in (self.listener, *self.sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near = listener.accept()[0]
                far = socket.create_connection(self.target)
            except OSError:
                return
            self.sockets += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def road(prefect_server):
    # Left open: what Prefect still has to say about the flow run would be tried again for minutes.
    return Road(prefect_server.url)


def ingest_while(folder, url, goes, comes, seconds, monkeypatch):
    """Ingest 40 dumps in four batches, while the server `goes` when it has begun and `comes` some seconds later.

    Return the final state, the warehouse, and when the server was back.
    """
    write_dumps(folder / "run", range(40))
    warehouse = folder / "warehouse.duckdb"
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "10")
    back_at = []

    def go_away() -> None:
        until(warehouse.with_name("warehouse.duckdb.lock").exists, "the beginning of the ingest")
        goes()
        time.sleep(seconds)
        back_at.append(datetime.now(UTC))
        comes()

    with temporary_settings({PREFECT_API_URL: url}):
        thread = threading.Thread(target=go_away)
        thread.start()
        state = ingest([str(folder / "run")], warehouse=str(warehouse), return_state=True)
        thread.join()
    return state, warehouse, back_at[0]


def assert_told(url, state, warehouse, back_at):
    """All is loaded, and the server, asked at `url`, has the summary and an end that is later than its return."""
    assert ("Completed", "40 new, 0 known") == (state.name, state.message)
    with duckdb.connect(str(warehouse), read_only=True) as con:
        assert (4,) == con.execute("SELECT COUNT(*) FROM raw.loads").fetchone()
    with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as client:
        ended = client.read_flow_run(state.state_details.flow_run_id)
        summary = figures(artifacts(state)["ingest-summary"])
    assert ("COMPLETED", True) == (ended.state_type.value, ended.end_time > back_at)
    assert ("40", "40") == tuple(summary[name] for name in ("dumps seen", "new contents"))


def test_an_ingest_that_has_begun_does_not_fail_when_the_server_goes_away(prefect_server, road, tmp_path, monkeypatch):
    """Loading goes on meanwhile; the summary and the final state are on the server when it is back."""
    told = ingest_while(tmp_path, road.url, road.close, road.open, 2, monkeypatch)
    assert_told(prefect_server.url, *told)


@pytest.mark.soak
def test_an_ingest_that_has_begun_does_not_fail_when_the_server_is_dead_for_a_minute(tmp_path, monkeypatch):
    """The server is killed, and started again with its records after 60 seconds: nothing of the ingest is lost."""
    port, started = free_port(), []
    url = f"http://127.0.0.1:{port}/api"

    def start() -> None:
        words = ["server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
        environment = {**os.environ, "PREFECT_HOME": str(tmp_path / "prefect")}
        started.append(subprocess.Popen([sys.executable, "-m", "prefect", *words], env=environment))

    def kill() -> None:
        started[-1].kill()
        started[-1].wait()

    def answers() -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
        return False

    start()
    try:
        until(answers, "an answer of the server")
        told = ingest_while(tmp_path, url, kill, start, 60, monkeypatch)
        assert_told(url, *told)
        assert (2, None) == (len(started), started[-1].poll())
        EventsWorker.drain_all()  # flow runs of later tests would tell it theirs, and it would ask this server for ever
    finally:
        kill()


def test_two_flow_runs_of_one_source_load_nothing_twice(prefect_server, tmp_path):
    """Both find the same files new; who comes second to the warehouse finds them known."""
    write_dumps(tmp_path / "run", range(50))
    warehouse = tmp_path / "warehouse.duckdb"
    call = partial(ingest, [str(tmp_path / "run")], warehouse=str(warehouse), return_state=True)
    with ThreadPoolExecutor(2) as pool:
        # Prefect's settings are in the context, and a thread has none of its own.
        states = [future.result() for future in [pool.submit(copy_context().run, call) for _ in range(2)]]
    assert {"50 new, 0 known", "0 new, 50 known"} == {state.message for state in states}
    with duckdb.connect(str(warehouse), read_only=True) as con:
        assert (50, 50, 1) == con.execute(
            "SELECT (SELECT COUNT(*) FROM raw.observations), (SELECT COUNT(*) FROM raw.dumps),"
            " (SELECT COUNT(*) FROM raw.loads)"
        ).fetchone()
