"""A warehouse by two names: its own and a symbolic link's."""

import os
import re
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import bufferhouse
from bufferhouse.errors import UsageError, WarehouseBusy
from bufferhouse.warehouse import file
from bufferhouse.warehouse.address import FileAddress, address_of
from bufferhouse.warehouse.file import writer_lock
from bufferhouse.warehouse.open import writing
from tests.command_line import CHECKOUT, call, kill_group, start
from tests.ingests import write_dumps
from tests.synthetic import small_dump
from tests.warehouse.test_lock import HOLDER
from tests.warehouses import contents, counts, load_texts, rows

EXAMPLES = CHECKOUT / "examples" / "fleet"


@pytest.fixture
def link(warehouse: Path, tmp_path: Path) -> Path:
    """Another name of the warehouse, in another folder, as a link that is relative."""
    path = tmp_path / "links" / "other.duckdb"
    path.parent.mkdir()
    path.symlink_to(os.path.relpath(warehouse, path.parent))
    return path


def test_what_lies_beside_a_warehouse_lies_beside_the_file(warehouse, link):
    """By either name the same file, lock, log and published copy; a name that is no link stays as it is written."""
    one, other = FileAddress(warehouse), FileAddress(link)
    assert (one.file, one.lock, one.log, one.published) == (other.file, other.lock, other.log, other.published)
    assert (one.files, one.key) == (other.files, other.key)
    assert Path("w.duckdb") == FileAddress(Path("w.duckdb")).file


def test_a_link_to_itself_is_a_wrong_call(tmp_path):
    """For reading and for writing; the link stays."""
    path = tmp_path / "w.duckdb"
    path.symlink_to(path)
    with pytest.raises(UsageError, match="leads back to itself"):
        FileAddress(path).file  # noqa: B018 - it is looked up
    for words in (["query", "SELECT 1"], ["ingest", tmp_path, "--allow-empty"]):
        assert 2 == call(*words, "--warehouse", path).code
    assert path.is_symlink()


def test_a_link_in_the_place_of_the_log_is_refused(tmp_path):
    """DuckDB writes to what it leads to, and makes it where it is not there."""
    victim, missing, path = tmp_path / "victim", tmp_path / "missing", tmp_path / "w.duckdb"
    victim.write_text("precious")
    for target in (victim, missing):
        log = tmp_path / "w.duckdb.wal"
        log.symlink_to(target)
        outcome = call("ingest", EXAMPLES / "jaxlib-0.9.0", "--warehouse", path)
        told = f"bufferhouse: {log}: expected the log of a warehouse, a plain file, found something else; remove it"
        assert (2, told) == (outcome.code, outcome.err.strip())
        log.unlink()
    assert ("precious", False) == (victim.read_text(), missing.exists())


def test_a_lock_that_is_taken_by_one_name_is_held_by_the_other(warehouse, link):
    """Also who writes is seen by either name."""
    for one, other in ((link, warehouse), (warehouse, link)):
        with writer_lock(one):
            with pytest.raises(WarehouseBusy, match=f"{warehouse} is being written by process {os.getpid()} on "):
                writer_lock(other).__enter__()
            assert f"process {os.getpid()} on " in file.writer(other)
    assert [link] == list(link.parent.iterdir())


# The other way round a lock is held above, too.
@pytest.mark.parametrize("held_by_link", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["link", "file"])
def test_two_names_are_one_writer(warehouse, link, tmp_path, held_by_link):
    """Who ingests by one name waits for whoever writes by the other one, or is told of it."""
    held, asked = (link, warehouse) if held_by_link else (warehouse, link)
    write_dumps(tmp_path / "run", [1])
    holder = start(held, code=HOLDER, stdin=subprocess.PIPE)
    try:
        assert "held\n" == holder.stdout.readline()
        refused = call("ingest", tmp_path / "run", "--warehouse", asked)
        assert (3, "") == (refused.code, refused.out)
        assert f"{warehouse} is being written by process {holder.pid} on " in refused.err
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(call, "ingest", tmp_path / "run", "--warehouse", asked, "--wait", 60)
            holder.communicate("done\n", timeout=60)
        assert 0 == waiting.result().code, waiting.result().err
    finally:
        kill_group(holder)
    assert 1 == counts(warehouse)["dumps"]


def test_ingests_by_two_names_at_once_both_load(warehouse, link, tmp_path):
    """One after the other: nothing of either is lost, and the link is one still."""
    for number, name in enumerate(("one", "two")):
        write_dumps(tmp_path / name, range(number * 5, number * 5 + 5))
    other = start("ingest", tmp_path / "two", "--warehouse", link, "--wait", 60)
    try:
        own = call("ingest", tmp_path / "one", "--warehouse", warehouse, "--wait", 60)
        _, errors = other.communicate(timeout=120)
        assert (0, 0) == (own.code, other.returncode), own.err + errors
    finally:
        kill_group(other)
    assert (10, 2, True) == (counts(warehouse)["dumps"], counts(warehouse)["runs"], link.is_symlink())


def test_compact_by_a_link_keeps_the_link(warehouse, link):
    """The file behind it is written anew, with the same rows; nothing is left beside the link."""
    with writing(link) as writer:
        load_texts(writer, [small_dump(number) for number in range(5)])
    before, was = contents(warehouse), warehouse.stat().st_ino
    assert 0 == call("compact", "--warehouse", link).code
    assert (True, [link]) == (link.is_symlink(), list(link.parent.iterdir()))
    assert (before, True) == (contents(warehouse), was != warehouse.stat().st_ino)


def test_a_link_to_nothing_yet_stays_a_link(tmp_path):
    """The warehouse is made where it leads."""
    link, file = tmp_path / "link.duckdb", tmp_path / "file.duckdb"
    link.symlink_to(file)
    write_dumps(tmp_path / "run", [1])
    assert 2 == call("query", "SELECT 1", "--warehouse", link).code
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", link).code
    assert (True, False, 1) == (link.is_symlink(), file.is_symlink(), counts(file)["dumps"])


def test_one_published_copy_for_both_names(warehouse, link):
    """Whoever reads by one name while somebody writes by the other has it."""
    with writing(link) as writer:
        load_texts(writer, [small_dump(1)])
        assert FileAddress(warehouse).published == writer.publish()
    assert [True, True] == [FileAddress(path).is_published() for path in (warehouse, link)]
    holder = start(link, code=HOLDER, stdin=subprocess.PIPE)
    try:
        assert "held\n" == holder.stdout.readline()
        for path in (warehouse, link):
            outcome = call("query", "SELECT COUNT(*) FROM raw.dumps", "--warehouse", path, "--format", "csv")
            assert (0, "count_star()\n1\n") == (outcome.code, outcome.out)
    finally:
        kill_group(holder)


def test_a_copy_from_one_name_to_the_other_is_a_wrong_call(warehouse, link):
    """They are one warehouse."""
    outcome = call("copy", warehouse, link)
    assert (2, "") == (outcome.code, outcome.out)
    assert f"expected two warehouses, found {warehouse} twice" in outcome.err


def test_a_hard_link_is_told_who_writes_by_the_other_name(warehouse, tmp_path):
    """DuckDB's lock is that of device and inode: whoever comes by another name waits, or is told, and loads nothing."""
    other = tmp_path / "other.duckdb"
    write_dumps(tmp_path / "run", [1])
    holder = start(warehouse, code=HOLDER, stdin=subprocess.PIPE)
    try:
        assert "held\n" == holder.stdout.readline()
        os.link(warehouse, other)
        outcome = call("ingest", tmp_path / "run", "--warehouse", other)
        assert 3 == outcome.code
        assert f"(PID {holder.pid})" in outcome.err
    finally:
        kill_group(holder)


def test_a_file_with_two_names_is_not_written(warehouse, tmp_path):
    """Its log would lie beside one of them, and who comes by the other would go on without it; a reader hears of it."""
    other = tmp_path / "other.duckdb"
    os.link(warehouse, other)
    write_dumps(tmp_path / "run", [1])
    before = warehouse.read_bytes()
    for name in (warehouse, other):
        outcome = call("ingest", tmp_path / "run", "--warehouse", name)
        assert (2, "") == (outcome.code, outcome.out)
        assert f"{name} has a second name, a hard link" in outcome.err
        assert "has a second name" in call("query", "SELECT 1", "--warehouse", name).err
    assert before == warehouse.read_bytes()
    other.unlink()
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", warehouse).code


def test_what_killed_commands_left_goes_with_the_next_writer(warehouse, tmp_path):
    """Of this warehouse alone, and nothing that only looks like it."""
    (tmp_path / "run").mkdir()
    stay = {f".{warehouse.stem}2.duckdb.12-1.new", f".{warehouse.name}.notes.new", f"{warehouse.name}.12-1.new"}
    go = {f".{warehouse.name}.{end}" for end in ("12-1.new", "7-20.new.wal")}
    go.add(f".{FileAddress(warehouse).published.name}.9-1.new")
    for name in stay | go:
        (warehouse.parent / name).write_text("")
    with writing(warehouse):
        pass
    left = {path.name for path in warehouse.parent.iterdir()}
    assert (stay, set()) == (stay & left, go & left)


@pytest.mark.parametrize("name", ["md:fleet", "postgres:dbname=fleet", "sqlite:fleet.db", "ab:c.duckdb", ":memory:"])
def test_a_name_that_another_database_would_answer_to_is_a_wrong_call(name, tmp_path, monkeypatch):
    """DuckDB would fetch its extension, or keep nothing; by its absolute path it is a file as any other."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^--warehouse: expected a file .* found " + re.escape(name)):
        address_of(name)
    with writing(tmp_path / name) as warehouse:
        warehouse.con.execute("INSERT INTO meta.settings VALUES ('later', 'yes')")
    assert [("yes",)] == rows(tmp_path / name, "SELECT value FROM meta.settings WHERE name = 'later'")
    assert {name, f"{name}.lock"} == {path.name for path in tmp_path.iterdir()}


def test_an_empty_name_is_not_the_warehouse_of_this_folder(example_warehouse, tmp_path, monkeypatch):
    """`--warehouse "$W"` without a W is a mistake, and must neither read nor write another warehouse."""
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(example_warehouse))
    monkeypatch.chdir(tmp_path)
    for verb in (["query", "SELECT 1"], ["ingest", *write_dumps(tmp_path / "dumps", [1])]):
        said = call(*verb, "--warehouse", "")
        assert (2, "bufferhouse: --warehouse: expected a file or a lake, found ''\n") == (said.code, said.err)
    with pytest.raises(UsageError, match="found ''"):
        bufferhouse.connect("")


def test_a_database_of_sqlite_is_no_warehouse(tmp_path):
    path = tmp_path / "w.duckdb"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE t (a)")
    before = path.read_bytes()
    for verb in (["query", "SELECT 1"], ["build"], ["ingest", *write_dumps(tmp_path / "dumps", [1])]):
        said = call(*verb, "--warehouse", path)
        found = f"{path} is no warehouse: expected a database of DuckDB, found one of SQLite"
        assert (2, True) == (said.code, found in said.err), said.err
    assert before == path.read_bytes()


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_file_of_rows_is_no_warehouse(ending, example_warehouse, tmp_path):
    """DuckDB would read it into memory, and what is loaded there be gone behind a message of success."""
    path = tmp_path / f"answer.{ending}"
    call("query", "SELECT 1 AS a", "--warehouse", example_warehouse, "-o", path)
    before = path.read_bytes()
    for verb in (["query", "SELECT 1"], ["build"], ["ingest", *write_dumps(tmp_path / "dumps", [1])]):
        said = call(*verb, "--warehouse", path)
        found = f"{path} is no warehouse: expected a database of DuckDB, found a file of another kind"
        assert (2, True) == (said.code, found in said.err), said.err
    assert before == path.read_bytes()


def test_a_warehouse_may_be_called_as_files_are(warehouse, tmp_path, monkeypatch):
    """Neither a quotation mark nor a leading dash in the name stops a command that writes, publishes or compacts."""
    monkeypatch.chdir(tmp_path)
    name = '-a"b.duckdb'
    warehouse.rename(name)
    write_dumps(tmp_path / "run", [1, 2])
    option = f"--warehouse={name}"
    for words in (["ingest", "run"], ["publish"], ["compact"], ["verify"]):
        outcome = call(*words, option)
        assert 0 == outcome.code, outcome.err
    assert 2 == counts(tmp_path / name)["dumps"]
