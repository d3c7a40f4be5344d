"""Who reads a lake can only read: its files, its catalog in PostgreSQL, its bucket; and keeps the password."""

import hashlib
import os
import re
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine import faults
from bufferhouse.errors import UsageError, WarehouseBusy
from bufferhouse.query.door import door
from bufferhouse.query.notebooks import export_parquet
from bufferhouse.warehouse.address import ROOT, address_of
from bufferhouse.warehouse.lake.attach import LAKE
from bufferhouse.warehouse.lake.files import LakeFiles, _object
from bufferhouse.warehouse.lake.reader import bound_password, reading_address
from bufferhouse.warehouse.open import exists, reading, writing
from tests.command_line import CHECKOUT, call, run
from tests.servers.lake_servers import KEYS
from tests.warehouse.lake.lakes import asked, copied_to_bucket, moved, needs_lake
from tests.warehouses import load_texts

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = needs_lake


@pytest.fixture(scope="module")
def lake(blank_lake, fleet, tmp_path_factory):
    """A lake in a folder with one dump."""
    address = moved(blank_lake, tmp_path_factory.mktemp("lake") / "one")
    with writing(address) as warehouse:
        load_texts(warehouse, [seed(fleet).read_bytes()])
        warehouse.con.execute(f"CALL ducklake_flush_inlined_data('{LAKE}')")  # few rows lie in the catalog
    return address


def seed(fleet: Path) -> Path:
    """A dump."""
    return next((fleet / "seeds").glob("000*"))


def hashes(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


def test_a_second_plan_asks_the_catalog_for_no_sizes(lake):
    """Of a table without rows, neither: a query of a mart names such tables hundreds of times."""
    question = "EXPLAIN FROM marts.observations_v2"
    with asked(lake) as con:
        con.execute(question)
        con.execute("CALL enable_logging('QueryLog')")
        con.execute(question)
        con.execute("CALL disable_logging()")
        said = [message for (message,) in con.execute("SELECT message FROM duckdb_logs").fetchall()]
    assert question in said
    assert [] == [message for message in said if "ducklake_table_stats" in message]


def test_a_reader_of_a_lake_loads_no_frames(lake):
    """Polars takes a third of the time in which a lake is opened."""
    code = (
        "import sys\n"
        "from bufferhouse.warehouse.open import reading\n"
        f"with reading({str(lake)!r}):\n"
        "    print('polars' in sys.modules)\n"
    )
    assert "False\n" == run(code=code).out


def test_a_data_file_is_not_written_over(lake):
    """Neither by the statement that once destroyed a lake, nor where it is not judged at all."""
    folder = Path(lake.catalog).parent
    before = hashes(folder)
    data = next(folder.rglob("*.parquet"))
    name = data.relative_to(f"{lake.catalog}.files")
    copies = [f"COPY (SELECT 1) TO '{place}'" for place in (data, ROOT + str(name), f"{ROOT}new.csv", f"file://{data}")]
    outcome = call("query", f"EXPLAIN ANALYZE {copies[0]}", "--warehouse", lake)
    assert (2, "") == (outcome.code, outcome.out)
    with reading(lake) as reader, door(reader.con) as opened:
        for sql in [*copies, *(f"EXPLAIN ANALYZE {copy}" for copy in copies)]:
            with pytest.raises(UsageError):
                opened.ask(sql)
            with pytest.raises((duckdb.Error, PermissionError)):
                reader.con.execute(sql)
        assert 0 < opened.ask("SELECT COUNT(*) FROM raw.uses").rows[0][0]
    assert before == hashes(folder)


def test_files_of_a_lake_are_read_by_their_names_alone(tmp_path):
    """Nothing is written, removed or listed, and nothing beside the data path is there."""
    (tmp_path / "beside").write_text("x")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_bytes(b"0123456789")
    files = LakeFiles()
    with pytest.raises(PermissionError):
        files.open(f"{ROOT}file")
    files.show(f"{tmp_path / 'data'}/")
    with files.open(f"{ROOT}file") as file:
        assert (b"23", b"89", b"") == (file.seek(2) and file.read(2), file.seek(8) and file.read(5), file.read())
    for mode in ("wb", "ab", "r+b", "xb"):
        with pytest.raises(PermissionError):
            files.open(f"{ROOT}file", mode)
    for path in ("../beside", f"{tmp_path}/beside", "/etc/hostname", "s3://lake/x", "a/../../beside"):
        with pytest.raises(PermissionError):
            files.open(ROOT + path)
    for act in (lambda: files.rm_file(f"{ROOT}file"), lambda: files.mv(f"{ROOT}file", f"{ROOT}other")):
        with pytest.raises((NotImplementedError, PermissionError)):
            act()
    assert ["file"] == os.listdir(tmp_path / "data")


def test_a_large_object_is_read_by_ranges():
    """As DuckDB asks for them, over the end of it, too."""
    import obstore
    from obstore.store import MemoryStore

    store, data = MemoryStore(), os.urandom(100_000)
    obstore.put(store, "x", data)
    with _object(store, "x", len(data), "x") as read:
        read.seek(-10, os.SEEK_END)
        assert (data[-10:], b"") == (read.read(100), read.read(1))
        read.seek(5)
        assert data[5:] == read.read()


def test_readers_of_postgres_only_read(postgres, bucket, small_lake_to_copy, fleet):
    """The session cannot write, whatever is executed in it; neither password nor key is in reach of a statement.

    A role with the grants of docs/lake.md, and no more, reads; it cannot ingest.
    """
    address = copied_to_bucket(postgres, bucket, small_lake_to_copy, "readers")
    where = address.connection_string
    with writing(address, build_models=False) as warehouse:
        load_texts(warehouse, [seed(fleet).read_bytes()])
    names = bucket.names("readers/")
    with bound_password(address), reading(address) as reader:
        con = reader.con
        assert "PGPASSWORD" not in os.environ
        con.execute("SET threads = 4")
        assert [(1,)] == con.execute("SELECT COUNT(*) FROM raw.dumps").fetchall()  # in sessions begun by now
        for sql in ("CREATE TABLE made (i INT)", "DELETE FROM ducklake_metadata", "DROP TABLE ducklake_tag"):
            with pytest.raises(duckdb.Error):
                con.execute(f"CALL postgres_execute('__ducklake_metadata_{LAKE}', '{sql}')")
        for place in ("s3://lake/readers/x.csv", f"{ROOT}x.csv"):
            with pytest.raises((duckdb.Error, PermissionError)):
                con.execute(f"COPY (SELECT 1) TO '{place}'")
        found = con.execute("FROM duckdb_secrets()").fetchall()
        assert [] == found
    assert KEYS["AWS_ACCESS_KEY_ID"] == os.environ["AWS_ACCESS_KEY_ID"]
    assert postgres.password == os.environ["PGPASSWORD"]
    assert names == bucket.names("readers/")

    import psycopg

    block = re.search(r"    CREATE ROLE reader.*?\n\n", (CHECKOUT / "docs" / "lake.md").read_text(), re.DOTALL)[0]
    database = where.rpartition("=")[2]
    with psycopg.connect(where, autocommit=True) as con:
        con.execute(block.replace("DATABASE lake", f"DATABASE {database}").replace("ROLE bufferhouse", "ROLE prefect"))
        con.execute(f"ALTER ROLE reader PASSWORD '{postgres.password}'")
    reader = f"ducklake:postgres:{where.replace('user=prefect', 'user=reader')}"
    outcome = call("query", "SELECT COUNT(*) AS n FROM raw.dumps", "--warehouse", reader, "--format", "csv")
    assert (0, "n\n1\n", "") == (outcome.code, outcome.out, outcome.err)
    refused = call("ingest", seed(fleet), "--warehouse", reader, "--run", "again")
    expected = (
        "bufferhouse: expected a role that may write to the catalog of the lake, found: permission denied for schema "
        "bufferhouse; connect as the role that ingests, whose tables these are (docs/lake.md)\n"
    )
    assert (2, "", expected) == (refused.code, refused.out, refused.err)


def test_a_lake_whose_bucket_has_no_keys_is_there_all_the_same(bucket, fleet, tmp_path, monkeypatch):
    """The keys are asked for; nobody is told to make a lake, and none is begun beside it."""
    address = address_of(f"ducklake:{tmp_path}/lake.ducklake")
    with writing(address.with_data_path("s3://lake/keyless"), build_models=False):
        pass
    for name in KEYS:
        monkeypatch.delenv(name)
    expected = "s3://lake/keyless/: expected keys"
    with pytest.raises(UsageError, match=expected):
        exists(address)
    for words in (["ingest", seed(fleet)], ["query", "FROM raw.dumps"]):
        refused = call(*words, "--warehouse", address)
        assert (2, True) == (refused.code, expected in refused.err), refused.err
    assert ["lake.ducklake"] == [path.name for path in tmp_path.iterdir()]


def test_a_snapshot_that_is_removed_while_it_is_read(shared_lake, fleet, tmp_path):
    """Tables, statements and files of an export alike: nothing is wrong with the statement, and trying again helps."""
    dumps = sorted((fleet / "seeds").glob("0*"))
    with writing(shared_lake, build_models=False) as warehouse:
        load_texts(warehouse, [dumps[0].read_bytes()])
    readers = {
        "a table": lambda con: con.execute("SELECT COUNT(*) FROM raw.dumps").fetchall(),
        "a statement": lambda con: door_answer(con, "SELECT COUNT(*) FROM raw.dumps"),
        "an export": lambda con: export_parquet(con, tmp_path),
    }
    stacks = {what: ExitStack() for what in readers}
    opened = {what: stack.enter_context(reading(shared_lake)) for what, stack in stacks.items()}
    with writing(shared_lake, build_models=False) as warehouse:
        load_texts(warehouse, [dumps[1].read_bytes()])
        warehouse.compact(keep_seconds=0)
    for what, read in readers.items():
        with pytest.raises(WarehouseBusy) as caught, stacks[what]:
            read(opened[what].con)
        assert faults.is_expired(caught.value.__cause__), what
        assert "it was compacted meanwhile; run the same command again" in str(caught.value), what


def door_answer(con: duckdb.DuckDBPyConnection, sql: str) -> list:
    """What a user's statement answers."""
    with door(con) as opened:
        return opened.ask(sql).rows


def test_the_session_is_one_that_only_reads(monkeypatch):
    """Options of the user's own stay, wherever they stand."""
    monkeypatch.setenv("PGOPTIONS", "-c geqo=off")
    for text, expected in {
        "dbname=x": "-c geqo=off -c default_transaction_read_only=on",
        "dbname=x options='-c a=b'": "-c a=b -c default_transaction_read_only=on",
        "postgresql://u@h/x": "-c geqo=off -c default_transaction_read_only=on",
    }.items():
        assert f"options='{expected}'" in reading_address(address_of(f"ducklake:postgres:{text}"))


def test_the_catalog_is_no_table_of_the_warehouse(lake):
    """What DuckLake knows is behind functions and names that are not asked."""
    with reading(lake) as reader, door(reader.con) as opened:
        for sql in (f"FROM __ducklake_metadata_{LAKE}.ducklake_metadata", f"FROM ducklake_options('{LAKE}')"):
            with pytest.raises(UsageError, match="query only reads"):
                opened.ask(sql)
