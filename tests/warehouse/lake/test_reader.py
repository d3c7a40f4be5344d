"""Who reads a lake can only read: its files, its catalog in PostgreSQL, its bucket; and keeps the password."""

import hashlib
import os
import re
from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.connection import LAKE
from bufferhouse.errors import UsageError
from bufferhouse.query.door import door
from bufferhouse.warehouse.lake.address import ROOT, address_of
from bufferhouse.warehouse.lake.files import LakeFiles, _Object
from bufferhouse.warehouse.lake.reader import bound_password, reading_address
from bufferhouse.warehouse.read import reading
from tests.command_line import CHECKOUT, call, run
from tests.servers.lake_servers import KEYS
from tests.warehouse.lake.lakes import lake_in, needs_lake

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = needs_lake


@pytest.fixture(scope="module")
def lake(fleet, tmp_path_factory):
    """A lake in a folder with one dump."""
    address = lake_in(tmp_path_factory.mktemp("lake"))
    assert 0 == call("ingest", next((fleet / "seeds").glob("000*")), "--warehouse", address).code
    return address


def hashes(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


def test_a_data_file_is_not_written_over(lake):
    """Neither by the statement that once destroyed a lake, nor where it is not judged at all."""
    folder = Path(lake.catalog).parent
    before = hashes(folder)
    data = next(folder.rglob("*.parquet"))
    name = data.relative_to(f"{lake.catalog}.files")
    copies = [f"COPY (SELECT 1) TO '{place}'" for place in (data, ROOT + str(name), f"{ROOT}new.csv", f"file://{data}")]
    for sql in [*copies, *(f"EXPLAIN ANALYZE {copy}" for copy in copies)]:
        outcome = call("query", sql, "--warehouse", lake)
        assert (2, "") == (outcome.code, outcome.out)
        with reading(lake) as (con, _), door(con), pytest.raises((duckdb.Error, PermissionError)):
            con.execute(sql)
    assert before == hashes(folder)
    assert 0 == call("query", "SELECT COUNT(*) FROM raw.uses", "--warehouse", lake).code


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
    with _Object(store, "x", len(data)) as read:
        read.seek(-10, os.SEEK_END)
        assert (data[-10:], b"") == (read.read(100), read.read(1))
        read.seek(5)
        assert data[5:] == read.read()


def test_readers_of_postgres_only_read(postgres, bucket, fleet, monkeypatch):
    """The session cannot write, whatever is executed in it; neither password nor key is in reach of a statement.

    A role with the grants of docs/lake.md, and no more, reads; it cannot ingest.
    """
    where = postgres.make_database()
    address = address_of(f"ducklake:postgres:{where}")
    seed = next((fleet / "seeds").glob("000*"))
    assert 0 == call("ingest", seed, "--warehouse", address, "--data-path", "s3://lake/readers").code
    names = bucket.names("readers/")
    with bound_password(address), reading(address) as (con, _):
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
    outcome = run("query", "SELECT COUNT(*) AS n FROM raw.dumps", "--warehouse", reader, "--format", "csv")
    assert (0, "n\n1\n", "") == (outcome.code, outcome.out, outcome.err)
    assert 0 != run("ingest", seed, "--warehouse", reader, "--run-name", "again").code


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
    with reading(lake) as (con, _), door(con) as opened:
        for sql in (f"FROM __ducklake_metadata_{LAKE}.ducklake_metadata", f"FROM ducklake_options('{LAKE}')"):
            with pytest.raises(UsageError, match="query only reads"):
                opened.ask(sql)
