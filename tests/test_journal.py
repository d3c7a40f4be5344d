"""A write of DuckDB's checkpoint that a kill cut short: the warehouse opens, with all that was committed."""

import shutil
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from bufferhouse.errors import WarehouseError
from bufferhouse.lock import WriterLock
from bufferhouse.journal import checkpoint, guard, journal_path, put_back, roll_back
from bufferhouse.reading import open_reader
from bufferhouse.warehouse import BLOCK_SIZE, Warehouse
from tests.commands import kill_group, run, start
from tests.lakes import answer, lake_in, needs_lake
from tests.synthetic import small_dump
from tests.warehouses import contents, load_texts

pytestmark = pytest.mark.slow

PAGE = 4096
KILLED = "process 1 on some-host\n"
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
    """A file with a load in its log, before the checkpoint that takes it; what the file is when that was cut short."""

    content: bytes
    log: bytes
    cut: list[bytes]
    room: dict[int, int]  # free pieces by block of metadata
    rows: dict[str, list[tuple]]

    def lay(self, path: Path, content: bytes) -> Path:
        """Leave a warehouse at `path` as its killed writer would."""
        path.write_bytes(content)
        Path(f"{path}.wal").write_bytes(self.log)
        Path(f"{path}.lock").write_text(KILLED)
        return path


def place(block: int, size: int = BLOCK_SIZE) -> slice:
    begin = 3 * PAGE + block * size
    return slice(begin, begin + size)


def room_of(path: Path) -> dict[int, int]:
    """The free pieces of each block of metadata, as they are without the log."""
    alone = Path(shutil.copy(path, path.with_name("alone.duckdb")))
    with duckdb.connect(str(alone), read_only=True) as con:
        return dict(con.execute("SELECT block_id, free_blocks FROM pragma_metadata_info()").fetchall())


def cut_short(path: Path, size: int = BLOCK_SIZE) -> list[bytes]:
    """The file with a write of its checkpoint cut short: of each block written in place, a page or all but one."""
    after = Path(shutil.copy(path, path.with_name("after.duckdb")))
    shutil.copy(f"{path}.wal", f"{after}.wal")
    duckdb.connect(str(after), config={"threads": 1}).close()
    old, new = path.read_bytes(), after.read_bytes()
    bounds = [place(block, size) for block in room_of(path)]
    stops = [(b.start, b.start + n) for b in bounds if old[b] != new[b] for n in (PAGE, size - PAGE)]
    return [old[:begin] + new[begin:stop] + old[stop:] for begin, stop in stops]


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
    with Warehouse(path) as writer:
        load_texts(writer, [small_dump(number) for number in range(20)])
    with Warehouse(path) as writer:
        writer.con.execute("PRAGMA disable_checkpoint_on_shutdown")
        load_texts(writer, [small_dump(number) for number in range(20, 40)])
    log = Path(f"{path}.wal").read_bytes()
    return Left(path.read_bytes(), log, cut_short(path), room_of(path), contents(path))


@pytest.fixture
def refused(left: Left, tmp_path: Path) -> bytes:
    """One of the files that DuckDB by itself refuses."""
    return next(content for content in left.cut if is_refused(tmp_path / "alone.duckdb", content))


def test_a_reader_finds_all_that_was_committed(left, refused, tmp_path):
    assert refused in left.cut
    for content in left.cut:
        path = left.lay(tmp_path / "w.duckdb", content)
        open_reader(path)[0].close()
        assert left.rows == contents(path)
        assert "" == Path(f"{path}.lock").read_text()


@pytest.mark.parametrize("has_name", [True, False], ids=["named", "not named"])
def test_a_writer_finds_all_that_was_committed_and_its_checkpoint_takes_it(left, refused, tmp_path, has_name):
    """Also where the name of the killed one is not in the lock any more."""
    path = left.lay(tmp_path / "w.duckdb", refused)
    if not has_name:
        Path(f"{path}.lock").unlink()
    with Warehouse(path):
        pass
    assert left.rows == contents(path)
    assert not Path(f"{path}.wal").exists()


def test_pages_of_both_writes_in_another_order(left, tmp_path):
    """As a power cut leaves them: the first page of the block, with its checksum, is the old one, the last one too."""
    for content in left.cut[1::2]:
        page = next(n for n in range(0, len(content), PAGE) if left.content[n : n + PAGE] != content[n : n + PAGE])
        mixed = content[:page] + left.content[page : page + PAGE] + content[page + PAGE :]
        path = left.lay(tmp_path / "w.duckdb", mixed)
        open_reader(path)[0].close()
        assert left.rows == contents(path)


def test_a_write_cut_short_without_a_log_is_mended_to_what_was_before(left, tmp_path):
    """DuckDB writes none for a large commit: the load is absent then, and the same command finishes the work."""
    path = tmp_path / "w.duckdb"
    path.write_bytes(left.content)
    before = contents(path)
    for content in left.cut[::2]:
        left.lay(path, content)
        Path(f"{path}.wal").unlink()
        with Warehouse(path):
            pass
        assert before == contents(path)


def test_a_block_without_room_is_never_mended(left, tmp_path):
    """It is written once, so a wrong checksum is damage: it is reported, and left as it is."""
    content = bytearray(left.content)
    full = next(block for block, room in left.room.items() if not room)
    content[place(full).start + 5000] ^= 1
    path = left.lay(tmp_path / "w.duckdb", bytes(content))
    assert [] == mend_here(path)
    with pytest.raises(WarehouseError, match="computed checksum"):
        open_reader(path)
    assert content == path.read_bytes()


def test_a_file_that_another_process_has_open_is_left(left, tmp_path):
    path = left.lay(tmp_path / "w.duckdb", left.content)
    reader = start(path, code=READER, stdin=subprocess.PIPE)
    try:
        assert "open\n" == reader.stdout.readline()
        with pytest.raises(BlockingIOError):
            mend_here(path)
    finally:
        kill_group(reader)


def test_a_reader_leaves_it_to_the_writer_who_is_there(left, refused, tmp_path):
    path = left.lay(tmp_path / "w.duckdb", refused)
    with WriterLock(path), pytest.raises(WarehouseError, match="computed checksum"):
        open_reader(path)
    assert refused == path.read_bytes()


def test_a_connection_of_this_process_keeps_its_lock(left, tmp_path):
    path = left.lay(tmp_path / "w.duckdb", left.content)
    with closing(open_reader(path)[0]):
        Path(f"{path}.lock").write_text(KILLED)  # to write the file itself here would take the lock away, too
        open_reader(path)[0].close()
        assert "" == Path(f"{path}.lock").read_text()
        assert "Could not set lock" in run(path, code=WRITER).err


@needs_lake
def test_the_catalog_of_a_lake_that_is_a_file(tmp_path):
    address = lake_in(tmp_path)
    with Warehouse(address) as writer:
        load_texts(writer, [small_dump(1)])
    expected = answer(address, "FROM raw.dumps")
    catalog = Path(address.catalog)
    with duckdb.connect(str(catalog)) as con:
        con.execute("PRAGMA disable_checkpoint_on_shutdown")
        con.execute("CREATE TABLE left_behind AS FROM range(10)")
    log = Path(f"{catalog}.wal").read_bytes()
    alone = tmp_path / "alone.duckdb"
    refused = next(content for content in cut_short(catalog, size=262_144) if is_refused(alone, content))
    catalog.write_bytes(refused)
    Path(f"{catalog}.wal").write_bytes(log)
    assert expected == answer(address, "FROM raw.dumps")


@pytest.mark.parametrize("content", [b"", b"no database", bytes(20_000)], ids=["empty", "text", "zeros"])
def test_what_is_no_database_is_left(tmp_path, content):
    path = tmp_path / "w.duckdb"
    path.write_bytes(content)
    mend(path)
    assert content == path.read_bytes()
    mend(tmp_path / "absent.duckdb")
    assert [path] == list(tmp_path.iterdir())
