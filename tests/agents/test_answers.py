"""Answers of tools without a server: what they refuse, and how they are paged."""

import json
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio

from bufferhouse.agents import answers
from bufferhouse.agents.answers import WHATIF_READS, answer
from bufferhouse.agents.calls import Calls, _spelled
from bufferhouse.agents.pages import LONG_TEXT, MOST_CHARACTERS, Page, paged
from bufferhouse.agents.worker import Request, _answered
from bufferhouse.engine.limits import MIB, Limits
from bufferhouse.errors import UsageError
from bufferhouse.query.door import door
from bufferhouse.query.listings import read_by
from bufferhouse.warehouse import address_of
from bufferhouse.warehouse.open import reading
from bufferhouse.whatif import space
from tests.ingests import ingest, write_dumps
from tests.synthetic import small_dump

LIMITS = Limits(seconds=20, memory_bytes=256 * MIB, threads=1, rows=1000)
FIRST = Page()


def asked(warehouse, tool, page=FIRST, **arguments):
    return json.loads(answer(tool, address_of(warehouse), arguments, LIMITS, page))


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("compare", {"before": "latest", "after": "latest", "metric": "sum"}, "metric: expected reserved, "),
        ("compare", {"before": "latest", "after": "latest", "by": ["x'"]}, "by: expected cause, "),
        ("explain_program", {"program": "jit_cnn", "parts": ["raw"]}, "parts: expected program_dumps, "),
        ("explain_program", {"program": "'; DELETE FROM raw.dumps; --"}, "there is no program"),
        ("oom", {"run": "/etc/passwd"}, "there is no run"),
        ("describe_mart", {"name": "marts.peak"}, "there is no table marts.peak"),
        ("describe_mart", {"name": "zzz"}, "there is no table zzz; SHOW ALL TABLES lists them"),
        ("ask", {"name": "../reports/compare_runs"}, "there is no question"),
        ("ask", {"name": "biggest_at_peak", "parameters": {"rows": "x"}}, "expected a whole number"),
        ("ask", {"parameters": {"rows": 1}}, "parameters: expected the name of a question with them"),
        ("whatif", {"program": "jit_cnn_train_step", "edits": ["halve:x"]}, "expected"),
        ("query", {"sql": "FROM raw.uses"}, "more than 1,000 rows"),
    ],
)
def test_what_cannot_be_carried_out_is_told(example_warehouse, tool, arguments, expected):
    """As the command line says it."""
    with pytest.raises(UsageError, match=expected):
        asked(example_warehouse, tool, **arguments)


def test_what_a_question_leaves_out_is_said(warehouse, tmp_path):
    """An answer about one of two dumps would read as one about both; a question about all of them has no note."""
    write_dumps(
        tmp_path / "job", [1, 2], lambda n: small_dump(n) if n == 1 else small_dump(n).split(b"\n\n")[0] + b"\n"
    )
    assert 0 == ingest(warehouse, tmp_path / "job")[0]
    found = asked(warehouse, "ask", name="peak_moment")
    assert (1, "1 of 2 dumps left out: no live ranges") == (len(found["rows"]), found["note"])
    assert not asked(warehouse, "ask", name="footprints")["note"]


def test_a_run_without_a_message_about_memory_is_said(example_warehouse):
    """An empty list alone would read as a run that fitted, and more so where no log was read."""
    found = asked(example_warehouse, "oom", run="latest")
    assert [] == found["findings"]
    said = "no log was ingested with the run jaxlib-0.10.0: nobody says whether its programs fitted"
    assert said == found["note"]


def test_a_run_without_a_log_of_which_files_say_that_it_did_not_fit_is_said(warehouse, tmp_path):
    """Then somebody says it."""
    [dump] = write_dumps(tmp_path / "job", [1], small_dump)
    stem = dump.name.rpartition(".cpu_after")[0]
    (tmp_path / "job" / f"{stem}.oom_intermediate_module.txt").write_text("HloModule f")
    assert 0 == ingest(warehouse, tmp_path / "job")[0]
    found = asked(warehouse, "oom", run="job")
    assert (1, "no log was ingested with the run job") == (len(found["without_message"]), found["note"])


def test_a_run_whose_logs_say_nothing_about_memory_is_said(warehouse, tmp_path):
    """That they were read is told."""
    write_dumps(tmp_path / "job", [1], small_dump)
    (tmp_path / "job" / "train.log").write_text("step 1\n")
    assert 0 == ingest(warehouse, tmp_path / "job")[0]
    assert (
        "no log that was ingested with the run job has a message about memory"
        == asked(warehouse, "oom", run="job")["note"]
    )


def test_pages_are_the_whole(example_warehouse):
    """Asked page by page, a list is there once, and `pages` says where the next one begins."""
    whole = asked(example_warehouse, "list_programs", Page(0, 200))
    assert {} == whole["pages"]
    rows, page = [], Page(0, 12)
    while True:
        found = asked(example_warehouse, "list_programs", page)
        rows += found["rows"]
        if found["pages"]["rows"]["next_offset"] is None:
            break
        page = Page(found["pages"]["rows"]["next_offset"], 12)
    assert whole["rows"] == rows
    with pytest.raises(UsageError, match=f"expected less than {len(rows)}"):
        asked(example_warehouse, "list_programs", Page(len(rows), 12))


def test_an_answer_is_never_too_long():
    """Where rows are long there are fewer of them; a row that no cut of its texts makes short enough is refused."""
    rows = [{"text": "x" * 10_000}] * 20
    text = paged({"rows": rows}, Page(0, 20))
    assert len(text) <= MOST_CHARACTERS
    assert {"rows": 20, "next_offset": 5} == json.loads(text)["pages"]["rows"]
    with pytest.raises(UsageError, match="one row has"):
        paged({"rows": [{f"text_{i}": "x" * MOST_CHARACTERS for i in range(40)}]}, Page(0, 20))


def test_texts_of_a_row_that_is_too_long_lose_their_middle():
    """As many rows as were asked for are there, and `pages` says how long the texts are."""
    rows = [{"id": i, "signature": f"({i}{'x' * MOST_CHARACTERS}{i})", "space": {"name": "y" * 3000}} for i in range(3)]
    found = json.loads(paged({"rows": rows}, Page(0, 20)))
    assert [0, 1, 2] == [row["id"] for row in found["rows"]]
    assert all((LONG_TEXT, "…") == (len(row["signature"]), row["signature"][999]) for row in found["rows"])
    assert ["(2xx", "xx2)"] == [found["rows"][2]["signature"][:4], found["rows"][2]["signature"][-4:]]
    assert {
        "rows[].signature": {"characters": MOST_CHARACTERS + 4, "next_offset": None, "is_cut_to": LONG_TEXT},
        "rows[].space.name": {"characters": 3000, "next_offset": None, "is_cut_to": LONG_TEXT},
    } == found["pages"]


def test_lists_within_rows_are_cut_and_counted():
    """Nothing is left out in silence."""
    found = json.loads(paged({"rows": [{"causes": [1, 2, 3]}, {"causes": []}]}, Page(0, 2)))
    assert [{"causes": [1, 2]}, {"causes": []}] == found["rows"]
    assert {"rows[].causes": {"rows": 3, "next_offset": None, "is_cut_to": 2}} == found["pages"]


def test_lists_within_one_row_alone_have_pages(example_warehouse):
    """All causes of a program are read, however many there are; they sum to its change."""
    pair = {"before": "jaxlib-0.4.13", "after": "jaxlib-0.10.0", "program": "jit_cnn_train_step"}
    (whole,) = asked(example_warehouse, "compare", Page(0, 200), **pair)["programs"]
    causes, offset = [], 0
    while offset is not None:
        found = asked(example_warehouse, "compare", Page(offset, 8), **pair)
        causes += found["programs"][0]["causes"]
        assert (whole["delta_bytes"], 15) == (
            found["programs"][0]["delta_bytes"],
            found["pages"]["programs[].causes"]["rows"],
        )
        offset = found["pages"]["programs[].causes"]["next_offset"]
    assert whole["causes"] == causes
    assert whole["delta_bytes"] == sum(cause["bytes"] for cause in causes)
    with pytest.raises(UsageError, match="expected less than 15"):
        asked(example_warehouse, "compare", Page(15, 8), **pair)


def test_lists_of_lists_are_cut_and_counted_too():
    """At every depth."""
    found = json.loads(paged({"rows": [{"a": [[1, 2, 3], [1]], "b": [{"c": [4, 5, 6]}]}]}, Page(0, 2)))
    assert [{"a": [[1, 2], [1]], "b": [{"c": [4, 5]}]}] == found["rows"]
    about = {"rows": 3, "next_offset": None, "is_cut_to": 2}
    assert {"rows[].a[]": about, "rows[].b[].c": about} == found["pages"]


def test_an_empty_answer_is_one_at_any_offset():
    """Nothing lies behind its end."""
    assert {"rows": [], "pages": {}} == json.loads(paged({"rows": []}, Page(5, 2)))


@pytest.mark.parametrize("value", [1e20, 1e-7, 7, 1.5, True, None])
def test_a_number_of_json_is_that_number(example_warehouse, value):
    """However it is written."""
    found = asked(example_warehouse, "query", sql="SELECT $x AS a", parameters={"x": value})
    assert [{"a": value}] == found["rows"]


@pytest.mark.parametrize("value", ["0.10", "007", "7", "null", "true", "'x'", ""])
def test_a_text_of_json_is_that_text(example_warehouse, value):
    """A version, a label or the name of a run may look like a number, or like a word of SQL."""
    found = asked(example_warehouse, "query", sql="SELECT $x AS a", parameters={"x": value})
    assert [{"a": value}] == found["rows"]


def test_texts_are_compared_with_texts_and_with_numbers(example_warehouse):
    """A version that looks like a number is one of several texts; an id may be text, as agents keep it."""
    sql = "SELECT COUNT(*) AS n FROM raw.runs WHERE compiler_version = $version"
    assert [{"n": 0}] == asked(example_warehouse, "query", sql=sql, parameters={"version": "0.10"})["rows"]
    first = asked(example_warehouse, "query", sql="SELECT MIN(dump_id) AS id FROM raw.dumps")["rows"][0]["id"]
    for sql in ("dump_id = $id", "dump_id IN ($id)", "dump_id <= $id"):
        found = asked(
            example_warehouse, "query", sql=f"SELECT dump_id FROM raw.dumps WHERE {sql}", parameters={"id": str(first)}
        )
        assert [{"dump_id": first}] == found["rows"]


def test_compare_tells_its_warnings(example_warehouse):
    """As its text does: an answer without a program says why."""
    found = asked(example_warehouse, "compare", before="jaxlib-0.6.0", after="jaxlib-0.7.0", memory_space=77)
    assert [] == found["programs"]
    assert ["Neither run has an allocation in the requested memory space; there are: 0."] == found["notes"]


def test_null_is_the_default_that_is_null(example_warehouse):
    """Of a question of the cookbook, as its list shows it: null for all runs."""
    expected = asked(example_warehouse, "ask", name="biggest_at_peak")["rows"]
    assert expected == asked(example_warehouse, "ask", name="biggest_at_peak", parameters={"run": None})["rows"] != []


def test_a_question_takes_a_run_by_its_place(example_warehouse):
    """As the other tools do; in a statement of the agent's own the same word is a text."""
    latest, named = (
        asked(example_warehouse, "ask", name="biggest_at_peak", parameters={"run": run})
        for run in ("latest", "jaxlib-0.10.0")
    )
    assert named["rows"] == latest["rows"] != []
    assert [{"run": "latest"}] == asked(
        example_warehouse, "query", sql="SELECT $run AS run", parameters={"run": "latest"}
    )["rows"]


def test_values_of_other_types_are_told(example_warehouse):
    """Decimals in a list, columns of one name, what JSON has no number for."""
    found = asked(example_warehouse, "query", sql="SELECT [1.5] AS a, 2 AS a, 'nan'::DOUBLE AS b")
    assert [{"a": ["1.5"], "a_1": 2, "b": "NaN"}] == found["rows"]


def test_what_whatif_reads_is_what_its_statements_name():
    """The list beside its answers is that of its statements."""
    text = Path(space.__file__).read_text()
    assert set(WHATIF_READS) == set(re.findall(r"\b(?:FROM|JOIN) ([a-z]+\.\w+)", text))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("FROM peak_memory", ["marts.peak_memory_v1"]),
        ("WITH x AS (FROM runs) FROM x JOIN raw.uses ON true", ["marts.runs_v2", "raw.uses"]),
        ("SELECT (SELECT MAX(dump_id) FROM raw.dumps)", ["raw.dumps"]),
        ("DESCRIBE peak_memory", ["marts.peak_memory_v1"]),
        ("FROM duckdb_tables", []),
        ("EXPLAIN FROM peak_memory", []),
    ],
)
def test_what_a_statement_reads_is_named(example_warehouse, sql, expected):
    """Marts by their versions; whatever is named inside of it counts."""
    limits = Limits(seconds=20, memory_bytes=1024 * MIB, threads=1, rows=1_000_000)
    with reading(address_of(example_warehouse)) as warehouse, door(warehouse.con, limits):
        assert expected == read_by(warehouse.con, sql)


def test_every_tool_has_an_answer():
    """The tools of the server are those of `answers`."""
    assert {tool.__name__ for tool in answers.TOOLS.values()} == set(answers.TOOLS)


def test_a_call_that_waits_in_vain_is_told(example_warehouse):
    """With no turn at all it waits as long as a statement may take; with one it is answered."""
    for at_once, expected in (
        (0, "0 other calls are running, and none ended in 0.2 s; ask again later"),
        (1, "jaxlib-0.9.0"),
    ):
        calls = Calls(address_of(example_warehouse).key, seconds=20 if at_once else 0.2, at_once=at_once)
        try:
            said = anyio.run(calls.call, "list_runs", {}, FIRST)
        except UsageError as error:
            said = str(error)
        assert expected in said


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("query", {"sql": "SELECT $x"}, "the statement has a parameter $x; give it in parameters, as x"),
        (
            "ask",
            {"name": "biggest_at_peak", "parameters": {"rows": "x"}},
            "parameters.rows: expected a whole number of",
        ),
        ("ask", {"name": "zzz"}, "there is no question 'zzz' in the cookbook; ask without a name lists them"),
        (
            "query",
            {"sql": "FROM runs WHERE compiler_version = $v", "parameters": {"v": 1.5}},
            "$v is given as a number; in double quotes it is text",
        ),
        ("whatif", {"program": "jit_fft", "fit": "much"}, "fit: expected a size such as 15.75GiB, found 'much'"),
        ("query", {"sql": "FROM staging.uses"}, "put a LIMIT behind the statement"),
        (
            "query",
            {"sql": "SELECT COUNT(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range * b.range < 0"},
            "stopped after 0.5 s; ask for less: the server was started with this limit",
        ),
    ],
)
def test_the_way_out_is_one_that_a_tool_has(example_warehouse, tool, arguments, expected):
    """Its arguments are not the options of the command line.

    That the server carries calls out so, each in a process of its own, test_session.py holds.
    """
    seconds = 0.5 if "stopped" in expected else 20
    request = Request(tool, arguments, address_of(example_warehouse).key, seconds, 1024 * MIB, 100, *FIRST, os.getpid())
    refused = _spelled(_answered(request)["refused"])
    assert (True, False) == (expected in refused, "--" in refused)
