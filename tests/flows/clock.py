"""A folder, a configuration and `bufferhouse serve` over them, for tests of the clock."""

import base64
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb

from tests.command_line import CHECKOUT
from tests.system.heard import heard
from tests.warehouses import published_path

PATIENCE_SECONDS = 240
# Below those that systems give to connections: one of these may take a port before the server that is to have it.
_PORTS = range(20_000, 32_000)
_CHANCE = random.SystemRandom()
DEPLOYMENTS = 6  # that `serve` makes where no source has a schedule of its own


def artifacts(state: Any) -> dict[str, Any]:
    """Return the artifacts of a flow run by key; Prefect's server is the one that this process uses."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId

    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[state.state_details.flow_run_id]))
    with get_client(sync_client=True) as client:
        return {one.key: one.data for one in client.read_artifacts(artifact_filter=wanted)}


@contextmanager
def web_hook() -> Iterator[tuple[str, list[dict]]]:
    """Yield the address of a web hook, and what it was told so far; it refuses what is behind `/gone`."""
    heard: list[dict] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(404 if self.path.startswith("/gone") else 200)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", heard
        server.shutdown()


@contextmanager
def prefect_at(home: Path, url: str | None = None, auth: str | None = None) -> Iterator[None]:
    """Let Prefect have its records in a folder, and use this server, or none."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, PREFECT_HOME, temporary_settings

    with temporary_settings({PREFECT_HOME: home, PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: auth}):
        yield


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    while True:
        port = _CHANCE.choice(_PORTS)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def basic(auth: str) -> str:
    """Return an authentication string as the header takes it."""
    return base64.b64encode(auth.encode()).decode()


def until(holds: Callable[[], Any], what: str, patience: float = PATIENCE_SECONDS, pause: float = 0.2) -> Any:
    """Return what `holds` returns as soon as that is true; fail when it takes too long."""
    deadline = time.monotonic() + patience
    while not (value := holds()):
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(pause)
    return value


@dataclass
class Clock:
    """What is served: the folder dumps are dropped into, the warehouse, and where Prefect answers.

    Where nobody answers on the port yet, `bufferhouse serve` starts a server of its own there. With `is_heard` the
    addresses that its processes contact are written to a file, which takes a little time of each. `auth` is the
    authentication string of the server; a server of its own makes one.
    """

    root: Path
    port: int
    is_heard: bool = False
    process: subprocess.Popen | None = None
    auth: str | None = None
    options: tuple[str, ...] = ()

    @property
    def drop(self) -> Path:
        return self.root / "drop"

    @property
    def config(self) -> Path:
        return self.root / "bufferhouse.toml"

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse.duckdb"

    @property
    def contacts(self) -> Path:
        return self.root / "contacts"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process beside the served ones: no server is configured but in Prefect's own home."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "BUFFERHOUSE_"))}
        path = heard(self.contacts) if self.is_heard else {"PYTHONPATH": str(CHECKOUT)}
        auth = {"PREFECT_API_AUTH_STRING": self.auth} if self.auth else {}
        return {**own, "PREFECT_HOME": str(self.root / "prefect"), **auth, **path}

    @property
    def authentication(self) -> str:
        """The authentication string of the server."""
        return self.auth or (self.root / "prefect" / "bufferhouse-auth").read_text()

    def start(self) -> None:
        """Start `bufferhouse serve`, and wait until a Prefect server answers."""
        # For temporary files a folder as other users leave it: what Prefect would write to there is not ours.
        temporary = self.root / "tmp"
        temporary.mkdir(exist_ok=True)
        (temporary / "runner_storage").touch()
        with (self.root / "serve.log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bufferhouse.cli", "serve", "--config", self.config, "--port", str(self.port),
                 "--poll", "1", *self.options],
                env={**self.environment, "TMPDIR": str(temporary)}, cwd=self.root, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        until(self._answers, "an answer of the server")

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.root / "serve.log").read_text()[-3000:]
        try:
            return bool(self.ask("deployments/count", {}))
        except OSError:
            return False

    def stop(self) -> int:
        """End it as a service manager does; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def ask(self, what: str, body: dict | None = None) -> Any:
        """Ask the server's API."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", "authorization": f"Basic {basic(self.authentication)}"}
        request = urllib.request.Request(f"{self.url}/{what}", data, sent)
        for pause in (1, 2, 4, 8, None):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    text = answer.read()
                return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                if error.code != 503 or pause is None:  # its database was in use: Prefect's own clients try again, too
                    raise
                time.sleep(pause)

    def flow_runs(self, *tags: str, state: str = "COMPLETED") -> list[dict]:
        """Return the flow runs that have all of these tags and have come to this state, oldest first."""
        asked = {"state": {"type": {"any_": [state]}}, **({"tags": {"all_": list(tags)}} if tags else {})}
        return self.ask("flow_runs/filter", {"flow_runs": asked, "sort": "START_TIME_ASC", "limit": 200})

    def artifacts(self, flow_run: dict) -> dict[str, Any]:
        """Return the artifacts of a flow run by key."""
        asked = {"artifacts": {"flow_run_id": {"any_": [flow_run["id"]]}}, "limit": 50}
        return {one["key"]: one["data"] for one in self.ask("artifacts/filter", asked)}

    def published(self, sql: str) -> list[tuple]:
        """Ask the published copy; nothing where there is none yet."""
        path = published_path(self.warehouse)
        if not path.exists():
            return []
        with duckdb.connect(str(path), read_only=True) as con:
            return con.execute(sql).fetchall()


def figures(markdown: str) -> dict[str, str]:
    """Return the table of a summary as a dict of its texts."""
    return dict(re.findall(r"^\|\s*([a-z][^|]*?)\s*\|\s*([^|]*?)\s*\|$", markdown, re.M))


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started and that have not ended."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command_of(pid: int) -> bytes:
    """Return the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def forkserver_of(pid: int) -> int | None:
    """Return the child of `bufferhouse serve` whose children are the flow runs, as soon as there is one."""
    return next((child for child in children_of(pid) if b"flows.preloaded" in command_of(child)), None)
