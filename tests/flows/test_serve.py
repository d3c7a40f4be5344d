"""`bufferhouse serve` on a real Prefect server: what is dropped into a folder comes out right."""

import os
import shutil
import time
from itertools import pairwise
from pathlib import Path

import pytest

from flows.server import alone
from tests.command_line import CHECKOUT, call
from tests.flows.clock import Clock, children_of, command_of, figures, forkserver_of, prefect_at, until
from tests.flows.strangers import PLACES, answers, ended_run
from tests.ingests import name_of, write_dumps
from tests.synthetic import small_dump
from tests.system.heard import contacts, strangers

pytest_plugins = ["tests.flows.prefect_server"]
pytestmark = pytest.mark.slow

CONFIG = """
[schedule]
ingest = "5s"
site = "off"
maintain = "off"

[report]
target = "reports"
history = false

[retention]
verify_sample = 5

[[sources]]
name = "drop"
paths = ["drop"]
runs = "{run}/**/module_*"
track = "nightly"
settle = "1s"
grace = "30s"
"""
SPLIT = CHECKOUT / "examples" / "fleet" / "jaxlib-0.10.0"


@pytest.fixture(scope="module")
def clock(prefect_server, tmp_path_factory):
    """A served folder with two dumps of one run in it, on the server of the whole test run.

    The paths below it are as long as those of clusters' jobs: no socket can lie there.
    """
    folder = tmp_path_factory.mktemp("a-scratch-folder-of-a-job-" * 4)
    clock = Clock(folder, prefect_server.port, is_heard=True, auth=prefect_server.auth)
    clock.config.write_text(CONFIG)
    write_dumps(clock.drop / "r1", [1, 2])
    clock.start()
    yield clock
    assert 0 == clock.stop(), (clock.root / "serve.log").read_text()[-3000:]
    with prefect_at(clock.root / "prefect"), alone(clock.port):
        pass  # whoever has ended refuses nobody


def seen(clock):
    """Return run and file name of what the published warehouse has observed."""
    rows = clock.published(
        "SELECT run_name, relative_path FROM staging.observations JOIN staging.runs USING (run_id) ORDER BY 1, 2"
    )
    return rows


def order(clock: Clock, flow: str, **choice: object) -> str:
    """Ask for a flow run of a deployment, at once, with other parameters than its own; return its id."""
    found = clock.ask(f"deployments/name/{flow}/bufferhouse")
    asked = {"state": {"type": "SCHEDULED"}, "parameters": {**found["parameters"], **choice}}
    return clock.ask(f"deployments/{found['id']}/create_flow_run", asked)["id"]


def test_what_lies_there_and_what_is_dropped_is_published(clock):
    """Dumps appear in the published warehouse by themselves, in their runs, with the source's track."""
    until(lambda: len(seen(clock)) == 2, "the first two dumps")
    write_dumps(clock.drop / "r2", [3])
    write_dumps(clock.drop / "r1", [4])
    new = {("r2", name_of(3)), ("r1", name_of(4))}
    until(lambda: new <= set(seen(clock)), "the dump of a new run and the late one of an old run")
    assert [("r1", "nightly"), ("r2", "nightly")] == clock.published(
        "SELECT run_name, track FROM raw.runs ORDER BY run_name"
    )


def test_half_written_damaged_and_split_dumps_are_treated_as_said(clock):
    """A file that grows is never read, a damaged one is a reject, three files in the wrong order are one dump."""
    slow = clock.drop / "r3" / name_of(10)
    slow.parent.mkdir()
    whole = small_dump(10)
    stem = min(path.name for path in SPLIT.glob("*-live-range.txt")).removesuffix("-live-range.txt")
    (clock.drop / "r3" / name_of(11)).write_bytes(small_dump(11)[:-30])
    for suffix in ("-live-range.txt", "-buffer-assignment-values.txt", "-buffer-assignment.txt"):
        shutil.copyfile(SPLIT / f"{stem}{suffix}", clock.drop / "r3" / f"{stem}{suffix}")
        for _ in range(5):  # the first passes see only a part of all this
            with slow.open("ab") as file:
                file.write(whole[: max(1, len(whole) // 20)])
                whole = whole[max(1, len(whole) // 20) :]
            time.sleep(0.4)
    with slow.open("ab") as file:
        file.write(whole)
    until(lambda: len([row for row in seen(clock) if row[0] == "r3"]) == 2, "the whole and the split dump")
    until(lambda: clock.published("SELECT 1 FROM raw.rejects"), "the reject")
    assert [(name_of(11),)] == clock.published("SELECT relative_path FROM raw.rejects")
    assert [("combined", name_of(10)), ("split", f"{stem}-buffer-assignment.txt")] == clock.published(
        "SELECT file_layout, relative_path FROM raw.observations JOIN raw.dumps USING (dump_id)"
        " JOIN raw.runs USING (run_id) WHERE run_name = 'r3' ORDER BY 1"
    )


def test_the_artifacts_hold_the_right_numbers(clock):
    """Over all flow runs as many new contents and rejects as the warehouse has; the last one knows them all."""

    def has_ended_quiet() -> bool:
        runs = clock.flow_runs("ingest", "source:drop")
        said = figures(clock.artifacts(runs[-1])["ingest-summary"])
        return len(runs) > 2 and ("0", "1") == (said["new contents"], said["rejected before"])

    until(has_ended_quiet, "a flow run that knows it all")
    ended = clock.flow_runs("ingest", "source:drop")
    summaries = [figures(clock.artifacts(run)["ingest-summary"]) for run in ended]
    ((dumps, observations),) = clock.published(
        "SELECT COUNT(*), (SELECT COUNT(*) FROM raw.observations) FROM raw.dumps"
    )
    assert (dumps, 1) == tuple(sum(int(one[name]) for one in summaries) for name in ("new contents", "rejected"))
    last = summaries[-1]
    assert (str(observations + 1), str(observations), "1", "0") == tuple(
        last[name] for name in ("dumps seen", "known", "rejected before", "waiting")
    )
    assert str(os.stat(clock.warehouse).st_size) == last["warehouse bytes"]
    assert {100.0} == {clock.artifacts(run)["ingest-progress"] for run in ended}
    assert all(run["name"].startswith("ingest all sources 20") for run in ended)
    assert all(one["start_time"] < two["start_time"] for one, two in pairwise(ended))


def test_flow_runs_are_forks_of_a_process_with_one_thread(clock):
    """What flow runs are forked from has imported Prefect, and nothing that starts threads: a fork would lose them.

    Were they started in another way, each would import Prefect anew; so there is no such process.
    """
    server = forkserver_of(clock.process.pid)
    assert 1 == len(os.listdir(f"/proc/{server}/task"))
    maps = Path(f"/proc/{server}/maps").read_text()
    assert (True, False, False) == ("pydantic" in maps, "duckdb" in maps, "polars" in maps)
    until(lambda: children_of(server), "a flow run")
    others = [command_of(child) for child in children_of(clock.process.pid) if child != server]
    assert [] == [command for command in others if b"prefect.engine" in command or b"spawn_main" in command]


def test_reports_and_maintenance_run_when_they_are_asked_for(clock):
    """Every flow is deployed; the report lies in its folder with a link to it, and maintenance proves and publishes."""
    ingest = clock.ask("deployments/name/ingest/bufferhouse")
    clock.ask(f"deployments/{ingest['id']}/pause_deployment", {})  # from here on nothing is dropped any more
    order(clock, "fleet_report", history=False)  # figures may be chosen
    order(clock, "maintain")
    order(clock, "backfill")
    report, maintain, backfill = (
        until(lambda flow=flow: clock.flow_runs(flow), f"a run of {flow}")[0]
        for flow in ("fleet_report", "maintain", "backfill")
    )
    page = clock.root / "reports" / "fleet.html"
    assert "<!doctype html>" == page.read_text()[:15].lower()
    assert f"[fleet report]({page.as_uri()})" == clock.artifacts(report)["fleet-report"]
    done = figures(clock.artifacts(maintain)["maintain-summary"])
    assert ("0", "5", "0") == tuple(done[name] for name in ("runs removed", "dumps proved", "dumps with faults"))
    assert "0" == figures(clock.artifacts(backfill)["backfill-summary"])["dumps chosen"]


def test_strangers_are_refused(clock):
    """Requests without the authentication string, to a foreign name or of a foreign page, and sockets, are refused."""
    assert [] == [what for what, is_held in answers(clock.port, clock.authentication, is_short=True) if not is_held]


def test_a_caller_may_choose_no_place(clock):
    """A flow run that names a place which is not configured fails, and says which is."""
    choice = PLACES["fleet_report"][0]  # `make attack` tries all of them
    number = order(clock, "fleet_report", **choice)
    ended = until(lambda: ended_run(clock, number), "the end of a flow run")
    assert "FAILED" == ended["state_type"]
    assert ended["state"]["message"].startswith("target: expected report.target of the configuration, found s3://")
    assert "what is served decides that" in ended["state"]["message"]


def test_another_serve_is_refused_meanwhile(clock, monkeypatch):
    """It would carry out the same flow runs, and pause the deployments at its end."""
    monkeypatch.setattr("flows.serving.serve", lambda *_, **__: None)  # if it is not refused, it would never end
    with prefect_at(clock.root / "prefect"):
        outcome = call("serve", "--config", clock.config, "--port", clock.port)
    assert (2, True) == (outcome.code, f"serve, process {clock.process.pid} on port {clock.port}, " in outcome.err)


def test_nothing_but_loopback_was_contacted(clock, prefect_server):
    """Neither by the server, nor by what serves, nor by flow runs: no telemetry leaves the machine."""
    found = contacts(clock.contacts)
    commands = {" ".join(one["command"]) for one in found}
    for part in ("bufferhouse.cli serve", "forkserver"):
        assert [] != [command for command in commands if part in command], f"{part} is not among {commands}"
    assert [] == strangers(found + contacts(prefect_server.contacts))
