"""`bufferhouse serve` that cannot or must not serve says so in a line."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import Outcome, call, kill_group, start
from tests.flows.clock import free_port, prefect_at

pytest_plugins = ["tests.flows.prefect_server"]
# Holds what `serve` holds, and nothing else of it.
HOLD = """
import sys, flows.server
with flows.server.alone(int(sys.argv[1])):
    print('held', flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def serve(prefect_server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """A function that calls `serve` with more words in this process, which has imported Prefect: that takes seconds."""
    (tmp_path / "drop").mkdir()
    config = tmp_path / "bufferhouse.toml"
    config.write_text('[[sources]]\nname = "drop"\npaths = ["drop"]\n')

    def serves(*_: object, **__: object) -> None:
        raise AssertionError("it is not refused, and would serve until Ctrl-C")

    monkeypatch.setattr("flows.serving.serve", serves)

    def called(*words: object) -> Outcome:
        outcome = call("serve", "--config", config, *words)
        return Outcome(outcome.code, outcome.out, outcome.err.split("\n", 1)[1])  # behind what it is about to serve

    return called


def test_a_second_serve_is_refused_on_the_same_port_or_records(serve, prefect_server, tmp_path):
    """It would carry out the flow runs of the first, and pause its deployments at the end; the message names the first.

    Another port leads to the same records, and $PREFECT_API_URL may be the first one's server.
    """
    from flows.server import alone

    port = prefect_server.port
    first = f"bufferhouse: another bufferhouse serve, process {os.getpid()} on port {port}, "
    said = f"{first}carries out the same deployments; stop it, or name "
    expected = (2, f"{said}another folder in $PREFECT_HOME and another --port\n")
    with prefect_at(tmp_path / "prefect"), alone(port):
        assert [expected] * 2 == [((it := serve("--port", one)).code, it.err) for one in (port, free_port())]
        with prefect_at(tmp_path / "prefect", f"http://LOCALHOST:{port}/api/"):
            found = serve()
    assert (2, f"{said}another server in $PREFECT_API_URL\n") == (found.code, found.err)


@pytest.mark.slow
def test_one_that_was_killed_refuses_nobody(serve, prefect_server, tmp_path, monkeypatch):
    """The lock goes with its process, also by kill -9."""
    from flows.server import alone

    for name in [name for name in os.environ if name.startswith("PREFECT_API")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    holder = start(prefect_server.port, code=HOLD, stdin=-1)
    try:
        assert "held\n" == holder.stdout.readline()
        with prefect_at(tmp_path / "prefect"):
            assert f"process {holder.pid} on port {prefect_server.port}, " in serve("--port", prefect_server.port).err
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            with alone(prefect_server.port):
                pass
    finally:
        kill_group(holder)


def test_a_server_that_does_not_answer_is_named(serve, tmp_path):
    """One line instead of tracebacks, and exit 3: it may answer later."""
    url = f"http://127.0.0.1:{free_port()}/api"
    with prefect_at(tmp_path / "prefect", url):
        found = serve()
    assert 3 == found.code
    assert found.err.startswith(f"bufferhouse: the Prefect server at {url} does not answer: ")
    assert found.err.endswith("name another in $PREFECT_API_URL, or none for one of our own\n")
    assert 1 == found.err.count("\n")


def test_a_server_that_refuses_the_authentication_string_is_named(serve, prefect_server, tmp_path):
    """One line, and exit 2: the call is wrong."""
    with prefect_at(tmp_path / "prefect", prefect_server.url, "bufferhouse:another-one"):
        found = serve()
    expected = f"bufferhouse: the Prefect server at {prefect_server.url} wants another authentication string; "
    assert (2, f"{expected}give it in $PREFECT_API_AUTH_STRING\n") == (found.code, found.err)


def test_a_port_in_use_is_told_in_a_line(serve, tmp_path):
    """Before any server is started: Prefect's own words for it are pages long."""
    with prefect_at(tmp_path / "prefect"), socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        expected = f"bufferhouse: port {port}: Address already in use; give another with --port\n"
        assert Outcome(2, "", expected) == serve("--port", port)
