"""The warehouse for other tools: bufferhouse.connect, and export --parquet."""

import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bufferhouse
from bufferhouse.errors import UsageError, WarehouseBusy
from bufferhouse.paths import remove_leftovers
from bufferhouse.warehouse.open import writing
from tests.command_line import call, run
from tests.warehouses import asked

COUNT = "SELECT COUNT(*) FROM peak_memory"


def test_marts_are_on_the_search_path(own_warehouse):
    """A mart needs no schema; of equal names the mart is meant, and moments are UTC."""
    with bufferhouse.connect(own_warehouse) as con:
        expected = con.sql("SELECT COUNT(*) FROM marts.peak_memory_v1").fetchall()
        assert expected == con.sql(COUNT).fetchall()
        assert con.sql("SELECT * FROM marts.peak_buffers").columns == con.sql("FROM peak_buffers").columns
        assert "instruction_text" in con.sql("FROM instruction_texts").columns
        assert [("UTC",)] == con.sql("SELECT current_setting('TimeZone')").fetchall()


def test_a_cursor_answers_as_the_connection_does(own_warehouse, monkeypatch):
    """Polars asks through a cursor: a mart needs its schema there, and a day begins in UTC wherever it is asked."""
    day = "SELECT CAST(date_trunc('day', TIMESTAMPTZ '2026-01-01 23:30:00+00') AS VARCHAR) FROM marts.runs LIMIT 1"
    code = (
        f"import bufferhouse, polars; con = bufferhouse.connect({str(own_warehouse)!r});"
        f'print(polars.read_database("""{day}""", con).item(), con.sql("""{day}""").fetchone()[0])'
    )
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    outcome = run(code=code)
    assert (0, "2026-01-01 00:00:00+00 2026-01-01 00:00:00+00\n") == (outcome.code, outcome.out), outcome.err


def test_it_reads_and_never_writes(own_warehouse):
    """Nothing can be changed through it; a table of the notebook can be joined."""
    with bufferhouse.connect(str(own_warehouse)) as con:
        for sql in ("DELETE FROM raw.dumps", "CREATE TABLE raw.mine AS SELECT 1"):
            with pytest.raises(duckdb.InvalidInputException, match="read-only"):
                con.execute(sql)
        con.register("mine", pa.table({"run_name": ["seeds"]}))
        assert [(5,)] == con.sql("SELECT COUNT(*) FROM observations JOIN mine USING (run_name)").fetchall()


def test_the_warehouse_is_found_as_the_command_line_finds_it(own_warehouse, monkeypatch, tmp_path):
    """$BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb here; one that is not there is an error that says the way out."""
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(own_warehouse))
    with bufferhouse.connect() as con:
        assert con.sql(COUNT).fetchone()[0] > 0
    monkeypatch.delenv("BUFFERHOUSE_WAREHOUSE")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"there is no warehouse at warehouse\.duckdb; make one with"):
        bufferhouse.connect()


def test_while_somebody_writes_the_published_copy_is_read(own_warehouse):
    """A warning says as of when; without a copy the writer is named."""
    code = f"import bufferhouse; print(bufferhouse.connect({str(own_warehouse)!r}).sql({COUNT!r}).fetchone()[0])"
    with writing(own_warehouse) as writer:
        outcome = run(code=code)
        assert 1 == outcome.code
        assert WarehouseBusy.__name__ in outcome.err
        expected = writer.con.execute("SELECT COUNT(*) FROM marts.peak_memory").fetchone()[0]
        writer.publish()
        writer.con.execute("CREATE TABLE raw.later AS SELECT 1")
        outcome = run(code=code)
    assert (0, f"{expected}\n") == (outcome.code, outcome.out)
    assert "this is the published copy, as of " in outcome.err


def test_importing_the_package_loads_nothing_heavy():
    """`import bufferhouse` is free; connect pays."""
    outcome = run(code="import sys, bufferhouse; print(sorted({'duckdb', 'polars', 'pyarrow'} & set(sys.modules)))")
    assert "[]\n" == outcome.out


@pytest.fixture(scope="module")
def seeds_warehouse(fleet, tmp_path_factory) -> Path:
    """A warehouse of five dumps. To be read, never written."""
    path = tmp_path_factory.mktemp("seeds") / "seeds.duckdb"
    assert 0 == call("ingest", fleet / "seeds", "--warehouse", path).code
    return path


@pytest.fixture(scope="module")
def seeds(seeds_warehouse):
    """A connection to it."""
    with asked(seeds_warehouse) as con:
        yield con


@pytest.fixture(scope="module")
def parquet(seeds_warehouse, tmp_path_factory) -> Path:
    """The warehouse as Parquet files, written where an earlier export and something else lay."""
    directory = tmp_path_factory.mktemp("parquet") / "out"
    (directory / "marts").mkdir(parents=True)
    (directory / "marts" / "peak_memory_v1.parquet").write_text("of an earlier export")
    (directory / "marts" / ".peak_memory_v1.parquet.99999999-7.new").write_text("of an export that was killed")
    (directory / "mine.txt").write_text("kept")
    outcome = call("export", "--parquet", directory, "--warehouse", seeds_warehouse)
    files = [path for path in directory.rglob("*.parquet") if path.is_file()]
    assert (0, f"{len(files)} files written to {directory}\n") == (outcome.code, outcome.out)
    return directory


def test_every_table_of_raw_and_every_mart_is_a_file(parquet, seeds):
    """The same columns and as many rows as the warehouse has, read by another tool; and nothing else."""
    names = {
        f"{schema}.{name}"
        for schema, name in seeds.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = 'raw'"
            " OR (table_schema = 'marts' AND regexp_matches(table_name, '_v[0-9]+$'))"
        ).fetchall()
    }
    assert names == {f"{path.parent.name}.{path.stem}" for path in parquet.rglob("*.parquet") if path.is_file()}
    columns = dict(
        seeds.execute(
            "SELECT table_schema || '.' || table_name, LIST(column_name ORDER BY ordinal_position)"
            " FROM information_schema.columns GROUP BY ALL"
        ).fetchall()
    )
    for name in names:
        table = pq.ParquetFile(parquet.joinpath(*name.split(".")).with_suffix(".parquet"))
        assert columns[name] == table.schema_arrow.names, name
        assert seeds.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] == table.metadata.num_rows, name


def test_rows_are_those_of_the_warehouse(parquet, seeds):
    """Value by value, for a mart in the order of its grain, and for a table of raw with lists and nulls."""
    peaks = pq.read_table(parquet / "marts" / "peak_memory_v1.parquet").to_pylist()
    cursor = seeds.execute("SELECT * FROM marts.peak_memory_v1 ORDER BY dump_id, memory_space")
    columns = [column[0] for column in cursor.description]
    assert [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()] == peaks
    shapes = pq.read_table(parquet / "raw" / "shapes.parquet", columns=["shape_id", "dims", "tiles"]).to_pylist()
    expected = seeds.execute("SELECT shape_id, dims, tiles FROM raw.shapes").fetchall()
    assert sorted(expected, key=lambda row: row[0]) == sorted(
        (tuple(row.values()) for row in shapes), key=lambda r: r[0]
    )


def test_a_link_that_leads_out_of_the_folder_is_refused(example_warehouse, tmp_path):
    """As `export --all` refuses it, before a file is written; the folder itself may be a link."""
    (real := tmp_path / "real").mkdir()
    (outside := tmp_path / "outside").mkdir()
    (directory := tmp_path / "out").symlink_to(real)
    (directory / "marts").symlink_to(outside)
    outcome = call("export", "--parquet", directory, "--warehouse", example_warehouse)
    expected = f"bufferhouse: marts would be written outside {directory}: a link in it leads there\n"
    assert (2, expected) == (outcome.code, outcome.err)
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]


def test_it_can_be_written_again(parquet, seeds):
    """Files are replaced, what else lies there stays, and nothing of the writing is left."""
    count = seeds.execute("SELECT COUNT(*) FROM marts.peak_memory_v1").fetchone()[0]
    assert count == pq.read_metadata(parquet / "marts" / "peak_memory_v1.parquet").num_rows
    assert "kept" == (parquet / "mine.txt").read_text()
    assert {".parquet", ".txt"} == {path.suffix for path in parquet.rglob("*") if path.is_file()}
    assert [] == [path for path in parquet.rglob(".*")]


def test_what_another_process_is_writing_stays(tmp_path):
    """Nobody is alone in a folder that is exported to: only what ended processes left is removed."""
    running, ended, own = (f".x.parquet.{number}-1.new" for number in (os.getppid(), 99999999, os.getpid()))
    for name in (running, ended, own):
        (tmp_path / name).write_text("half")
    remove_leftovers(tmp_path / "x.parquet", of_ended=True)
    assert [running] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("words", [["--all"], ["1"], ["--run", "seeds"], ["-o", "out"]])
def test_parquet_stands_alone(example_warehouse, tmp_path, words):
    """Whole tables are written: no dump, no run."""
    outcome = call("export", "--parquet", tmp_path / "out", *words, "--warehouse", example_warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way(example_warehouse, tmp_path):
    """A folder is wanted."""
    (tmp_path / "out").write_text("")
    outcome = call("export", "--parquet", tmp_path / "out", "--warehouse", example_warehouse)
    assert (2, f"bufferhouse: {tmp_path / 'out'}: expected a folder\n") == (outcome.code, outcome.err)
