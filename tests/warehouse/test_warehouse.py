"""The warehouse file: opened for writing and for reading, published, and kept from being damaged."""

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.journal import HEADER_BYTES
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.warehouse.address import FileAddress, address_of
from bufferhouse.warehouse.file import BLOCK_SIZE
from bufferhouse.warehouse.open import open_reader, writing
from tests.command_line import call, call_without_capabilities, kill_group, run, run_each, start
from tests.ingests import write_dumps
from tests.synthetic import small_dump
from tests.warehouses import load_parsed, load_texts, parsed, published_path, rows

# Tries to open a DuckDB file for writing, as a foreign program would; prints what happened.
FOREIGN = """
import sys, duckdb
try:
    duckdb.connect(sys.argv[1]).close()
    print("opened")
except duckdb.IOException as error:
    print("locked" if "Could not set lock" in str(error) else error)
"""
READER = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
print("reading", flush=True)
sys.stdin.readline()
"""
WRITER = """
import sys
from pathlib import Path
from bufferhouse.warehouse.open import writing
with writing(Path(sys.argv[1])) as writer:
    if "publish" in sys.argv:
        writer.publish()
    writer.con.execute("INSERT INTO meta.settings VALUES ('later', 'yes')")
    print("writing", flush=True)
    sys.stdin.readline()
"""
# Writes to a DuckDB file as a foreign program does, and is killed before a checkpoint.
KILLED = """
import os, sys, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("SET checkpoint_threshold = '1TB'")
con.execute("DELETE FROM raw.runs")
os._exit(9)
"""


@pytest.fixture
def beside():
    """Start a piece of Python beside the test; it lives until the test ends."""
    processes = []

    def begin(code: str, *words: object) -> subprocess.Popen:
        process = start(*words, code=code, stdin=subprocess.PIPE)
        processes.append(process)
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return process

    yield begin
    for process in processes:
        kill_group(process)


def foreign(path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", FOREIGN, str(path)], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("found", ["none", "another file in its place"])
def test_a_warehouse_that_goes_while_it_is_written_is_told(warehouse, tmp_path, found):
    """What was loaded is in no file of that name: nobody may take it for kept."""

    def write() -> None:
        with writing(warehouse) as writer:
            writer.con.execute("INSERT INTO meta.settings VALUES ('later', 'yes')")
            warehouse.rename(tmp_path / "moved.duckdb")
            if found != "none":
                warehouse.write_bytes(b"")

    with pytest.raises(WarehouseError, match=f"expected the file that was opened, found {found}: "):
        write()


def test_the_default_is_the_environment_or_here(monkeypatch):
    """$BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb in the working directory; an empty variable says nothing."""
    for value, expected in (("/w/x.duckdb", "/w/x.duckdb"), ("", "warehouse.duckdb")):
        monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", value)
        assert expected == str(address_of(None))


def test_a_new_warehouse_is_whole(tmp_path):
    """Opening makes the file with its schema and models; opening again changes nothing."""
    path = tmp_path / "new.duckdb"
    with writing(path):
        pass
    before = rows(path, "SELECT model_name, built_at FROM meta.models ORDER BY ordinal")
    with writing(path):
        pass
    assert before == rows(path, "SELECT model_name, built_at FROM meta.models ORDER BY ordinal")
    assert {"marts", "staging", "intermediate", "checks", "raw"} <= {
        name for (name,) in rows(path, "SELECT schema_name FROM duckdb_schemas()")
    }


def test_a_new_file_is_of_the_newest_storage_version(warehouse):
    """The newest version of DuckDB's storage compresses text best; a file of an older one would never get it."""
    assert [("v1.5.0+",)] == rows(
        warehouse, "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = current_database()"
    )


@pytest.mark.parametrize("directory", ["plain", "locks"])
def test_a_file_that_is_no_warehouse_is_a_wrong_call(tmp_path, directory):
    """Exit 2, not 3: waiting would not help, whatever the path is called."""
    path = tmp_path / directory / "notes.duckdb"
    path.parent.mkdir()
    path.write_text("these are notes, and long enough to look like a file of some kind\n" * 100)
    with pytest.raises(WarehouseError, match=r"notes\.duckdb"):
        open_reader(path)
    assert 2 == call("query", "SELECT 1", "--warehouse", path).code
    assert 2 == call("ingest", tmp_path, "--allow-empty", "--warehouse", path).code


def test_what_is_no_file_is_neither_waited_for_nor_replaced(tmp_path, fleet):
    """A pipe would be waited for without an end, and a device be gone."""
    os.mkfifo(tmp_path / "pipe")
    pipe = ("--warehouse", tmp_path / "pipe")
    for outcome in run_each(  # in a process of its own, which is given up if one of them waits
        ["stats", *pipe],
        ["query", "SELECT 1", *pipe],
        ["ingest", fleet / "seeds", *pipe],
        ["copy", tmp_path / "pipe", tmp_path / "new.duckdb"],
    ):
        expected = f"bufferhouse: {tmp_path}/pipe: expected a file, found a device, a pipe or a socket\n"
        assert (2, expected) == (outcome.code, outcome.err)
    assert ["pipe"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("folder", [".", "./", "/", "..", "{tmp_path}"])
def test_a_folder_is_no_warehouse(tmp_path, fleet, monkeypatch, folder):
    """Whatever it is called: some names of folders have no last part."""
    monkeypatch.chdir(tmp_path)
    given = folder.format(tmp_path=tmp_path)
    for words in (["query", "SELECT 1"], ["ingest", fleet / "seeds"], ["stats"], ["publish"]):
        outcome = call(*words, "--warehouse", given)
        expected = f"{Path(given)}: expected a file, found a folder; name one in it, such as warehouse.duckdb"
        assert (2, f"bufferhouse: {expected}\n") == (outcome.code, outcome.err)
    expected = f"bufferhouse: --warehouse: expected ducklake:FILE, found the folder {given}; name a file in it\n"
    assert expected == call("stats", "--warehouse", f"ducklake:{given}").err
    assert [] == list(tmp_path.iterdir())


def test_a_path_at_which_duckdb_would_misplace_its_log_is_refused(own_warehouse, fleet, tmp_path):
    """With a question mark in a folder it looks for it in another one; readers need none."""
    folder = tmp_path / "what?now"
    folder.mkdir()
    shutil.copy(own_warehouse, folder / "w.duckdb")
    for words in (["ingest", fleet / "seeds"], ["compact"], ["publish"]):
        outcome = call(*words, "--warehouse", folder / "w.duckdb")
        assert (2, True) == (outcome.code, "expected a path without a question mark" in outcome.err), outcome.err
    assert 0 == call("stats", "--warehouse", folder / "w.duckdb").code
    assert ["w.duckdb"] == [path.name for path in folder.iterdir()]


def test_a_database_of_somebody_else_is_not_read(tmp_path):
    """A DuckDB file without the tables of a warehouse is named as what it is."""
    with duckdb.connect(str(tmp_path / "other.duckdb")) as con:
        con.execute("CREATE TABLE mine AS SELECT 1")
    with pytest.raises(WarehouseError, match="holds tables, and not those of a warehouse"):
        open_reader(tmp_path / "other.duckdb")


def _damage(file: Path) -> None:
    """Change a byte of a block that the rows of a table lie in."""
    find = "SELECT block_id FROM pragma_storage_info('raw.hlo_values') WHERE block_id >= 0 ORDER BY 1 LIMIT 1"
    [(block,)] = rows(file, find)
    with file.open("r+b") as opened:
        opened.seek(HEADER_BYTES + block * BLOCK_SIZE + 5000)
        damaged = bytes([opened.read(1)[0] ^ 1])
        opened.seek(-1, os.SEEK_CUR)
        opened.write(damaged)


def test_damage_that_a_statement_meets_is_told(own_warehouse):
    """A block that is not as it was written ends readers and writers with the file, the reason and the way out."""
    _damage(own_warehouse)
    for words in (["verify"], ["compact"], ["export", "--all", "-o", own_warehouse.parent / "files"]):
        outcome = call(*words, "--warehouse", own_warehouse)
        assert (2, True) == (outcome.code, f"{own_warehouse} is damaged: " in outcome.err), outcome.err
        assert "restore a copy" in outcome.err


def test_a_warehouse_that_is_cut_is_told_to_be_damaged(own_warehouse):
    """DuckDB does not open it: the way out is named as where a statement meets the damage."""
    os.truncate(own_warehouse, own_warehouse.stat().st_size // 2)
    for words in (["verify"], ["publish"]):
        outcome = call(*words, "--warehouse", own_warehouse)
        assert (2, True) == (outcome.code, f"{own_warehouse} is damaged: " in outcome.err), outcome.err
        assert "restore a copy" in outcome.err


def test_a_warehouse_that_is_empty_is_not_published_over_its_copy(own_warehouse, tmp_path):
    """A full disk or a power cut left no byte of it: the copy is what is left, and no writer takes it for a new one."""
    assert 0 == call("publish", "--warehouse", own_warehouse).code
    os.truncate(own_warehouse, 0)
    [dump] = write_dumps(tmp_path / "more", [1])
    count = rows(published_path(own_warehouse), "SELECT COUNT(*) FROM raw.dumps")
    for words in (["ingest", dump, "--publish"], ["publish"], ["compact"], ["verify"], ["stats"]):
        outcome = call(*words, "--warehouse", own_warehouse)
        assert (2, True) == (outcome.code, f"{own_warehouse} is damaged: it is empty" in outcome.err), outcome.err
        assert "restore a copy" in outcome.err
    assert count == rows(published_path(own_warehouse), "SELECT COUNT(*) FROM raw.dumps")
    published_path(own_warehouse).unlink()
    assert 0 == call("ingest", dump, "--warehouse", own_warehouse).code


def test_a_warehouse_that_is_gone_is_not_to_be_made_again_beside_its_copy(own_warehouse):
    """The copy is all that is left: whoever followed the advice to ingest would replace it."""
    copy = published_path(own_warehouse)
    assert 0 == call("publish", "--warehouse", own_warehouse).code
    own_warehouse.unlink()
    expected = (
        f"bufferhouse: there is no warehouse at {own_warehouse}, but its published copy, {copy}; restore it "
        "(docs/operations.md)\n"
    )
    for words in (["runs", "ls"], ["publish"]):
        outcome = call(*words, "--warehouse", own_warehouse)
        assert (2, expected) == (outcome.code, outcome.err)


def test_places_that_do_not_exist_are_a_wrong_call(tmp_path):
    """Reading names the command that makes a warehouse, writing the folder that is missing."""
    with pytest.raises(UsageError, match="bufferhouse ingest SOURCE --warehouse"):
        open_reader(tmp_path / "none.duckdb")
    with pytest.raises(UsageError, match="the folder of the warehouse does not exist"), writing(tmp_path / "a" / "b"):
        pass


@pytest.mark.parametrize("words", [["runs", "pin", "latest"], ["compact"], ["publish"]], ids=" ".join)
def test_a_folder_that_cannot_be_written_any_more_is_told(words, own_warehouse):
    """Also where a lock is there already, and only the log or the copy cannot be made beside it."""
    FileAddress(own_warehouse).lock.touch()
    own_warehouse.parent.chmod(0o555)
    outcome = call_without_capabilities(*words, "--warehouse", own_warehouse)
    own_warehouse.parent.chmod(0o755)
    told = f"bufferhouse: the folder of the warehouse cannot be written, where its log goes: {own_warehouse.parent}\n"
    assert (2, "", told) == (outcome.code, outcome.out, outcome.err)


def test_known_contents_and_refusals(warehouse, monkeypatch):
    """What is stored is known by dump_id with its hash and signature; refusals by run, path and hash, while open."""
    good, bad = small_dump(1), b"BufferAssignment:\nnonsense\n"
    with writing(warehouse) as writer:
        batch = parsed([good, bad])
        load_parsed(writer, batch)
        taken, refused = (sighting.content for sighting in batch.sightings)
        signature = batch.signature_ids[taken.dump_id]
        known = writer.known_contents([taken.dump_id, refused.dump_id, 5])
        assert {taken.dump_id: (taken.sha256, signature)} == known
        spoken = {("run", "1-buffer-assignment.txt", refused.sha256): batch.refusals[refused.dump_id].rule}
        assert spoken == writer.known_refusals([refused.sha256, taken.sha256])
        with monkeypatch.context() as later:
            later.setattr("bufferhouse.warehouse.warehouse.__version__", "another version")
            assert {} == writer.known_refusals([refused.sha256])
        assert {
            ("run", "0-buffer-assignment.txt"): (len(good), 0),
            ("run", "1-buffer-assignment.txt"): (len(bad), 0),
        } == writer.known_files(["run", "another"])
        writer.con.execute("UPDATE raw.rejects SET state = 'resolved'")
        assert {} == writer.known_refusals([refused.sha256])


def test_an_in_memory_warehouse_has_no_file_to_publish():
    """There is nothing to copy."""
    with writing(None) as warehouse, pytest.raises(UsageError, match="in-memory"):
        warehouse.publish()


# Publishing, and reading while somebody writes


def test_readers_take_the_published_copy_while_somebody_writes(warehouse, beside):
    """The copy answers, as of its time, without what came later; the note is on standard error."""
    beside(WRITER, warehouse, "publish")
    outcome = call("query", "SELECT COUNT(*) FROM meta.settings", "--warehouse", warehouse, "--format", "csv")
    assert (0, "count_star()\n1\n") == (outcome.code, outcome.out)
    assert f"{warehouse} is being written; this is the published copy, as of " in outcome.err


def test_without_a_published_copy_a_reader_is_told_to_wait(warehouse, beside):
    """Exit 3 and the process that writes, for want of anything to read."""
    process = beside(WRITER, warehouse)
    outcome = call("query", "SELECT 1", "--warehouse", warehouse)
    assert (3, "") == (outcome.code, outcome.out)
    assert f"is being written by process {process.pid} on " in outcome.err


def test_when_nobody_writes_the_file_itself_is_read(warehouse):
    """A published copy is older than the file beside it: no note, the newest rows."""
    with writing(warehouse) as writer:
        writer.publish()
        load_texts(writer, [small_dump(1)])
    outcome = call("query", "SELECT COUNT(*) FROM raw.dumps", "--warehouse", warehouse, "--format", "csv")
    assert (0, "count_star()\n1\n", "") == (outcome.code, outcome.out, outcome.err)


def test_a_reader_keeps_the_writer_out(warehouse, beside, tmp_path):
    """DuckDB allows no writer beside a reader of the file itself: exit 3, and the reader is named."""
    process = beside(READER, warehouse)
    with pytest.raises(WarehouseBusy, match=f"PID {process.pid}"), writing(warehouse):
        pass
    assert 3 == call("publish", "--warehouse", warehouse).code


def test_publishing_replaces_the_copy_in_one_step(warehouse):
    """Whoever has the old copy open keeps it; the new one has the new rows; no temporary file stays."""
    with writing(warehouse) as writer:
        old = writer.publish()
        assert published_path(warehouse) == old
        with duckdb.connect(str(old), read_only=True) as reader:
            load_texts(writer, [small_dump(1)])
            writer.publish()
            assert [(0,)] == reader.execute("SELECT COUNT(*) FROM raw.dumps").fetchall()
    assert [(1,)] == rows(old, "SELECT COUNT(*) FROM raw.dumps")
    names = {path.name for path in warehouse.parent.iterdir()}
    assert {warehouse.name, f"{warehouse.name}.lock", old.name} == names


def test_what_others_wrote_to_the_published_copy_ends_with_it(own_warehouse, tmp_path):
    """Readers pass by a copy with a log of DuckDB's own beside it, and the next copy is not taken for changed by it."""
    count = rows(own_warehouse, "SELECT COUNT(*) FROM raw.runs")
    for is_changed in (False, True):
        assert 0 == call("publish", "--warehouse", own_warehouse).code
        assert 9 == run(published_path(own_warehouse), code=KILLED).code
        assert FileAddress(published_path(own_warehouse)).log.exists()
        outcome = call("query", "SELECT COUNT(*) FROM raw.runs", "--format", "csv", "--warehouse", own_warehouse)
        assert count == [(int(outcome.out.split()[1]),)]
        if is_changed:
            write_dumps(tmp_path / "more", [1])
            assert 0 == call("ingest", tmp_path / "more", "--warehouse", own_warehouse).code
            count = rows(own_warehouse, "SELECT COUNT(*) FROM raw.runs")
        assert 0 == call("publish", "--warehouse", own_warehouse).code
        assert count == rows(published_path(own_warehouse), "SELECT COUNT(*) FROM raw.runs")


def test_damage_is_not_published(own_warehouse, tmp_path):
    """A damaged warehouse never takes the place of a good copy, which is the way out; what was loaded is kept."""
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "x-buffer-assignment.txt").write_bytes(small_dump(1))
    assert 0 == call("publish", "--warehouse", own_warehouse).code
    good = published_path(own_warehouse).read_bytes()
    _damage(own_warehouse)
    for words in (["publish"], ["ingest", tmp_path / "later", "--publish"]):
        outcome = call(*words, "--warehouse", own_warehouse)
        assert (2, True) == (outcome.code, f"{own_warehouse} is damaged: " in outcome.err), outcome.err
        assert f"{published_path(own_warehouse)} stays as it was" in outcome.err
        assert good == published_path(own_warehouse).read_bytes()
    names = {path.name for path in own_warehouse.parent.iterdir()}
    assert {own_warehouse.name, f"{own_warehouse.name}.lock", published_path(own_warehouse).name, "later"} == names
    assert [("later",)] == rows(own_warehouse, "SELECT run_name FROM raw.runs WHERE run_name = 'later'")


def test_publishing_writes_through_no_link(warehouse, tmp_path):
    """Who may write to the folder does not choose what the copy is written over."""
    with writing(warehouse):
        pass
    (tmp_path / "other").write_text("of somebody else")
    published_path(warehouse).symlink_to(tmp_path / "other")
    assert 0 == call("publish", "--warehouse", warehouse).code
    assert "of somebody else" == (tmp_path / "other").read_text()
    assert not published_path(warehouse).is_symlink()


def test_publish_of_the_command_line_prints_the_copy(warehouse):
    """Data on standard output: the path of the copy."""
    outcome = call("publish", "--warehouse", warehouse)
    assert (0, f"{published_path(warehouse)}\n") == (outcome.code, outcome.out)
    assert 2 == call("publish", "--warehouse", warehouse.with_name("none.duckdb")).code


def test_publishing_keeps_the_lock_of_the_database(warehouse):
    """The copy is made by a child process, so that DuckDB's lock holds on: a foreign writer is still kept out."""
    with writing(warehouse) as writer:
        assert "locked" == foreign(warehouse)
        writer.publish()
        assert "locked" == foreign(warehouse)
    assert "opened" == foreign(warehouse)


def test_opening_the_file_a_second_time_would_lose_that_lock(warehouse):
    """The trap that publish avoids: POSIX locks go when the process closes any descriptor of the file."""
    with writing(warehouse):
        warehouse.open("rb").close()
        assert "opened" == foreign(warehouse)


def test_a_warehouse_among_the_sources_is_passed_by(warehouse):
    """As when a shell expands `*` beside it: none of its files is read, and DuckDB's lock on it holds on."""
    directory = warehouse.parent
    with writing(warehouse) as writer:
        writer.publish()
    (directory / "x-buffer-assignment.txt").write_bytes(small_dump(1))
    words = ["ingest", *sorted(directory.iterdir()), "--run", "here", "--warehouse", warehouse]
    outcome = call(*words)
    assert 0 == outcome.code
    assert "1 dump of 1 run seen: 1 new, 0 known, 0 rejected; 3 other files ignored" in outcome.out
    assert 0 == call(*words).code
    assert [(1, 0)] == rows(warehouse, "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COUNT(*) FROM raw.rejects)")


def test_a_writer_that_is_handed_its_own_file_keeps_its_lock(warehouse):
    """To read it and close it again would give the lock up, and let a second writer in."""
    dump = warehouse.with_name("x-buffer-assignment.txt")
    dump.write_bytes(small_dump(1))
    source = Source.named([str(warehouse), str(dump)], run_name="here")
    with writing(warehouse) as writer:
        (summary,) = ingest([source], nullcontext(writer)).values()
        assert "locked" == foreign(warehouse)
    assert (1, 1, 0, 1) == (summary.seen, summary.new, summary.rejected, summary.ignored)
