"""How a statement may be given: parameters, comments, standard input, Parquet; and what was meant by a wrong name."""

import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
import pytest

from bufferhouse.errors import UsageError
from bufferhouse.query.output import pairs, values
from tests.command_line import call, run


def test_texts_mean_numbers_null_and_booleans_else_text():
    """What is in single quotes is text whatever it looks like."""
    words = ["a=7", "b=-1.5", "c=null", "d=true", "e=jit_train", "f='7'", "g=", "h=x=y", "i=0.10.0", "j=1.5E+3"]
    expected = {
        "a": 7, "b": -1.5, "c": None, "d": True, "e": "jit_train", "f": "7", "g": "", "h": "x=y", "i": "0.10.0",
        "j": 1500.0,
    }  # fmt: skip
    assert expected == values(pairs(words))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x"], "expected NAME=VALUE, found 'x'"),
        (["=1"], "expected NAME=VALUE, found '=1'"),
        (["a b=1"], "expected NAME=VALUE, found 'a b=1'"),
        (["x=1", "x=2"], "x is given twice"),
    ],
)
def test_words_that_are_no_parameters_are_refused(words, message):
    """NAME=VALUE, and each name once."""
    with pytest.raises(UsageError, match=f"^{message}$"):
        pairs(words)


def test_parameters_reach_the_statement(example_warehouse):
    """Numbers compare with numbers and text with text; what would end a string stays within it."""
    sql = "SELECT COUNT(*) AS runs FROM raw.runs WHERE run_name = $run AND run_id < $most"
    words = ["query", sql, "--warehouse", example_warehouse, "--format", "csv", "--param", "most=1000"]
    assert "runs\n1\n" == call(*words, "--param", "run=seeds").out
    assert "runs\n0\n" == call(*words, "--param", "run=x' OR 1 = 1 --").out


def test_a_text_that_looks_like_a_number_is_given_in_quotes(example_warehouse):
    """A version is compared with text; where it was given as a number the message says so."""
    sql = "SELECT run_name FROM raw.runs WHERE compiler_version = $v"
    words = ["query", sql, "--warehouse", example_warehouse, "--format", "csv", "--param"]
    outcome = call(*words, "v=0.10")
    assert 2 == outcome.code
    assert outcome.err.endswith("\n$v is given as a number; in single quotes it is text: --param \"v='…'\"\n")
    assert (0, "run_name\n") == (lambda found: (found.code, found.out))(call(*words, "v='0.10'"))
    outcome = call(
        "query", "SELECT run_name::INT + $v FROM raw.runs", "--warehouse", example_warehouse, "--param", "v=a"
    )
    assert (2, False) == (outcome.code, "is given as a number" in outcome.err)


def test_a_parameter_of_more_digits_than_a_number_has_is_a_text(example_warehouse):
    """Python refuses to make a number of more than 4,300."""
    digits = "1" * 5000
    outcome = call(
        "query", "SELECT $x AS x", "--param", f"x={digits}", "--warehouse", example_warehouse, "--format", "csv"
    )
    assert (0, f"x\n{digits}\n") == (outcome.code, outcome.out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["SELECT $x"], "the statement has a parameter $x; give it with --param x=VALUE"),
        (["SELECT $x", "--param", "x=1", "--param", "y=1"], "the statement has no parameter $y: it has $x"),
        (["SELECT 1", "--param", "y=1"], "the statement has no parameter $y: it has none"),
        (["SELECT 1", "--param", "y"], "--param: expected NAME=VALUE, found 'y'"),
    ],
)
def test_parameters_have_to_match(example_warehouse, words, message):
    """One that lacks and one too many are a wrong call, and the message names them."""
    outcome = call("query", *words, "--warehouse", example_warehouse)
    assert (2, "", f"bufferhouse: {message}\n") == (outcome.code, outcome.out, outcome.err)


@pytest.mark.parametrize(
    "sql",
    [
        "-- x\nSELECT 1 AS one",
        "--x\nSELECT 1 AS one",
        "-- a --format json\n-- b\nSELECT 1 AS one -- c",
        "/* -- */ SELECT 1 AS one",
    ],
)
def test_sql_may_begin_with_a_comment(example_warehouse, sql):
    """A comment is no option, wherever the options stand."""
    for words in ([sql, "--warehouse", example_warehouse, "--format", "csv"], ["--format", "csv", sql]):
        given = words if "--warehouse" in words else ["--warehouse", example_warehouse, *words]
        assert (0, "one\n1\n") == (lambda found: (found.code, found.out))(call("query", *given))


def test_sql_may_begin_with_a_comment_in_a_process_of_its_own(example_warehouse):
    """Which begins with the words as they were typed, and hands them to a second one."""
    sql = "--x --format json\nSELECT 1 AS one -- c"
    assert "one\n---\n  1\n" == run("query", sql, "--warehouse", example_warehouse).out


def test_a_parameter_with_a_line_feed_is_no_comment(example_warehouse):
    """`--param=x=…` stays an option."""
    outcome = call("query", "SELECT $x AS x", "--param=x=a\nb", "--warehouse", example_warehouse, "--format", "json")
    assert '[\n {\n  "x": "a\\nb"\n }\n]\n' == outcome.out


def test_an_option_that_does_not_exist_is_still_a_wrong_call(example_warehouse):
    """A word with two dashes and no line feed cannot be SQL."""
    for word in ("--formt", "-- SELECT 1"):
        assert 2 == call("query", "SELECT 1", word, "--warehouse", example_warehouse).code


def test_statements_from_standard_input(example_warehouse):
    """Without a statement, those of standard input are answered in turn; the first mistake ends it."""
    words = ["query", "--warehouse", example_warehouse, "--format", "csv"]
    stdin = "-- One; and only one.\nSELECT ';' AS one\n;\nSELECT 2\nAS two"
    assert (0, "one\n;\ntwo\n2\n") == (lambda found: (found.code, found.out))(call(*words, stdin=stdin))
    outcome = call(*words, stdin="SELECT 1 AS one;\nDELETE FROM raw.runs;\nSELECT 3;\n")
    assert (2, "one\n1\n") == (outcome.code, outcome.out)
    assert "found DELETE" in outcome.err


def test_parquet(example_warehouse, tmp_path):
    """-o writes the types of the answer; without -o there is nowhere to put it."""
    sql = "SELECT run_name, dump_count, started_at FROM marts.runs_v1 ORDER BY run_order"
    words = ["query", sql, "--warehouse", example_warehouse, "--format", "parquet"]
    outcome = call(*words, "-o", tmp_path / "runs.parquet")
    assert (0, "", "") == (outcome.code, outcome.out, outcome.err)
    table = pq.read_table(tmp_path / "runs.parquet")
    assert ["string", "int64", "timestamp[us, tz=UTC]"] == [str(kind) for kind in table.schema.types]
    assert (11, 13) == (table.num_rows, table["dump_count"][0].as_py())
    assert 2 == call(*words).code


def test_the_ending_of_a_file_says_its_format(example_warehouse, tmp_path):
    """Where --format does not; an ending that says nothing is a table."""
    words = ["query", "SELECT 5 AS n", "--warehouse", example_warehouse, "-o"]
    expected = {
        "a.csv": "n\n5\n",
        "a.JSON": '[\n {\n  "n": 5\n }\n]\n',
        "a.md": "| n |\n| --- |\n| 5 |\n",
        "a.txt": "n\n-\n5\n",
    }
    for name, text in expected.items():
        assert 0 == call(*words, tmp_path / name).code
        assert text == (tmp_path / name).read_text()
    assert 0 == call(*words, tmp_path / "a.parquet").code
    assert {"n": [5]} == pq.read_table(tmp_path / "a.parquet").to_pydict()
    assert 0 == call(*words, tmp_path / "b.csv", "--format", "json").code
    assert expected["a.JSON"] == (tmp_path / "b.csv").read_text()


def test_an_answer_follows_a_link_and_is_written_into_a_pipe(example_warehouse, tmp_path):
    """A link stays one, and what it leads to gets the answer; a pipe has a reader, who gets it."""
    words = ["query", "SELECT 5 AS n", "--format", "csv", "--warehouse", example_warehouse, "-o"]
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert 0 == call(*words, tmp_path / "link.csv").code
    assert (True, "n\n5\n") == ((tmp_path / "link.csv").is_symlink(), (tmp_path / "real.csv").read_text())
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_text)
        assert 0 == run(*words, tmp_path / "pipe").code
        assert "n\n5\n" == read.result(timeout=20)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("FROM peak_memry", "Did you mean marts.peak_memory or marts.peak_memory_v1?"),
        ("FROM marts.warning_v1", "Did you mean marts.warnings_v1"),
        ("FROM raw.allocation", "Did you mean raw.allocations"),
        ("FROM mart.runs", "Did you mean marts.runs"),
        ("FROM nothing_like_it_at_all", "SHOW ALL TABLES lists them."),
        (
            "SELECT run_name FROM marts.peak_memory",
            "run_name is a column of marts.capacities, marts.compiled_programs, ",
        ),
        (
            "SELECT p.opcode FROM peak_memory AS p",
            "opcode is a column of marts.allocation_map, marts.call_stacks, marts.operands, marts.peak_buffers, ",
        ),
        ("SELECT reserved_byte FROM peak_memory", '"reserved_bytes"'),
        ("FROM 'x.parquet'", "to query dumps without a warehouse: --from SOURCE"),
    ],
)
def test_what_was_meant(example_warehouse, sql, hint):
    """A table or column that is not there, with what is near, or where the column is."""
    outcome = call("query", sql, "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert hint in outcome.err


def test_marts_need_no_schema(example_warehouse):
    """Of equal names the mart comes before staging, and staging before raw."""
    words = ["--warehouse", example_warehouse, "--format", "csv"]
    assert call("query", "SELECT COUNT(*) FROM marts.peak_buffers", *words).out == (
        call("query", "SELECT COUNT(*) FROM peak_buffers", *words).out
    )
    assert 0 == call("query", "SELECT COUNT(opcode) FROM instruction_texts", *words).code


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["query", "SELECT 1 WHERE false"], "no rows\n"),
        (
            ["query", "--ask", "biggest_at_peak", "--param", "program=nope"],
            "no rows: there is no program like 'nope'; list them with: bufferhouse programs\n",
        ),
        (
            ["query", "--ask", "recompiles", "--param", "run=nope"],
            "no rows: there is no run 'nope'; list them with: bufferhouse runs ls\n",
        ),
        (
            ["query", "--ask", "footprints", "--param", "memory_space=9"],
            "no rows: there is no allocation in memory space 9; list them with: "
            "bufferhouse query --ask memory_spaces_of_programs\n",
        ),
        (["rejects", "ls"], "no open rejects\n"),
    ],
    ids=["SQL", "program", "run", "memory space", "rejects"],
)
def test_an_empty_answer_says_why(example_warehouse, words, why):
    """On standard error: the answer stays an empty table."""
    outcome = call(*words, "--warehouse", example_warehouse)
    assert (0, f"bufferhouse: {why}") == (outcome.code, outcome.err.splitlines(keepends=True)[-1])
    assert outcome.out


@pytest.mark.parametrize("words", [["runs", "ls"], ["programs"], ["query", "FROM marts.peak_memory"]], ids=" ".join)
def test_of_a_warehouse_without_runs_all_say_how_to_load(tmp_path, words):
    """An empty table alone would look like a fault of the question."""
    warehouse = tmp_path / "empty.duckdb"
    (tmp_path / "dumps").mkdir()
    call("ingest", "--allow-empty", tmp_path / "dumps", "--warehouse", warehouse)
    expected = "bufferhouse: no rows: the warehouse has no runs yet; load dumps with: bufferhouse ingest SOURCE\n"
    assert expected == call(*words, "--warehouse", warehouse).err


def test_parameters_without_a_name_are_numbered(example_warehouse):
    """`?` is $1, and is given by its number, as the message says."""
    outcome = call("query", "SELECT ? + 1 AS a", "--warehouse", example_warehouse, "--param", "1=7", "--format", "csv")
    assert (0, "a\n8\n") == (outcome.code, outcome.out)


def test_a_plan_is_drawn(example_warehouse):
    """EXPLAIN shows its boxes line by line; in other formats the plan is a value."""
    lines = call("query", "EXPLAIN SELECT 1", "--warehouse", example_warehouse).out.splitlines()
    assert "┌───────────────────────────┐" == lines[0]
    assert "│         PROJECTION        │" == lines[1]
    assert (
        "explain_key,explain_value"
        == (call("query", "EXPLAIN SELECT 1", "--warehouse", example_warehouse, "--format", "csv").out.splitlines()[0])
    )


def test_parquet_holds_columns_of_one_name(example_warehouse, tmp_path):
    """Each under a name of its own: most readers of Parquet refuse two of one."""
    target = tmp_path / "a.parquet"
    assert 0 == call("query", "SELECT 1 AS a, 2 AS a", "--warehouse", example_warehouse, "-o", target).code
    assert [{"a": 1, "a_1": 2}] == pq.read_table(target).to_pylist()


@pytest.mark.parametrize(
    "value",
    [
        "[INTERVAL 1 MONTH]",
        "union_value(x := 1)",
        "340282366920938463463374607431768211455::UHUGEINT",
        "['101'::BIT]",
        "12345678901234567890123456789012345678901::BIGNUM",
        "{'x': TIMETZ '10:00:00+02'}",
    ],
)
def test_parquet_says_which_column_it_has_no_type_for(example_warehouse, tmp_path, value):
    """And the way out; no file is left."""
    target = tmp_path / "a.parquet"
    outcome = call("query", f"SELECT 1 AS one, {value} AS a", "--warehouse", example_warehouse, "-o", target)
    expected = "bufferhouse: Parquet has no type for a; write it as text: CAST(a AS VARCHAR)\n"
    assert (2, expected, False) == (outcome.code, outcome.err, target.exists())


def test_parquet_refuses_a_value_that_it_cannot_hold(example_warehouse, tmp_path):
    """In words."""
    target = tmp_path / "a.parquet"
    outcome = call("query", "SELECT TIMESTAMP_S 'infinity' AS a", "--warehouse", example_warehouse, "-o", target)
    assert (2, False) == (outcome.code, target.exists())
    assert outcome.err.startswith("bufferhouse: Parquet cannot hold a value of the answer: ")
    assert outcome.err.endswith("; write it as text\n")


@pytest.mark.parametrize("is_link", [False, True])
def test_what_a_killed_query_left_is_removed(example_warehouse, tmp_path, is_link):
    """By the next one that writes there, also through a link; what a process that runs is writing stays."""
    folder = tmp_path / "real"
    folder.mkdir()
    killed, running = (f".a.csv.{number}-1.new" for number in (99999999, os.getppid()))
    for name in (killed, running):
        (folder / name).write_text("half")
    output = folder / "a.csv"
    if is_link:
        output = tmp_path / "link.csv"
        output.symlink_to(folder / "a.csv")
    assert 0 == call("query", "SELECT 1 AS n", "--warehouse", example_warehouse, "-o", output).code
    assert {running, "a.csv"} == {path.name for path in folder.iterdir()}


def test_parquet_takes_names_for_no_types(example_warehouse, tmp_path):
    """Fields and values may be called as types are; a moment in a zone has a type of its own."""
    target = tmp_path / "a.parquet"
    moment = "TIMESTAMPTZ '2026-01-31 12:00:00+02'"
    sql = f"SELECT {{'BIGNUM': 'INTERVAL'::ENUM('INTERVAL')}} AS a, {moment} AS b, 1::HUGEINT AS c"
    assert 0 == call("query", sql, "--warehouse", example_warehouse, "-o", target).code
    [row] = pq.read_table(target).to_pylist()
    assert ({"BIGNUM": "INTERVAL"}, "2026-01-31T10:00:00+00:00", 1) == (row["a"], row["b"].isoformat(), row["c"])


@pytest.mark.parametrize("words", [["SELECT 1"], ["-o", "x.csv"], ["--param", "a=1"], ["--ask", "biggest_at_peak"]])
def test_the_list_of_questions_takes_nothing_beside_it(words):
    """What would be left out is refused."""
    outcome = call("query", "--list", *words)
    assert (2, "") == (outcome.code, outcome.out)
    assert "bufferhouse: --list lists the questions: expected nothing beside it but --format\n" == outcome.err


def test_an_answer_is_written_to_no_folder(example_warehouse, tmp_path):
    """The message names the folder that was given."""
    outcome = call("query", "SELECT 1", "--warehouse", example_warehouse, "-o", tmp_path)
    assert (2, f"bufferhouse: -o {tmp_path}: expected a file, found a folder\n") == (outcome.code, outcome.err)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_answer_that_cannot_be_written_names_the_file_that_was_given(example_warehouse, form):
    """Not the one beside it that would have taken its place, nor the working directory. No user may write to /proc."""
    output = f"/proc/answer.{form}"
    outcome = call("query", "SELECT 1 AS one", "--warehouse", example_warehouse, "-o", output)
    assert (2, f"bufferhouse: {output}: No such file or directory\n") == (outcome.code, outcome.err)
