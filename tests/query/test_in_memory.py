"""Dumps in no warehouse, read into memory and asked at once."""

import pytest

from bufferhouse.ingest.in_memory import in_memory
from tests.command_line import call
from tests.ingests import ingest, write_dumps
from tests.sources.test_archive import archived
from tests.warehouses import rows

COUNT = "SELECT COUNT(*) FROM raw.dumps"


def test_a_query_needs_no_warehouse(example_warehouse, fleet, tmp_path, monkeypatch):
    """The answers are those of a warehouse with the same dumps; no file is made."""
    monkeypatch.chdir(tmp_path)
    question = "SELECT SUM(reserved_bytes), SUM(occupied_peak_bytes), COUNT(*) FROM marts.peak_memory"
    outcome = call("query", question, "--from", fleet, "--format", "csv")
    assert 0 == outcome.code
    [expected] = rows(example_warehouse, question)
    assert ",".join(map(str, expected)) == outcome.out.splitlines()[1]
    assert [] == list(tmp_path.iterdir())


def test_several_sources_of_any_kind(fleet, tmp_path):
    """--from may be repeated, and takes whatever ingest takes."""
    path = archived(
        tmp_path / "night.tar.gz", {"x-buffer-assignment.txt": (next((fleet / "seeds").glob("000*"))).read_bytes()}
    )
    write_dumps(tmp_path / "run", [1, 2])
    outcome = call("query", COUNT, "--from", path, "--from", tmp_path / "run", "--format", "csv")
    assert (0, "3") == (outcome.code, outcome.out.splitlines()[1])


def test_a_report_needs_no_warehouse(warehouse, fleet, monkeypatch):
    """It says what it says of a warehouse with the same dumps, but for what it is called; the page is written."""
    monkeypatch.chdir(warehouse.parent)
    seeds = fleet / "seeds"
    assert 0 == ingest(warehouse, seeds)[0]
    before = {path.name for path in warehouse.parent.iterdir()}
    assert "report: page.html\n" == call("report", "fleet", "--from", seeds, "--html", "page.html").out
    assert "seeds" in (warehouse.parent / "page.html").read_text()
    outcome = call("report", "fleet", "--from", seeds)
    expected = call("report", "fleet", "--warehouse", warehouse)
    assert (0, 0) == (outcome.code, expected.code)
    assert expected.out.replace(warehouse.name, "seeds") == outcome.out
    assert before | {"page.html"} == {path.name for path in warehouse.parent.iterdir()}


def test_what_is_refused_is_said_and_can_be_asked_for(tmp_path):
    """One bad dump stops only itself; its line is on standard error, its row in raw.rejects."""
    good, bad = write_dumps(tmp_path / "run", [1, 2])
    bad.write_bytes(b"BufferAssignment:\nnonsense\n")
    outcome = call("query", "SELECT relative_path FROM raw.rejects", "--from", tmp_path / "run", "--format", "csv")
    assert (0, [bad.name]) == (outcome.code, outcome.out.splitlines()[1:])
    assert f"bufferhouse: {bad}:2:1: expected " in outcome.err
    assert good.name not in outcome.err


def test_a_source_without_a_dump_is_said(tmp_path):
    """A count over nothing is a row, and no answer about dumps; a report of nothing is none."""
    (tmp_path / "train.log").write_text("step 1\n")
    outcome = call("query", COUNT, "--from", tmp_path, "--format", "csv")
    assert (0, "count_star()\n0\n") == (outcome.code, outcome.out)
    said = f"bufferhouse: {tmp_path}: no dump was found there\n"
    assert said == outcome.err
    outcome = call("report", "fleet", "--from", tmp_path)
    nothing = "bufferhouse: there is nothing to report: no dump was found\n"
    assert (2, "", said + nothing) == (outcome.code, outcome.out, outcome.err)


def test_an_empty_answer_leads_to_no_warehouse(tmp_path):
    """What `rejects ls` and `programs` would list is not what was read."""
    bad = tmp_path / "run" / "x-buffer-assignment.txt"
    bad.parent.mkdir()
    bad.write_bytes(b"nonsense\n")
    ask = ["query", "--ask", "footprints"]
    said = call(*ask, "--from", bad.parent).err.splitlines()
    assert "bufferhouse: no rows: no dump could be read, 1 reject" == said[-1]
    said = call("report", "program", "jit_f", "--from", bad.parent).err.splitlines()
    assert "bufferhouse: there is no program 'jit_f': no dump could be read, 1 reject" == said[-1]
    [dump] = write_dumps(tmp_path / "good", [1])
    said = call(*ask, "--param", "program=nope", "--from", dump).err.splitlines()
    way_out = "list them with: bufferhouse query --from SOURCE --ask find_dump"
    assert f"bufferhouse: no rows: there is no program like 'nope'; {way_out}" == said[-1]
    said = call(*ask, "--param", "memory_space=9", "--from", dump).err.splitlines()
    assert said[-1].endswith("; list them with: bufferhouse query --from SOURCE --ask memory_by_run")


def test_archives_that_are_passed_by_are_named(tmp_path):
    """As ingest names them: what lies in them is in no answer."""
    [dump] = write_dumps(tmp_path / "run", [1])
    inner = archived(tmp_path / "inner.tar.gz", {"y-buffer-assignment.txt": dump.read_bytes()})
    outer = archived(
        tmp_path / "outer.tar.gz", {"x-buffer-assignment.txt": dump.read_bytes(), "inner.tar.gz": inner.read_bytes()}
    )
    outcome = call("query", COUNT, "--from", outer, "--format", "csv")
    assert (0, "1") == (outcome.code, outcome.out.splitlines()[1])
    assert f"bufferhouse: {outer}!inner.tar.gz: archives inside archives are not opened; unpack them\n" == outcome.err


@pytest.mark.parametrize(
    "words", [["--from", "/no/such/place"], ["--from", ".", "--warehouse", "w.duckdb"]], ids=["not there", "two places"]
)
def test_wrong_calls(words):
    """A source that is there, and one place to ask."""
    for verb in (["query", COUNT], ["report", "fleet"]):
        outcome = call(*verb, *words)
        assert (2, "") == (outcome.code, outcome.out)


def test_the_connection_is_closed_behind_it(tmp_path):
    """What was read is gone when it was asked."""
    import duckdb

    write_dumps(tmp_path, [1, 2])
    with in_memory([str(tmp_path)]) as con:
        assert [(2,)] == con.execute(COUNT).fetchall()
    with pytest.raises(duckdb.ConnectionException):
        con.execute(COUNT)
