"""What DuckDB tells in words only: each kind is made to happen, so that other words of another version are noticed."""

import resource
import subprocess
import sys

import duckdb
import pytest
from fsspec import AbstractFileSystem

from bufferhouse.engine import faults
from bufferhouse.errors import SourceUnavailable, WarehouseError
from tests.warehouse.lake.lakes import needs_lake

HOLDER = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""
KINDS = (
    faults.lacks_space, faults.is_locked, faults.is_no_lake, faults.is_expired, faults.wants_buckets, faults.is_away,
    faults.fills_temporary_files, faults.is_closed, faults.is_of_rows,
)  # fmt: skip


def kinds(error: Exception) -> list:
    """Return which kinds an error is of."""
    return [kind for kind in KINDS if kind(error)]


def test_a_database_of_another_process_is_locked(tmp_path):
    """The message names the process."""
    path = str(tmp_path / "x.duckdb")
    holding = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert "held\n" == holding.stdout.readline()
        with pytest.raises(duckdb.IOException) as caught:
            duckdb.connect(path)
    finally:
        holding.communicate()
    assert [faults.is_locked] == kinds(caught.value)
    assert f"PID {holding.pid}" == faults.holder(caught.value)
    assert "its number is not known" == faults.holder(ValueError("x"))


def test_rows_in_the_place_of_a_database_are_no_database(tmp_path):
    """DuckDB opens such a file in memory, but not to read only."""
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(duckdb.Error) as caught:
        duckdb.connect(str(path), read_only=True)
    assert [faults.is_of_rows] == kinds(caught.value)


def test_a_full_disk_is_told_from_other_faults(tmp_path):
    """A limit on the size of files stands for it; the words are the system's own."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with duckdb.connect(str(tmp_path / "x.duckdb")) as con:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        try:
            with pytest.raises(duckdb.Error) as caught:
                con.execute("CREATE TABLE t AS SELECT hash(i) AS h FROM range(1000000) AS r(i); CHECKPOINT")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [faults.lacks_space] == kinds(caught.value)
    assert "no space left for x" in str(faults.no_space("x", caught.value))
    assert faults.no_space("x", ValueError("No such file or directory")) is None


def test_temporary_files_that_are_full_are_told_from_memory_that_is(tmp_path):
    """Both are an OutOfMemoryException."""
    with duckdb.connect() as con:
        con.execute(
            f"SET temp_directory = '{tmp_path}'; SET max_temp_directory_size = '1MB'; SET memory_limit = '32MB'"
        )
        with pytest.raises(duckdb.OutOfMemoryException) as caught:
            con.execute(
                "CREATE TABLE t AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(10000000) AS r(i) ORDER BY a"
            )
    assert [faults.fills_temporary_files] == kinds(caught.value)


def test_what_the_door_closes(tmp_path):
    """Files and settings, each in its own words."""
    with duckdb.connect() as con:
        con.execute("SET enable_external_access = false; SET lock_configuration = true")
        for sql in ("FROM read_csv('x.csv')", "COPY (SELECT 1) TO 'x.csv'"):
            with pytest.raises(duckdb.Error) as caught:
                con.execute(sql)
            assert [faults.is_closed] == kinds(caught.value), sql


@needs_lake
def test_a_catalog_without_a_lake_and_a_server_that_is_away(tmp_path):
    """The first is there and empty; nobody listens at the second's port."""
    from bufferhouse.warehouse.lake import extensions

    duckdb.connect(str(tmp_path / "x.ducklake")).close()
    with extensions.connect() as con:
        extensions.load(con, "ducklake", "postgres_scanner")
        with pytest.raises(duckdb.Error) as caught:
            con.execute(f"ATTACH 'ducklake:{tmp_path / 'x.ducklake'}' AS lake (CREATE_IF_NOT_EXISTS false)")
        assert [faults.is_no_lake] == kinds(caught.value)
        with pytest.raises(duckdb.Error) as caught:
            con.execute("ATTACH 'ducklake:postgres:host=127.0.0.1 port=1 dbname=x' AS lake")
        assert [faults.is_away] == kinds(caught.value)
        assert faults.passes(caught.value)
        with pytest.raises(duckdb.Error) as caught:
            con.execute(f"ATTACH 'ducklake:{tmp_path / 'y.ducklake'}' AS lake (DATA_PATH 's3://bucket/x/')")
        assert faults.wants_buckets(caught.value)


def test_what_is_refused_does_not_pass():
    """To try again is of no use where a server understood and said no."""
    assert faults.passes(duckdb.IOException("Connection refused"))
    for refused in ("HTTP 403", "HTTP code 404", "AccessDenied", "password authentication failed"):
        assert not faults.passes(duckdb.IOException(refused)), refused
    assert faults.passes(duckdb.IOException("HTTP 429"))
    with duckdb.connect() as con, pytest.raises(duckdb.IOException) as caught:
        con.execute("COPY (SELECT 1) TO '/dev/null/x.parquet'")
    assert not faults.passes(caught.value)
    assert not faults.passes(duckdb.BinderException("no such column"))


def test_what_a_bucket_refuses_is_told_with_the_way_out():
    """By what it answered and where; what it may answer otherwise the next time is not told so."""
    to_write = "HTTP Error: Unable to connect to URL s3://x/y.parquet: {} (HTTP code {})"
    for code, words in (
        ("Forbidden 403", "s3://x/y.parquet: Forbidden (HTTP code 403); give keys that may read and write there, or "),
        ("NotFound 404", "s3://x/y.parquet: NotFound (HTTP code 404); there is no such bucket"),
        ("BadRequest 400", "s3://x/y.parquet: BadRequest (HTTP code 400); renew the keys, which may have expired, or "),
        ("Moved 301", "s3://x/y.parquet: Moved (HTTP code 301); name the region of the bucket in AWS_REGION, and "),
    ):
        told = faults.refused(duckdb.HTTPException(to_write.format(*code.split())))
        assert (WarehouseError, True) == (type(told), words in str(told)), told
    assert faults.refused(duckdb.HTTPException(to_write.format("Slow", "503"))) is None
    assert faults.refused(duckdb.BinderException("no column HTTP code 403 s3://x")) is None


def test_errors_of_a_file_system_in_python_are_told_by_their_text():
    """DuckDB has no class for them; what a statement says itself is none, and other errors are none of ours."""
    for raised in (WarehouseError("it is lost"), SourceUnavailable("it is away"), ValueError("it is odd")):
        with duckdb.connect() as con:
            con.register_filesystem(Failing(raised))
            with pytest.raises(duckdb.Error) as caught:
                con.execute("FROM read_blob('failing://x')")
        found = faults.raised_inside(caught.value)
        expected = None if isinstance(raised, ValueError) else (type(raised), str(raised))
        assert expected == (found and (type(found), str(found)))
    with duckdb.connect() as con, pytest.raises(duckdb.Error) as caught:
        con.execute("SELECT error('WarehouseError: I say so')")
    assert faults.raised_inside(caught.value) is None


def test_damaged_rows_are_told_as_those_of_a_lake(tmp_path):
    """DuckDB has three classes for them, and names the file or not; what a statement says itself is none."""
    good, place = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    with duckdb.connect(config={"enable_external_file_cache": "false"}) as con:
        con.execute(f"COPY (SELECT range AS a, range || 'x' AS b FROM range(10000)) TO '{good}'")
        data = good.read_bytes()
        foot = int.from_bytes(data[-8:-4], "little") + 8
        for spoiled, said in (
            (data[:-9], f"Invalid Input Error: No magic bytes found at end of file '{place}'"),
            (data[:5], f"Invalid Input Error: File '{place}' too small to be a Parquet file"),
            (data[-foot:], f"Invalid Input Error: Footer length error in file '{place}'"),
            (data[: len(data) // 2] + data[-foot:], f'IO Error: Could not read enough bytes from file "{place}"'),
            (data[:200] + bytes(900) + data[1100:], f'Invalid Input Error: Failed to read file "{place}"'),
            (data[:-foot] + b"\xff" * 40 + data[40 - foot :], "DuckDB does not say which: "),
        ):
            place.write_bytes(spoiled)
            with pytest.raises(duckdb.Error) as caught:
                con.execute(f"SELECT SUM(hash(t)) FROM '{place}' AS t").fetchall()
            found = faults.raised_inside(caught.value)
            assert (WarehouseError, True) == (type(found), said in str(found)), caught.value
            assert not faults.passes(caught.value)
        with pytest.raises(duckdb.Error) as caught:
            con.execute("SELECT error('x.parquet is corrupted')")
    assert faults.raised_inside(caught.value) is None


class Failing(AbstractFileSystem):
    """A file system that has every file, and cannot open it."""

    protocol = "failing"
    cachable = False

    def __init__(self, raised: Exception) -> None:
        super().__init__()
        self.raised = raised

    def glob(self, path: str, **options) -> list[str]:
        """Return the path itself."""
        return [path]

    def open(self, path: str, mode: str = "rb", **options):
        """Raise."""
        raise self.raised


def test_the_reason_does_not_quote_the_statements_of_ducklake():
    """They are as long as a page, and nobody wrote them."""
    said = (
        'Failed to get table information from DuckLake: Failed to prepare COPY "COPY (SELECT "a" FROM\n"public"."b")": '
        "server closed the connection unexpectedly\n\tThis probably means\n"
    )
    expected = "Failed to prepare COPY: server closed the connection unexpectedly"
    assert f"Failed to get table information from DuckLake: {expected}" == faults.reason(said)


@pytest.mark.parametrize(
    ("error", "is_lost", "reason"),
    [
        (
            "Attempting to fetch from an unsuccessful query result\nError: Invalid Error: Failed to prepare COPY "
            '"COPY (SELECT "table_id" FROM "public"."t")": server closed the connection unexpectedly\n\tThis',
            True,
            "Invalid Error: Failed to prepare COPY: server closed the connection unexpectedly",
        ),
        (
            'Binder Error: Failed to get data file list from DuckLake: Failed to prepare query "SELECT data_file_id\n'
            'FROM t": no connection to the server\n\nLINE 8: SELECT * FROM ',
            True,
            "Binder Error: Failed to get data file list from DuckLake: Failed to prepare query: "
            "no connection to the server",
        ),
        ("Invalid Input Error: connection not open", False, "Invalid Input Error: connection not open"),
    ],
)
def test_a_catalog_that_goes_away_under_a_query(error, is_lost, reason):
    """As a PostgreSQL that was killed in the middle of one was told. The last, a statement may say itself."""
    told = faults.lost_catalog(duckdb.Error(error))
    assert (is_lost, reason) == (told is not None and reason in str(told), faults.reason(error))
