"""`bufferhouse serve` with a server of its own ends as it should, however it is asked to."""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from bufferhouse.warehouse.file import writer_lock
from tests.flows.clock import DEPLOYMENTS, Clock, children_of, forkserver_of, free_port, until
from tests.report.browser import browsing

pytestmark = pytest.mark.soak


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[Clock]:
    """A configuration with one source, served until the end of the test."""
    clock = Clock(tmp_path, free_port())
    clock.drop.mkdir()
    clock.config.write_text('[warehouse]\npath = "warehouse.duckdb"\n[[sources]]\nname = "drop"\npaths = ["drop"]\n')
    clock.start()
    until(lambda: DEPLOYMENTS == clock.ask("deployments/count", {}), "the deployments")
    try:
        yield clock
    finally:
        clock.process.kill()
        clock.process.wait()


def wait_for_runner(clock: Clock) -> None:
    """Wait until Prefect's runner has made its folder, and some seconds more: nothing tells that it asks for work."""
    until(lambda: [*clock.root.glob("tmp/bufferhouse-serve-*/runner_storage/*")], "the folder of the runner")
    time.sleep(3)


def test_ctrl_c_pauses_the_deployments_and_says_one_line(clock: Clock):
    """Ctrl-C of a terminal goes to the whole group: the server is not in it, and ends last. Exit 130, no traceback."""
    wait_for_runner(clock)
    os.killpg(clock.process.pid, signal.SIGINT)
    assert 130 == clock.process.wait(10)
    said = (clock.root / "serve.log").read_text()
    last = said.strip().split("\n")[-1]
    assert re.fullmatch(r"bufferhouse: interrupted after [\d.]+ s; what was committed is kept", last)
    assert "All deployments have been paused" in said
    assert [] == [line for line in said.split("\n") if re.search("Traceback|WARNING|ERROR", line)]
    with pytest.raises(OSError, match="refused"):
        clock.ask("health")


@pytest.mark.parametrize("pause", [0.05, 0.3, 0.6])
def test_whoever_presses_ctrl_c_again_and_again_gets_the_prompt(pause: float, clock: Clock):
    """The first ends the loop; one in the middle of its end left a thread behind, and the process stayed for good."""
    wait_for_runner(clock)
    for _ in range(4):
        with suppress(ProcessLookupError):
            os.killpg(clock.process.pid, signal.SIGINT)
        time.sleep(pause)
    assert clock.process.wait(20) in (130, -signal.SIGINT)


def test_sigterm_pauses_the_deployments_and_warns_of_nothing(clock: Clock):
    """As a service manager ends it: exit 0, and the log names no fault of ours or of Prefect's."""
    wait_for_runner(clock)
    assert 0 == clock.stop()
    said = (clock.root / "serve.log").read_text()
    assert "All deployments have been paused" in said
    assert [] == [line for line in said.split("\n") if re.search("Traceback|Warning|WARNING|ERROR", line)]


def test_sigterm_pauses_the_deployments_that_are_made_already(tmp_path: Path):
    """As they are being made, before Prefect's runner listens to signals."""
    clock = Clock(tmp_path, free_port())
    clock.config.write_text("".join(f'[[sources]]\nname = "{n}"\npaths = ["{n}"]\nschedule = 60\n' for n in range(30)))
    clock.start()
    assert 0 == clock.stop()
    with sqlite3.connect(clock.root / "prefect" / "prefect.db") as records:
        paused = records.execute("SELECT paused FROM deployment").fetchall()
    assert 0 < len(paused) < 30 + DEPLOYMENTS - 1
    assert [(1,)] * len(paused) == paused


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_a_flow_run_that_has_begun(number: int, code: int, clock: Clock):
    """It waits for the warehouse meanwhile. Nobody waits for it; deployments are paused, and the log has no fault."""
    with writer_lock(clock.warehouse):
        (found,) = clock.ask(
            "deployments/filter",
            {"deployments": {"name": {"any_": ["bufferhouse"]}}, "flows": {"name": {"any_": ["ingest"]}}},
        )
        begun = clock.ask(f"deployments/{found['id']}/create_flow_run", {"state": {"type": "SCHEDULED"}})
        until(lambda: "discover" in (clock.root / "serve.log").read_text(), "the task of a flow run")
        run = children_of(forkserver_of(clock.process.pid))
        assert 1 == len(run)
        clock.process.send_signal(number)
        assert code == clock.process.wait(60)
    assert not Path(f"/proc/{run[0]}").exists()
    with sqlite3.connect(clock.root / "prefect" / "prefect.db") as records:
        states = records.execute("SELECT state_type FROM flow_run WHERE id = ?", (begun["id"],)).fetchall()
        paused = records.execute("SELECT paused FROM deployment").fetchall()
    assert [("CRASHED",)] == states
    assert [(1,)] * DEPLOYMENTS == paused
    said = (clock.root / "serve.log").read_text()
    assert "All deployments have been paused" in said
    assert "Traceback" not in said


def test_a_deployment_that_is_not_configured_any_more_is_paused(clock: Clock):
    """Nobody paused it at the end of a process that was killed; those of now are not touched."""
    clock.process.kill()
    clock.process.wait()
    until(lambda: not is_answered(clock), "the end of the server")
    clock.config.write_text(clock.config.read_text() + 'schedule = "1h"\n')
    clock.start()
    until(lambda: "is not configured any more" in (clock.root / "serve.log").read_text(), "the pause")
    found = {(one["name"], one["paused"]) for one in clock.ask("deployments/filter", {}) if "ingest" in one["tags"]}
    assert {("bufferhouse", True), ("drop", False)} == found


def is_answered(clock: Clock) -> bool:
    """Return whether somebody answers on the port."""
    try:
        clock.ask("health")
    except OSError:
        return False
    return True


def test_the_dashboard_works_at_the_address_that_is_printed(clock: Clock, tmp_path: Path):
    """With the text of the file that is named there; the page may ask no other server."""
    said = (clock.root / "serve.log").read_text()
    found = re.search(r"dashboard is at (http://127\.0\.0\.1:\d+) and asks for the text of (.+)$", said, re.M)
    address, kept = found[1], Path(found[2])
    with browsing(tmp_path / "browser") as browser, browser.opened(address) as page:
        page.wait_for("document.querySelector('input')")
        page.ask("document.querySelector('input').focus()")
        page.write(kept.read_text())
        page.ask("document.querySelector('button').click()")
        page.wait_for("location.pathname.endsWith('dashboard')")
        page.ask("[...document.querySelectorAll('a')].find((link) => link.innerText.includes('Deployments')).click()")
        page.wait_for(
            "document.body.innerText.includes('fleet_report') || document.body.innerText.includes('fleet-report')"
        )
        answered = {
            event["params"]["response"]["url"] for event in page.events if event["method"] == "Network.responseReceived"
        }
    assert {address} == {re.match(r"\w+://[^/]+", url)[0] for url in answered if not url.startswith(("data:", "blob:"))}


def test_without_ui_no_page_is_served_and_no_address_printed(tmp_path: Path):
    """The API stays: flow runs need it. They say no address of a page either."""
    clock = Clock(tmp_path, free_port(), options=("--no-ui",))
    clock.drop.mkdir()
    clock.config.write_text('[schedule]\ningest = "5s"\n[[sources]]\nname = "drop"\npaths = ["drop"]\n')
    clock.start()
    try:
        until(lambda: "Finished in state" in (tmp_path / "serve.log").read_text(), "a flow run")
        said = (tmp_path / "serve.log").read_text()
        assert [] == [word for word in ("dashboard", "View at") if word in said]
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{clock.port}/")
    finally:
        clock.stop()
