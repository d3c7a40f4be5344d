"""`prefect.yaml`: what it deploys, and a process worker that runs it on a real Prefect server."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported

# isort: split

import subprocess
import sys
from importlib import import_module

import pytest
import yaml
from prefect import Flow

from bufferhouse.config.load import load
from flows.serving import deployments
from tests.command_line import CHECKOUT, call
from tests.flows.clock import Clock
from tests.ingests import name_of, write_dumps
from tests.synthetic import small_dump
from tests.system.heard import contacts, strangers
from tests.warehouses import rows

pytest_plugins = ["tests.flows.prefect_server"]

CONFIG = """
[[sources]]
name = "drop"
paths = ["drop"]
settle = "0s"
"""


def test_every_flow_that_is_served_can_be_deployed(tmp_path):
    """By its name, from where it stands, with parameters that it has, to one pool."""
    (tmp_path / "bufferhouse.toml").write_text(CONFIG)
    served = {one["flow"].name for one in deployments(load(tmp_path / "bufferhouse.toml"))}
    deployed = yaml.safe_load((CHECKOUT / "prefect.yaml").read_text())["deployments"]
    found = {}
    for one in deployed:
        path, name = one["entrypoint"].split(":")
        found[name] = getattr(import_module(path.removesuffix(".py").replace("/", ".")), name)
        assert isinstance(found[name], Flow)
        assert one["parameters"].keys() <= found[name].parameters.properties.keys()
        assert ("bufferhouse", True) == (one["work_pool"]["name"], name in one["tags"])
    assert (served, len(deployed)) == ({flow.name for flow in found.values()}, len(found))


# Prefect's command line and a worker take ten seconds of the processor; what is served runs the same flows daily.
@pytest.mark.soak
def test_a_worker_loads_what_the_command_line_loads(prefect_server, tmp_path):
    """`prefect deploy --all` and a process worker: the same dumps and rejects, and nothing but loopback is asked."""
    clock = Clock(tmp_path, prefect_server.port, is_heard=True, auth=prefect_server.auth)
    clock.config.write_text(CONFIG)
    write_dumps(clock.drop / "r1", [1, 2])
    (clock.drop / "r1" / name_of(3)).write_bytes(small_dump(3)[:-30])
    own, expected = tmp_path / "worker.duckdb", tmp_path / "expected.duckdb"
    environment = {
        **clock.environment,
        "PREFECT_API_URL": clock.url,
        "BUFFERHOUSE_HOME": str(CHECKOUT),
        "BUFFERHOUSE_CONFIG": str(clock.config),
        "BUFFERHOUSE_WAREHOUSE__PATH": str(own),
    }

    def prefect(*words):
        command = [sys.executable, "-m", "prefect", "--no-prompt", *words]
        done = subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True, timeout=240)
        assert 0 == done.returncode, done.stdout + done.stderr

    clock.ask("work_pools/", {"name": "bufferhouse", "type": "process"})
    prefect("deploy", "--all")
    for flow in ("ingest", "site", "fleet_report", "regressions", "maintain", "backfill"):
        assert "bufferhouse" == clock.ask(f"deployments/name/{flow}/worker")["work_pool_name"]
    deployment = clock.ask("deployments/name/ingest/worker")
    clock.ask(f"deployments/{deployment['id']}/create_flow_run", {"state": {"type": "SCHEDULED"}})
    prefect("worker", "start", "--pool", "bufferhouse", "--run-once")
    [run] = [run for run in clock.flow_runs("worker") if run["name"].startswith("ingest")]
    assert "Completed with rejects" == run["state_name"]
    assert 1 == call("ingest", "--config", clock.config, "--warehouse", expected).code
    for sql in (
        "SELECT run_name, relative_path, dump_id FROM staging.observations JOIN raw.runs USING (run_id) ORDER BY ALL",
        "SELECT relative_path, sha256 FROM raw.rejects ORDER BY ALL",
        "SELECT dump_id, value_id, size_bytes FROM raw.hlo_values ORDER BY ALL",
    ):
        assert [] != rows(expected, sql) == rows(own, sql)
    found = contacts(clock.contacts)
    commands = {" ".join(one["command"]) for one in found}
    for part in ("prefect --no-prompt deploy", "worker start"):
        assert [] != [command for command in commands if part in command], f"{part} is not among {commands}"
    assert [] == strangers(found)
