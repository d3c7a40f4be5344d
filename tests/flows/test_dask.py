"""The flow `ingest` on a real Dask cluster and a real Prefect server; skipped where the extra dask is not installed."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported
from bufferhouse.paths import CHECKOUT

# isort: split

import sys
from functools import partial
from pathlib import Path

import duckdb
import pytest
from prefect import flow

from bufferhouse.errors import EXPECTED, ClusterUnavailable, UsageError
from bufferhouse.ingest import pipeline
from bufferhouse.ingest.read import Limits
from bufferhouse.ingest.source import Source
from bufferhouse.ingest.workers import Workers
from bufferhouse.warehouse.open import writing
from flows.ingest import ingest
from flows.parsers import Cluster
from flows.steps import run_step
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
def test_a_dask_cluster_that_is_started_once_it_is_worth_it_loads_the_same_rows(prefect_server, tmp_path):
    """Where nobody says how many processes: the first batches are parsed by the flow run."""
    one, two = tmp_path / "dask.duckdb", tmp_path / "processes.duckdb"
    sources, limits = [Source.named([str(FLEET)])], Limits(dumps=30)
    aheads = []

    @flow
    def by_dask() -> None:
        # In here: the flow goes to the cluster with all that it refers to, and no cluster can be sent.
        workers = Workers(partial(Cluster, 2), worth_bytes=1 << 20)
        tell = lambda batch: aheads.append(workers.ahead)  # noqa: E731
        pipeline.ingest(sources, writing(one), run=run_step, tell=tell, workers=workers, limits=limits)

    by_dask()
    pipeline.ingest(sources, writing(two), limits=limits)
    different = differences(one, two)
    assert dict.fromkeys(different, 0) == different
    assert (0, 3) == (aheads[0], aheads[-1])


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
def test_a_scheduler_that_does_not_answer_is_named(prefect_server):
    """With the address and what to do; whoever ingests gives up at once."""
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(ClusterUnavailable) as caught:
        Cluster(address=address, wait=0.5)
    said = f"flows.dask_address: expected a Dask scheduler with workers at {address}, found: "
    assert str(caught.value).startswith(said)
    assert isinstance(caught.value, EXPECTED)


def test_without_the_extra_the_way_out_is_said(prefect_server, tmp_path, monkeypatch):
    """Dask that is configured and not installed is an error of usage, before the warehouse is opened."""
    monkeypatch.setitem(sys.modules, "prefect_dask", None)
    write_dumps(tmp_path / "dumps", range(1))
    warehouse = tmp_path / "warehouse.duckdb"
    with pytest.raises(UsageError, match="expected the packages of the extra dask"):
        ingest([str(tmp_path / "dumps")], warehouse=str(warehouse), settings=[DASK])
    assert not warehouse.exists()
