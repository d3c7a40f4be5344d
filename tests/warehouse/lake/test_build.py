"""The models of a lake: brought along by one worker while others load, from where another was stopped."""

import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.engine.sql import transaction
from bufferhouse.errors import WarehouseBusy
from bufferhouse.models import project
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.lake import build, history
from bufferhouse.warehouse.lake.build import build_lake
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.warehouse import Warehouse
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import needs_lake
from tests.warehouse.lake.test_lake import empty_lake, own  # noqa: F401 - fixtures
from tests.warehouses import load_parsed, parsed

pytestmark = [needs_lake, pytest.mark.slow]
COVERED = (
    "SELECT COUNT(DISTINCT load_id), COUNT(*) FROM appended.model_loads AS l JOIN meta.models AS m"
    " ON l.model_name = m.model_name AND l.fingerprint = m.fingerprint WHERE l.model_name = 'intermediate.peaks'"
)


@pytest.fixture
def changed(tmp_path) -> Path:
    """The models, one of the stored ones changed."""
    shutil.copytree(MODELS, tmp_path / "models")
    path = tmp_path / "models" / "intermediate" / "peaks.sql"
    path.write_text(path.read_text() + "\n-- Changed.\n")
    (old,) = [model for model in project.read(MODELS) if model.name == "intermediate.peaks"]
    (new,) = [model for model in project.read(tmp_path / "models") if model.name == "intermediate.peaks"]
    assert old.fingerprint != new.fingerprint
    return tmp_path / "models"


def load_two(warehouse: Warehouse) -> list[tuple]:
    for number in range(2):
        load_parsed(warehouse, parsed([small_dump(number)], f"run-{number}"), f"run-{number}")
    return warehouse.con.execute("SELECT * FROM intermediate.peaks ORDER BY ALL").fetchall()


@pytest.mark.soak
def test_a_changed_model_is_computed_beside_the_old_one(own, changed):  # noqa: F811
    """Load by load; a worker that is stopped leaves what it did to the next one, and readers the old model."""
    done = []

    def stop(name: str, count: int, total: int) -> None:
        done.append((name, count, total))
        if len(done) == 1:
            raise KeyboardInterrupt

    with writing(own) as warehouse:
        rows = load_two(warehouse)
        assert 2 == len(rows)
        with pytest.raises(KeyboardInterrupt):
            build_lake(warehouse, changed, progress=stop)
        assert rows == warehouse.con.execute("SELECT * FROM intermediate.peaks ORDER BY ALL").fetchall()
        assert "intermediate.peaks" in build_lake(warehouse, changed, progress=stop)
        own_steps = [(count, total) for name, count, total in done if name == "intermediate.peaks"]
        assert rows == warehouse.con.execute("SELECT * FROM intermediate.peaks ORDER BY ALL").fetchall()
        assert (2, 2) == warehouse.con.execute(COVERED).fetchone()
        assert [] == build_lake(warehouse, changed)
        tables = warehouse.con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%\\_\\_%' ESCAPE '\\'"
        )
        assert [] == tables.fetchall()
    assert [(1, 1)] == own_steps


def test_progress_counts_dumps(own, changed):  # noqa: F811
    """As that of a file does, though it is loads that are computed one after the other."""
    done = []
    with writing(own) as warehouse:
        load_parsed(warehouse, parsed([small_dump(number) for number in range(3)]))
        load_parsed(warehouse, parsed([small_dump(9)], "later"), "later")
        build_lake(warehouse, changed, progress=lambda *step: done.append(step))
    assert [(3, 4), (4, 4)] == [(count, total) for name, count, total in done if name == "intermediate.peaks"]


def test_what_was_loaded_while_models_were_built_is_computed_behind_it(own):  # noqa: F811
    """Whoever builds next finds the load without rows, whatever the reason, and fills it in, once."""
    with writing(own) as warehouse:
        rows = load_two(warehouse)
        with transaction(warehouse.con):
            last = warehouse.con.execute("SELECT MAX(load_id) FROM raw.loads").fetchone()[0]
            warehouse.con.execute("DELETE FROM appended.model_loads WHERE load_id = ?", [last])
            of_the_load = "SELECT dump_id FROM raw.dumps WHERE load_id = ?"
            warehouse.con.execute(f"DELETE FROM intermediate.peaks WHERE dump_id IN ({of_the_load})", [last])
            warehouse.con.execute(
                "INSERT INTO appended.model_loads SELECT model_name, fingerprint, ? FROM meta.models"
                " WHERE is_incremental AND model_name <> 'intermediate.peaks'",
                [last],
            )
        for _ in range(2):
            assert [] == warehouse.build()
            assert rows == warehouse.con.execute("SELECT * FROM intermediate.peaks ORDER BY ALL").fetchall()


def test_a_batch_computed_by_old_models_is_not_committed(own, monkeypatch):  # noqa: F811
    """Its rows would stand among those of the new ones: the load says so, and adds nothing."""
    told = history.note_models

    def late(con: duckdb.DuckDBPyConnection, batch: str) -> None:
        con.execute(f"UPDATE {batch}.main.computed SET fingerprint = 'of before'")
        told(con, batch)

    with writing(own) as warehouse:
        monkeypatch.setattr(history, "note_models", late)
        with pytest.raises((WarehouseBusy, duckdb.Error)):
            load_two(warehouse)
        assert (0, 0) == warehouse.con.execute(
            "SELECT (SELECT COUNT(*) FROM raw.dumps), (SELECT COUNT(*) FROM raw.loads)"
        ).fetchone()


def test_one_worker_builds_at_a_time(own, monkeypatch):  # noqa: F811
    """Another is told so, and a load that meets it goes on with the models that are there."""
    from contextlib import contextmanager

    @contextmanager
    def never(address, what):
        yield False

    monkeypatch.setattr(build, "alone", never)
    with writing(own) as warehouse, pytest.raises(WarehouseBusy, match="another worker builds the models"):
        warehouse.build(force=True)
