"""Two processes that each want a Prefect server of our own, on the same records."""

import sqlite3
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from select import select
from subprocess import Popen

import pytest

from tests.command_line import kill_group, start
from tests.flows.clock import free_port

pytest_plugins = ["tests.flows.prefect_server"]
WANT = """
import sys, flows.server
with flows.server.server(int(sys.argv[1]), is_brief=sys.argv[2] == 'brief'):
    print('served', flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def processes(prefect_server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Popen]]:
    """Processes that are ended behind the test; without a server yet, on a copy of the records of another.

    To make the database anew takes longer than all else that a server does to begin; that of the fixture made its own.
    """
    files = (home / "prefect.db" for home in (prefect_server.home, tmp_path))
    with ExitStack() as stack:
        theirs, copy = (stack.enter_context(closing(sqlite3.connect(file))) for file in files)
        theirs.backup(copy)
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    started: list[Popen] = []
    yield started
    for process in started:
        kill_group(process)


@pytest.mark.soak
def test_nobody_leans_on_a_server_that_ends_soon(processes: list[Popen]):
    """That of `notify` is gone when `notify` is; a `serve` that comes meanwhile waits, and has one of its own."""
    port = free_port()
    processes.append(start(port, "brief", code=WANT, stdin=-1))
    assert "served\n" == processes[0].stdout.readline()
    processes.append(start(port, "long", code=WANT, stdin=-1))
    # Without a wait it would be served by the first one's within this time, and by nobody behind it.
    select([processes[1].stdout], [], [], 5)
    processes[0].stdin.close()
    processes[0].wait()
    assert "served\n" == processes[1].stdout.readline()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health") as answer:
        assert 200 == answer.status
