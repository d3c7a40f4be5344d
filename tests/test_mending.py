"""A write of DuckDB's checkpoint that a kill cut short: the warehouse opens, with all that was committed."""

import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from bufferhouse.errors import WarehouseError
from bufferhouse.lock import WriterLock
from bufferhouse.mending import mend, mend_here
from bufferhouse.warehouse import BLOCK_SIZE, Warehouse, open_reader
from tests.commands import kill_group, run, start
from tests.lakes import answer, lake_in, needs_lake
from tests.synthetic import small_dump
from tests.warehouses import contents, load_texts

PAGE = 4096
LEFT = "process 1 on some-host\n"
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


def place(block: int, size: int = BLOCK_SIZE) -> slice:
    begin = 3 * PAGE + block * size
    return slice(begin, begin + size)


def metadata(path: Path) -> dict[int, int]:
    """The blocks of metadata with the number of their free pieces; the log beside the file takes no part."""
    alone = Path(shutil.copy(path, path.with_name("alone.duckdb")))
    with duckdb.connect(str(alone), read_only=True) as con:
        return dict(con.execute("SELECT block_id, free_blocks FROM pragma_metadata_info()").fetchall())


def lay(path: Path, content: bytes, log: bytes) -> None:
    """Leave a warehouse as its killed writer left it."""
    path.write_bytes(content)
    Path(f"{path}.wal").write_bytes(log)
    Path(f"{path}.lock").write_text(LEFT)


@pytest.fixture
def committed(warehouse: Path) -> Path:
    """A warehouse with a load in its log, before the checkpoint that takes it into the file."""
    with Warehouse(warehouse) as writer:
        load_texts(writer, [small_dump(number) for number in range(20)])
    with Warehouse(warehouse) as writer:
        writer.con.execute("PRAGMA disable_checkpoint_on_shutdown")
        load_texts(writer, [small_dump(number) for number in range(20, 40)])
    return warehouse


def cut_short(path: Path, size: int = BLOCK_SIZE) -> list[bytes]:
    """The file with a write of the checkpoint cut short: of each block it writes in place, a page or all but one."""
    after = Path(shutil.copy(path, path.with_name("after.duckdb")))
    shutil.copy(f"{path}.wal", f"{after}.wal")
    duckdb.connect(str(after), config={"threads": 1}).close()
    old, new = path.read_bytes(), after.read_bytes()
    states = []
    for block, room in metadata(path).items():
        bounds = place(block, size)
        if old[bounds] == new[bounds]:
            continue
        assert room
        for written in (PAGE, size - PAGE):
            stop = bounds.start + written
            states.append(old[: bounds.start] + new[bounds.start : stop] + old[stop:])
    assert states
    return states


@pytest.fixture
def cut(committed: Path) -> list[bytes]:
    return cut_short(committed)


def opened(path: Path, content: bytes) -> bool:
    """Whether DuckDB by itself opens such a file."""
    path.write_bytes(content)
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.IOException as error:
        return "computed checksum" not in str(error)
    return True


def test_a_reader_finds_all_that_was_committed(committed, cut, tmp_path):
    log, expected = Path(f"{committed}.wal").read_bytes(), contents(committed)
    path = tmp_path / "w.duckdb"
    refused = 0
    for state in cut:
        refused += not opened(path, state)
        lay(path, state, log)
        open_reader(path)[0].close()
        assert expected == contents(path)
        assert "" == Path(f"{path}.lock").read_text()
    assert refused


def test_a_writer_finds_all_that_was_committed_and_its_checkpoint_takes_it(committed, cut, tmp_path):
    log, expected = Path(f"{committed}.wal").read_bytes(), contents(committed)
    path = tmp_path / "w.duckdb"
    lay(path, cut[0], log)
    with Warehouse(path):
        pass
    assert expected == contents(path)
    assert not Path(f"{path}.wal").exists()


def test_after_a_power_cut_the_log_alone_tells_the_writer(committed, cut, tmp_path):
    """What stood in the lock was on no disk yet."""
    log, expected = Path(f"{committed}.wal").read_bytes(), contents(committed)
    path = tmp_path / "w.duckdb"
    lay(path, cut[0], log)
    Path(f"{path}.lock").unlink()
    with Warehouse(path):
        pass
    assert expected == contents(path)


def test_pieces_of_both_writes_in_any_order_of_pages(committed, cut, tmp_path):
    """As a power cut leaves them: the first page of the block, with its checksum, is the old one, the last one too."""
    log, expected, old = Path(f"{committed}.wal").read_bytes(), contents(committed), committed.read_bytes()
    path = tmp_path / "w.duckdb"
    for state in cut[1::2]:
        page = next(page for page in range(0, len(old), PAGE) if old[page : page + PAGE] != state[page : page + PAGE])
        lay(path, state[:page] + old[page : page + PAGE] + state[page + PAGE :], log)
        open_reader(path)[0].close()
        assert expected == contents(path)


def test_a_block_without_room_is_never_mended(committed, tmp_path):
    """It is written once, so a wrong checksum is damage: it is reported, and left as it is."""
    content = bytearray(committed.read_bytes())
    full = next(block for block, room in metadata(committed).items() if not room)
    content[place(full).start + 5000] ^= 1
    path = tmp_path / "w.duckdb"
    lay(path, bytes(content), b"")
    assert [] == mend_here(path)
    with pytest.raises(WarehouseError, match="computed checksum"):
        open_reader(path)
    assert content == path.read_bytes()


def test_a_file_that_another_process_has_open_is_left(committed, cut, tmp_path):
    path = tmp_path / "w.duckdb"
    reader = start(committed, code=READER, stdin=subprocess.PIPE)
    try:
        assert "open\n" == reader.stdout.readline()
        with pytest.raises(BlockingIOError):
            mend_here(committed)
    finally:
        kill_group(reader)
    broken = next(state for state in cut if not opened(path, state))
    lay(path, broken, b"")
    with WriterLock(path), pytest.raises(WarehouseError, match="computed checksum"):
        open_reader(path)
    assert broken == path.read_bytes()


def test_a_reader_in_this_process_keeps_its_lock(committed):
    with closing(open_reader(committed)[0]):
        Path(f"{committed}.lock").write_text(LEFT)
        open_reader(committed)[0].close()
        outcome = run(committed, code=WRITER)
        assert "Could not set lock" in outcome.err


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
    refused = 0
    for state in cut_short(catalog, size=262_144):
        refused += not opened(tmp_path / "alone.duckdb", state)
        catalog.write_bytes(state)
        Path(f"{catalog}.wal").write_bytes(log)
        assert expected == answer(address, "FROM raw.dumps")
    assert refused


@pytest.mark.parametrize("content", [b"", b"no database", bytes(20_000)], ids=["empty", "text", "zeros"])
def test_what_is_no_database_is_left(tmp_path, content):
    path = tmp_path / "w.duckdb"
    path.write_bytes(content)
    mend(path)
    assert content == path.read_bytes()
    mend(tmp_path / "absent.duckdb")
    assert [path] == list(tmp_path.iterdir())
