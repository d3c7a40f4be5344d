"""The interactive shell, which starts where no SQL is given."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bufferhouse.query.door import door
from bufferhouse.query.shell import Shell, apart, ends_a_statement, statements
from bufferhouse.warehouse.open import open_reader
from tests.command_line import CHECKOUT, call


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["SELECT 1;"], ["SELECT 1;"]),
        (["", "SELECT", "1", "; -- one", "SELECT 2;"], ["SELECT\n1\n; -- one", "SELECT 2;"]),
        (["SELECT ';'", ";"], ["SELECT ';'\n;"]),
        (["-- a;", "SELECT 1 /* ; */", ";"], ["-- a;\nSELECT 1 /* ; */\n;"]),
        ([".tables", "SELECT 1"], [".tables", "SELECT 1"]),
        (["SELECT", ".5;"], ["SELECT\n.5;"]),
        (["", "  "], []),
    ],
)
def test_where_a_statement_ends(lines, expected):
    """At a semicolon outside quotes and comments; a command ends with its line, the last statement with the input."""
    assert expected == list(statements(iter(lines), ends_a_statement))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1; SELECT ';' -- a;\n;", ["SELECT 1; ", "SELECT ';' -- a;\n;"]),
        ("SELECT 'é'; SELECT 2", ["SELECT 'é'; ", "SELECT 2"]),
        ("SELECT 1;; ;", ["SELECT 1;"]),
        ("-- bye;", []),
        ("SELECT 1;\0 SELECT 2;", ["SELECT 1;\0 SELECT 2;"]),
        (";", []),
    ],
)
def test_statements_of_one_line_are_apart(text, expected):
    """Each is asked by itself; comments and semicolons alone are none."""
    assert expected == apart(text)


def test_a_line_may_hold_several_statements(example_warehouse):
    """And a script may end in a comment."""
    outcome = call("query", "--warehouse", example_warehouse, stdin="SELECT 1 AS a; SELECT 2 AS b;\n;\n-- bye\n")
    assert (0, "a\n-\n1\nb\n-\n2\n", "") == (outcome.code, outcome.out, outcome.err)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_bytes_that_are_no_text_are_refused_in_a_line(example_warehouse, locale):
    """What stood before them was answered."""
    outcome = subprocess.run(
        [sys.executable, "-m", "bufferhouse.cli", "query", "--warehouse", str(example_warehouse), "--format", "csv"],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "LC_ALL": locale},
        input=b"SELECT 1;\nSELECT '\xff';",
        capture_output=True,
    )
    assert (2, b"1\n1\n") == (outcome.returncode, outcome.stdout)
    assert b"bufferhouse: expected a statement in UTF-8, found bytes that are none\n" == outcome.stderr


@pytest.fixture(scope="module")
def talk(example_warehouse, tmp_path_factory):
    """A function that obeys one line and returns what it shows."""
    shown: list[str] = []
    con = open_reader(Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("talk") / "copy.duckdb"))).con
    with con, door(con) as opened:
        shell = Shell(opened, lambda text, form: shown.append(text), shown.append)

        def obey(text: str) -> str:
            shown.clear()
            shell.form = "table"
            assert shell.obey(text)
            return "\n".join(shown)

        yield obey


def test_tables_are_listed_with_their_purpose(talk):
    """.tables shows marts, staging and raw; a word narrows it."""
    text = talk(".tables")
    assert "marts.peak_memory " in text
    assert "raw.hlo_values " in text
    assert "intermediate." not in text


def test_tables_show_each_mart_once(talk):
    """With its versions; what its newest version says of itself stands beside it."""
    names = [line.split()[0] for line in talk(".tables").splitlines()[2:]]
    assert sorted(set(names)) == names
    (line,) = talk(".tables memory_space_trend_v1").splitlines()[2:]
    assert ["marts.memory_space_trend", "v1", "v2", "How"] == line.split()[:4]
    (line,) = talk(".tables marts.warnings").splitlines()[2:]  # the first version is stored, the others are views
    assert ["marts.warnings", "v1", "v2", "v3", "Soft"] == line.split()[:5]


def test_a_table_is_described(talk):
    """.describe shows columns and types; marts need no schema."""
    assert talk(".describe marts.footprint_v1") == talk(".describe footprint_v1")
    assert ["dump_id", "BIGINT"] == talk(".describe footprint").splitlines()[2].split()


def test_a_mart_is_documented(talk):
    """.docs shows purpose, grain and the meaning of the columns, of the newest version too."""
    for name in ("footprint_v1", "marts.footprint"):
        text = talk(f".docs {name}")
        assert "What a program needs in each memory space" in text
        assert "grain: dump_id, memory_space" in text
        assert "All of it while it runs." in text


def test_a_question_of_the_cookbook_is_asked(talk):
    """.ask takes a name and parameters, and says with which values it was asked."""
    text = talk(".ask biggest_at_peak rows=1")
    assert "rows=1" in text.splitlines()[0]
    assert 4 == len(text.splitlines())
    assert "biggest_at_peak" in talk(".questions peak")


def test_the_format_can_be_chosen(talk):
    """For all answers that follow."""
    assert "" == talk(".format csv")
    assert "one\n---\n  1" == talk("SELECT 1 AS one;")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".nonsense", "there is no command .nonsense; .help lists them"),
        (".describe peak_memry", "there is no table peak_memry; did you mean marts.peak_memory?"),
        (".describe", "expected .describe TABLE"),
        (".docs a b", "expected .docs MART"),
        (".ask", "expected .ask QUESTION [K=V]...; .questions lists them"),
        (".ask bigest_at_peak", "did you mean 'biggest_at_peak'?"),
        (".ask biggest_at_peak rows", "bufferhouse: expected NAME=VALUE, found 'rows'"),
        (".ask biggest_at_peak row=1", "biggest_at_peak has no parameter 'row'"),
        (".ask 'x", "No closing quotation"),
        (".format xml", "expected .format table or csv or json or markdown"),
    ],
)
def test_mistakes(example_warehouse, line, message):
    """Each says what was expected; from standard input it ends with 2."""
    outcome = call("query", "--warehouse", example_warehouse, stdin=f"{line}\n")
    assert (2, "") == (outcome.code, outcome.out)
    assert message in outcome.err


def test_help_and_quit(example_warehouse):
    """.help lists every command, .quit ends the shell."""
    outcome = call("query", "--warehouse", example_warehouse, stdin=".help\n.quit\nSELECT 1;\n")
    assert 0 == outcome.code
    for command in (".tables", ".describe", ".docs", ".questions", ".ask", ".format", ".quit"):
        assert command in outcome.out
    assert "1" != outcome.out.splitlines()[-1].strip()


def test_a_terminal(example_warehouse, tmp_path):
    """A prompt, an answer, a mistake that does not end it, Ctrl-C, Ctrl-D; and a history for the next time."""
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bufferhouse.cli", "query", "--warehouse", str(example_warehouse)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"},
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )
    os.close(side)
    seen = ""

    def expect(text: str) -> None:
        nonlocal seen
        deadline = time.monotonic() + 25
        while text not in seen:
            assert select.select([terminal], [], [], deadline - time.monotonic())[0], (text, seen)
            seen += os.read(terminal, 4096).decode()
        seen = seen.split(text, 1)[1]

    try:
        expect("bufferhouse> ")
        os.write(terminal, b"SELECT 40 +\n")
        expect("...> ")
        os.write(terminal, b"2 AS answer;\n")
        expect("    42")
        expect("bufferhouse> ")
        os.write(terminal, b"SELECT wrong;\n")
        expect('"wrong" was not found')
        expect("bufferhouse> ")
        os.write(terminal, b"SELECT COUNT(*) FROM range(10000000000000), range(1000000);\n")
        time.sleep(1)
        os.write(terminal, b"\x03")
        expect("interrupted")
        expect("bufferhouse> ")
        os.write(terminal, b"\x04")
        assert 0 == process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert "2 AS answer;" in (tmp_path / "bufferhouse" / "history").read_text()
