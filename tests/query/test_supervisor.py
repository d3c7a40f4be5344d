"""`query` in a process of its own: a crash is a message, signals arrive, and nobody is left behind."""

import os
import signal
import sys
import time

import pytest

from tests.command_line import call, kill_group, run, start
from tests.flows.clock import until

CRASHES = "SELECT json_structure(repeat('[', 1000000) || repeat(']', 1000000))"
ENDLESS = "SELECT COUNT(*) FROM range(10000000000000) AS a, range(100000000) AS b WHERE a.range + b.range < 0"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files go; nothing may be left there."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    yield directory
    assert [] == list(directory.iterdir())


def asking(warehouse, temporary, **options):
    """A query that does not end, when it is at work."""
    process = start("query", ENDLESS, "--warehouse", warehouse, **options)
    until(lambda: list(temporary.glob("bufferhouse-*/query-*/spill")) or process.poll() is not None, "a query", 60)
    assert process.poll() is None
    return process


def test_a_crash_is_a_message(example_warehouse, temporary):
    """Exit 2 and one line that names the signal, no traceback, no temporary files."""
    outcome = run("query", CRASHES, "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    [line] = outcome.err.splitlines()
    assert line.startswith("bufferhouse: the statement crashed its process (SIG")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the children of a process")
def test_a_signal_without_a_name_is_told_by_its_number(example_warehouse, temporary):
    """A real-time signal: only the first and the last of them have names."""
    process = asking(example_warehouse, temporary)
    [worker] = _children(process.pid)
    os.kill(worker, signal.SIGRTMIN + 6)
    _, err = process.communicate(timeout=60)
    told = "bufferhouse: the statement crashed its process (signal 40); the warehouse was not changed"
    assert (2, True) == (process.returncode, err.startswith(told)), err


def test_a_query_that_is_asked_to_end_ends(example_warehouse, temporary):
    """As any process does at SIGTERM, with the process that works."""
    process = asking(example_warehouse, temporary)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert -signal.SIGTERM == process.returncode


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_query_that_is_killed_leaves_nobody(example_warehouse, temporary):
    """The process that works ends with the one that waits; its temporary files go when the next query begins."""
    process = asking(example_warehouse, temporary)
    [worker] = _children(process.pid)
    process.kill()
    until(lambda: not os.path.exists(f"/proc/{worker}") or _is_zombie(worker), "the end of the worker", 60)
    kill_group(process)
    assert 0 == run("query", "SELECT 1", "--warehouse", example_warehouse).code


def test_ctrl_c_before_the_statement_ends_the_query(example_warehouse, temporary):
    """Also one that comes as soon as there is a process: no second one is left."""
    process = start("query", ENDLESS, "--warehouse", example_warehouse)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert 0 != process.returncode


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (run, ["query", b"SELECT '\xff'"]),
        (call, ["query", "SELECT $a", "--param", b"a=\xff"]),
        (call, ["query", "--ask", b"\xff"]),
    ],
    ids=["statement", "parameter", "question"],
)
def test_an_argument_that_is_no_utf_8_is_named(example_warehouse, asked, words):
    """Exit 2 and a line, no traceback."""
    outcome = asked(*[os.fsdecode(word) for word in words], "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert outcome.err.startswith("bufferhouse: ")
    assert "Traceback" not in outcome.err


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
