"""A checkpoint of DuckDB that was cut short, at any page: the warehouse opens, with all that was committed."""

import random
import shutil
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.journal import HEADER_BYTES, checkpoint, guard, journal_path, put_back, roll_back
from bufferhouse.errors import WarehouseBusy, WarehouseError
from bufferhouse.warehouse.file import BLOCK_SIZE, writer_lock
from bufferhouse.warehouse.open import open_reader, writing
from tests.command_line import kill_group, run, start
from tests.synthetic import small_dump
from tests.warehouses import contents, load_texts

pytestmark = pytest.mark.slow

PAGE = 4096
READER = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
print("open", flush=True)
sys.stdin.readline()
"""
WRITER = """
import sys, duckdb
duckdb.connect(sys.argv[1]).close()
"""


@dataclass(frozen=True)
class Left:
    """A file with a load in its log: before its checkpoint, and when all of that was written but the header."""

    before: bytes
    after: bytes
    log: bytes
    journal: bytes
    rows: dict[str, list[tuple]]

    def lay(self, path: Path, content: bytes) -> Path:
        """Leave a warehouse at `path` as its killed writer would."""
        path.write_bytes(content)
        Path(f"{path}.wal").write_bytes(self.log)
        journal_path(path).write_bytes(self.journal)
        return path

    def torn(self, chance: random.Random) -> bytes:
        """Return the file with some pages of the checkpoint written and others not."""
        pages = range(0, len(self.after), PAGE)
        old = self.before.ljust(len(self.after), b"\0")
        return b"".join((self.after if chance.random() < 0.5 else old)[place : place + PAGE] for place in pages)


def broken_off(con: duckdb.DuckDBPyConnection) -> None:
    """Make a checkpoint that writes everything but the header."""
    con.execute("SET debug_checkpoint_abort = 'after_free_list_write'")
    with pytest.raises(duckdb.FatalException):
        checkpoint(con)


def is_refused(path: Path, content: bytes) -> bool:
    """Whether DuckDB by itself refuses such a file for a checksum."""
    path.write_bytes(content)
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.IOException as error:
        return "computed checksum" in str(error)
    return False


@pytest.fixture(scope="module")
def left(blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Left:
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("left") / "w.duckdb"))
    with writing(path) as writer:
        load_texts(writer, [small_dump(number) for number in range(20)])
    before = path.read_bytes()
    with writing(path) as writer:
        load_texts(writer, [small_dump(number) for number in range(20, 40)])
        assert before == path.read_bytes()
        log = Path(f"{path}.wal").read_bytes()
        broken_off(writer.con)
    journal = journal_path(path).read_bytes()
    after = path.read_bytes()
    Path(f"{path}.wal").write_bytes(log)
    return Left(before, after, log, journal, contents(path))


@pytest.fixture
def refused(left: Left, tmp_path: Path) -> bytes:
    """A file that DuckDB by itself refuses."""
    chance = random.Random(20261122)
    torn = (left.torn(chance) for _ in range(20))
    return next(content for content in torn if is_refused(tmp_path / "alone.duckdb", content))


def test_a_checkpoint_overwrites_nothing_that_is_not_in_the_journal(left, tmp_path):
    """Whichever pages of it were written, what is put back is the file as the checkpoint before needs it."""
    chance = random.Random(20261123)
    for content in [left.before, left.after, *(left.torn(chance) for _ in range(2))]:
        path = left.lay(tmp_path / "w.duckdb", content)
        open_reader(path).con.close()
        assert left.rows == contents(path)
        assert not journal_path(path).exists()


def test_a_writer_finds_all_that_was_committed_and_its_checkpoint_takes_it(left, refused, tmp_path):
    path = left.lay(tmp_path / "w.duckdb", refused)
    with writing(path):
        pass
    assert left.rows == contents(path)
    assert {"alone.duckdb", "w.duckdb", "w.duckdb.lock"} == {file.name for file in tmp_path.iterdir()}


def test_without_a_log_it_is_what_was_before(left, refused, tmp_path):
    """DuckDB writes none for a large commit: the load is absent then, and the same command finishes the work."""
    path = tmp_path / "w.duckdb"
    path.write_bytes(left.before)
    before = contents(path)
    left.lay(path, refused)
    Path(f"{path}.wal").unlink()
    with writing(path):
        pass
    assert before == contents(path)


def test_damage_is_not_signed(left, tmp_path):
    """Of what is not in the journal every byte stays, and DuckDB refuses it as before."""
    content = bytearray(left.after)
    kept = {place for place in range(0, len(content), PAGE) if left.before[place : place + PAGE] in left.journal}
    with duckdb.connect(str(left.lay(tmp_path / "w.duckdb", left.before)), read_only=True) as con:
        blocks = con.execute("SELECT block_id FROM pragma_metadata_info() WHERE free_blocks = 0").fetchall()
    place = next(at for (block,) in blocks if (at := HEADER_BYTES + block * BLOCK_SIZE) not in kept)
    content[place + 5000] ^= 1
    path = left.lay(tmp_path / "w.duckdb", bytes(content))
    with pytest.raises(WarehouseError, match="computed checksum"):
        open_reader(path)
    assert content[place : place + BLOCK_SIZE] == path.read_bytes()[place : place + BLOCK_SIZE]


@pytest.mark.parametrize("fault", ["another header", "cut short", "a bit", "empty"])
def test_a_journal_of_something_else_changes_nothing(left, tmp_path, fault):
    """One behind whose header another stands by now, and one that is not whole: it goes, the file stays."""
    path = left.lay(tmp_path / "w.duckdb", left.after)
    journal = journal_path(path)
    if fault == "another header":
        with path.open("r+b") as file:
            file.seek(PAGE + 100)
            file.write(b"x")
    else:
        text = bytearray(left.journal)
        text[len(text) // 2] ^= 1
        journal.write_bytes({"cut short": left.journal[:-PAGE], "a bit": bytes(text), "empty": b""}[fault])
    content = path.read_bytes()
    assert roll_back(path)
    assert content == path.read_bytes()
    assert not journal.exists()


def test_a_file_that_another_process_has_open_is_left(left, refused, tmp_path):
    """A writer is told so: nobody writes to a file that is a checkpoint in part."""
    path = left.lay(tmp_path / "w.duckdb", left.before)
    reader = start(path, code=READER, stdin=subprocess.PIPE)
    try:
        assert "open\n" == reader.stdout.readline()
        assert not roll_back(path)
        with pytest.raises(WarehouseBusy, match="is open in another process"), writing(path):
            pass
    finally:
        kill_group(reader)
    assert journal_path(path).exists()
    assert roll_back(path, wait=60)


def test_a_reader_leaves_it_to_the_writer_who_is_there(left, refused, tmp_path):
    """As does one who may not write it: it is not damaged, and a copy is not wanted."""
    path = left.lay(tmp_path / "w.duckdb", refused)
    said = r"a writer of .* was killed in the middle of a checkpoint; .* restores it from"
    with writer_lock(path), pytest.raises(WarehouseError, match=said):
        open_reader(path)
    assert refused == path.read_bytes()


def test_a_connection_of_this_process_keeps_its_lock(left, tmp_path):
    path = left.lay(tmp_path / "w.duckdb", left.before)
    with closing(open_reader(path).con):
        journal_path(path).write_bytes(left.journal)  # to write the file itself here would take the lock away, too
        open_reader(path).con.close()
        assert "Could not set lock" in run(path, code=WRITER).err


def test_a_journal_is_not_written_through_a_link(left, tmp_path):
    """Whoever may write to the folder does not choose where this user writes."""
    path = tmp_path / "w.duckdb"
    path.write_bytes(left.before)
    (tmp_path / "other").write_text("mine")
    with writing(path) as writer:
        load_texts(writer, [small_dump(50)])
        journal_path(path).symlink_to(tmp_path / "other")
    assert "mine" == (tmp_path / "other").read_text()
    journal_path(path).unlink()
    assert 21 == len(contents(path)["dumps"])


def test_no_checkpoint_is_made_without_a_journal(left, tmp_path):
    """Neither by a statement that commits by itself, nor when the connection is closed."""
    path = tmp_path / "w.duckdb"
    path.write_bytes(left.before)
    with duckdb.connect(str(path)) as con:
        guard(con)
        con.execute("CREATE TABLE long AS SELECT hash(range) AS word FROM range(3_000_000)")
        con.execute("INSERT INTO long SELECT 1")
    assert left.before[:HEADER_BYTES] == path.read_bytes()[:HEADER_BYTES]
    with duckdb.connect(str(path), read_only=True) as con:
        assert (3_000_001,) == con.execute("SELECT COUNT(*) FROM long").fetchone()


@pytest.mark.parametrize("content", [b"", b"no database", bytes(20_000)], ids=["empty", "text", "zeros"])
def test_what_is_no_database_is_left(left, tmp_path, content):
    path = left.lay(tmp_path / "w.duckdb", content)
    assert 0 == put_back(path, journal_path(path))
    assert content == path.read_bytes()
    assert roll_back(tmp_path / "absent.duckdb")


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_log_and_journal_are_for_those_whom_the_file_is_for(mode, blank_warehouse, tmp_path):
    """What is committed lies in the log for a while, and behind a killed writer for long; nothing is left behind."""
    path = Path(shutil.copy(blank_warehouse, tmp_path / "w.duckdb"))
    path.chmod(mode)

    def modes() -> dict[str, str]:
        return {file.suffix: oct(file.stat().st_mode & 0o777) for file in sorted(tmp_path.glob("w.duckdb*"))}

    with writing(path) as writer:
        lock = {".lock": modes()[".lock"]}
        assert {".duckdb": oct(mode), ".wal": oct(mode)} | lock == modes()
        load_texts(writer, [small_dump(1)])
        writer.publish()
        load_texts(writer, [small_dump(2)])
        assert 0 < path.with_name("w.duckdb.wal").stat().st_size
        assert {".duckdb": oct(mode), ".wal": oct(mode)} | lock == modes()
        broken_off(writer.con)
        assert {".duckdb": oct(mode), ".wal": oct(mode), ".journal": oct(mode)} | lock == modes()
    with writing(path):
        pass
    assert {".duckdb": oct(mode)} | lock == modes()
