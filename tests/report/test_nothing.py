"""Every report where there is little or nothing to show: a message with the way on, and a page that says the same."""

import html
import json
import shutil
from pathlib import Path

import pytest

from tests.command_line import call
from tests.report.pages import HOSTILE, Parts

REPORTS = {"fleet": [], "run": [], "program": ["jit_fft"], "compare": ["broken", "also broken"]}


@pytest.fixture(scope="module")
def refused(blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of two runs, all of whose dumps were refused."""
    folder = tmp_path_factory.mktemp("refused")
    for name in REPORTS["compare"]:
        (folder / name).mkdir()
        (folder / name / "module_1-buffer-assignment.txt").write_text(f"BufferAssignment:\n{name}{HOSTILE}\n")
    path = Path(shutil.copy(blank_warehouse, folder / "refused.duckdb"))
    assert 1 == call("ingest", *(folder / name for name in REPORTS["compare"]), "--warehouse", path).code
    return path


def page_of(path: Path) -> str:
    """What a reader finds on a page, after a look at its parts."""
    parts = Parts(path.read_text())
    assert 1 == sum(tag == "h1" for tag, _ in parts.elements)
    assert [] == [tag for tag, _ in parts.elements if tag in ("img", "a", "link", "iframe")]
    return html.unescape(" ".join(parts.texts))


@pytest.mark.parametrize("name", REPORTS)
def test_an_empty_warehouse_gives_a_page_that_says_how_to_fill_it(blank_warehouse: Path, tmp_path: Path, name: str):
    """The fleet has its page as ever; what was asked for by name is not there: exit 2, with the page all the same."""
    page = tmp_path / "page.html"
    said = call("report", name, *REPORTS[name], "--warehouse", blank_warehouse, "--html", page)
    assert (0 if name == "fleet" else 2) == said.code
    assert f"report: {page}\n" in said.out + said.err
    assert name == "fleet" or ": no runs yet; load dumps with: bufferhouse ingest SOURCE\n" in said.err
    assert "load dumps with: bufferhouse ingest SOURCE" in page_of(page)


@pytest.mark.parametrize("name", REPORTS)
def test_a_warehouse_of_rejects_gives_a_page_that_says_why(refused: Path, tmp_path: Path, name: str):
    """The page counts the rejects and names the place of a fault or the command that does; names in it are text."""
    page = tmp_path / "page.html"
    said = call("report", name, *REPORTS[name], "--warehouse", refused, "--html", page)
    assert (2 if name == "program" else 0) == said.code
    assert name != "program" or "no dump could be read, 2 rejects; list them with: bufferhouse rejects ls" in said.err
    shown = page_of(page)
    assert "also broken" in shown
    assert "rejects ls" in shown or "module_1-buffer-assignment.txt:2:1: expected" in shown


def test_a_run_of_rejects_gives_a_page_of_a_program(own_warehouse: Path, tmp_path: Path):
    """Where the program is in other runs only, the page names them, and what was refused in this one."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "module_1-buffer-assignment.txt").write_text("BufferAssignment:\nnonsense\n")
    assert 1 == call("ingest", tmp_path / "broken", "--warehouse", own_warehouse).code
    words = ["jit_fft", "--run", "broken", "--warehouse", own_warehouse, "--html", tmp_path / "page.html"]
    said = call("report", "program", *words)
    assert (2, "") == (said.code, said.out)
    assert "run 'broken' has no dump of any program: 1 reject (bufferhouse rejects ls)" in said.err
    shown = page_of(tmp_path / "page.html")
    assert "Run 'broken' has no dump of any program" in shown
    assert "runs that have jit_fft: " in shown
    assert "broken/module_1-buffer-assignment.txt:2:1: expected" in shown


@pytest.mark.parametrize("name", REPORTS)
def test_sources_without_a_dump_are_a_wrong_call(tmp_path: Path, name: str):
    """Nobody is told to load what is not there: exit 2, also of the fleet, and a page that says why."""
    (tmp_path / "empty").mkdir()
    page = tmp_path / "page.html"
    words = ["a", "b"] if name == "compare" else REPORTS[name]
    said = call("report", name, *words, "--from", tmp_path / "empty", "--html", page)
    assert (2, "") == (said.code, said.out)
    assert "there is nothing to report: no dump was found" in said.err
    assert "ingest SOURCE" not in said.err + page_of(page)


@pytest.mark.parametrize("name", ["program", "compare"])
def test_one_dump_gives_a_page(fleet: Path, tmp_path: Path, name: str):
    """A single dump in no warehouse has every page; its run can only be compared with itself.

    That of a run is made in test_run.py, that of a fleet in tests/query/test_in_memory.py.
    """
    (source,) = (fleet / "jaxlib-0.8.0").glob("*jit_fft*-buffer-assignment.txt")
    words = ["jaxlib-0.8.0"] * 2 if name == "compare" else REPORTS[name]
    page = tmp_path / "page.html"
    said = call("report", name, *words, "--from", source, "--html", page)
    assert 0 == said.code, said.err
    assert ("jaxlib-0.8.0" if name == "compare" else "jit_fft") in page_of(page)


def test_a_wrong_word_gives_no_page(example_warehouse: Path, tmp_path: Path):
    """A misspelled name in a warehouse full of programs is a wrong call: candidates, and nothing is written."""
    for name, word in (("run", "nope"), ("program", "nope")):
        said = call("report", name, word, "--warehouse", example_warehouse, "--html", tmp_path / "page.html")
        assert 2 == said.code
        assert not (tmp_path / "page.html").exists()


def test_a_program_without_allocations_is_listed_and_said_to_have_nothing(warehouse: Path, tmp_path: Path):
    """It is a program of the warehouse all the same; of programs that nobody loaded the way to load them is told."""
    said = call("blame", "jit_none", "--warehouse", warehouse)
    assert (2, True) == (said.code, "no runs yet; load dumps with: bufferhouse ingest SOURCE" in said.err)
    folder = tmp_path / "run"
    folder.mkdir()
    name = "module_0001.jit_none.cpu_after_optimizations-buffer-assignment.txt"
    (folder / name).write_text("BufferAssignment:\n\nTotal bytes used: 0 (0B)\n\nUsed values:\n")
    assert 0 == call("ingest", folder, "--warehouse", warehouse).code
    [listed] = json.loads(call("programs", "--warehouse", warehouse, "--format", "json").out)
    assert ("jit_none", 1, None) == tuple(listed[key] for key in ("program_name", "runs", "most_reserved_bytes"))
    said = call("blame", "jit_none", "--warehouse", warehouse)
    assert (0, True) == (said.code, "No dump of it has an allocation: there is nothing to show." in said.out)
