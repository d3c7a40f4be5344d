"""The flow `ingest` on a real Prefect server and real DuckDB files."""

import flows  # noqa: F401  first, since it sets the environment that Prefect reads when it is imported
from bufferhouse.paths import CHECKOUT

# isort: split

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import duckdb
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import TaskRun
from prefect.exceptions import ParameterTypeError
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings
from prefect.states import Failed, State

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.config import load as configuration
from bufferhouse.dump.identity import content_of
from bufferhouse.errors import UsageError, WarehouseBusy, WarehouseError
from bufferhouse.ingest.summary import Summary
from bufferhouse.report.flow_summary import pass_summary
from bufferhouse.warehouse.file import writer_lock
from flows.ingest import _final_state, ingest, main
from flows.parsers import chosen_workers
from flows.steps import is_transient, step
from tests.flows.clock import artifacts
from tests.ingests import write_dumps
from tests.synthetic import small_dump
from tests.warehouses import counts, published_path

pytest_plugins = ["tests.flows.prefect_server"]

ROOT = CHECKOUT
FLEET = ROOT / "examples" / "fleet"
RUNS = ("jaxlib-0.9.0", "jaxlib-0.10.0", "seeds")
FAILURES = ROOT / "examples" / "oom" / "libtpu-0.0.33"
EARLY = ROOT / "examples" / "oom" / "libtpu-0.0.8" / "abort_rnn_t1" / "stderr.txt"  # given up before any dump
SEED = FLEET / "seeds" / "000_f7d316536d8a2672.txt"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a run of the flow left: its final state, and the warehouse."""

    state: State
    warehouse: Path


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory):
    """A copy of three runs of the example fleet, one of them of dumps in three files."""
    copy = tmp_path_factory.mktemp("sources") / "fleet"
    for name in RUNS:
        shutil.copytree(FLEET / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def ingested(prefect_server, three_runs, tmp_path_factory):
    """The three runs, ingested by the flow into a new warehouse."""
    warehouse = tmp_path_factory.mktemp("flow") / "warehouse.duckdb"
    return Ingested(ingest([str(three_runs)], warehouse=str(warehouse), return_state=True), warehouse)


@pytest.fixture
def seeds(tmp_path):
    """A copy of the run of the five seeds, to be damaged."""
    return shutil.copytree(FLEET / "seeds", tmp_path / "seeds")


def dumps_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.txt"))


def truncate(dump: Path) -> None:
    dump.write_bytes(dump.read_bytes()[:-200])


def flow_run_of(state: State) -> UUID:
    assert state.state_details.flow_run_id is not None
    return state.state_details.flow_run_id


def task_runs(state: State, last: str) -> list[TaskRun]:
    """Return the task runs of a flow run; Prefect records them a moment later, so wait until the `last` is there."""
    deadline = time.monotonic() + 60
    while True:
        with get_client(sync_client=True) as client:
            runs = client.read_task_runs(
                flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_of(state)])), limit=200
            )
        ended = [run for run in runs if run.state is not None and run.state.is_final()]
        if ended == runs and last in {task_name(run) for run in ended}:
            return runs
        assert time.monotonic() < deadline, f"{last} is not among {[run.name for run in runs]}"
        time.sleep(0.1)


def task_name(run: TaskRun) -> str:
    """Return the name of a task run without the random letters that Prefect appends, and without a source's name."""
    return re.sub(r"-\w{3}$", "", "discover" if run.name.startswith("discover ") else run.name)


def query(warehouse: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(warehouse), read_only=True) as con:
        return con.execute(sql).fetchall()


def artifact(state: State) -> str:
    """Return the Markdown of the summary of a flow run, beside which it leaves its progress."""
    by_key = artifacts(state)
    assert ["ingest-progress", "ingest-summary"] == sorted(by_key)
    assert 100.0 == by_key["ingest-progress"]
    return str(by_key["ingest-summary"])


def figures(markdown: str) -> dict[str, str]:
    """Return the table of a summary as a dict of its texts."""
    rows = re.findall(r"^\|\s*([a-z][^|]*?)\s*\|\s*([^|]*?)\s*\|$", markdown, re.M)
    return dict(rows)


def test_the_flow_loads_the_rows_that_the_command_line_loads(ingested, three_runs, tmp_path):
    """Flow and command line are one path: every raw table has the same rows, all but the moments of loading."""
    other = tmp_path / "warehouse.duckdb"
    run_ingest([str(three_runs)], other)
    loaded = counts(ingested.warehouse)
    different = {}
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{ingested.warehouse}' AS by_flow (READ_ONLY)")
        con.execute(f"ATTACH '{other}' AS by_command (READ_ONLY)")
        for table in loaded:
            columns = "* EXCLUDE (started_at, finished_at)" if table == "loads" else "*"
            one, two = (f"(SELECT {columns} FROM {name}.raw.{table})" for name in ("by_flow", "by_command"))
            sql = f"SELECT COUNT(*) FROM (({one} EXCEPT ALL {two}) UNION ALL ({two} EXCEPT ALL {one}))"
            different[table] = con.execute(sql).fetchone()[0]
    assert dict.fromkeys(loaded, 0) == different
    assert counts(other) == loaded
    assert (31, 31, 1) == (loaded["observations"], loaded["dumps"], loaded["loads"])


def test_a_batch_is_one_task_and_a_dump_is_none(ingested):
    """A task costs more than a dump: 31 dumps take one task to find, one to parse, one to load, one to publish."""
    runs = task_runs(ingested.state, last="publish")
    expected = {"discover": 1, "parse batch 1": 1, "load batch 1": 1, "publish": 1}
    assert expected == Counter(map(task_name, runs))
    assert {"COMPLETED"} == {run.state_type.value for run in runs}


def test_a_second_batch_has_tasks_of_its_own(prefect_server, tmp_path, monkeypatch):
    """Where ten new contents fill a batch 13 are two batches, two tasks that parse and two that load."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "10")
    write_dumps(tmp_path / "many", range(13))
    warehouse = tmp_path / "warehouse.duckdb"
    state = ingest([str(tmp_path / "many")], warehouse=str(warehouse), return_state=True)
    expected = {
        "discover": 1, "parse batch 1": 1, "parse batch 2": 1, "load batch 1": 1, "load batch 2": 1, "publish": 1
    }  # fmt: skip
    assert expected == Counter(map(task_name, task_runs(state, last="publish")))
    assert [(1, 10), (2, 3)] == query(warehouse, "SELECT load_id, new_count FROM raw.loads ORDER BY load_id")


def test_a_flow_run_parses_by_itself():
    """However many processes a cluster would have: there is none."""
    texts = [{"combined": small_dump(number)} for number in range(4)]
    with chosen_workers(configuration.load(None), 2) as workers:
        [found] = workers.begin(1, [(content_of(files), files) for files in texts]).result()
    assert (4, None) == (len(found.signature_ids), workers.pool)


def test_the_published_copy_has_what_was_loaded(ingested):
    """The flow publishes: beside the warehouse lies a copy for readers, with every row."""
    copy = published_path(ingested.warehouse)
    assert copy.is_file()
    assert counts(ingested.warehouse) == counts(copy)


def test_no_copy_is_published_when_none_is_wanted(prefect_server, tmp_path):
    """`publish_copy=False` loads, and leaves no copy and no task for it."""
    warehouse = tmp_path / "warehouse.duckdb"
    state = ingest([str(SEED)], warehouse=str(warehouse), publish_copy=False, return_state=True)
    assert {"discover", "parse batch 1", "load batch 1"} == set(map(task_name, task_runs(state, last="load batch 1")))
    assert not published_path(warehouse).exists()
    assert "no" == figures(artifact(state))["published"]


def test_the_artifact_says_what_was_done(ingested):
    """The artifact `ingest-summary` holds the figures of the run, as the warehouse has them."""
    said = figures(artifact(ingested.state))
    told = {name: int(said[name].replace(",", "")) for name in ("dumps seen", "new contents", "known", "rejected")}
    assert {"dumps seen": 31, "new contents": 31, "known": 0, "rejected": 0} == told
    assert str(published_path(ingested.warehouse)) == said["published"]


def test_the_result_of_the_flow_is_the_summary(ingested):
    """The state is Completed and its data is what `ingest --format json` prints."""
    assert ("Completed", "31 new, 0 known") == (ingested.state.name, ingested.state.message)
    summary = ingested.state.result()
    assert (31, 31, set(RUNS)) == (summary["seen"], summary["new"], set(summary["runs"]))
    loaded = counts(ingested.warehouse)
    assert summary["rows"] == {table: loaded[table] for table in summary["rows"]}


def test_running_again_loads_nothing(ingested, three_runs):
    """Known by path, size and time: the second run parses, loads and publishes nothing, not even an empty load."""
    before = counts(ingested.warehouse)
    state = ingest([str(three_runs)], warehouse=str(ingested.warehouse), return_state=True)
    assert ("Completed", "0 new, 31 known") == (state.name, state.message)
    assert before == counts(ingested.warehouse)
    assert {"discover"} == set(map(task_name, task_runs(state, last="discover")))


def test_batches_never_pass_through_the_storage_of_results(prefect_server, ingested):
    """Batches stay in memory: Prefect stores no result, neither of a run that ended well nor of one that did not."""
    ingest(["no such directory"], warehouse=str(ingested.warehouse), return_state=True)
    assert [] == prefect_server.stored_results()


def test_a_truncated_dump_stops_itself_alone(prefect_server, seeds, tmp_path):
    """One truncated dump among five: four are loaded, and the run ends Completed under a name that says so."""
    damaged = dumps_in(seeds)[2]
    truncate(damaged)
    warehouse = tmp_path / "warehouse.duckdb"
    state = ingest([str(seeds)], warehouse=str(warehouse), return_state=True)
    assert ("COMPLETED", "Completed with rejects") == (state.type.value, state.name)
    loaded = {path for (path,) in query(warehouse, "SELECT relative_path FROM raw.observations")}
    assert {path.name for path in dumps_in(seeds)} - {damaged.name} == loaded
    assert [(damaged.name,)] == query(warehouse, "SELECT relative_path FROM raw.rejects")
    said = artifact(state)
    assert ("5", "4", "1") == tuple(figures(said)[name] for name in ("dumps seen", "new contents", "rejected"))
    assert re.search(rf"{re.escape(str(damaged))}:\d+:\d+: expected .+, found .+", said)


def test_a_reject_that_is_known_ends_the_next_run_well(prefect_server, seeds, tmp_path):
    """A scheduled run does not complain every night about the same bytes."""
    truncate(dumps_in(seeds)[0])
    call = {"sources": [str(seeds)], "warehouse": str(tmp_path / "warehouse.duckdb"), "return_state": True}
    assert ["Completed with rejects", "Completed"] == [ingest(**call).name, ingest(**call).name]


def test_a_folder_of_bad_dumps_fails(prefect_server, seeds, tmp_path):
    """More than the failing share refused: the run ends Failed and says how many, and their bytes are kept."""
    for dump in dumps_in(seeds):
        truncate(dump)
    warehouse = tmp_path / "warehouse.duckdb"
    state = ingest([str(seeds)], warehouse=str(warehouse), return_state=True)
    assert "FAILED" == state.type.value
    assert "5 of 5 dumps refused or not readable, more than 50%" == state.message
    assert [(5,)] == query(warehouse, "SELECT COUNT(*) FROM raw.rejects WHERE octet_length(content) > 0")
    assert "5" == figures(artifact(state))["rejected"]
    again = ingest([str(seeds)], warehouse=str(warehouse), return_state=True)  # nothing came: nothing to tell
    assert ("Completed", "5") == (again.name, figures(artifact(again))["rejected before"])
    assert "0 new, 0 known, 5 rejected before" == again.message


@pytest.mark.parametrize(
    ("observed", "summary", "share", "expected"),
    [
        (0, Summary(seen=0), 0.0, "Completed"),
        (4, Summary(seen=4), 0.0, "Completed"),
        (2, Summary(seen=4, rejected=2), 0.5, "Completed with rejects"),
        (1, Summary(seen=4, rejected=3), 0.5, "Failed"),
        (0, Summary(seen=3, known_rejected=3), 0.0, "Completed"),
        (1, Summary(seen=4, rejected=1, known_rejected=2), 0.5, "Completed with rejects"),
        (0, Summary(seen=9, rejected=1, known_rejected=8), 0.5, "Failed"),
        (0, Summary(seen=9, rejected=2, known=7), 0.5, "Failed"),
        (2, Summary(seen=9, rejected=2, known=7), 0.5, "Completed with rejects"),
        (0, Summary(seen=9, rejected=1, known=8), 0.5, "Completed with rejects"),
        (0, Summary(seen=9, unreadable=["a"], known_rejected=8), 0.5, "Failed"),
        (1, Summary(seen=4, unreadable=["a", "b", "c"]), 0.5, "Failed"),
        (3, Summary(seen=4, unreadable=["a"]), 0.5, "Completed with rejects"),
        (0, Summary(seen=4, rejected=4), 1.0, "Completed with rejects"),
        (3, Summary(seen=4, rejected=1), 0.0, "Failed"),
    ],
)
def test_the_failing_share(observed, summary, share, expected):
    """Failed when more than the share of what is new was refused or is not readable; exactly the share is not more.

    What was seen before counts neither way, loaded or refused: it must not hide that all that is new is refused. New
    files of known contents are new. One damaged dump in a pass that finds nothing else new is no failure.
    """
    summary.rows["observations"] = observed
    assert expected == _final_state(summary, share, {}).name


def test_archives_that_are_passed_by_are_told():
    """What they hold may be all that is new: neither message nor summary says only that nothing is."""
    summary = Summary(seen=1, known=1, archives=["/d/1.tar", "/d/2.tar"])
    assert "0 new, 1 known, 2 files not opened" == _final_state(summary, 0.5, {}).message
    shown = pass_summary(summary, {"d": summary}, published=None, warehouse_bytes=None)
    assert shown.endswith("Not opened:\n\n* `/d/1.tar and 1 more: archives beside dumps are opened only when named`")


def test_logs_that_are_refused_are_no_dumps(prefect_server, tmp_path):
    """Logs of compilations without a dump never fail a flow run; what logs say is refused as messages, not as dumps."""
    source, stray = tmp_path / "source", EARLY.read_bytes()
    for name in ("kv", "xent"):
        shutil.copytree(FAILURES / name, source / name)
    (source / "xent" / "stderr.txt").write_text("RESOURCE_EXHAUSTED: something else altogether\n")
    for name in ("first.log", "second.log"):
        (source / name).write_bytes(stray)
    call = {"sources": [str(source)], "warehouse": str(tmp_path / "warehouse.duckdb"), "return_state": True}
    first, second = ingest(**call), ingest(**call)
    expected = "0 of 2 dumps refused, 1 message of logs refused, 0 not readable, 2 logs of no known run"
    assert ("Completed with rejects", expected) == (first.name, first.message)
    expected = "0 of 2 dumps refused, 0 not readable, 2 logs of no known run"
    assert ("Completed with rejects", expected) == (second.name, second.message)


def test_a_missing_source_fails_at_once(prefect_server, tmp_path):
    """A bad call is not tried again: the task ran once, the state holds the error, and no warehouse is made."""
    missing, warehouse = str(tmp_path / "missing"), tmp_path / "warehouse.duckdb"
    state = ingest([missing], warehouse=str(warehouse), return_state=True)
    assert ("FAILED", f"{missing}: no such file or directory") == (state.type.value, state.message)
    assert [("discover", 1)] == [(task_name(run), run.run_count) for run in task_runs(state, last="discover")]
    assert not warehouse.exists()
    with pytest.raises(UsageError, match="no such file or directory"):
        state.result()


def test_a_call_that_cannot_be_carried_out_raises_its_error(prefect_server, tmp_path):
    """Called as a function the flow raises what the core raises, so that callers can tell the errors apart."""
    with pytest.raises(UsageError, match="the folder of the warehouse does not exist"):
        ingest([str(SEED)], warehouse=str(tmp_path / "missing" / "warehouse.duckdb"))


def test_a_transient_error_is_tried_again(prefect_server):
    """A step whose first call meets an I/O error is called a second time, and its run ends Completed."""
    calls = []

    @step(name="flaky", retry_delay_seconds=0)
    def flaky() -> int:
        calls.append(len(calls))
        if len(calls) == 1:
            raise InterruptedError("try again")
        return len(calls)

    @flow(name="flaky")
    def twice() -> int:
        return flaky()

    state = twice(return_state=True)
    assert 2 == state.result()
    assert [("flaky", 2)] == [(task_name(run), run.run_count) for run in task_runs(state, last="flaky")]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (WarehouseBusy("busy"), True),
        (BlockingIOError("locked"), True),
        (ConnectionResetError("gone"), True),
        (TimeoutError("slow"), True),
        (OSError(5, "Input/output error"), True),
        (FileNotFoundError(2, "missing"), False),
        (PermissionError(13, "denied"), False),
        (NotADirectoryError(20, "a file"), False),
        (UsageError("bad call"), False),
        (WarehouseError("no warehouse"), False),
        (ValueError("a bug"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_is_transient(error, expected):
    """Locks and I/O errors may pass; bad calls, missing files and bugs never do."""
    assert expected is is_transient(None, None, Failed(message=str(error), data=error))


def test_the_flow_waits_for_another_writer(prefect_server, tmp_path):
    """With no time to wait a warehouse in use is an error, with some the flow goes on when the writer is done."""
    warehouse = tmp_path / "warehouse.duckdb"
    call = {"sources": [str(SEED)], "warehouse": str(warehouse), "return_state": True}
    with writer_lock(warehouse):
        refused = ingest(**call, wait_seconds=0)
        assert isinstance(refused.result(raise_on_failure=False), WarehouseBusy)
        assert refused.message.endswith("; try again later, or wait with wait_seconds")
    writer = writer_lock(warehouse)
    writer.__enter__()
    release = threading.Timer(1.0, writer.__exit__, (None, None, None))
    release.start()
    waited = ingest(**call, wait_seconds=60)
    release.join()
    assert ("Failed", "Completed") == (refused.name, waited.name)
    assert 1 == counts(warehouse)["dumps"]


@pytest.mark.parametrize(
    "parameters",
    [{"workers": 0}, {"failing_share": 2}, {"failing_share": -0.1}, {"wait_seconds": -1}, {"sources": []}],
    ids=str,
)
def test_invalid_parameters_are_refused(prefect_server, tmp_path, parameters):
    """Prefect refuses a value out of range before anything runs, and names the parameter."""
    warehouse = tmp_path / "warehouse.duckdb"
    with pytest.raises(ParameterTypeError, match=next(iter(parameters))):
        ingest(**{"sources": [str(SEED)], "warehouse": str(warehouse), **parameters})
    assert not warehouse.exists()


def test_every_parameter_is_described():
    """Who starts the flow from Prefect's page reads there what each parameter is; none is needed."""
    properties = ingest.parameters.properties
    expected = [
        "sources", "warehouse", "run", "labels", "workers", "publish_copy", "wait_seconds", "failing_share", "config",
        "settings",
    ]  # fmt: skip
    assert expected == list(properties)
    assert [] == [name for name, schema in properties.items() if not schema.get("description", "").endswith(".")]
    assert [] == ingest.parameters.required


def test_the_command_line_says_by_its_exit_code_how_it_ended(
    prefect_server, seeds, tmp_path, monkeypatch, capsys, caplog
):
    """0 all is loaded, 1 something was refused, which the log says, 2 usage, 3 the warehouse is busy, which standard
    error says; all in $BUFFERHOUSE_WAREHOUSE."""
    warehouse, missing = tmp_path / "warehouse.duckdb", tmp_path / "missing"
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", str(warehouse))
    monkeypatch.setattr(sys, "argv", ["flows.ingest", str(missing)])
    assert 2 == main()
    assert f"bufferhouse: {missing}: no such file or directory\n" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["flows.ingest", str(SEED), "--run", "nightly", "--wait", "0"])
    with writer_lock(warehouse):
        assert 3 == main()
    said = capsys.readouterr().err
    assert f"bufferhouse: {warehouse} is being written by process" in said
    assert said.endswith("; try again later, or wait with --wait SECONDS\n")
    assert 0 == main()
    assert [("nightly",)] == query(warehouse, "SELECT run_name FROM raw.runs")
    truncate(dumps_in(seeds)[0])
    own = str(tmp_path / "own.duckdb")
    monkeypatch.setattr(sys, "argv", ["flows.ingest", str(seeds), "--warehouse", own])
    assert 1 == main()
    assert "5 dumps of 1 run seen: 4 new, 0 known, 1 rejected" in caplog.text


def test_the_line_of_a_batch_of_several_runs_calls_them_runs(prefect_server, tmp_path, caplog):
    """As many as are named, and how many more there are."""
    for number in range(5):
        write_dumps(tmp_path / "fleet" / f"run-{number}", [number])
    ingest([str(tmp_path / "fleet")], warehouse=str(tmp_path / "warehouse.duckdb"), return_state=True)
    assert "runs run-0, run-1, run-2 and 2 more, batch 1: 5 new, 0 known, 0 rejected" in caplog.text


def test_a_line_of_the_log_is_one_whatever_a_name_holds(prefect_server, seeds, tmp_path, caplog):
    """Names of files, and of runs, may hold line feeds."""
    path = dumps_in(seeds)[0]
    truncate(path)
    path.rename(path.with_name(f"a\nFORGED{path.name}"))
    ingest([str(seeds)], warehouse=str(tmp_path / "warehouse.duckdb"), run="r\nFORGED", return_state=True)
    assert "run r\\nFORGED" in caplog.text
    assert "a\\nFORGED" in caplog.text
    assert [] == [line for line in caplog.text.split("\n") if line.startswith("FORGED")]


def test_a_home_of_prefect_that_cannot_be_written_to(tmp_path, monkeypatch, capsys):
    """Is named at once, with the way out: without a server of its own the flow would wait for one that cannot start."""
    (taken := tmp_path / "taken").touch()
    monkeypatch.setattr(sys, "argv", ["flows.ingest", str(SEED)])
    with temporary_settings({PREFECT_HOME: taken / "prefect"}, restore_defaults={PREFECT_API_URL}):
        assert 2 == main()
    expected = f"bufferhouse: {taken}/prefect: Prefect's server keeps its database there: Not a directory; "
    assert expected in capsys.readouterr().err


def test_records_of_a_newer_prefect_are_named(tmp_path):
    """Its server has upgraded the database, in which ours finds a revision that it does not know."""
    with sqlite3.connect(tmp_path / "prefect.db") as con:
        con.execute("CREATE TABLE alembic_version AS SELECT 'ffffffffffff' AS version_num")
    con.close()
    given = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    own = {"PREFECT_HOME": str(tmp_path), "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "1"}
    said = subprocess.run(
        [sys.executable, "-m", "flows.ingest", SEED], cwd=CHECKOUT, env=given | own, capture_output=True, text=True
    )
    expected = f"; if its records in {tmp_path} are of a newer Prefect, name another folder in $PREFECT_HOME\n"
    assert (1, True) == (said.returncode, expected in said.stderr)


def test_a_directory_without_a_dump_is_no_success(prefect_server, tmp_path):
    """Named in the call, it fails the flow run, which says what is there; no warehouse is made."""
    (tmp_path / "module_1.ll").touch()
    state = ingest([str(tmp_path)], warehouse=str(tmp_path / "warehouse.duckdb"), return_state=True)
    assert state.is_failed()
    assert "no dump found, and nothing loaded; seen: 1 .ll." in state.message
    assert not (tmp_path / "warehouse.duckdb").exists()
