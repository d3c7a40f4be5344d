"""Temporary files: those of dead queries go, those of living ones stay, and all of a user's are bounded together."""

import time

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.query.spill import spill_folder, sweep, user_folder
from tests.command_line import kill_group, start

HOLD = """
import sys, time
from bufferhouse.query.spill import spill_folder
with spill_folder(1 << 20) as (folder, share):
    (folder / "spilled").write_bytes(b"x" * 1000)
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files go, in this process and in others; nothing may be left there."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    assert [] == list(tmp_path.iterdir())


def test_files_of_a_killed_query_go_when_the_next_begins(temporary):
    """And those of one that lives stay, as long as it does."""
    dead, alive = start(code=HOLD), start(code=HOLD)
    try:
        folders = [process.stdout.readline().strip() for process in (dead, alive)]
        kill_group(dead)
        with spill_folder(1000) as (own, _):
            queries = {path.name for path in user_folder().iterdir()}
        assert {own.parent.name, folders[1].split("/")[-2]} == queries
    finally:
        kill_group(alive)
    sweep()


def test_all_queries_of_a_user_share_what_there_is(temporary):
    """Each gets at most half of what the others left, so that together they never have more than all."""
    with spill_folder(1000, 1000) as (_, first), spill_folder(1000, 1000) as (_, second):
        assert (500, 250) == (first, second)
        with spill_folder(100, 1000) as (_, third):
            assert 100 == third
    with spill_folder(1000, 1000) as (_, again):
        assert 500 == again


def test_a_folder_that_others_may_look_into_is_not_used(temporary):
    """It may belong to somebody who waits there."""
    user_folder().mkdir(mode=0o755)
    user_folder().chmod(0o755)
    with pytest.raises(UsageError, match="yours alone"), spill_folder(1000):
        pass


def test_many_begin_and_end_at_once(temporary):
    """The folder of the user comes and goes, and nobody is without one."""
    code = "from bufferhouse.query.spill import spill_folder\nfor _ in range(100):\n    with spill_folder(10): pass\n"
    processes = [start(code=code) for _ in range(3)]
    deadline = time.monotonic() + 120
    assert ["", "", ""] == [process.communicate(timeout=deadline - time.monotonic())[1] for process in processes]
