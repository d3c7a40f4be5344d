"""The flows `ingest` and `maintain` on a lake: a real Prefect server, a real PostgreSQL, files in a folder."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported

# isort: split

import shutil
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="the extra `lake` is not installed")

from bufferhouse.warehouse.address import LakeAddress, address_of
from bufferhouse.warehouse.open import reading
from flows.ingest import ingest
from flows.maintain import maintain
from tests.command_line import CHECKOUT
from tests.flows.clock import artifacts, figures
from tests.warehouse.lake.lakes import answer, file_count, needs_lake, snapshot_count

pytest_plugins = ["tests.flows.prefect_server", "tests.servers.lake_servers"]
FLEET = CHECKOUT / "examples" / "fleet"
RUNS = ("jaxlib-0.9.0", "jaxlib-0.10.0", "seeds")
pytestmark = [needs_lake, pytest.mark.soak]


@pytest.fixture
def lake(postgres, tmp_path, monkeypatch) -> LakeAddress:
    """A lake that is not there yet; where its files go says the environment, as a deployment has it."""
    monkeypatch.setenv("BUFFERHOUSE_DATA_PATH", str(tmp_path / "files"))
    return address_of(f"ducklake:postgres:{postgres.make_database()}")


def summary(state, key: str) -> dict[str, str]:
    """Return the figures that a flow run left under a key."""
    return figures(artifacts(state)[key])


def test_flows_fill_and_keep_a_lake(prefect_server, lake, tmp_path):
    """Three passes load what is new; maintenance merges their files, forgets snapshots and removes what is in none."""
    new = []
    for name in RUNS:
        shutil.copytree(FLEET / name, tmp_path / "dumps" / name)
        state = ingest([str(tmp_path / "dumps")], warehouse=str(lake), return_state=True)
        assert "COMPLETED" == state.type.value, state.message
        new.append(state.result()["new"])
    count = "SELECT COUNT(*), COUNT(DISTINCT load_id) FROM raw.dumps"
    assert [(sum(new), 3)] == answer(lake, count)
    stray = Path(lake.data_path) / "raw" / "uses" / "ducklake-of-a-load-that-was-killed.parquet"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"")
    with reading(lake) as opened:
        con = opened.con
        before = file_count(con), snapshot_count(con), opened.size()

    state = maintain(warehouse=str(lake), settings=["retention.snapshots=0s"], return_state=True)

    assert "COMPLETED" == state.type.value, state.message
    expected = {
        "runs removed": 0, "dumps that were stored twice": 0, "dumps proved": sum(new), "dumps with faults": 0,
        "checks failed": 0, "published": lake,
    }  # fmt: skip
    said = summary(state, "maintain-summary")
    assert {name: str(value) for name, value in expected.items()} == {name: said[name] for name in expected}
    with reading(lake) as opened:
        con = opened.con
        after = file_count(con), snapshot_count(con), opened.size()
    assert 1 == after[1] < before[1]
    assert after[0] < before[0]
    assert (str(before[2]), str(after[2])) == (said["warehouse bytes before"], said["warehouse bytes after"])
    assert after[0] == len(list(Path(lake.data_path).rglob("*.parquet")))
    assert [(sum(new), 3)] == answer(lake, count)
    state = ingest([str(tmp_path / "dumps")], warehouse=str(lake), return_state=True)
    assert ("COMPLETED", 0) == (state.type.value, state.result()["new"])
