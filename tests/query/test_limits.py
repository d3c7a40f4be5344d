"""What a statement may take: it is stopped in time, before it fills memory or disk, and leaves nothing behind."""

import resource
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from bufferhouse.engine.limits import MIB, Limits
from bufferhouse.errors import UsageError
from bufferhouse.query.door import door
from bufferhouse.warehouse.open import open_reader
from tests.command_line import call, run, start

ENDLESS = {
    "rows": "SELECT * FROM range(10000000000000) WHERE range < 0",
    "join": "SELECT COUNT(*) FROM range(10000000000000) AS a, range(100000000) AS b WHERE a.range + b.range < 0",
    "recursion": "WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t) SELECT MAX(i) FROM t",
    "explained": "EXPLAIN ANALYZE SELECT COUNT(*) FROM range(100000000000) AS a, range(100000) AS b",
}
TOO_LARGE = {
    "one list": "SELECT COUNT(*) FROM (SELECT unnest(range(4000000000)))",
    "list of strings": "SELECT LEN(LIST(repeat(CAST(range AS VARCHAR), 100000))) FROM range(100000)",
    "one string": "SELECT string_agg(repeat('x', 10000000), '') FROM range(300)",
    "transformed list": "SELECT list_sum(list_transform(range(500000000), lambda x: x * 2))",
    "long rows": "SELECT repeat('x', 10000000) FROM range(1000)",
    "aggregate": "SELECT COUNT(DISTINCT repeat(md5(CAST(range AS VARCHAR)), 100)) FROM range(10000000)",
}


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files go, in this process and in others; nothing may be left there."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    yield directory
    assert [] == list(directory.iterdir())


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_stopped(example_warehouse, temporary, name):
    """--timeout ends it with 2, and the message says how to give it more."""
    outcome = call("query", ENDLESS[name], "--warehouse", example_warehouse, "--timeout", "0.1")
    message = "bufferhouse: stopped after 0.1 s; --timeout SECONDS gives it more\n"
    assert (2, "", message) == (outcome.code, outcome.out, outcome.err)


# `bufferhouse` that gives up on what hears no interrupt after one second, not five.
IMPATIENT = """
from bufferhouse.engine import limits
limits.GRACE_SECONDS = 1.0
from bufferhouse.cli import main
main()
"""


@pytest.mark.slow
def test_what_hears_no_interrupt_is_ended_with_its_process(example_warehouse, temporary):
    """One vector may take minutes to make; the process ends all the same, cleaned up."""
    deaf = "SELECT list_sum(list_transform(range(100000000), lambda x: list_sum([x, x * 2, x * 3])))"
    words = ["query", deaf, "--warehouse", example_warehouse, "--timeout", "0.3", "--memory", "8192"]
    outcome = run(*words, code=IMPATIENT)
    assert (2, "") == (outcome.code, outcome.out)
    assert "the statement was ended after 0.3 s" in outcome.err


# A process each. One vector that is too large is stopped in this process below, and again where all are.
SOAK = ("one list", "one string", "transformed list")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] if name in SOAK else []) for name in TOO_LARGE]
)
def test_what_takes_too_much_memory_is_stopped(example_warehouse, temporary, name):
    """--memory bounds what DuckDB keeps, and the process beyond it; the message says how to give it more."""
    outcome = run("query", TOO_LARGE[name], "--warehouse", example_warehouse, "--memory", "64", "--timeout", "60")
    message = "bufferhouse: stopped: it needs more than 64 MiB of memory; --memory MIB gives it more\n"
    assert (2, "", message) == (outcome.code, outcome.out, outcome.err)


def test_less_memory_than_the_limit_is_told_apart(example_warehouse):
    """Where the caller gave the process less (`ulimit -v`), --memory would not help."""
    less = partial(resource.setrlimit, resource.RLIMIT_AS, (900 * MIB, 900 * MIB))
    outcome = run("query", TOO_LARGE["one list"], "--warehouse", example_warehouse, preexec_fn=less)
    message = "bufferhouse: stopped: it needs more memory than `ulimit -v` leaves it, 900 MiB\n"
    assert (2, "", message) == (outcome.code, outcome.out, outcome.err)


def test_what_would_fill_the_disk_is_stopped(example_warehouse, temporary, tmp_path):
    """Temporary files are bounded; they lie apart from the warehouse and are gone afterwards."""
    copy = Path(shutil.copy(example_warehouse, tmp_path / "copy.duckdb"))
    limits = Limits(memory_bytes=64 * MIB, temporary_bytes=16 * MIB, threads=2)
    con = open_reader(copy).con
    with con, door(con, limits) as opened, pytest.raises(UsageError, match="more than 16 MiB of temporary files"):
        opened.ask("SELECT MAX(m) FROM (SELECT md5(CAST(range AS VARCHAR)) AS m FROM range(5000000) ORDER BY m, range)")
    assert ["copy.duckdb", "temporary"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_sort_larger_than_memory_is_answered_through_temporary_files(example_warehouse, temporary, tmp_path):
    """Within the bounds a statement may spill, though files are closed to it."""
    copy = Path(shutil.copy(example_warehouse, tmp_path / "copy.duckdb"))
    con = open_reader(copy).con
    with con, door(con, Limits(memory_bytes=32 * MIB, threads=2)) as opened:
        sql = "SELECT COUNT(*) FROM (SELECT md5(CAST(range AS VARCHAR)) AS m FROM range(1000000) ORDER BY m OFFSET 1)"
        assert [(999_999,)] == opened.ask(sql).rows


def test_rows_are_counted(example_warehouse, temporary):
    """An answer of ever more rows is stopped; exactly as many as allowed are not."""
    words = ["query", "--warehouse", example_warehouse, "--format", "csv"]
    outcome = call(*words, "SELECT * FROM range(1000000000000)")
    assert (2, "") == (outcome.code, outcome.out)
    assert "more than 1,000,000 rows" in outcome.err
    assert 6 == len(call(*words, "SELECT * FROM range(5)", "--max-rows", "5").out.splitlines())
    assert 2 == call(*words, "SELECT * FROM range(6)", "--max-rows", "5").code


@pytest.mark.parametrize("name", [pytest.param("join", marks=pytest.mark.soak), "recursion"])
def test_ctrl_c_stops_a_statement(example_warehouse, temporary, name):
    """Exit 130, quickly, with nothing on standard output and nothing left behind, also in one endless step."""
    process = start("query", ENDLESS[name], "--warehouse", example_warehouse)
    while not list(temporary.glob("bufferhouse-*")):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert (130, "") == (process.returncode, out)
    assert err.startswith("bufferhouse: interrupted")


def test_the_bound_of_the_process_is_lifted_afterwards(example_warehouse, temporary):
    """Whoever asks through the library keeps the limits of the process as they were."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    assert 2 == call("query", TOO_LARGE["one list"], "--warehouse", example_warehouse).code
    assert before == resource.getrlimit(resource.RLIMIT_DATA)


def test_a_door_answers_on_after_a_statement_was_stopped(example_warehouse, temporary, tmp_path):
    """Neither time nor memory nor a mistake closes it."""
    copy = Path(shutil.copy(example_warehouse, tmp_path / "copy.duckdb"))
    con = open_reader(copy).con
    with con, door(con, Limits(seconds=0.3, memory_bytes=200 * MIB)) as opened:
        for sql in (ENDLESS["join"], TOO_LARGE["one list"], "SELECT 1 / CAST('x' AS INTEGER)"):
            with pytest.raises(UsageError):
                opened.ask(sql)
            assert [(1,)] == opened.ask("SELECT 1").rows


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_statement_that_fails_leaves_the_file_as_it_was(example_warehouse, temporary, tmp_path, form):
    """-o replaces a file whole, or not at all; a new one does not appear."""
    (tmp_path / "old").write_text("kept")
    words = ["query", "SELECT error('x') FROM range(5)", "--warehouse", example_warehouse, "--format", form, "-o"]
    for name in ("old", "new"):
        assert 2 == call(*words, tmp_path / name).code
    assert "kept" == (tmp_path / "old").read_text()
    assert ["old", "temporary"] == sorted(path.name for path in tmp_path.iterdir())


def test_an_answer_is_not_written_over_the_warehouse(own_warehouse, temporary):
    """Neither over the file nor over its published copy; a folder that is not there is named."""
    before = own_warehouse.read_bytes()
    for target in (own_warehouse, own_warehouse.with_name("own.published.duckdb")):
        outcome = call("query", "SELECT 1", "--warehouse", own_warehouse, "-o", target)
        assert (2, f"bufferhouse: -o {target}: expected another file, found the warehouse\n") == (
            outcome.code,
            outcome.err,
        )
    assert before == own_warehouse.read_bytes()
    assert 2 == call("query", "SELECT 1", "--warehouse", own_warehouse, "-o", "/no/such/folder/x.csv").code


def test_nothing_is_written_over_a_database(own_warehouse, tmp_path):
    """Whatever its name, through links, too; nor over what lies beside one, or a file of a lake."""
    other = tmp_path / "other.page"
    shutil.copy(own_warehouse, other)
    (tmp_path / "link.html").symlink_to(other)
    (tmp_path / "hard.html").hardlink_to(other)
    of_a_lake = tmp_path / "ducklake-01a204c0-baa2-75a0-a15d-0b53cd8f5b6e.parquet"
    of_a_lake.write_bytes(b"kept")
    before = other.read_bytes()
    targets = [other, tmp_path / "link.html", tmp_path / "hard.html", tmp_path / "other.page.wal", of_a_lake]
    for target in targets:
        for words in (["query", "SELECT 1", "-o"], ["report", "fleet", "--html"]):
            outcome = call(*words, target, "--warehouse", own_warehouse)
            assert (2, "") == (outcome.code, outcome.out)
            assert f"{words[-1]} {target}: that " in outcome.err
    assert (before, b"kept") == (other.read_bytes(), of_a_lake.read_bytes())
    assert not (tmp_path / "other.page.wal").exists()


# `bufferhouse` in a process, and behind its messages the most memory in MB that it and its worker had.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "bufferhouse.cli", *sys.argv[1:]], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
WIDE = {
    "text": ["SELECT repeat('x', 1000) AS a FROM range(900000)"],
    "json": ["SELECT " + ", ".join(f"range AS c{n}" for n in range(200)) + " FROM range(400000)", "--format", "json"],
}


@pytest.mark.parametrize("name", WIDE)
def test_an_answer_is_told_within_the_limits(example_warehouse, temporary, name):
    """What Python makes of rows counts as well: a wide answer is refused, and the process stays below 1 GB."""
    outcome = run("query", *WIDE[name], "--warehouse", example_warehouse, "--memory", "64", code=MEASURED)
    code, megabytes = map(int, outcome.out.split())
    assert (2, "bufferhouse: stopped: it needs more than 64 MiB of memory; --memory MIB gives it more\n") == (
        code,
        outcome.err,
    )
    assert 1000 > megabytes


def test_a_long_answer_goes_to_parquet_batch_by_batch(example_warehouse, temporary, tmp_path):
    """It need not fit into memory."""
    wide = "SELECT " + ", ".join(f"hash(range + {n}) AS c{n}" for n in range(40)) + " FROM range(250000)"
    words = ["query", wide, "--format", "parquet", "-o", tmp_path / "wide.parquet", "--memory", "70"]
    outcome = run(*words, "--warehouse", example_warehouse, code=MEASURED)
    code, megabytes = map(int, outcome.out.split())
    assert (0, "") == (code, outcome.err)
    assert (1 << 26) < (tmp_path / "wide.parquet").stat().st_size
    assert 620 > megabytes
