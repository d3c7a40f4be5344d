"""What an ingest that has begun does when others are at work too, or when Prefect's server goes away."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported

# isort: split

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

import duckdb
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.ingest import ingest
from tests.clock import figures, until
from tests.ingests import write_dumps

pytest_plugins = ["tests.prefect_server"]
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


def test_an_ingest_that_has_begun_does_not_fail_when_the_server_goes_away(prefect_server, road, tmp_path, monkeypatch):
    """Loading goes on meanwhile; the summary and the final state are on the server when it is back."""
    write_dumps(tmp_path / "run", range(40))
    warehouse = tmp_path / "warehouse.duckdb"
    monkeypatch.setattr("bufferhouse.ingest.BATCH_DUMPS", 10)
    monkeypatch.setattr("bufferhouse.ingest._CHUNK_DUMPS", 10)
    back_at = []

    def go_away() -> None:
        until(warehouse.with_name("warehouse.duckdb.lock").exists, "the beginning of the ingest")
        road.close()
        time.sleep(6)
        back_at.append(datetime.now(UTC))
        road.open()

    with temporary_settings({PREFECT_API_URL: road.url}):
        thread = threading.Thread(target=go_away)
        thread.start()
        state = ingest([str(tmp_path / "run")], warehouse=str(warehouse), return_state=True)
        thread.join()
    assert ("Completed", "40 new, 0 known") == (state.name, state.message)
    with duckdb.connect(str(warehouse), read_only=True) as con:
        assert (4,) == con.execute("SELECT COUNT(*) FROM raw.loads").fetchone()
    number = state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        ended = client.read_flow_run(number)
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[number]))
        )
    assert ("COMPLETED", True) == (ended.state_type.value, ended.end_time > back_at[0])
    (summary,) = (one.data for one in found if one.key == "ingest-summary")
    assert ("40", "40") == tuple(figures(summary)[name] for name in ("dumps seen", "new contents"))


def test_two_flow_runs_of_one_source_load_nothing_twice(prefect_server, tmp_path):
    """Both find the same files new; who comes second to the warehouse finds them known."""
    write_dumps(tmp_path / "run", range(50))
    warehouse = tmp_path / "warehouse.duckdb"
    call = {"sources": [str(tmp_path / "run")], "warehouse": str(warehouse), "return_state": True}
    with ThreadPoolExecutor(2) as pool:
        states = [future.result() for future in [pool.submit(ingest, **call) for _ in range(2)]]
    assert {"50 new, 0 known", "0 new, 50 known"} == {state.message for state in states}
    with duckdb.connect(str(warehouse), read_only=True) as con:
        assert (50, 50, 1) == con.execute(
            "SELECT (SELECT COUNT(*) FROM raw.observations), (SELECT COUNT(*) FROM raw.dumps),"
            " (SELECT COUNT(*) FROM raw.loads)"
        ).fetchone()
