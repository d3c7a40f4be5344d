"""The blank warehouse: made once, copied from then on, and never a reason for a new warehouse to fail."""

import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.errors import WarehouseFull
from bufferhouse.warehouse import template
from bufferhouse.warehouse.open import writing
from tests.synthetic import small_dump
from tests.warehouses import contents, load_texts, rows

CATALOG = (
    "SELECT schema_name, view_name, sql, comment FROM duckdb_views() WHERE NOT internal"
    " UNION ALL SELECT schema_name, table_name, sql, comment FROM duckdb_tables()"
    " UNION ALL SELECT schema_name, table_name, column_name || data_type, comment FROM duckdb_columns()"
    " WHERE database_name = current_database() AND NOT internal ORDER BY ALL"
)


@pytest.fixture(scope="module")
def made(blanks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was made from nothing: the blank one itself. To be copied, never written."""
    [blank] = blanks.iterdir()
    return Path(shutil.copy(blank, tmp_path_factory.mktemp("nothing") / "nothing.duckdb"))


@pytest.fixture(scope="module")
def nothing(made: Path) -> list[tuple]:
    """What a warehouse has that was made from nothing."""
    return catalog(made, use_blank=False)


@pytest.fixture(scope="module")
def blanks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the blank warehouse of this version was made, and nothing else."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        catalog(folder / "first.duckdb")
    return folder / "bufferhouse"


@pytest.fixture
def cache(blanks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(blanks, tmp_path / "cache" / "bufferhouse"))


def catalog(path: Path | None, **options: bool) -> list[tuple]:
    """What a new warehouse is: tables, views, columns and what is said of them, and what it knows of itself."""
    with writing(path, **options) as warehouse:
        own = warehouse.con.execute("SELECT * EXCLUDE built_at FROM meta.models ORDER BY ordinal").fetchall()
        settings = warehouse.con.execute("SELECT name, value FROM meta.settings ORDER BY name").fetchall()
        return [*warehouse.con.execute(CATALOG).fetchall(), *own, *settings]


def test_a_copy_is_what_is_made_from_nothing(nothing: list[tuple], tmp_path: Path, cache: Path):
    """A copy, and a warehouse in memory, have what a warehouse has that was made from nothing."""
    kept = list(cache.glob("*"))
    assert 1 == len(kept)
    assert nothing == catalog(tmp_path / "copy.duckdb") == catalog(None)
    assert kept == list(cache.glob("*"))


def test_one_without_models_is_a_copy_too(tmp_path: Path, cache: Path):
    """Of a blank warehouse of its own: it has the tables, and no model."""
    nothing = catalog(tmp_path / "nothing.duckdb", build_models=False, use_blank=False)
    assert 1 == len(list(cache.glob("*")))
    for path in (tmp_path / "first.duckdb", tmp_path / "second.duckdb", None):
        assert nothing == catalog(path, build_models=False)
        assert 2 == len(list(cache.glob("*")))


def test_a_copy_takes_the_same_rows(made: Path, tmp_path: Path, cache: Path):
    """A dump that is loaded into a copy has the rows that it has in a warehouse from nothing."""
    shutil.copy(made, tmp_path)
    for name in ("nothing", "copy"):
        with writing(tmp_path / f"{name}.duckdb", use_blank=name == "copy") as warehouse:
            load_texts(warehouse, [small_dump(1)])
    assert contents(tmp_path / "nothing.duckdb") == contents(tmp_path / "copy.duckdb")


def test_a_copy_was_built_when_it_was_made(tmp_path: Path, cache: Path):
    """The models of a new warehouse are as old as it is, not as the blank one."""
    with duckdb.connect() as con:
        before = con.execute("SELECT now()").fetchone()
    with writing(tmp_path / "second.duckdb") as warehouse:
        assert before < warehouse.con.execute("SELECT MIN(built_at) FROM meta.models").fetchone()
        assert before < warehouse.con.execute("SELECT MIN(applied_at) FROM meta.migrations").fetchone()


def damage(cache: Path, harm: str) -> Path:
    """Damage the one blank warehouse of a cache."""
    [kept] = cache.glob("*")
    whole = kept.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    kept.write_bytes({"cut short": whole[:100_000], "no warehouse": b"", "one bit": flipped}[harm])
    return kept


HARMS = ("cut short", "no warehouse", "one bit")


@pytest.mark.soak
@pytest.mark.parametrize("harm", HARMS)
def test_where_a_blank_is_damaged_a_new_warehouse_is_made_from_nothing(
    nothing: list[tuple], tmp_path: Path, cache: Path, harm: str
):
    """And is as whole as ever."""
    damage(cache, harm)
    assert nothing == catalog(None if harm == "one bit" else tmp_path / "new.duckdb")
    assert [] == list(cache.glob("*"))


def make_little(path: Path) -> None:
    """Make a database in the place of a blank warehouse, which takes seconds."""
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE little AS SELECT 1 AS one")


LITTLE = template.Blank("models", make_little)


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_blank_harms_nobody(tmp_path: Path, cache: Path, harm: str):
    """Where it is not what was made it is not copied, and goes; the next one finds a whole one."""
    kept = damage(cache, harm)
    assert not template.copy_of_blank(LITTLE, tmp_path / "new.duckdb")
    assert (False, False) == ((tmp_path / "new.duckdb").exists(), kept.exists())
    assert template.copy_of_blank(LITTLE, tmp_path / "new.duckdb")
    assert [(1,)] == rows(tmp_path / "new.duckdb", "FROM little")


def test_no_cache_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where none can be written nothing is copied, as where it is damaged: a new warehouse is made from nothing."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not template.copy_of_blank(LITTLE, tmp_path / "new.duckdb")
    assert not (tmp_path / "new.duckdb").exists()


def test_another_version_makes_its_own(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    """What decides what a new warehouse is stands in the name; the blank of another version is left alone."""
    directory = Path(shutil.copytree(template.MODELS, tmp_path / "models"))
    (directory / "checks" / "tuple_tables_in_default_space.sql").unlink()
    monkeypatch.setattr(template, "MODELS", directory)
    template._fingerprint.cache_clear()
    try:
        assert template.copy_of_blank(LITTLE, tmp_path / "second.duckdb")
    finally:
        template._fingerprint.cache_clear()
    assert [(1,)] == rows(tmp_path / "second.duckdb", "FROM little")
    assert 2 == len(list(cache.glob("*")))


def test_a_full_cache_is_as_good_as_none(tmp_path, monkeypatch):
    """The warehouse is made from nothing: its own disk may have all the space it needs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def make(_: Path) -> None:
        raise WarehouseFull("no space left")

    assert not template.copy_of_blank(template.Blank("tables", make), tmp_path / "new.duckdb")
