"""One verb to compare, one meaning of --run, and short ways to what is asked most."""

import json

import duckdb
import pytest

from tests.command_line import call

PAIR = ("jaxlib-0.4.38", "jaxlib-0.6.0")


@pytest.mark.parametrize("verb", [["compare"], ["report", "compare"]], ids=" ".join)
def test_compare_writes_the_page_that_report_compare_wrote(example_warehouse, tmp_path, verb):
    """Both verbs take the same options; with --html standard output has one line, where the page is."""
    page = tmp_path / "page.html"
    said = call(*verb, *PAIR, "--by", "opcode", "--html", page, "--warehouse", example_warehouse)
    assert (0, f"report: {page}\n") == (said.code, said.out)
    text = page.read_text()
    assert (True, 1) == (text.startswith("<!DOCTYPE html>"), text.count("All changes by opcode</bdi>"))


def test_a_page_does_not_hide_why_the_gate_failed(example_warehouse, tmp_path):
    """With --fail-over the offenders are printed, too, and exit 1 stays."""
    page = tmp_path / "page.html"
    said = call("compare", *PAIR, "--fail-over", "1%", "--html", page, "--warehouse", example_warehouse)
    assert (1, True) == (said.code, page.exists())
    assert "jit_cnn_train_step" in said.out
    assert f"report: {page}" == said.out.splitlines()[-1]


def test_a_question_is_asked_by_its_name(example_warehouse):
    """--ask NAME; the former --run NAME still answers the same, and says on standard error what to type."""
    words = ["--param", "rows=2", "--warehouse", example_warehouse]
    asked, former = (call("query", option, "biggest_programs", *words) for option in ("--ask", "--run"))
    assert (0, 0, "", asked.out) == (asked.code, former.code, asked.err, former.out)
    assert "query --run biggest_programs is now query --ask biggest_programs" in former.err


def test_a_question_of_the_shell_is_asked_by_its_name(example_warehouse):
    """.ask NAME; .run NAME answers the same and says what to type."""
    asked, former = (
        call("query", "--warehouse", example_warehouse, stdin=f"{command} biggest_programs rows=2\n")
        for command in (".ask", ".run")
    )
    assert (0, asked.out) == (former.code, former.out)
    assert ".run is now .ask" in former.err


def test_a_mart_has_the_lineage_of_all_its_columns():
    """Of the newest version, as a tree, as a list or as JSON."""
    tree = call("lineage", "marts.peak_memory")
    assert 0 == tree.code
    assert tree.out == call("lineage", "marts.peak_memory_v1").out == call("lineage", "peak_memory").out
    one = call("lineage", "peak_memory.reserved_bytes").out
    assert one in tree.out
    found = json.loads(call("lineage", "marts.peak_memory", "--format", "json").out)
    assert "marts.peak_memory_v1" == found["model"]
    assert "marts.peak_memory_v1.reserved_bytes" in [column["column"] for column in found["columns"]]


def test_bare_rejects_lists(example_warehouse):
    """Without a verb the open rejects are listed; options before a verb are refused, not lost."""
    listed = call("rejects", "ls", "--warehouse", example_warehouse)
    assert (0, listed.out) == ((bare := call("rejects", "--warehouse", example_warehouse)).code, bare.out)
    assert 2 == call("rejects", "--warehouse", example_warehouse, "ls").code


def test_a_program_is_looked_up_in_the_run_that_is_named(own_warehouse):
    """A name that fits two programs, one of them of the run, means that one; without a run both are candidates."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute(
            "UPDATE raw.observations SET program_id = program_id + 1 WHERE module_name = 'jit_fft'"
            " AND run_id = (SELECT run_id FROM raw.runs WHERE run_name = 'jaxlib-0.6.0')"
        )
    words = ["report", "program", "jit_fft", "--warehouse", own_warehouse]
    assert "'jit_fft' fits 2 programs; give the id of one of them:" in call(*words).err
    for run in ("jaxlib-0.6.0", "jaxlib-0.9.0"):
        said = call(*words, "--run", run)
        assert (0, True) == (said.code, f"run {run}" in said.out)


def test_of_programs_of_one_name_the_largest_is_listed_first(own_warehouse):
    """Among the graphs of PyTorch/XLA, whose names are one, the step of a training is not behind the small ones."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("UPDATE raw.observations SET program_name = 'SyncTensorsGraph'")
        sizes = con.execute(
            "SELECT o.program_id, max(p.reserved_bytes) FROM marts.observations AS o"
            " JOIN marts.peak_memory AS p USING (dump_id) GROUP BY ALL ORDER BY 2 DESC"
        ).fetchall()
    said = call("report", "program", "SyncTensorsGraph", "--warehouse", own_warehouse).err
    shown = [int(line.split()[0]) for line in said.splitlines()[1:] if "SyncTensorsGraph" in line]
    assert (True, [size for _, size in sizes][: len(shown)]) == (len(shown) > 2, [dict(sizes)[one] for one in shown])


@pytest.mark.parametrize("verb", [["report", "program"], ["savings"], ["blame"]])
def test_a_program_may_be_named_as_reports_write_it(example_warehouse, verb):
    """Programs of one name, as all graphs of PyTorch/XLA have, are shown with the beginning of their id."""

    def below_title(said) -> str:
        return said.out.partition("\n")[2]  # the title has the word as it was written

    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        [program_id] = con.execute("SELECT program_id FROM raw.observations WHERE module_name = 'jit_fft'").fetchone()
    expected = call(*verb, program_id, "--warehouse", example_warehouse)
    for word in (f"jit_fft #{str(program_id)[:8]}", f"#{str(program_id)[:8]}"):
        said = call(*verb, word, "--warehouse", example_warehouse)
        assert (0, below_title(expected)) == (said.code, below_title(said))
    assert 2 == call(*verb, "jit_fft #what", "--warehouse", example_warehouse).code
