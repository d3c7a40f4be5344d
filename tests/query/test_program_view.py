"""`bufferhouse.program`: what a notebook shows, and the example notebook, executed."""

import html
import json
import os
import re
import shutil
from html.parser import HTMLParser

import pytest

import bufferhouse
from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.errors import UsageError
from bufferhouse.paths import CHECKOUT
from bufferhouse.report.program import data
from bufferhouse.warehouse.open import writing
from tests.command_line import call, run
from tests.models.soft_rules import BREACHES, TEXT, files_of
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_runs

NOTEBOOK = CHECKOUT / "examples" / "notebooks" / "why-is-my-peak-so-high.ipynb"
HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """The tags of a text, and how many are open at its end."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert tag == self.open.pop()


def test_a_notebook_shows_timeline_and_owners(example_warehouse):
    """An SVG and a table for each memory space with live ranges; every tag is closed, and no script is there."""
    view = bufferhouse.program("jit_cnn_train_step", "jaxlib-0.6.0", warehouse=example_warehouse)
    shown = Tags(view._repr_html_())
    assert [] == shown.open
    assert {"div", "svg", "polygon", "table"} <= set(shown.tags)
    assert "script" not in shown.tags
    assert "occupied peak 6.3 MiB" in view._repr_html_()
    (space,) = view.answers["program_spaces"]
    assert space["occupied_peak_bytes"] == sum(row["owned_bytes"] for row in view.peak)
    at = ("--run", "jaxlib-0.6.0", "--warehouse", example_warehouse)
    printed = json.loads(call("report", "program", "jit_cnn_train_step", *at, "--format", "json").out)["answers"]
    assert printed["program_peak"] == view.peak
    assert repr(view).startswith("jit_cnn_train_step\nrun jaxlib-0.6.0 · ")


def test_all_owners_of_a_peak_are_there(example_warehouse, monkeypatch):
    """Also where a page lists the largest of them: they sum to the peak, and the table counts what it leaves out."""
    monkeypatch.setattr(data, "PEAK_OWNERS", 20)
    view = bufferhouse.program("jit_cnn_train_step", "jaxlib-0.6.0", warehouse=example_warehouse)
    [total] = view.answers["program_peak_totals"]
    [space] = view.answers["program_spaces"]
    assert space["occupied_peak_bytes"] == sum(row["owned_bytes"] for row in view.peak)
    assert total["value_count"] == len(view.peak)
    assert f"… and {total['value_count'] - 10} more" in view._repr_html_()


def test_what_speaks_against_a_dump_is_told(tmp_path):
    """As in the report: several dumps of the program, soft rules that it breaks, and no live ranges."""
    path = tmp_path / "warehouse.duckdb"
    slots = [Slot(0, 2, 0, 64), Slot(1, 2, 64, 8)]
    breach = BREACHES["slots_share_one_instant"].text
    files = files_of(TEXT)
    silent = {role: files[SUFFIXES[role]].encode() for role in ("allocations", "values")}
    with writing(path) as writer:
        two = [{"combined": dump_text(slots[:1])}, {"combined": dump_text(slots)}]
        load_runs(writer, {"two": two, "breach": [{"combined": breach.encode()}], "silent": [silent]})
    expected = {
        "two": "This run has 2 different dumps of the program; this is the largest.",
        "breach": 'The dump breaks 1 soft rule: see .answers["program_warnings"].',
        "silent": "The dump has no live ranges, so it has no timeline, no peak, no map and no balance.",
    }
    for run_name, note in expected.items():
        view = bufferhouse.program("", run_name, warehouse=path)
        page = view._repr_html_()
        assert [1, 1] == [text.count(note) for text in (repr(view), html.unescape(page))]
        assert [] == Tags(page).open


def test_a_published_copy_is_told(own_warehouse):
    """While somebody writes, the view says as of when it is, as the connection does."""
    code = f"import bufferhouse; print(bufferhouse.program('jit_cnn_train_step', warehouse={str(own_warehouse)!r}))"
    with writing(own_warehouse) as writer:
        writer.publish()
        writer.con.execute("CREATE TABLE raw.later AS SELECT 1")
        outcome = run(code=code)
    assert (0, True) == (outcome.code, "this is the published copy, as of " in outcome.out), outcome


def test_a_program_is_shown_by_its_id_as_the_marts_have_it(example_warehouse):
    """A number, as well as its text."""
    with bufferhouse.connect(example_warehouse) as con:
        (program_id,) = con.sql("SELECT MAX(program_id) FROM peak_memory JOIN observations USING (dump_id)").fetchone()
    found = [bufferhouse.program(one, warehouse=example_warehouse) for one in (program_id, str(program_id))]
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.soak)])
def test_programs_of_one_memory_space_and_of_several_are_shown(example_warehouse, step):
    """Every program of the fleet has a form; the first of them has the most memory spaces, the last has one."""
    with bufferhouse.connect(example_warehouse) as con:
        found = con.sql(
            "SELECT program_id, MAX(run_name), COUNT(DISTINCT memory_space) FROM memory_space_trend_v1"
            " GROUP BY program_id ORDER BY 3 DESC, 2 DESC, 1"
        ).fetchall()
    assert [4, 1] == [found[place][2] for place in (0, 17)]
    for program_id, run_name, _ in found[::step]:
        shown = Tags(bufferhouse.program(str(program_id), run_name, warehouse=example_warehouse)._repr_html_())
        assert [] == shown.open


def test_names_of_others_are_text(own_warehouse):
    """Whatever a dump says its values are called."""
    with writing(own_warehouse) as writer:
        writer.con.execute(f"UPDATE raw.runs SET run_name = '{HOSTILE}' WHERE run_name = 'seeds'")
    with bufferhouse.connect(own_warehouse) as con:
        sql = f"SELECT program_id FROM observations_v2 WHERE run_name = '{HOSTILE}' LIMIT 1"
        (program_id,) = con.sql(sql).fetchone()
    shown = bufferhouse.program(str(program_id), HOSTILE, warehouse=own_warehouse)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "script" not in Tags(shown).tags


def test_what_is_not_there_is_named(example_warehouse, tmp_path):
    """A program, a run or a warehouse that is not there."""
    with pytest.raises(UsageError, match="there is no program 'jit_none'"):
        bufferhouse.program("jit_none", warehouse=example_warehouse)
    with pytest.raises(UsageError, match="there is no run '3'"):
        bufferhouse.program("jit_cnn_train_step", 3, warehouse=example_warehouse)
    with pytest.raises(UsageError, match="there is no warehouse"):
        bufferhouse.program("jit_none", warehouse=tmp_path / "none.duckdb")


def test_frames_need_nothing_more(example_warehouse):
    """Polars and Arrow are there with bufferhouse, as page and notebook call them; pandas is in the extra notebook."""
    page, notebook = (path.read_text(encoding="utf-8") for path in (CHECKOUT / "docs" / "notebooks.md", NOTEBOOK))
    [named] = re.findall(r"`\.(\w+)\(\)` and `\.(\w+)\(\)` need nothing more", page)
    [shown] = re.findall(r"`\.df\(\)`, `\.(\w+)\(\)` and `\.(\w+)\(\)` give frames", notebook)
    code = (
        "import bufferhouse\n"
        f"found = bufferhouse.connect({str(example_warehouse)!r}).sql('FROM peak_memory')\n"
        f"print(found.shape[0], *(len(getattr(found, name)()) for name in {(*named, *shown)}))"
    )
    outcome = run(code=code)
    assert 0 == outcome.code, outcome.err
    count, *frames = outcome.out.split()
    assert [count] * 4 == frames


@pytest.mark.slow
def test_the_example_notebook_runs(own_warehouse, tmp_path, monkeypatch):
    """A real kernel computes every cell, and each says what it says in the file."""
    nbformat = pytest.importorskip("nbformat", reason="the extra notebook is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the extra notebook is not installed")
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(shutil.copy(own_warehouse, tmp_path / "warehouse.duckdb")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    expected = nbformat.read(NOTEBOOK, as_version=4)
    found = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(found, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    assert texts(expected) == texts(found)
    assert any("svg" in output["data"].get("text/html", "") for cell in found.cells for output in outputs(cell))


def outputs(cell):
    return [output for output in cell.get("outputs", []) if "data" in output]


def texts(notebook):
    return [[output["data"]["text/plain"] for output in outputs(cell)] for cell in notebook.cells]
