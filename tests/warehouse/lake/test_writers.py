"""Many writers on one lake, in a real PostgreSQL and a real S3 server: the same rows as one writer of a file leaves."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.warehouse.open import reading
from bufferhouse.warehouse.verify import chosen_dumps, verify

pytest.importorskip("psycopg", reason="the extra `lake` is not installed")
pytest.importorskip("duckdb_extension_ducklake", reason="the extra `lake` is not installed")

from bufferhouse.warehouse.address import LakeAddress, address_of
from bufferhouse.warehouse.lake.attach import open_lake
from bufferhouse.warehouse.lake.compact import compact
from tests.samples import unpack
from tests.warehouse.lake.writers import (
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

pytest_plugins = ["tests.servers.lake_servers"]

Rows = dict[str, list[tuple]]


@pytest.fixture
def lake(postgres, bucket, tmp_path, monkeypatch) -> LakeAddress:
    """A lake without rows, whose writers load about 24 dumps at a time."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "24")
    monkeypatch.setenv("HOME", str(tmp_path))
    catalog = postgres.make_database()
    address = address_of(f"ducklake:postgres:{catalog}").with_data_path(f"s3://lake/{catalog.rpartition('=')[2]}")
    make_empty(address)
    return address


@pytest.fixture(scope="module")
def rows_of_a_file(example_warehouse) -> Rows:
    """What one process that ingests the example fleet into a file leaves there."""
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        return tables_of(con)


@pytest.fixture(scope="module")
def history(corpus, tmp_path_factory) -> Path:
    """The directory of a real fleet: 14,603 dumps of 40 runs."""
    directory = tmp_path_factory.mktemp("history")
    unpack(corpus / "fleet" / "gpu-sm80-history.tar.gz", directory)
    return directory / "gpu-sm80-history"


@pytest.fixture(scope="module")
def rows_of_history(history, tmp_path_factory) -> Rows:
    """What one process that ingests it into a file leaves there."""
    path = tmp_path_factory.mktemp("file") / "history.duckdb"
    run_ingest([str(history)], path)
    with duckdb.connect(str(path), read_only=True) as con:
        return tables_of(con)


def overlapping(directory: Path) -> list[Sequence[Path]]:
    """Sources of four writers: all, all, more than the first half of the runs, more than the second half backwards."""
    runs = sorted(path for path in directory.iterdir() if path.is_dir())
    middle = len(runs) // 2
    return [[directory], [directory], runs[: middle + 2], runs[middle - 2 :][::-1]]


def assert_proved(lake: LakeAddress, expected: Rows) -> None:
    """The lake has the rows that are expected, no dump twice, and proves every one of them, in all its snapshots."""
    with reading(lake) as opened:
        con = opened.con
        assert_whole(con)
        assert [] == con.execute("SELECT dump_id FROM raw.dumps GROUP BY dump_id HAVING COUNT(*) > 1").fetchall()
        assert_same(expected, tables_of(con))
        assert [] == verify(con, chosen_dumps(con))
    assert_every_snapshot_whole(lake)


def ingested_by_four(lake: LakeAddress, directory: Path, expected: Rows) -> None:
    """Ingest with four processes at once, and look at what readers see meanwhile."""
    writers = [Writer(sources, lake).start() for sources in overlapping(directory)]
    reader = Reader(lake)
    while any(writer.process.poll() is None for writer in writers):
        reader.look()
    summaries = [writer.end() for writer in writers]
    assert sorted(reader.seen) == reader.seen
    assert len(expected["dumps"]) == sum(summary["new"] for summary in summaries)
    assert [summary["seen"] for summary in summaries] == [summary["new"] + summary["known"] for summary in summaries]
    assert_proved(lake, expected)


def ingested_among_faults(lake: LakeAddress, directory: Path, expected: Rows, postgres, bucket) -> None:
    """Ingest with four processes, of which two are killed, while catalog and bucket fail; remove the orphans."""
    bucket.fail_every(10)
    writers = [Writer(sources, lake).start() for sources in overlapping(directory)]
    wait_for_loads(lake, 1)
    assert [True, True] == [writer.kill() for writer in writers[::2]]
    postgres.kill()
    postgres.start()
    summaries = [writer.end() for writer in writers[1::2]]
    assert 0 < sum(summary["retries"] for summary in summaries)
    for writer in writers[::2]:
        writer.start().end()  # as a scheduler would
    assert 0 < bucket.fail_every(0)["refused"]
    assert_proved(lake, expected)
    prefix = lake.data_path.removeprefix("s3://lake/")
    with open_lake(lake, read_only=False) as con:
        needed = files_of(con)
        bucket.put(f"{prefix}raw/uses/ducklake-of-a-load-that-was-killed.parquet")  # what was killed may have left none
        assert needed < bucket.names(prefix)
        orphans = bucket.names(prefix) - needed
        compact(con, nullcontext(True), keep_seconds=0)
        assert set() == orphans & bucket.names(prefix)
        compact(con, nullcontext(True), keep_seconds=0)  # removes what the one before has merged
        assert files_of(con) == bucket.names(prefix)
    with reading(lake) as opened:
        con = opened.con
        assert_same(expected, tables_of(con))


@pytest.mark.soak
def test_four_writers_of_overlapping_sources(lake, fleet, rows_of_a_file):
    """Four processes that ingest overlapping sources leave what one does, and readers see whole loads only."""
    ingested_by_four(lake, fleet, rows_of_a_file)


@pytest.mark.soak
def test_writers_among_faults(lake, postgres, fleet, bucket, rows_of_a_file):
    """Two of four are killed, PostgreSQL crashes, the bucket refuses every tenth request: the same rows in the end."""
    ingested_among_faults(lake, fleet, rows_of_a_file, postgres, bucket)


@pytest.mark.soak
@pytest.mark.corpus
def test_four_writers_of_a_real_fleet(lake, history, rows_of_history, monkeypatch):
    """The same of forty runs of a real application, where seven of eight files repeat a content."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "150")
    ingested_by_four(lake, history, rows_of_history)


@pytest.mark.soak
@pytest.mark.corpus
def test_writers_of_a_real_fleet_among_faults(lake, postgres, history, bucket, rows_of_history, monkeypatch):
    """The same of forty runs of a real application, while workers, catalog and bucket fail."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "150")
    ingested_among_faults(lake, history, rows_of_history, postgres, bucket)
