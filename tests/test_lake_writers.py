"""Many writers on one lake, in a real PostgreSQL and a real S3 server: the same rows as one writer of a file leaves."""

import duckdb
import pytest

from bufferhouse.verify import chosen_dumps, verify
from bufferhouse.warehouse import reading

pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

from bufferhouse.lake.address import LakeAddress, address_of
from bufferhouse.lake.opening import NAME, open_lake
from tests.lake_writers import (
    Reader,
    Writer,
    assert_every_snapshot_whole,
    assert_same,
    assert_whole,
    files_of,
    make_empty,
    tables_of,
    wait_for_loads,
)

pytest_plugins = ["tests.lake_servers"]
BATCH_DUMPS = 24


@pytest.fixture
def lake(postgres, bucket, tmp_path, monkeypatch) -> LakeAddress:
    """A lake without rows."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", str(BATCH_DUMPS))
    monkeypatch.setenv("HOME", str(tmp_path))
    address = address_of(f"ducklake:postgres:{postgres.connection_string}").with_data_path("s3://lake/fleet")
    make_empty(address)
    return address


@pytest.fixture(scope="module")
def rows_of_a_file(example_warehouse) -> dict[str, list[tuple]]:
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        return tables_of(con)


def assert_proved(address: LakeAddress, expected: dict[str, list[tuple]]) -> None:
    """The lake has the rows that are expected, no dump twice, and proves every one of them."""
    with reading(address) as (con, _):
        assert_whole(con)
        assert [] == con.execute("SELECT dump_id FROM raw.dumps GROUP BY dump_id HAVING COUNT(*) > 1").fetchall()
        assert_same(expected, tables_of(con))
        assert [] == verify(con, chosen_dumps(con))
    assert_every_snapshot_whole(address)


def test_four_writers_of_overlapping_sources(lake, fleet, bucket, rows_of_a_file):
    """Four processes that ingest overlapping sources, while every tenth request is refused, leave what one does."""
    runs = sorted(path for path in fleet.iterdir() if path.is_dir())
    bucket.fail_every(10)
    sources = [[fleet], [fleet], runs[: len(runs) // 2 + 2], runs[len(runs) // 2 - 2 :][::-1]]
    writers = [Writer(paths, lake).start() for paths in sources]
    reader = Reader(lake)
    while any(writer.process.poll() is None for writer in writers):
        reader.look()
    summaries = [writer.end() for writer in writers]
    bucket.fail_every(0)
    assert sorted(reader.seen) == reader.seen
    assert len(rows_of_a_file["dumps"]) == sum(summary["new"] for summary in summaries)
    assert [summary["seen"] for summary in summaries] == [summary["new"] + summary["known"] for summary in summaries]
    assert_proved(lake, rows_of_a_file)
    print(summaries, reader.seen)


def test_writers_among_faults(lake, postgres, fleet, bucket, rows_of_a_file):
    """Two of four are killed, PostgreSQL crashes, the bucket refuses every tenth request: the same rows in the end."""
    bucket.fail_every(10)
    runs = sorted(path for path in fleet.iterdir() if path.is_dir())
    sources = [[fleet], [fleet], runs, runs[::-1]]
    writers = [Writer(paths, lake).start() for paths in sources]
    wait_for_loads(lake, 1)
    assert [True, True] == [writer.kill() for writer in writers[::2]]
    postgres.kill()
    postgres.start()
    summaries = [writer.end() for writer in writers[1::2]]
    summaries += [writer.start().end() for writer in writers[::2]]
    bucket.fail_every(0)
    assert_proved(lake, rows_of_a_file)
    print(summaries)
    before = bucket.names("fleet/")
    with open_lake(lake, read_only=False) as con:
        needed = files_of(con)
        con.execute(f"CALL ducklake_delete_orphaned_files('{NAME}', cleanup_all => true)")
        assert needed <= before
        assert needed == bucket.names("fleet/")
    with reading(lake) as (con, _):
        assert_same(rows_of_a_file, tables_of(con))
    print(len(before), len(needed))
