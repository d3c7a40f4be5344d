"""The models of a lake: brought along by one worker while others load, from where another was stopped."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.sql import transaction
from bufferhouse.errors import WarehouseBusy
from bufferhouse.warehouse.lake import build, lake
from bufferhouse.warehouse.lake.build import build_lake
from bufferhouse.warehouse.open import reading, writing
from bufferhouse.warehouse.warehouse import Warehouse
from tests.models.small_models import OBSERVATIONS, SIZES, write_models
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import lake_in, moved, needs_lake
from tests.warehouses import load_parsed, parsed

pytestmark = [needs_lake, pytest.mark.slow]
COVERED = (
    "SELECT COUNT(DISTINCT load_id), COUNT(*) FROM appended.model_loads AS l JOIN meta.models AS m"
    " ON l.model_name = m.model_name AND l.fingerprint = m.fingerprint WHERE l.model_name = 'intermediate.sizes'"
)


@pytest.fixture
def changed(tmp_path) -> Path:
    """The same models, the stored one changed, though not what it says."""
    sizes = SIZES.replace("d.text_bytes * 2", "2 * d.text_bytes")
    return write_models(tmp_path / "changed", staging__observations=OBSERVATIONS, intermediate__sizes=sizes)


@pytest.fixture
def writer(small_lake, tmp_path) -> Iterator[Warehouse]:
    """A lake without rows, with those models, that the test may change."""
    with writing(moved(small_lake, tmp_path / "own"), build_models=False) as warehouse:
        yield warehouse


def load_two(warehouse: Warehouse) -> list[tuple]:
    for number in range(2):
        load_parsed(warehouse, parsed([small_dump(number)], f"run-{number}"), f"run-{number}")
    return warehouse.con.execute("SELECT * FROM intermediate.sizes ORDER BY ALL").fetchall()


@pytest.mark.soak
def test_a_changed_model_is_computed_beside_the_old_one(writer, changed):
    """Load by load; a worker that is stopped leaves what it did to the next one, and readers the old model."""
    done = []

    def stop(name: str, count: int, total: int) -> None:
        done.append((name, count, total))
        if len(done) == 1:
            raise KeyboardInterrupt

    rows = load_two(writer)
    assert 2 == len(rows)
    with pytest.raises(KeyboardInterrupt):
        build_lake(writer, changed, progress=stop)
    assert rows == writer.con.execute("SELECT * FROM intermediate.sizes ORDER BY ALL").fetchall()
    assert "intermediate.sizes" in build_lake(writer, changed, progress=stop)
    own_steps = [(count, total) for name, count, total in done if name == "intermediate.sizes"]
    assert rows == writer.con.execute("SELECT * FROM intermediate.sizes ORDER BY ALL").fetchall()
    assert (2, 2) == writer.con.execute(COVERED).fetchone()
    assert [] == build_lake(writer, changed)
    tables = writer.con.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%\\_\\_%' ESCAPE '\\'")
    assert [] == tables.fetchall()
    assert [(1, 2), (1, 1)] == own_steps


SHOWN = (
    "SELECT schema_name || '.' || view_name, substr(sql, strpos(sql, ' AS ')), comment FROM duckdb_views()"
    " WHERE schema_name IN ('staging', 'intermediate', 'marts', 'checks') ORDER BY ALL"
)
STORED = (
    "SELECT schema_name || '.' || table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()"
    " WHERE schema_name IN ('staging', 'intermediate', 'marts', 'checks') AND schema_name || '.' || table_name IN"
    " (SELECT model_name FROM meta.models WHERE is_incremental) ORDER BY ALL"
)


def test_models_are_those_of_a_file(blank_lake, blank_warehouse):
    """Views and stored models that a lake was given from a blank warehouse read as what a file has."""
    with reading(lake_in(blank_lake)) as lake, reading(blank_warehouse) as file:
        for asked in (SHOWN, STORED):
            expected = file.con.execute(asked).fetchall()
            assert expected == lake.con.execute(asked).fetchall()
            assert expected


def test_only_what_changed_takes_the_place_of_another(writer, tmp_path):
    """A new version of a mart is what its name shows, a gone one leaves no name, and the rest stays as it was."""
    rows = load_two(writer)

    def shown() -> dict[str, tuple]:
        return {name: (sql, comment) for name, sql, comment in writer.con.execute(SHOWN).fetchall()}

    newer = "-- What people read now.\n-- grain: dump_id\nSELECT\n    dump_id  -- The dump.\nFROM staging.contents\n"
    changes = {"marts__sizes_v2": newer, "staging__observations": OBSERVATIONS}
    before = shown()
    assert ["marts.sizes_v2"] == build_lake(writer, write_models(tmp_path / "newer", **changes))
    now = shown()
    assert "What people read now." == now["marts.sizes_v2"][1] == now["marts.sizes"][1]
    others = before.keys() - {"marts.sizes"}
    assert {name: before[name] for name in others} == {name: now[name] for name in others}
    assert [(1,), (1,)] == writer.con.execute("SELECT COUNT(*) FROM marts.sizes GROUP BY dump_id").fetchall()
    gone = write_models(tmp_path / "gone", marts__sizes_v1=None, staging__observations=OBSERVATIONS)
    assert [] == build_lake(writer, gone)
    assert before.keys() - {"marts.sizes_v1", "marts.sizes"} == shown().keys()
    assert rows == writer.con.execute("SELECT * FROM intermediate.sizes ORDER BY ALL").fetchall()


def test_progress_counts_dumps(writer, changed):
    """As that of a file does, though it is loads that are computed one after the other."""
    done = []
    load_parsed(writer, parsed([small_dump(number) for number in range(3)]))
    load_parsed(writer, parsed([small_dump(9)], "later"), "later")
    build_lake(writer, changed, progress=lambda *step: done.append(step))
    assert [(3, 4), (4, 4)] == [(count, total) for name, count, total in done if name == "intermediate.sizes"]


def test_what_was_loaded_while_models_were_built_is_computed_behind_it(writer, small_models):
    """Whoever builds next finds the load without rows, whatever the reason, and fills it in, once."""
    rows = load_two(writer)
    with transaction(writer.con):
        last = writer.con.execute("SELECT MAX(load_id) FROM raw.loads").fetchone()[0]
        writer.con.execute("DELETE FROM appended.model_loads WHERE load_id = ?", [last])
        of_the_load = "SELECT dump_id FROM raw.dumps WHERE load_id = ?"
        writer.con.execute(f"DELETE FROM intermediate.sizes WHERE dump_id IN ({of_the_load})", [last])
        writer.con.execute(
            "INSERT INTO appended.model_loads SELECT model_name, fingerprint, ? FROM meta.models"
            " WHERE is_incremental AND model_name <> 'intermediate.sizes'",
            [last],
        )
    for _ in range(2):
        assert [] == build_lake(writer, small_models)
        assert rows == writer.con.execute("SELECT * FROM intermediate.sizes ORDER BY ALL").fetchall()


def test_a_batch_computed_by_old_models_is_not_committed(writer, monkeypatch):
    """Its rows would stand among those of the new ones: the load says so, and adds nothing."""
    told = lake.note_models

    def late(con: duckdb.DuckDBPyConnection, batch: str) -> None:
        con.execute(f"UPDATE {batch}.main.computed SET fingerprint = 'of before'")
        told(con, batch)

    monkeypatch.setattr(lake, "note_models", late)
    with pytest.raises((WarehouseBusy, duckdb.Error)):
        load_two(writer)
    assert (0, 0) == writer.con.execute(
        "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COUNT(*) FROM raw.loads)"
    ).fetchone()


def test_one_worker_builds_at_a_time(writer, monkeypatch):
    """Another is told so, and a load that meets it goes on with the models that are there."""
    from contextlib import contextmanager

    @contextmanager
    def never(address, what):
        yield False

    monkeypatch.setattr(build, "alone", never)
    with pytest.raises(WarehouseBusy, match="another worker builds the models"):
        writer.build(force=True)
