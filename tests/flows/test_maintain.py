"""The flows `maintain`, `backfill`, `site` and `fleet_report`, on a real Prefect server."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported

# isort: split

import shutil
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path

import duckdb
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.events.filters import EventFilter, EventNameFilter, EventRelatedFilter
from prefect.flow_engine import run_flow
from prefect.logging import get_logger
from prefect.states import Completed, State

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.config.load import load
from bufferhouse.errors import UsageError
from bufferhouse.warehouse import verify
from flows.backfill import backfill
from flows.callers import SERVED, served
from flows.events import FAILED_CHECK, REGRESSION, emit_regression
from flows.fleet_report import fleet_report
from flows.maintain import maintain
from flows.site import site
from tests.flows.clock import artifacts, figures, until
from tests.flows.deployment import run_deployed
from tests.ingests import write_dumps
from tests.oom.specimens import FOLDER
from tests.warehouses import published_path

pytest_plugins = ["tests.flows.prefect_server"]


def query(warehouse, sql):
    with duckdb.connect(str(warehouse)) as con:
        return con.execute(sql).fetchall()


@pytest.fixture(scope="module")
def seeds_warehouse(fleet, tmp_path_factory):
    """A warehouse of five dumps. To be copied, never written."""
    path = tmp_path_factory.mktemp("seeds") / "seeds.duckdb"
    assert 0 == run_ingest([str(fleet / "seeds")], path).exit_code
    return path


@pytest.fixture
def five_dumps(seeds_warehouse, tmp_path):
    """A warehouse of five dumps that the test may change."""
    return Path(shutil.copy(seeds_warehouse, tmp_path / "five.duckdb"))


@pytest.fixture(scope="module")
def nights_warehouse(tmp_path_factory):
    """A warehouse of four nights on the CPU and one before on a TPU, each of two dumps. To be copied, never written."""
    folder = tmp_path_factory.mktemp("nights")
    for day, name in enumerate(("tpu", "n1", "n2", "n3", "n4")):
        for dump in write_dumps(folder / name, [2 * day, 2 * day + 1]):
            if name == "tpu":
                dump.rename(dump.with_name(dump.name.replace("cpu_after", "cl_853872983.after")))
        (folder / name / "run.json").write_text(f'{{"started_at": "2026-01-0{day + 1}T00:00:00Z"}}')
    assert 0 == run_ingest([str(folder / name) for name in ("tpu", "n1", "n2", "n3", "n4")], folder / "w").exit_code
    return folder / "w"


@pytest.fixture
def nights(nights_warehouse, tmp_path):
    """A copy of it that the test may change."""
    return Path(shutil.copy(nights_warehouse, tmp_path / "nights.duckdb"))


def test_maintenance_prunes_compacts_proves_and_publishes(prefect_server, nights):
    """By the configuration or by parameters; the summary has the numbers of the warehouse."""
    ((before,),) = query(nights, "SELECT COUNT(*) FROM raw.dumps")
    state = maintain(warehouse=str(nights), settings=["retention.keep_runs=2"], return_state=True)
    assert "COMPLETED" == state.type.value
    ((after,),) = query(nights, "SELECT COUNT(*) FROM raw.dumps")
    said = figures(artifacts(state)["maintain-summary"])
    expected = {
        "runs removed": 2,  # two of the CPU and that of the TPU stay
        "dumps removed": before - after, "dumps proved": after,
        "dumps with faults": 0, "published": published_path(nights),
    }  # fmt: skip
    assert {name: str(value) for name, value in expected.items()} == {name: said[name] for name in expected}
    assert [(3, after)] == query(
        published_path(nights), "SELECT (SELECT COUNT(*) FROM raw.runs), COUNT(*) FROM raw.dumps"
    )
    assert ["n3", "n4", "tpu"] == [name for (name,) in query(nights, "SELECT run_name FROM raw.runs ORDER BY ALL")]


def test_what_does_not_prove_itself_is_not_published(prefect_server, five_dumps):
    """One wrong byte count: the flow run fails, names the dump, and readers keep what they have."""
    ((dump_id,),) = query(five_dumps, "SELECT MIN(dump_id) FROM raw.dumps")
    query(five_dumps, f"UPDATE raw.dumps SET text_bytes = text_bytes + 1 WHERE dump_id = {dump_id}")
    state = maintain(warehouse=str(five_dumps), compact_file=False, verify_sample=10**6, return_state=True)
    assert "FAILED" == state.type.value
    assert f"dump {dump_id}: " in artifacts(state)["maintain-summary"]
    assert not published_path(five_dumps).exists()


def test_messages_that_do_not_prove_themselves_are_not_published(prefect_server, warehouse):
    """As for `verify`; a dump with several faults is one dump."""
    assert 0 == run_ingest([str(FOLDER / "libtpu-0.0.33" / "kv")], warehouse).exit_code
    query(warehouse, "UPDATE raw.oom_figures SET printed_text = '1.00G' WHERE figure_name = 'used'")
    state = maintain(warehouse=str(warehouse), compact_file=False, return_state=True)
    assert "1 message of logs not proved; nothing was published" == state.message
    assert "oom_figures has " in artifacts(state)["maintain-summary"]
    assert not published_path(warehouse).exists()
    query(warehouse, "UPDATE intermediate.peak_owners SET size_bytes = size_bytes + 1")
    query(warehouse, "UPDATE intermediate.balances SET slack_bytes = slack_bytes + 1")
    state = maintain(warehouse=str(warehouse), compact_file=False, return_state=True)
    assert "1 dump, 1 message of logs not proved; nothing was published" == state.message
    assert ("0", "1") == itemgetter("dumps proved", "dumps with faults")(figures(artifacts(state)["maintain-summary"]))


def test_a_view_that_somebody_changed_is_not_published(prefect_server, five_dumps):
    """As for `verify`: the copy for readers would have the other numbers, too; the summary says what mends it."""
    query(five_dumps, "CREATE OR REPLACE VIEW marts.runs AS SELECT * FROM marts.runs_v1")
    state = maintain(warehouse=str(five_dumps), return_state=True)
    assert "1 view not proved; nothing was published" == state.message
    summary = artifacts(state)["maintain-summary"]
    assert ("5", "1") == itemgetter("dumps proved", "views with faults")(figures(summary))
    assert "marts.runs: the view is not the one that was built; build it again with: bufferhouse build" in summary
    assert not published_path(five_dumps).exists()


def events_of(state: State, name: str) -> list[dict]:
    """Return the payloads of the events of a name that a flow run has emitted; they come a moment later."""
    number = str(state.state_details.flow_run_id)
    filtered = EventFilter(
        event=EventNameFilter(name=[name]), related=EventRelatedFilter(id=[f"prefect.flow-run.{number}"])
    )

    def asked() -> list[dict]:
        with get_client(sync_client=True) as client:
            body = {"filter": filtered.model_dump(mode="json")}
            return [one["payload"] for one in client.request("POST", "/events/filter", json=body).json()["events"]]

    return until(asked, f"an event {name}", 60)


def test_a_failed_check_is_an_event_and_nothing_is_published(prefect_server, five_dumps, monkeypatch):
    """One byte too much in a balance: the flow run fails with the check's name, and tells whoever listens."""
    ((dump_id, other),) = query(five_dumps, "SELECT MIN(dump_id), MAX(dump_id) FROM intermediate.balances")
    query(five_dumps, f"UPDATE intermediate.balances SET slack_bytes = slack_bytes + 1 WHERE dump_id = {dump_id}")
    # By chance the sample may hold the damaged dump, which does not prove itself then.
    monkeypatch.setattr(verify, "chosen_dumps", lambda con, sample: [other])
    state = maintain(warehouse=str(five_dumps), compact_file=False, verify_sample=1, return_state=True)
    assert ("FAILED", True) == (state.type.value, state.message.startswith("1 check failed: balances_close: "))
    assert "1" == figures(artifacts(state)["maintain-summary"])["checks failed"]
    assert not published_path(five_dumps).exists()
    (told,) = events_of(state, FAILED_CHECK)
    assert ("balances_close", "error", True) == (told["check"], told["severity"], f"dump {dump_id}: " in told["first"])


def test_a_regression_is_an_event(prefect_server):
    """What the flow that compares runs tells: its sentence, both runs, and what takes more."""
    grown = {"program_id": 1, "memory_space": 0, "grown_bytes": 8}

    @flow(name="regressions of a test")
    def compared() -> State:
        emit_regression("r2", "r1", "r2 takes more", [grown])
        return Completed()

    (told,) = events_of(compared(return_state=True), REGRESSION)
    expected = {"message": "r2 takes more", "run": "r2", "before": "r1", "count": 1}
    assert {**expected, "regressions": [grown]} == told


def test_a_backfill_builds_again_what_one_run_brought(prefect_server, nights):
    """The rows of the incremental models of its dumps, and of no other, come back as they were."""
    run = "SELECT dump_id FROM raw.observations JOIN raw.runs USING (run_id) WHERE run_name = 'n4'"
    rows = "SELECT * FROM intermediate.peaks ORDER BY ALL"
    ((others,),) = query(nights, f"SELECT COUNT(*) FROM intermediate.peaks WHERE dump_id NOT IN ({run})")
    expected = query(nights, rows)
    ((count,),) = query(nights, f"SELECT COUNT(DISTINCT dump_id) FROM ({run})")
    query(nights, "DELETE FROM intermediate.peaks")
    call = {"work": "rebuild", "warehouse": str(nights), "publish_copy": False, "return_state": True}
    state = backfill(runs=["n4"], **call)
    assert f"{count} dumps: rebuild" == state.message
    assert [(len(expected) - others,)] == query(nights, "SELECT COUNT(*) FROM intermediate.peaks")
    backfill(**call)
    assert expected == query(nights, rows)


def test_a_backfill_parses_again_by_date(prefect_server, nights):
    """Only dumps of runs that started in that time; what this parser has parsed only when every one is asked for."""
    ((newest,),) = query(nights, "SELECT MAX(started_at) FROM raw.runs")
    ((count,),) = query(
        nights,
        "SELECT COUNT(DISTINCT dump_id) FROM raw.observations JOIN raw.runs USING (run_id)"
        " WHERE started_at = (SELECT MAX(started_at) FROM raw.runs)",
    )
    values = query(nights, "SELECT * FROM raw.hlo_values ORDER BY dump_id, value_id")
    call = {"since": newest, "warehouse": str(nights), "publish_copy": False, "return_state": True}
    parsed = "no dump that was chosen was parsed by another version, and only `every` parses the others again"
    assert f"0 dumps: reparse; {parsed}" == backfill(**call).message
    state = backfill(every=True, **call)
    assert f"{count} dumps: reparse" == state.message
    assert str(count) == figures(artifacts(state)["backfill-summary"])["dumps done"]
    none = "0 dumps: reparse; no run that was chosen has dumps"
    assert none == backfill(every=True, **{**call, "since": newest + timedelta(days=1)}).message
    long_ago = {**call, "since": None, "until": datetime(1970, 1, 1, tzinfo=UTC)}
    assert none == backfill(every=True, **long_ago).message
    assert len(values) == query(nights, "SELECT COUNT(*) FROM raw.hlo_values")[0][0]


@pytest.fixture(scope="module")
def site_of_seeds(prefect_server, seeds_warehouse, tmp_path_factory):
    """The folder of a site, and what the flow run left that wrote it. To be copied, never written: it has 300 pages."""
    target = tmp_path_factory.mktemp("site") / "reports"
    given = {"warehouse": str(seeds_warehouse), "target": str(target), "url": "https://reports.example"}
    return target, artifacts(site(**given, return_state=True, history=False))


def test_the_site_lies_in_its_folder_with_links_to_it(prefect_server, seeds_warehouse, site_of_seeds, tmp_path):
    """Under its former name, too: the index by a name that stays, a page of the day; the second pass writes nothing."""
    folder, found = site_of_seeds
    target = shutil.copytree(folder, tmp_path / "reports")
    given = {"warehouse": str(seeds_warehouse), "target": str(target), "url": "https://reports.example"}
    assert "[site](https://reports.example/index.html)" == found["site"]
    assert {"index.html", "fleet.html", "manifest.json"} <= {path.name for path in target.iterdir()}
    written = {path: path.stat().st_mtime_ns for path in target.rglob("*.*")}
    assert figures(found["site-summary"])["pages"] == figures(found["site-summary"])["pages written"]
    found = artifacts(fleet_report(**given, return_state=True))
    (dated,) = target.glob("history/*.html")
    assert f"[fleet report](https://reports.example/history/{dated.name})" == found["fleet-report"]
    said = figures(found["fleet-report-summary"])
    assert ("1", "0") == (said["runs"], said["pages written"])
    assert written == {path: path.stat().st_mtime_ns for path in target.rglob("*.*") if path != dated}


@pytest.mark.parametrize("call", [maintain, backfill, site, fleet_report], ids=lambda call: call.name)
def test_without_a_warehouse_they_fail_at_once(prefect_server, tmp_path, call):
    """The message has the command that makes one, and none is made."""
    path = tmp_path / "none.duckdb"
    state = call(warehouse=str(path), return_state=True)
    assert "FAILED" == state.type.value
    way_out = f"make one with: bufferhouse ingest SOURCE --warehouse {path}"
    assert f"there is no warehouse at {path}; {way_out}" == state.message
    assert [] == list(tmp_path.iterdir())


def test_a_worker_logs_the_reason_and_no_traceback(prefect_server, tmp_path, caplog):
    """A worker of Prefect raises what a flow run failed with, and would log it as an unexpected exception."""
    given = {"warehouse": str(tmp_path / "none.duckdb")}
    with pytest.raises(UsageError):
        run_flow(maintain, parameters=given, error_logger=get_logger("engine"))
    errors = [one for one in caplog.records if one.levelname == "ERROR"]
    assert [(True, None)] == [(one.message.startswith("there is no warehouse at"), one.exc_text) for one in errors]


@pytest.mark.parametrize("call", [maintain, backfill, site, fleet_report], ids=lambda call: call.name)
def test_every_parameter_is_described(call):
    """Who starts a flow from Prefect's page reads there what each parameter is; none is needed."""
    described = {name: schema.get("description", "") for name, schema in call.parameters.properties.items()}
    undescribed = [name for name, text in described.items() if not text.endswith(".")]
    assert ([], []) == (undescribed, call.parameters.required)


def test_the_target_that_a_deployment_may_choose_is_the_configured_one(
    prefect_server, seeds_warehouse, site_of_seeds, tmp_path, monkeypatch
):
    """It lies beside the configuration, wherever `serve` was started."""
    conf = tmp_path / "bufferhouse.toml"
    conf.write_text(f"warehouse.path = '{seeds_warehouse}'\nreport.target = 'pages'\n")
    shutil.copytree(site_of_seeds[0], tmp_path / "pages")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv(SERVED, served(load(conf), []))
    state = run_deployed(site, target="pages")
    assert ("COMPLETED", f"file://{tmp_path}/pages/index.html") == (state.type.value, state.message)
    assert 1 == len(list(tmp_path.glob("pages/history/*.html")))
    assert [] == list((tmp_path / "elsewhere").iterdir())


def test_a_flow_run_of_another_configuration_says_what_two_machines_need(prefect_server, tmp_path, monkeypatch):
    """Two that serve on one Prefect server make the same deployments, each with the path and the --set of its own."""
    conf = tmp_path / "bufferhouse.toml"
    conf.touch()
    monkeypatch.setenv(SERVED, served(load(conf), []))
    choices = {"config": "/elsewhere/bufferhouse.toml"}, {"settings": ["schedule.ingest=1h"]}
    states = [run_deployed(fleet_report, **choice) for choice in choices]
    both = "both need the same configuration, at the same path and with the same --set (docs/schedule.md)"
    assert [("FAILED", True)] * 2 == [
        (state.type.value, state.message.endswith(f"where two machines serve on one Prefect server, {both}"))
        for state in states
    ]
    assert states[0].message.startswith(f"config: expected {conf}, found /elsewhere/bufferhouse.toml; ")
    assert states[1].message.startswith("settings: expected one of ")
