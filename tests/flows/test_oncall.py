"""The services of docker/compose.yaml, run as another user on a real PostgreSQL, under fire."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.paths import cache_folder
from bufferhouse.warehouse import file
from tests.flows.clock import until, web_hook
from tests.ingests import write_dumps
from tests.servers.postgres import give
from tests.synthetic import small_dump
from tests.system.image import ROOT
from tests.system.stack import Stack, descendants, told
from tests.warehouses import contents, rows

pytest_plugins = ["tests.system.stack_server"]
pytestmark = pytest.mark.slow

DUMPS = 60
AUTOMATIONS = ROOT / "docs" / "automations.yaml"
NO_BLOCK = "00000000-0000-0000-0000-000000000000"
CONFIG = """
[schedule]
ingest = "off"
site = "off"
maintain = "off"

[thresholds]
rejects = 2

[[sources]]
name = "drop"
paths = ["{dumps}/drop"]
settle = "0s"
stale = "off"

[[sources]]
name = "quiet"
paths = ["{dumps}/quiet"]
stale = "1h"

[[sources]]
name = "many"
paths = ["{dumps}/many"]
schedule = "0 0 29 2 *"
stale = "off"
"""


@pytest.fixture(scope="module")
def inbox() -> Iterator[tuple[str, list[dict]]]:
    """The address of a web hook, and what it was told."""
    with web_hook() as told:
        yield told


@pytest.fixture(scope="module")
def services(stack, inbox, blank_warehouse) -> Stack:
    """Server and scheduler, with the two automations of the documents."""
    for source in ("drop", "quiet", "many"):
        (stack.root / "dumps" / source).mkdir()
    (stack.root / "config/bufferhouse.toml").write_text(CONFIG.format(dumps=stack.root / "dumps"))
    write_dumps(stack.root / "dumps/many/r1", range(DUMPS))
    # Many small batches, so that there is a middle.
    stack.variables |= {"BUFFERHOUSE_BATCH_DUMPS": "10", "PREFECT_LOGGING_HANDLERS_CONSOLE_FORMATTER": "json"}
    # A new warehouse is copied from there: that it is made if need be, tests/warehouse/test_template.py says.
    # Nothing else of the user's cache is taken: what others are writing there may be gone by then.
    cache = give(give(stack.root / "tmp/.cache") / "bufferhouse")
    for blank in cache_folder().glob("blank-*.duckdb"):
        with suppress(FileNotFoundError):  # so may an older one
            shutil.copy2(blank, cache)
    stack.before = files_of(stack.root / "app")
    stack.begin("scheduler", "--poll", "1")
    automate(stack, inbox[0])
    until(lambda: stack.ask("deployments/count", {}), "the deployments of the scheduler")
    return stack


@pytest.fixture(scope="module")
def worker(services) -> Stack:
    """The same with a worker beside the scheduler; what is deployed for it, tests/flows/test_worker.py runs, too."""
    services.run("deploy")
    services.begin("worker")
    return services


@pytest.fixture(scope="module")
def undisturbed(services, tmp_path_factory) -> dict[str, list[tuple]]:
    """The rows of an ingest that nobody disturbs."""
    path = tmp_path_factory.mktemp("undisturbed") / "w.duckdb"
    run_ingest([str(services.root / "dumps/many")], path)
    return loaded(path)


def loaded(path: Path) -> dict[str, list[tuple]]:
    """Return the rows of all tables that do not count loads."""
    return {table: cells for table, cells in contents(path).items() if table != "loads"}


def automate(stack: Stack, url: str) -> None:
    """Make a notification block, and the automations of the documents with its id in them, as they say.

    Nobody waits for three hours here: silence is ten seconds.
    """
    found = stack.ask("block_types/slug/custom-webhook")
    schema = stack.ask("block_schemas/filter", {"block_schemas": {"block_type_id": {"any_": [found["id"]]}}})[0]
    data = {"name": "on-call", "url": url, "json_data": {"subject": "{{subject}}", "body": "{{body}}"}}
    block = {"name": "on-call", "data": data, "block_type_id": found["id"], "block_schema_id": schema["id"]}
    number = stack.ask("block_documents/", block)["id"]
    text = AUTOMATIONS.read_text()
    assert 2 == text.count(NO_BLOCK)
    file = stack.root / "config/automations.yaml"
    file.write_text(text.replace(NO_BLOCK, number).replace("within: 10800", "within: 10"))
    stack.run("deploy", "python", "-m", "prefect", "automation", "create", "--from-file", str(file))


def files_of(directory: Path) -> list[tuple[str, int]]:
    """Return name and time of every file below a directory."""
    return sorted((str(path), path.stat().st_mtime_ns) for path in directory.rglob("*") if path.is_file())


def until_in_the_middle(warehouse: Path, patience: float = 120) -> None:
    """Wait until some batches are committed and others are not."""
    log = warehouse.with_name(f"{warehouse.name}.wal")
    sizes: set[int] = set()

    def has_grown() -> bool:
        if log.exists():
            sizes.add(log.stat().st_size)
        return len(sizes) > 3

    until(has_grown, "the middle of an ingest", patience, 0.02)


def order_many(stack: Stack, deployment: str, warehouse: Path, **parameters: Any) -> str:
    return stack.order(
        deployment, sources=[str(stack.root / "dumps/many")], warehouse=str(warehouse), workers=1, **parameters
    )


def count_loaded(warehouse: Path) -> int:
    ((count,),) = rows(warehouse, "SELECT COUNT(*) FROM raw.dumps")
    return count


@pytest.mark.soak
def test_a_killed_worker_and_restarts_of_server_and_postgresql(worker, undisturbed):
    """The worker is killed in mid-run; the next run, under restarts of PostgreSQL and the server, finishes its work.

    What was committed by the first is whole, and kept; in the end the rows are those of an undisturbed run.
    """
    warehouse = worker.root / "warehouse/killed.duckdb"
    order_many(worker, "ingest/worker", warehouse)
    until_in_the_middle(warehouse)
    worker.kill("worker")
    until(lambda: file.writer(warehouse) is None, "the end of the flow run's process")
    kept = count_loaded(warehouse)
    assert 0 < kept < DUMPS
    worker.begin("worker")
    number = order_many(worker, "ingest/worker", warehouse)
    until(lambda: file.writer(warehouse), "the second run")
    worker.postgres.kill()
    worker.postgres.start()
    worker.kill("server")
    worker.begin_server()
    run = worker.ended(number)
    assert ("Completed", f"{DUMPS - kept} new, {kept} known") == (run["state_name"], run["state"]["message"])
    assert undisturbed == loaded(warehouse)


def is_asked_to_end(process: int) -> bool:
    """Return whether a SIGTERM waits for a process that stands still, or it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True
    pending = [int(mask, 16) for mask in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.MULTILINE)]
    return any(mask >> (signal.SIGTERM - 1) & 1 for mask in pending)


@pytest.mark.parametrize("by", ["bufferhouse", pytest.param("worker", marks=pytest.mark.soak)])
def test_a_cancelled_flow_run_ends_cleanly(request, services, undisturbed, by):
    """Cancelled as the dashboard does it: no process, no lock and no leftover stays; what was committed is whole."""
    if by == "worker":
        request.getfixturevalue("worker")
    warehouse = services.root / f"warehouse/cancelled-{by}.duckdb"
    number = order_many(services, f"ingest/{by}", warehouse)
    until_in_the_middle(warehouse)
    writer = int(re.search(r"process (\d+)", file.writer(warehouse) or "")[1])
    # However long it takes until somebody hears of it: until the process is asked to end, it stands still.
    os.kill(writer, signal.SIGSTOP)
    try:
        asked = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
        assert "ACCEPT" == services.ask(f"flow_runs/{number}/set_state", asked)["status"]
        until(lambda: is_asked_to_end(writer), "somebody to cancel the flow run")
    finally:  # or it would keep every flow run of the tests behind this one waiting
        with suppress(ProcessLookupError):
            os.kill(writer, signal.SIGCONT)
    assert "CANCELLED" == services.ended(number)["state_type"]
    until(lambda: file.writer(warehouse) is None, "the end of the flow run's process")
    names = {path.name.removeprefix(warehouse.name) for path in warehouse.parent.glob(f"*cancelled-{by}*")}
    assert names <= {"", ".lock", ".wal", ".listings"}
    kept = count_loaded(warehouse)
    assert 0 < kept < DUMPS
    again = services.ended(order_many(services, f"ingest/{by}", warehouse))
    assert f"{DUMPS - kept} new, {kept} known" == again["state"]["message"]
    assert undisturbed == loaded(warehouse)


def test_events_reach_whoever_is_on_call(services, inbox):
    """Rejects, a stale source, a failed flow run, silence: the automations of the documents tell each of them."""
    folder = services.root / "dumps/drop/r1"
    for path in write_dumps(folder, range(4)):
        path.write_bytes(small_dump(7)[: -30 - int(path.stem[7:11])])
    assert "FAILED" == services.ended(services.order("ingest/bufferhouse"))["state_type"]
    expected = {
        "bufferhouse.rejects": "source drop: 4 of 4 dumps refused, more than 2 (bufferhouse.rejects.drop)",
        "bufferhouse.stale-source": "source quiet has nothing in the warehouse; expected every 1 h"
        " (bufferhouse.stale-source.quiet)",
        "bufferhouse.failed-run": "4 of 4 dumps refused or not readable, more than 50% (bufferhouse.failed-run.ingest)",
        "bufferhouse is silent": "No ingest has ended well for three hours. Look whether the scheduler or the worker"
        " runs.",
    }

    def has_come() -> bool:
        return expected.keys() <= {one["subject"] for one in inbox[1]}

    until(has_come, f"{list(expected)} among what was told", 100)
    bodies = {one["subject"]: re.sub("^flow run .* failed: ", "", one["body"]) for one in inbox[1]}
    assert expected == {subject: bodies[subject] for subject in expected}
    services.ended(services.order("ingest/bufferhouse"))  # and it is quiet about what it has said
    assert 1 == [one["subject"] for one in inbox[1]].count("bufferhouse.stale-source")


def test_a_flow_run_that_crashed_is_told_at_once_and_once(services, inbox):
    """The next one ends in the same way, and that is no news; what is told last comes behind all that there is to tell.

    tests/flows/test_notices.py holds that `bufferhouse notify` makes the automations of the documents.
    """
    for number in range(2):
        warehouse = services.root / f"warehouse/crashed-{number}.duckdb"
        ordered = order_many(services, "ingest/bufferhouse", warehouse)
        writer = until(lambda path=warehouse: file.writer(path), "the process of a flow run")
        os.kill(int(re.search(r"process (\d+)", writer)[1]), signal.SIGKILL)
        assert "CRASHED" == services.ended(ordered)["state_type"]
    tag = {"prefect.resource.id": "prefect.tag.bufferhouse", "prefect.resource.role": "tag"}
    last = {"id": str(uuid4()), "occurred": datetime.now(UTC).isoformat(), "event": "bufferhouse.last"}
    services.ask("events", [{**last, "resource": {"prefect.resource.id": "bufferhouse.last"}, "related": [tag]}])
    until(lambda: "bufferhouse.last" in [one["subject"] for one in inbox[1]], "the last message", 60)
    assert 1 == len([one for one in inbox[1] if "Process exited with status code: -9" in one["body"]])


def test_logs_are_json_that_says_source_run_and_batch(services):
    """With the formatter `json` each line is an object; those of a batch have source, run and batch as fields."""
    lines = [line for line in told((services.root / "scheduler.log").read_text()) if line.get("batch")]
    assert [] != lines
    source = str(services.root / "dumps/many")
    first = next(line for line in lines if line["source"] == source)
    assert ("r1", ["r1"], 1, "INFO") == (first["run"], first["runs"], first["batch"], first["levelname"])
    assert first["msg"].startswith(f"source {source}, run r1, batch 1: 10 new")
    assert first["flow_run_id"]


def test_health_checks_say_whether_the_server_answers(services):
    """The image's own check and the server's: well now, and not well where nobody listens."""
    services.run("scheduler", "python", "-m", "flows.health")
    services.run("server", "python", "-m", "flows.health", services.url)
    with pytest.raises(AssertionError, match="does not answer"):
        services.run("server", "python", "-m", "flows.health", "http://127.0.0.1:9/api")


def check_users(stack: Stack, *names: str) -> None:
    for name in names:
        for pid in (stack.processes[name].pid, *descendants(stack.processes[name].pid)):
            assert 0 != Path(f"/proc/{pid}").stat().st_uid or os.geteuid() != 0
    assert stack.before == files_of(stack.root / "app")


def test_nobody_is_root_and_the_image_stays_as_it_is(services):
    """The services run as a user who is not root; the copy of the checkout, and the environment, are not written to."""
    check_users(services, "server", "scheduler")


@pytest.mark.soak
def test_the_worker_is_not_root_either(worker):
    """Nor does it write to the copy of the checkout, or to the environment."""
    check_users(worker, "worker")
