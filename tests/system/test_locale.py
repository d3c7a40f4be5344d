"""A machine whose locale is not UTF-8: files are read and written as elsewhere."""

from pathlib import Path

from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse import address_of
from bufferhouse.warehouse.open import reading
from tests.command_line import run_each

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_warehouse_and_its_answers_are_the_same_in_every_locale(tmp_path: Path, monkeypatch):
    """Models that look for characters of XLA find them, and answers that are written to a file are in UTF-8."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where a warehouse without rows is kept, to be copied
    for name, value in ASCII.items():
        monkeypatch.setenv(name, value)
    warehouse, answer = tmp_path / "w.duckdb", tmp_path / "answer.csv"
    place = ("--warehouse", warehouse)
    ingest, query = run_each(
        ["ingest", CHECKOUT / "examples" / "oom" / "libtpu-0.0.52" / "temps", *place],
        ["query", "SELECT chr(8594) || chr(252) AS words", "--format", "csv", "-o", answer, *place],
    )
    assert 0 == ingest.code, ingest.err
    assert 0 == query.code, query.err
    with reading(address_of(warehouse)) as opened:
        assert 4 == opened.con.execute("SELECT COUNT(*) FROM intermediate.trace_nodes").fetchall()[0][0]
    assert "words\n→ü\n" == answer.read_text(encoding="utf-8")
