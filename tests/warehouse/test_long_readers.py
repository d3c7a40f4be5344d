"""Who reads for long keeps no ingest out: a notebook, a conversation, a report."""

import subprocess
import sys
from pathlib import Path

import pytest

import bufferhouse
from bufferhouse.warehouse.file import File
from bufferhouse.warehouse.open import reading, writing
from tests.command_line import call, run
from tests.ingests import write_dumps
from tests.synthetic import small_dump
from tests.warehouses import load_texts

SHELL = [sys.executable, "-m", "bufferhouse.cli", "query", "--warehouse"]


@pytest.fixture
def filled(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with one dump, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with writing(warehouse) as writer:
        load_texts(writer, [small_dump(1)])
    return warehouse


def count(con) -> int:
    return con.execute("SELECT COUNT(*) FROM raw.dumps").fetchone()[0]


def test_an_open_notebook_does_not_make_the_nightly_ingest_fail(filled, tmp_path):
    """It sees what was there when it connected, and the next connection sees the rest; nothing stays in the cache."""
    con = bufferhouse.connect(filled)
    write_dumps(tmp_path / "run", [2])
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", filled).code
    assert 1 == count(con)
    assert "warehouse" == con.execute("SELECT current_database()").fetchone()[0]
    con.execute("CREATE TEMP TABLE big AS SELECT hash(i) AS h FROM range(100000) AS r(i)")
    con.close()
    with reading(filled, is_long=True) as opened:
        assert 2 == count(opened.con)
    assert [] == list((tmp_path / "cache" / "bufferhouse" / "readers").iterdir())


def test_a_conversation_keeps_no_ingest_out(filled, tmp_path):
    """While it waits for its next statement a dump is loaded."""
    shell = subprocess.Popen(
        [*SHELL, filled, "--format", "csv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        shell.stdin.write("SELECT COUNT(*) AS n FROM raw.dumps;\n")
        shell.stdin.flush()
        assert ["n\n", "1\n"] == [shell.stdout.readline(), shell.stdout.readline()]
        write_dumps(tmp_path / "run", [2])
        assert 0 == call("ingest", tmp_path / "run", "--warehouse", filled).code
    finally:
        shell.communicate()


def test_where_there_is_no_cache_the_file_itself_is_read(filled, monkeypatch):
    """It is in the way of a writer then, as a short reader is."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    with reading(filled, is_long=True) as opened:
        assert 1 == count(opened.con)
        assert 3 == run("publish", "--warehouse", filled).code


def test_a_copy_that_was_written_to_meanwhile_is_made_again(filled, monkeypatch):
    """What was committed is in it whole."""
    states = iter([(1, 1), (0, 0), (2, 2), (0, 0)])
    monkeypatch.setattr("bufferhouse.warehouse.file._state", lambda path: next(states, (0, 0)))
    made = []
    monkeypatch.setattr(File, "_of_its_own", _noted(File._of_its_own, made))
    with reading(filled, is_long=True) as opened:
        assert 1 == count(opened.con)
    assert [True] == made


def _noted(function, made: list):
    def call_it(self):
        con = function(self)
        made.append(con is not None)
        return con

    return call_it
