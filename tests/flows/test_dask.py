"""The flow `ingest` on a real Dask cluster and a real Prefect server; skipped where the extra dask is not installed."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported
from bufferhouse.paths import CHECKOUT

# isort: split

import sys
from pathlib import Path

import duckdb
import pytest

from bufferhouse.errors import ClusterUnavailable, UsageError
from flows.ingest import ingest
from flows.parsers import _submit
from tests.flows.clock import free_port
from tests.ingests import write_dumps
from tests.warehouses import differences

pytest_plugins = ["tests.flows.prefect_server"]

FLEET = CHECKOUT / "examples" / "fleet"
DASK = 'flows.task_runner="dask"'
needs_dask = pytest.mark.dask


@pytest.fixture(autouse=True)
def _extra(request):
    """Skip what needs the extra, and say by which package."""
    if request.node.get_closest_marker("dask"):
        pytest.importorskip("prefect_dask", reason="the extra dask is not installed: prefect-dask is missing")


def compared(sources: Path, directory: Path, workers: int | None = 4) -> tuple[str, dict[str, int], list[tuple]]:
    """Ingest with and without Dask; return the name of the final state, the differences, and the loads with Dask."""
    one, two = directory / "dask.duckdb", directory / "processes.duckdb"
    call = {"sources": [str(sources)], "publish_copy": False, "return_state": True}
    state = ingest(**call, warehouse=str(one), workers=workers, settings=[DASK])
    ingest(**call, warehouse=str(two), workers=1)
    with duckdb.connect(str(one), read_only=True) as con:
        loads = con.execute("SELECT load_id, new_count, rejected_count FROM raw.loads ORDER BY load_id").fetchall()
    return state.name, differences(one, two), loads


@needs_dask
@pytest.mark.soak
def test_a_dask_cluster_loads_the_same_rows(prefect_server, tmp_path, monkeypatch):
    """A local cluster of four processes parses several batches at a time, and every table of raw has the same rows."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "30")
    name, different, loads = compared(FLEET, tmp_path)
    assert "Completed" == name
    assert dict.fromkeys(different, 0) == different
    assert 126 == sum(new for _, new, _ in loads)
    assert len(loads) > 3


@needs_dask
@pytest.mark.soak
def test_a_dask_cluster_that_is_started_once_it_is_worth_it_loads_the_same_rows(prefect_server, tmp_path, monkeypatch):
    """Where nobody says how many processes: the first batches are parsed by the flow run."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "30")
    monkeypatch.setattr("bufferhouse.ingest.workers.SMALLEST_INPUT_BYTES", 1 << 20)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    submitted = []
    monkeypatch.setattr(
        "flows.parsers._submit", lambda runner, number, work: submitted.append(number) or _submit(runner, number, work)
    )
    name, different, loads = compared(FLEET, tmp_path, workers=None)
    assert "Completed" == name
    assert dict.fromkeys(different, 0) == different
    assert list(range(2, len(loads) + 1)) == submitted


@needs_dask
@pytest.mark.soak
@pytest.mark.corpus
def test_a_dask_cluster_loads_the_whole_fleet(prefect_server, corpus, tmp_path):
    """14,603 dumps, most of them repeats of contents that are still on their way: the same rows."""
    name, different, loads = compared(corpus / "fleet", tmp_path)
    assert "Completed" == name
    assert dict.fromkeys(different, 0) == different
    assert 1903 == sum(new for _, new, _ in loads)


@needs_dask
def test_a_scheduler_that_does_not_answer_is_named(prefect_server, tmp_path, monkeypatch):
    """The flow run fails at once with the address, what to do, and nothing loaded."""
    monkeypatch.setattr("flows.parsers._CONNECT_SECONDS", 0.5)
    write_dumps(tmp_path / "dumps", range(1))
    address = f"tcp://127.0.0.1:{free_port()}"
    state = ingest(
        [str(tmp_path / "dumps")],
        warehouse=str(tmp_path / "warehouse.duckdb"),
        settings=[DASK, f"flows.dask_address={address}"],
        return_state=True,
    )
    assert isinstance(state.result(raise_on_failure=False), ClusterUnavailable)
    assert state.message.startswith(f"flows.dask_address: expected a Dask scheduler with workers at {address}, found: ")


def test_without_the_extra_the_way_out_is_said(prefect_server, tmp_path, monkeypatch):
    """Dask that is configured and not installed is an error of usage, before the warehouse is opened."""
    monkeypatch.setitem(sys.modules, "prefect_dask", None)
    write_dumps(tmp_path / "dumps", range(1))
    warehouse = tmp_path / "warehouse.duckdb"
    with pytest.raises(UsageError, match="expected the packages of the extra dask"):
        ingest([str(tmp_path / "dumps")], warehouse=str(warehouse), settings=[DASK])
    assert not warehouse.exists()
