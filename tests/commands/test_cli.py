"""The command line: help, exit codes, and what goes where."""

import json

import pytest
from typer.main import get_command

import bufferhouse
from bufferhouse import cli
from bufferhouse.dump.native import reader
from tests.command_line import call, start
from tests.synthetic import small_dump
from tests.warehouses import counts


def verbs(command=None, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every verb of the command line, groups included."""
    command = command or get_command(cli.app)
    found = [words]
    for name, sub in getattr(command, "commands", {}).items():
        found += verbs(sub, (*words, name))
    return found


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_every_verb_explains_itself(words):
    """--help and -h end with 0 and say what the verb does and what each of its options means."""
    outcome = call(*words, "--help")
    assert (0, "") == (outcome.code, outcome.err)
    assert outcome.out == call(*words, "-h").out
    command = get_command(cli.app)
    for word in words:
        command = command.commands[word]
    assert command.help
    assert command.help.strip().split("\n")[0] in " ".join(outcome.out.split()) or not words
    assert all(getattr(parameter, "help", "x") for parameter in command.params)


def test_the_version():
    """--version prints it and who reads dumps, and ends."""
    outcome = call("--version")
    assert (0, f"bufferhouse {bufferhouse.__version__}\nreader: {reader()}\n") == (outcome.code, outcome.out)


def test_the_native_reader_can_be_switched_off(monkeypatch):
    """With BUFFERHOUSE_NATIVE=0 the one in Python reads, and --version says so."""
    monkeypatch.setenv("BUFFERHOUSE_NATIVE", "0")
    assert "reader: Python (BUFFERHOUSE_NATIVE=0)" == call("--version").out.splitlines()[1]


@pytest.mark.parametrize(
    "words",
    [
        ["no-such-verb"],
        ["ingest"],
        ["ingest", "x", "--no-such-option"],
        ["ingest", "x", "--workers", "0"],
        ["ingest", "x", "--format", "xml"],
        ["ingest", "/no/such/path"],
        ["ingest", "/no/such/*.txt"],
        ["query", "SELECT 1", "--wait", "-1"],
        ["query", "SELECT 1", "--warehouse", "/no/such/w.duckdb"],
        ["build", "--warehouse", "/no/such/w.duckdb"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_ends_with_2(tmp_path, monkeypatch, words):
    """The message is on standard error, nothing on standard output, and no file is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BUFFERHOUSE_WAREHOUSE", raising=False)
    outcome = call(*words)
    assert (2, "") == (outcome.code, outcome.out)
    assert outcome.err
    assert [] == list(tmp_path.glob("*.duckdb"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["build", "--format", "json"], "--format: expected --plan beside it"),
        (["prune", "--keep-runs", "-1"], "--keep-runs: expected 0 or more, found -1"),
    ],
)
def test_a_wrong_value_is_told_with_its_option(words, expected, tmp_path):
    """Where, what was expected, what was found."""
    assert expected in call(*words, "--warehouse", tmp_path / "none.duckdb").err


def test_data_on_standard_output_and_progress_on_standard_error(warehouse, tmp_path):
    """`--format json` prints one object and nothing else; what is going on stands on standard error."""
    (tmp_path / "x-buffer-assignment.txt").write_bytes(small_dump(1))
    outcome = call("ingest", tmp_path / "x-buffer-assignment.txt", "--warehouse", warehouse, "--format", "json")
    assert (0, 1) == (outcome.code, json.loads(outcome.out)["new"])
    assert "1/1 dump: 1 new, 0 known\n" == outcome.err


def test_the_warehouse_of_the_environment(warehouse, tmp_path, monkeypatch):
    """$BUFFERHOUSE_WAREHOUSE stands for --warehouse."""
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(warehouse))
    (tmp_path / "x-buffer-assignment.txt").write_bytes(small_dump(1))
    assert 0 == call("ingest", tmp_path / "x-buffer-assignment.txt").code
    assert "count_star()\n1\n" == call("query", "SELECT COUNT(*) FROM raw.dumps", "--format", "csv").out


def test_sources_from_standard_input(warehouse, tmp_path):
    """`-` reads paths, one a line, as `find` prints them."""
    paths = [tmp_path / f"{number}-buffer-assignment.txt" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(small_dump(number))
    lines = "".join(f"{path}\n" for path in paths[:2])
    assert 0 == call("ingest", "-", "--warehouse", warehouse, "--run", "found", stdin=lines).code
    assert 2 == counts(warehouse)["dumps"]


def test_a_reader_that_goes_away_ends_the_command_quietly(example_warehouse):
    """`bufferhouse query … | head -1` leaves no traceback behind, and ends as by SIGPIPE: 1 says other things."""
    process = start("query", "SELECT repeat('x', 1000) FROM range(20000)", "--warehouse", example_warehouse)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (141, "") == (process.wait(60), errors)


def test_build_names_what_it_built(warehouse, fleet):
    """Nothing after an ingest; everything with --force; the answers stay."""
    assert 0 == call("ingest", fleet / "seeds", "--warehouse", warehouse).code
    ask = ("query", "SELECT SUM(reserved_bytes) FROM marts.peak_memory", "--warehouse", warehouse)
    before = call(*ask).out
    assert "" == call("build", "--warehouse", warehouse).out
    names = call("build", "--force", "--warehouse", warehouse).out.split()
    assert {"staging.dumps", "intermediate.peaks", "marts.peak_memory_v1", "checks.padding_closes"} <= set(names)
    assert before == call(*ask).out


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_a_folder_is_no_file(example_warehouse, fleet, tmp_path, monkeypatch, folder):
    """As the place of a page, of an answer, of a warehouse and of the catalog of a lake: exit 2, one line."""
    monkeypatch.chdir(tmp_path)
    for words in (
        ("report", "fleet", "--warehouse", example_warehouse, "--html", folder),
        ("query", "SELECT 1", "--warehouse", example_warehouse, "-o", folder),
        ("rejects", "show", "1", "--warehouse", example_warehouse, "-o", folder),
        ("stats", "--warehouse", folder),
        ("ingest", fleet / "seeds", "--warehouse", folder),
        ("ingest", fleet / "seeds", "--warehouse", f"ducklake:{folder}"),
    ):
        said = call(*words)
        assert (2, "", 1) == (said.code, said.out, said.err.count("\n")), (words, said.err)
        assert " folder" in said.err.partition("found")[2]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("export", "--all", "-o"),
        ("export", "--all", "--parquet"),
        ("contracts",),
        ("models", "--dialect", "spark", "-o"),
    ],
)
def test_a_bucket_is_no_folder(words, tmp_path, monkeypatch):
    """Files would lie in a folder called s3: here."""
    monkeypatch.chdir(tmp_path)
    said = call(*words, "s3://bucket/folder")
    assert (2, True) == (said.code, "expected a folder of this machine, found s3://bucket/folder" in said.err)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", [("report", "fleet", "--html"), ("query", "SELECT 1", "-o"), ("rejects", "show", "1", "-o")]
)
def test_a_bucket_is_no_file(words):
    """Where one of this machine is written, it is named as what it is."""
    said = call(*words, "s3://bucket/x.html")
    assert (2, True) == (said.code, "expected a file of this machine, found s3://bucket/x.html" in said.err)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("query", "SELECT 1", "-o"), "expected a file, found -; standard output is /dev/stdout, a file"),
        (("report", "fleet", "--html"), "expected a file, found -; standard output is /dev/stdout, a file"),
        (("catalog", "--markdown"), "expected a file, found -; standard output is /dev/stdout, a file"),
        (("lock", "--check", "x", "--comment"), "expected a file, found -; standard output is /dev/stdout, a file"),
        (("contracts",), "expected a folder, found -; a folder of this name is ./-"),
        (("export", "--all", "-o"), "expected a folder, found -; a folder of this name is ./-"),
        (("site",), "expected a folder or s3://BUCKET/PREFIX, found '-'"),
    ],
)
def test_a_dash_is_no_name(words, expected, example_warehouse, tmp_path, monkeypatch):
    """What other programs take for standard output was a file or a folder that is called like an option."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(example_warehouse))
    said = call(*words, "-")
    assert (2, "", True) == (said.code, said.out, expected in " ".join(said.err.split()))
    assert [] == list(tmp_path.iterdir())


def test_a_dash_with_its_folder_is_a_name(tmp_path, monkeypatch):
    """The way out that the message shows."""
    monkeypatch.chdir(tmp_path)
    assert 0 == call("contracts", "./-").code
    assert (tmp_path / "-" / "raw.odcs.yaml").exists()
