"""What a lake says where its bucket or its catalog is wrong, away, or half made: one line, and the way out."""

import re
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import copytree
from threading import Thread

import duckdb
import pytest

from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError, WarehouseFull
from bufferhouse.warehouse.address import LakeAddress, address_of
from bufferhouse.warehouse.lake import attach, retry
from bufferhouse.warehouse.lake.attach import make_lake, open_lake
from bufferhouse.warehouse.lake.claims import Claims
from bufferhouse.warehouse.lake.schema import migrate_lake
from bufferhouse.warehouse.migrate import applied_version, migrations
from bufferhouse.warehouse.open import reading, writing
from bufferhouse.warehouse.verify import chosen_dumps, verify
from tests.command_line import Outcome, call
from tests.flows.clock import free_port, until
from tests.ingests import write_dumps
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import answer, asked, copied_to_bucket, lake_in, moved, needs_lake
from tests.warehouses import load_texts

psycopg = pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

pytest_plugins = ["tests.servers.lake_servers"]
pytestmark = needs_lake

WENT = "INTERNAL Error: Attempted to access index 0 within vector of size 0"
READERS = (("query", "SELECT 1"), ("stats",), ("verify",), ("check",))


@pytest.fixture
def catalog(postgres) -> LakeAddress:
    """A database without a lake."""
    return address_of(f"ducklake:postgres:{postgres.make_database()}")


@pytest.fixture(scope="module")
def in_bucket(postgres, bucket) -> Callable[[LakeAddress, str], LakeAddress]:
    """A function that copies a lake that nobody has open, with its files below a prefix in the bucket."""

    return partial(copied_to_bucket, postgres, bucket)


def tables_of_catalog(address: LakeAddress) -> int:
    """How many tables a database has."""
    with psycopg.connect(address.connection_string) as con:
        return con.execute("SELECT COUNT(*) FROM pg_tables WHERE schemaname IN ('public', 'bufferhouse')").fetchone()[0]


def assert_told(outcome: Outcome, code: int, *words: str) -> None:
    """One line on standard error, with these words in it, and nothing else."""
    assert (code, "") == (outcome.code, outcome.out), outcome.err
    assert 1 == outcome.err.count("\n"), outcome.err
    assert [] == [word for word in words if word not in outcome.err], outcome.err


# To make one


def test_no_lake_is_made_where_its_files_cannot_be_written(catalog, bucket, fleet, tmp_path):
    """A bucket that there is not, a folder below a file: nothing is left in the catalog, and another place will do."""
    (tmp_path / "file").touch()
    ingest = ("ingest", fleet / "seeds", "--warehouse", catalog, "--data-path")
    assert_told(call(*ingest, "s3://nonesuch/bh"), 2, "s3://nonesuch/bh", "there is no such bucket; no lake was made")
    assert_told(call(*ingest, tmp_path / "file" / "bh"), 2, f"the data path {tmp_path}/file/bh/: Not a directory")
    with bucket.refusing_writes("PermanentRedirect"):
        told = call(*ingest, "s3://lake/bh")
    assert_told(told, 2, "s3://lake/bh/bufferhouse-trial: ", "name the region of the bucket in AWS_REGION; no lake was")
    assert 0 == tables_of_catalog(catalog)
    make_lake(catalog.with_data_path("s3://lake/bh"))
    assert "bufferhouse-trial" not in bucket.names("bh/")


def test_no_lake_is_made_where_others_have_rows(catalog, bucket, fleet, tmp_path):
    """To compact it would remove them, and so another lake: they stay, and nothing is left in the catalog."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "another.parquet").touch()
    bucket.put("taken/raw/another.parquet")
    for place in (tmp_path, "s3://lake/taken"):
        told = call("ingest", fleet / "seeds", "--warehouse", catalog, "--data-path", place)
        assert_told(
            told, 2, f"{place}/raw/another.parquet is a file of somebody else, which compact would remove; name"
        )
    assert 0 == tables_of_catalog(catalog)


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """Let no file become longer, as on a disk that is full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_where_the_disk_is_full_nothing_is_left_of_a_lake(tmp_path):
    """Neither the file that proves that there is space, nor folders that were made for it."""
    address = lake_in(tmp_path).with_data_path(str(tmp_path / "a" / "b"))
    told = "a/b/: File too large; make space and run the same command again"
    with limited_files(0), pytest.raises(WarehouseFull, match=told):
        make_lake(address)
    assert [] == list(tmp_path.iterdir())


def test_where_the_disk_is_full_no_catalog_is_left_that_nobody_can_open(tmp_path):
    """A part of its first 12 KiB is written: exit 3, and the same command makes the lake later."""
    address = lake_in(tmp_path)
    told = f"for {address}: .* too large; .*, make space and run"
    with limited_files(8192), pytest.raises(WarehouseFull, match=told):
        make_lake(address)
    assert not Path(address.catalog).exists()
    make_lake(address)
    with open_lake(address, read_only=False):
        pass


def test_a_catalog_that_was_cut_off_is_told(tmp_path):
    """By whatever has cut it off: the way out is a copy, and no lake takes its place."""
    address = lake_in(tmp_path)
    make_lake(address)
    with Path(address.catalog).open("r+b") as file:
        file.truncate(8192)
    for words in (("runs", "ls"), ("build",)):
        assert_told(call(*words, "--warehouse", address), 2, f"{address} is damaged: ", "; restore a copy (docs/op")
    assert 8192 == Path(address.catalog).stat().st_size


def test_no_lake_is_made_below_another(catalog, bucket, in_bucket, lake_to_copy, fleet, tmp_path):
    """To compact the other one would remove its rows; beside it, a lake is made."""
    outer = copytree(lake_to_copy.data_path, tmp_path / "outer")
    in_bucket(lake_to_copy, "outer")
    ingest = ("ingest", fleet / "seeds", "--warehouse", catalog, "--data-path")
    (tmp_path / "link").symlink_to(outer)
    for place, below in (
        (outer / "in" / "ner", f"{outer}/"),
        (tmp_path / "link" / "in", f"{outer}/"),
        ("s3://lake/outer/in/ner", "s3://lake/outer/"),
    ):
        told = call(*ingest, place)
        assert_told(told, 2, f"{place}/ lies below {below}, the data path of another lake", "; no lake was made")
    assert 0 == tables_of_catalog(catalog)
    assert not (outer / "in").exists()
    make_lake(catalog.with_data_path("s3://lake/outer-2"))


def test_files_of_others_above_are_no_lake(bucket, tmp_path):
    """Whatever another tool calls so: in a bucket as in a folder."""
    for key in ("meta/events/2024/rows.parquet", "meta/models/rows.parquet"):
        bucket.put(f"others/{key}")
        file = tmp_path / "others" / key
        file.parent.mkdir(parents=True)
        file.touch()
    for number, place in enumerate((f"{tmp_path}/others/own", "s3://lake/others/own")):
        make_lake(address_of(f"ducklake:{tmp_path}/{number}.ducklake").with_data_path(place))


def test_a_lake_is_made_by_one_of_several_that_come_at_once(catalog, tmp_path):
    """The others find it made."""

    def come(_: int) -> None:
        with writing(catalog.with_data_path(str(tmp_path)), build_models=False):
            pass

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(come, range(3)))
    with writing(catalog, build_models=False) as lake:
        assert max(migrations()) == applied_version(lake.con)


def test_a_lake_that_another_makes_between_two_looks(catalog, tmp_path):
    """There are no tables yet, then all of them: they are not taken for somebody else's."""
    address = catalog.with_data_path(str(tmp_path))
    make_lake(address)
    with open_lake(address, read_only=False) as con, open_lake(address, read_only=False) as another:

        class Late:
            """A connection that is a step behind."""

            def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
                if "duckdb_tables()" in sql:
                    migrate_lake(another, "another")
                return con.execute(sql)

        migrate_lake(Late(), "late")
        assert max(migrations()) == applied_version(con)


def test_files_of_a_lake_do_not_move(in_bucket, lake_to_copy, fleet, tmp_path, monkeypatch):
    """Another --data-path than that of the lake is refused, with both; the environment says where new lakes go."""
    seed = next((fleet / "seeds").glob("000*"))
    ingest = ("ingest", seed, "--warehouse", in_bucket(lake_to_copy, "here"))
    assert 0 == call(*ingest, "--data-path", "s3://lake/here").code
    assert 0 == call(*ingest, "--data-path", "s3://lake/here/").code
    for words in (ingest, (*ingest, "--plan")):
        told = call(*words, "--data-path", "s3://lake/there")
        assert_told(told, 2, "--data-path s3://lake/there/", "has its files at s3://lake/here/")
    monkeypatch.setenv("BUFFERHOUSE_DATA_PATH", str(tmp_path))
    assert 0 == call(*ingest).code
    assert [] == list(tmp_path.iterdir())


def test_postgres_that_lets_nobody_in_answers(catalog, fleet, monkeypatch):
    """A wrong password, none, and a database or a role that there is not: exit 2, and nobody is told to wait."""
    catalog = str(catalog)
    reader = f"{catalog.rpartition(' user=')[0]} user=nobody dbname=postgres"
    cases = [
        (catalog.rpartition("=")[0] + "=missing", "secret", 'database "missing" does not exist'),
        (reader, "secret", 'authentication failed for user "nobody"'),
        (catalog, "wrong", 'password authentication failed for user "prefect"'),
        (catalog, "", "no password supplied"),
    ]
    for address, password, reason in cases:
        monkeypatch.setenv("PGPASSWORD", password)
        for words in (("query", "SELECT 1"), ("ingest", fleet / "seeds", "--data-path", "s3://lake/x")):
            told = call(*words, "--warehouse", address)
            assert_told(told, 2, "PostgreSQL lets nobody in: ", reason, "expected a role and a database that exist")
            assert "try again" not in told.err
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(UsageError, match="lets nobody in"), Claims(catalog.partition("postgres:")[2]):
        pass


def test_a_role_that_may_make_nothing_is_told_who_lets_it(postgres, fleet, tmp_path):
    """As PostgreSQL 15 and later give it: nothing is left behind, and after what is said there is a lake."""
    catalog = postgres.make_database()
    with psycopg.connect(catalog, autocommit=True) as owner:
        owner.execute("CREATE ROLE newcomer LOGIN PASSWORD 'secret'")
        address = f"ducklake:postgres:{catalog.replace('user=prefect', 'user=newcomer')}"
        files = tmp_path / "files"
        words = ("ingest", fleet / "seeds", "--warehouse", address, "--data-path", files)
        told = call(*words)
        assert_told(told, 2, "expected a role that may make schemas in the database", "found newcomer, who may not")
        assert not files.exists()
        for statement in re.findall(r"GRANT [^;]+", told.err):
            owner.execute(statement)
    with writing(address_of(address).with_data_path(str(files)), build_models=False) as lake:
        load_texts(lake, [small_dump(1)])


# Away


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Nobody waits two minutes."""
    monkeypatch.setattr(retry, "_PATIENCE_SECONDS", 1)


@contextmanager
def killed_in_the_middle(postgres, address: LakeAddress) -> Iterator[Thread]:
    """PostgreSQL is killed as soon as the lake that is made inside has its first tables, and stays so."""
    until_made = Thread(target=lambda: (until(lambda: has_tables(address), "the tables of the lake"), postgres.kill()))
    until_made.start()
    try:
        yield until_made
    finally:
        until_made.join()


def has_tables(address: LakeAddress) -> bool:
    """Return whether tables of a lake were committed."""
    with suppress(psycopg.Error), psycopg.connect(address.connection_string) as con:
        return con.execute("SELECT 1 FROM ducklake_table WHERE table_name = 'models'").fetchone() is not None
    return False


def test_a_catalog_that_dies_while_a_lake_is_made(postgres, catalog, fleet, tmp_path, impatient):
    """Exit 3; readers say that it has no models yet, with the way out, which helps: the next ingest makes them."""
    ingest = ("ingest", fleet / "seeds", "--warehouse", catalog, "--data-path", tmp_path)
    with killed_in_the_middle(postgres, catalog):
        made = call(*ingest)
    assert_told(made, 3, "does not answer", "try again later")
    assert_told(call("query", "SELECT 1", "--warehouse", catalog), 3, "Connection refused", "try again later")
    postgres.start()
    for words in READERS:
        assert_told(call(*words, "--warehouse", catalog), 2, "has no models yet", "any ingest builds them")
    assert 0 == call(*ingest).code
    assert [(5,)] == answer(catalog, "SELECT COUNT(DISTINCT dump_id) FROM intermediate.peaks")


@pytest.mark.soak
def test_a_catalog_that_is_started_anew_while_a_lake_is_made(postgres, catalog, fleet, tmp_path):
    """It is waited for, and the same ingest goes on."""
    with killed_in_the_middle(postgres, catalog) as killed, ThreadPoolExecutor(1) as pool:
        made = pool.submit(call, "ingest", fleet / "seeds", "--warehouse", catalog, "--data-path", tmp_path)
        killed.join()
        postgres.start()
        outcome = made.result()
    assert 0 == outcome.code, outcome.err
    assert "5 of 5 dumps proved\n" == call("verify", "--warehouse", catalog).out


def test_a_catalog_that_dies_is_told_as_an_internal_error(postgres, catalog, tmp_path):
    """DuckLake does so at one moment in some thirty; it is tried again where the catalog went, and nowhere else."""
    went = duckdb.InternalException(WENT)
    tries = []

    def dies(is_dead: bool) -> int:
        tries.append(is_dead)
        if len(tries) > 1:
            return len(tries)
        if is_dead:
            postgres.kill()
            postgres.start()
        raise went

    with writing(catalog.with_data_path(str(tmp_path)), build_models=False) as warehouse:
        assert 2 == warehouse.persistently(lambda: dies(True))
        tries.clear()
        warehouse.claims.session()
        with pytest.raises(duckdb.InternalException):
            warehouse.persistently(lambda: dies(False))
        assert [False] == tries


def test_a_catalog_that_dies_while_a_lake_is_opened_to_read(postgres, whole_lake, monkeypatch):
    """Exit 3 and a line at that moment, too, and not 1, which of a gate means that a program grew."""

    def dies(con: duckdb.DuckDBPyConnection) -> int:
        postgres.kill()
        return snapshot_of(con)

    snapshot_of = attach.snapshot_of
    monkeypatch.setattr(attach, "snapshot_of", dies)
    told = call("compare", "a", "b", "--fail-over", "1%", "--warehouse", whole_lake)
    postgres.start()
    assert_told(told, 3, "does not answer", "try again later")


def test_an_internal_error_under_a_reader_is_told_where_the_catalog_went(postgres, whole_lake):
    """And nowhere else: with a catalog that answers it stays what it is."""
    with reading(whole_lake) as opened:
        assert opened.told(duckdb.InternalException(WENT)) is None
        postgres.kill()
        told = opened.told(duckdb.InternalException(WENT))
    postgres.start()
    assert WarehouseBusy is type(told)
    assert "does not answer" in str(told)


@pytest.fixture(scope="module")
def lake(in_bucket, lake_to_copy, fleet) -> LakeAddress:
    """A lake in a bucket, with five dumps and no row in its catalog. To be read, never written."""
    address = in_bucket(lake_to_copy, "trouble")
    assert 0 == call("ingest", fleet / "seeds", "--warehouse", address).code
    assert 0 == call("compact", "--warehouse", address).code
    return address


def test_a_bucket_that_is_away(lake, postgres, fleet, impatient, monkeypatch):
    """Exit 3 and a line, whoever reads, writes, or makes a lake; of that nothing is left."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    for words in (*READERS, ("query", "FROM raw.uses"), ("ingest", fleet / "seeds")):
        assert_told(call(*words, "--warehouse", lake), 3, "try again later")
    new = address_of(f"ducklake:postgres:{postgres.make_database()}")
    told = call("ingest", fleet / "seeds", "--warehouse", new, "--data-path", "s3://lake/new")
    assert_told(told, 3, "s3://lake", "cannot be reached", "try again later")
    assert 0 == tables_of_catalog(new)


REFUSALS = {
    "AccessDenied": ("HTTP code 403", "give keys that may read and write there"),
    "NoSuchBucket": ("HTTP code 404", "there is no such bucket"),
    "ExpiredToken": ("HTTP code 400", "renew the keys, which may have expired"),
    "PermanentRedirect": ("301", "name the region of the bucket in AWS_REGION"),
}


# What the others are told is seen in tests/engine/test_faults.py, too.
@pytest.mark.parametrize(
    "codes", [["AccessDenied"], pytest.param(list(REFUSALS), marks=pytest.mark.soak)], ids=["one", "all"]
)
def test_a_bucket_that_refuses_what_is_written(bucket, in_bucket, lake_to_copy, fleet, tmp_path, codes):
    """Exit 2 and a line with the way out, which helps; no row is lost."""
    write_dumps(tmp_path, [1])
    place = f"s3://lake/refused-{len(codes)}"
    lake = in_bucket(lake_to_copy, place.rpartition("/")[2])
    ingest = ("ingest", "--warehouse", lake, "--data-path", place)
    compact = ("compact", "--keep-snapshots", "0", "--warehouse", lake)
    assert 0 == call(*ingest, fleet / "seeds").code
    for code in codes:
        with bucket.refusing_writes(code):
            for refused in ((*ingest, tmp_path), compact):
                assert_told(call(*refused), 2, f"{place}/", "what was committed is kept", *REFUSALS[code])
    with asked(lake) as con:
        ids = chosen_dumps(con)
        assert (5, []) == (len(ids), verify(con, ids))
    assert 0 == call(*ingest, tmp_path).code


def test_an_object_that_is_lost(lake, bucket):
    """It is named, by readers and writers; the lake answers, so trying again is not the way out."""
    [name] = bucket.names("trouble/raw/uses/")
    key = f"trouble/raw/uses/{name}"
    data = bucket.take(key)
    try:
        for words in (("query", "FROM raw.uses"), ("verify",)):
            assert_told(call(*words, "--warehouse", lake), 2, f"a file of the lake is missing: s3://lake/{key};")
        missing = pytest.raises(WarehouseError, match=f"a file of the lake is missing: .*/lake/{key};")
        with missing, writing(lake) as warehouse:
            warehouse.con.execute("FROM raw.uses").fetchall()
    finally:
        bucket.put(key, data)
    assert 0 == call("query", "FROM raw.uses", "--warehouse", lake).code


def test_a_file_that_is_lost(blank_lake, tmp_path):
    """The same of a lake in a folder."""
    lake = moved(blank_lake, tmp_path / "own")
    [lost] = (tmp_path / "own" / "lake.ducklake.files" / "meta" / "models").iterdir()
    lost.unlink()
    told = f"a file of the lake is missing: {lost};"
    assert_told(call("query", "FROM meta.models", "--warehouse", lake), 2, told)
    assert_told(call("build", "--force", "--warehouse", lake), 2, told)


def test_a_file_that_is_damaged(blank_lake, tmp_path):
    """Whoever reads it is told in a line, exit 2; it is named, and where DuckDB does not name it, that is said."""
    lake = moved(blank_lake, tmp_path / "own")
    [file] = (tmp_path / "own" / "lake.ducklake.files" / "meta" / "models").iterdir()
    data = file.read_bytes()
    foot = int.from_bytes(data[-8:-4], "little") + 8
    query = ("query", "SELECT MAX(hash(m)) FROM meta.models AS m")
    for spoiled, told in (
        (
            data[:-foot] + bytes([255]) * 40 + data[40 - foot :],
            "damaged, DuckDB does not say which: ",
        ),
        (data[:4] + bytes(1000) + data[1004:], "a file of the lake is damaged"),
        (data[:6], f"damaged: Invalid Input Error: File 'meta/models/{file.name}' too small"),
        (data[:-9], f"damaged: Invalid Input Error: No magic bytes found at end of file 'meta/models/{file.name}'"),
    ):
        file.write_bytes(spoiled)
        assert_told(call(*query, "--warehouse", lake), 2, told, "a copy of the data path")
    for words in (("models",), ("export", "--parquet", tmp_path / "out")):
        assert_told(call(*words, "--warehouse", lake), 2, told, "a copy of the data path")
    told = (
        f"a file of the lake is damaged: Invalid Input Error: No magic bytes found at end of file '{file}'; put it back"
    )
    assert_told(call("build", "--force", "--warehouse", lake), 2, told)


def test_a_folder_that_refuses(blank_lake, fleet, tmp_path):
    """Whoever may not read or write the files of a lake hears which one, exit 2: to wait does not help."""
    lake = moved(blank_lake, tmp_path / "own")
    models = tmp_path / "own" / "lake.ducklake.files" / "meta" / "models"
    [file] = models.iterdir()
    models.rename(tmp_path / "models")
    models.touch()  # what lies below a file may not even root read
    told = f"a file of the lake cannot be read: {file}: Not a directory"
    assert_told(call("query", "FROM meta.models", "--warehouse", lake), 2, told)
    models.unlink()
    (tmp_path / "models").rename(models)
    with duckdb.connect(lake.catalog) as con:  # files that are written from now on go where not even root may write
        con.execute("UPDATE ducklake_table SET path = '/sys/', path_is_relative = FALSE WHERE table_name = 'uses'")
    told = ("the folder of the lake refuses: ", '"/sys/', "let this user read and write there; what was committed is")
    assert_told(call("ingest", fleet / "seeds", "--warehouse", lake), 2, *told)
