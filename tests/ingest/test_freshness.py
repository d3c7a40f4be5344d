"""For how long a source has brought nothing, whatever the clocks of those who write its files say."""

import os
from datetime import UTC, datetime, timedelta

from bufferhouse.config.load import load
from bufferhouse.ingest.freshness import freshness
from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.open import reading, writing
from bufferhouse.warehouse.stats import stats
from tests.ingests import ingest, write_dumps

_CENTURY = timedelta(days=36525)


def quiet_seconds(warehouse, folder) -> float:
    """How long the source in a folder is quiet a day after now."""
    config = folder / "bufferhouse.toml"
    config.write_text(f'[[sources]]\nname = "drop"\npaths = ["{folder}/drop"]\n')
    with reading(address_of(str(warehouse))) as opened:
        found = freshness(opened.con, load(config))["drop"]
    return found.quiet_seconds(datetime.now(UTC) + timedelta(days=1))


def test_a_file_of_a_time_to_come_does_not_keep_its_source_fresh(warehouse, tmp_path):
    """A source is quiet since its last load: one file with a wrong time hid for years that nothing came."""
    (file,) = write_dumps(tmp_path / "drop", [1])
    later = (datetime.now(UTC) + _CENTURY).timestamp()
    os.utime(file, (later, later))
    ingest(warehouse, tmp_path / "drop")
    assert 24 == quiet_seconds(warehouse, tmp_path) // 3600


def test_a_clock_that_was_ahead_for_one_load_is_forgotten_by_the_next(warehouse, tmp_path):
    """The last load is the one with the largest number."""
    write_dumps(tmp_path / "drop", [1])
    ingest(warehouse, tmp_path / "drop")
    with writing(address_of(str(warehouse))) as opened:
        opened.con.execute("UPDATE raw.loads SET finished_at = finished_at + INTERVAL 100 YEAR")
    assert 0 == quiet_seconds(warehouse, tmp_path)
    write_dumps(tmp_path / "drop", [2])
    ingest(warehouse, tmp_path / "drop")
    assert 24 == quiet_seconds(warehouse, tmp_path) // 3600


def test_a_source_whose_dumps_are_all_refused_grows_quiet(warehouse, tmp_path):
    """Refused dumps came, which the last load of the figures says; nothing was loaded, so the source is older."""
    write_dumps(tmp_path / "drop", [1])
    ingest(warehouse, tmp_path / "drop")

    def loads() -> tuple[int, datetime, int, int]:
        with reading(address_of(str(warehouse))) as opened:
            last, fresh = stats(opened)["last_load"], freshness(opened.con, load(tmp_path / "bufferhouse.toml"))["drop"]
            return last["load_id"], fresh.last_load_at, last["new"], last["rejected"]

    quiet_seconds(warehouse, tmp_path)
    load_id, loaded_at, *counts = loads()
    assert [1, 0] == counts
    (tmp_path / "drop" / "module_0007.jit_f.buffer-assignment.txt").write_text("no dump")
    assert 1 == ingest(warehouse, tmp_path / "drop")[0]
    assert (load_id + 1, loaded_at, 0, 1) == loads()


def observed(warehouse, folder, **sources: str) -> dict[str, int]:
    """How many observations each source has, by name; a source is one path, relative to the configuration's folder."""
    config = folder / "bufferhouse.toml"
    config.write_text("".join(f'[[sources]]\nname = "{name}"\npaths = ["{path}"]\n' for name, path in sources.items()))
    with reading(address_of(str(warehouse))) as opened:
        return {name: found.observation_count for name, found in freshness(opened.con, load(config)).items()}


def test_a_file_that_is_seen_again_is_one_observation(warehouse, tmp_path):
    """Touched or written anew it is read again: the sources together have no more observations than the warehouse."""
    (file,) = write_dumps(tmp_path / "drop", [1])
    ingest(warehouse, tmp_path / "drop")
    os.utime(file, (1, 1))
    ingest(warehouse, tmp_path / "drop")
    with reading(address_of(str(warehouse))) as opened:
        assert (1, {"drop": 1}) == (stats(opened)["observations"], observed(warehouse, tmp_path, drop="drop"))


def test_a_source_has_what_its_glob_matches_alone(warehouse, tmp_path):
    """Beside it in the same folders lies another source: what came of that one kept this one fresh."""
    for number, folder in enumerate(("h1/release", "h2/release", "h2/nightly", "h2/nightly.old"), 1):
        write_dumps(tmp_path / "srv" / folder, [number])
    ingest(warehouse, tmp_path / "srv")
    assert {"nightly": 1, "release": 2, "h": 1, "all": 4, "below": 1, "one": 1, "none": 0} == observed(
        warehouse, tmp_path, nightly="srv/*/nightly", release="srv/**/release", h="srv/h[!2]/*", all="srv/**",
        below="srv/h2/nightly/**/*.txt", one="srv/h?/nightl[xy]/*.txt", none="srv/h?/night",
    )  # fmt: skip


def test_what_was_loaded_by_a_relative_path_belongs_to_its_source(warehouse, tmp_path, monkeypatch):
    """As `bufferhouse ingest drop` does, before somebody configures it."""
    write_dumps(tmp_path / "drop", [1, 2])
    monkeypatch.chdir(tmp_path)
    ingest(warehouse, "drop")
    monkeypatch.chdir("/")
    assert {"drop": 2, "other": 0} == observed(warehouse, tmp_path, drop="drop", other="dro")
