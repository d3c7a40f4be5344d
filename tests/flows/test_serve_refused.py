"""`bufferhouse serve` that cannot or must not serve says so in a line."""

import os
import signal
import socket
from collections.abc import Iterator
from subprocess import Popen

import pytest

from tests.command_line import Outcome, kill_group, run_each, start
from tests.flows.clock import Clock, free_port, until

pytest_plugins = ["tests.flows.prefect_server"]
# Holds what `serve` holds, and nothing else of it.
HOLD = """
import sys, flows.server
with flows.server.alone(int(sys.argv[1])):
    print('held', flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def clock(prefect_server, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A configuration with one source, which nobody serves yet; without $PREFECT_API_URL."""
    # A short path: sockets lie below it.
    clock = Clock(tmp_path_factory.mktemp("c"), prefect_server.port, auth=prefect_server.auth)
    clock.drop.mkdir()
    clock.config.write_text('[[sources]]\nname = "drop"\npaths = ["drop"]\n')
    for name in [name for name in os.environ if name.startswith("PREFECT_API")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_HOME", clock.environment["PREFECT_HOME"])
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", prefect_server.auth)
    return clock


@pytest.fixture
def holder(clock: Clock) -> Iterator[Popen]:
    """A process that serves on the port of the clock, as far as others can know."""
    process = start(clock.port, code=HOLD, stdin=-1)
    assert "held\n" == process.stdout.readline()
    yield process
    kill_group(process)


def serve_each(clock: Clock, *calls: tuple[object, ...]) -> list[Outcome]:
    """Call `serve` with other words each time, in one process: to import Prefect takes most of a call."""
    outcomes = run_each(*(("serve", "--config", clock.config, *words) for words in calls))
    assert [] == [outcome.err for outcome in outcomes if "Traceback" in outcome.err]
    # Behind what it is about to serve.
    return [Outcome(outcome.code, outcome.out, outcome.err.split("\n", 1)[1]) for outcome in outcomes]


def serve(clock: Clock, *words: object) -> Outcome:
    return serve_each(clock, words)[0]


def assert_free(clock: Clock) -> None:
    next_one = start(clock.port, code=HOLD, stdin=-1)
    try:
        assert "held\n" == next_one.stdout.readline()
    finally:
        kill_group(next_one)


@pytest.mark.slow
def test_a_second_serve_is_refused_on_the_same_port_or_records(clock, holder, monkeypatch):
    """It would carry out the flow runs of the first, and pause its deployments at the end; the message names the first.

    Another port leads to the same records, and $PREFECT_API_URL may be the first one's server.
    """
    first = f"bufferhouse: another bufferhouse serve, process {holder.pid} on port {clock.port}, "
    said = f"{first}carries out the same deployments; stop it, or name "
    expected = (2, f"{said}another folder in $PREFECT_HOME and another --port\n")
    ports = (clock.port, free_port())
    assert [expected] * 2 == [(it.code, it.err) for it in serve_each(clock, *(("--port", port) for port in ports))]
    monkeypatch.setenv("PREFECT_API_URL", f"http://LOCALHOST:{clock.port}/api/")
    found = serve(clock)
    assert (2, f"{said}another server in $PREFECT_API_URL\n") == (found.code, found.err)


@pytest.mark.slow
def test_one_that_was_killed_refuses_nobody(clock, holder):
    """The lock goes with its process, also by kill -9."""
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert_free(clock)


@pytest.mark.slow
def test_serve_holds_its_deployments_and_lets_them_go(clock):
    """The real one: refused while it serves, and not when it has ended."""
    clock.start()
    until(lambda: [*clock.root.glob("tmp/bufferhouse-serve-*/runner_storage/*")], "the folder of the runner")
    try:
        assert 2 == serve(clock, "--port", clock.port).code
    finally:
        assert 0 == clock.stop()
    assert_free(clock)


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_named(clock, monkeypatch):
    """One line instead of tracebacks, and exit 3: it may answer later."""
    url = f"http://127.0.0.1:{free_port()}/api"
    monkeypatch.setenv("PREFECT_API_URL", url)
    found = serve(clock)
    assert 3 == found.code
    assert found.err.startswith(f"bufferhouse: the Prefect server at {url} does not answer: ")
    assert found.err.endswith("name another in $PREFECT_API_URL, or none for one of our own\n")
    assert 1 == found.err.count("\n")


@pytest.mark.slow
def test_a_server_that_refuses_the_authentication_string_is_named(clock, prefect_server, monkeypatch):
    """One line, and exit 2: the call is wrong."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_server.url)
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "bufferhouse:another-one")
    found = serve(clock)
    expected = f"bufferhouse: the Prefect server at {prefect_server.url} wants another authentication string; "
    assert (2, f"{expected}give it in $PREFECT_API_AUTH_STRING\n") == (found.code, found.err)


def test_a_port_in_use_is_told_in_a_line(clock: Clock):
    """Before any server is started: Prefect's own words for it are pages long."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        expected = f"bufferhouse: port {port}: Address already in use; give another with --port\n"
        assert Outcome(2, "", expected) == serve(clock, "--port", port)
