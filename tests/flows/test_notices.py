"""`bufferhouse notify` on a real Prefect server: an event arrives as a message, and no secret is told."""

import flows  # noqa: F401

# isort: split

import json
import os
import re
import shutil
import signal
import socketserver
import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest
import yaml
from prefect import flow, tags
from prefect.client.orchestration import get_client
from prefect.events import emit_event
from prefect.events.filters import EventFilter, EventNameFilter
from prefect.events.schemas.automations import AutomationCore
from prefect.events.worker import EventsWorker

from bufferhouse.config.load import load
from bufferhouse.errors import UsageError
from bufferhouse.ingest.summary import Summary
from bufferhouse.warehouse.file import writer_lock
from bufferhouse.warehouse.open import writing
from flows import callers, events, notices
from flows.events import emit_regression
from flows.serving import deployments
from tests.command_line import CHECKOUT, call
from tests.flows.clock import Clock, children_of, forkserver_of, until, web_hook
from tests.ingests import ingest, write_dumps

pytest_plugins = ["tests.flows.prefect_server"]
TOKEN = "hk7Q2mmdT0ken-of-the-hook"
PASSWORD = "p4ss-of-the-mailbox"


@pytest.fixture
def slack() -> Iterator[tuple[str, list[dict]]]:
    """The address of a web hook that stands in Slack's place, and what it was told; `/gone/…` refuses."""
    with web_hook() as (url, heard):
        yield f"{url}services/T1/B2/{TOKEN}", heard


@pytest.fixture
def mailbox() -> Iterator[tuple[str, list[str]]]:
    """The address of a mailbox behind a small server of SMTP, and what was mailed to it."""
    heard: list[str] = []

    class Mail(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                verb = line[:4].upper()
                if verb == b"EHLO":
                    self.wfile.write(b"250-here\r\n250 AUTH PLAIN LOGIN\r\n")
                elif verb == b"AUTH":
                    self.wfile.write(b"235 yes\r\n")
                elif verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    heard.append(text.decode())
                    self.wfile.write(b"250 taken\r\n")
                else:
                    self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 yes\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        yield f"mailto://us:{PASSWORD}@127.0.0.1:{port}?from=us@example.org&to=team@example.org", heard
        server.shutdown()


@pytest.fixture
def conf(prefect_server, tmp_path):
    """Return what reads a configuration with these lines in `[notify]`; what was made of it is removed in the end."""

    def read(**values: str):
        file = tmp_path / "bufferhouse.toml"
        file.write_text("[notify]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
        return load(file)

    yield read
    with get_client(sync_client=True) as client:
        for name in (notices.EVENTS, notices.SILENCE):
            for one in client.read_automations_by_name(name):
                client.delete_automation(one.id)
        for block in client.read_block_documents():
            if block.name and block.name.startswith("bufferhouse-"):
                client.delete_block_document(block.id)


def changes(conf) -> dict[str, str]:
    return {one.name: one.change for one in notices.arrange(conf)}


@pytest.mark.slow
def test_a_regression_arrives_as_messages(conf, slack, mailbox):
    """Slack and mail are told of the event; a name in a dump cannot call everybody of a channel."""
    notices.arrange(conf(slack=slack[0], mail=mailbox[0]))
    run_name = f"r-{uuid4()}"

    @flow(name="regressions")
    def grown():
        emit_regression(run_name, "r1", f"run {run_name}: <!channel> & 1 program grew since r1", [])

    with tags("bufferhouse"):  # as the deployments of `serve` are
        grown()
    EventsWorker.drain_all()
    until(lambda: slack[1] and mailbox[1], "a message at both", 60)
    expected = (
        f"bufferhouse.regression\nrun {run_name}: &lt;!channel&gt; &amp; 1 program grew since r1"
        f" (bufferhouse.regression.{run_name})"
    )
    assert [{"text": expected}] == slack[1]
    [mail] = mailbox[1]
    assert "Subject: bufferhouse.regression" in mail
    assert run_name in mail


SERVED = """
[schedule]
ingest = "3s"
site = "off"
maintain = "off"
regressions = "off"
[[sources]]
name = "drop"
paths = ["drop"]
"""


# tests/flows/test_oncall.py kills flow runs of another server, on which the same automations stand.
@pytest.mark.soak
def test_a_flow_run_that_crashed_or_failed_is_told_at_once_and_once(prefect_server, conf, slack, tmp_path_factory):
    """The first flow runs after a start, too; the next ones end in the same way, and that is no news.

    What is told last shows that all events before it have been looked at.
    """
    notices.arrange(conf(slack=slack[0]))
    clock = Clock(tmp_path_factory.mktemp("c"), prefect_server.port, auth=prefect_server.auth)
    clock.config.write_text(SERVED)
    try:
        with writer_lock(clock.warehouse):  # a flow run waits for it until it is killed
            clock.drop.mkdir()
            write_dumps(clock.drop, [1])
            clock.start()
            server = until(lambda: forkserver_of(clock.process.pid), "the process that forks flow runs")
            for count in (1, 2):
                (run_process,) = until(lambda: children_of(server), "a flow run")
                os.kill(run_process, signal.SIGKILL)
                until(lambda count=count: len(clock.flow_runs("source:drop", state="CRASHED")) == count, "a crash")
            crash = until(lambda: slack[1], "a message about the crash", 60)[0]["text"]
            shutil.rmtree(clock.drop)
        until(lambda: len(clock.flow_runs("source:drop", state="FAILED")) > 1, "two flow runs that fail")
    finally:
        clock.stop()
    until(lambda: len(slack[1]) > 1, "a message about the failure", 60)

    @flow(name="regressions")
    def grown():
        emit_regression("last", "r1", "told last", [])

    with tags("bufferhouse"):
        grown()
    EventsWorker.drain_all()
    until(lambda: "told last" in slack[1][-1]["text"], "the last message", 60)
    assert 3 == len(slack[1]), slack[1]
    assert crash.split("\n")[0] in ("bufferhouse.failed-run", "prefect.flow-run.Crashed")
    assert "Process exited with status code: -9" in crash
    subject, body = slack[1][1]["text"].split("\n")
    assert "bufferhouse.failed-run" == subject
    assert body.startswith("flow run ingest all sources ")
    assert body.endswith(f" failed: {clock.drop}: no such file or directory (bufferhouse.failed-run.ingest)")


def test_a_second_call_changes_nothing(conf, slack, mailbox):
    """What is as configured stays as it is; a key that changes is set, one that is gone takes its block with it."""
    both = {"slack": slack[0], "mail": mailbox[0]}
    names = ["bufferhouse-slack", "bufferhouse-mail", notices.EVENTS, notices.SILENCE]
    assert dict.fromkeys(names, "created") == changes(conf(**both))
    assert dict.fromkeys(names, "unchanged") == changes(conf(**both))
    quieter = {"quiet": "1d", "silence": "off"}
    updated = dict.fromkeys(names[:2], "unchanged") | dict.fromkeys(names[2:], "updated")
    assert updated == changes(conf(**both, **quieter))
    assert dict.fromkeys(names, "unchanged") == changes(conf(**both, **quieter))
    moved = {**both, "slack": f"{slack[0]}-new", **quieter}
    assert dict.fromkeys(names, "unchanged") | {names[0]: "updated"} == changes(conf(**moved))
    del moved["slack"]
    expected = {names[0]: "removed", names[1]: "unchanged", names[2]: "updated", names[3]: "updated"}
    assert expected == changes(conf(**moved))
    with get_client(sync_client=True) as client:
        ours = [one.name for one in client.read_block_documents() if one.name and one.name.startswith("bufferhouse-")]
    assert ["bufferhouse-mail"] == ours


def test_events_that_are_not_sent_yet_are_waited_for_in_silence(prefect_server, caplog):
    """Prefect counts them in a warning that nobody can use; all of them arrive."""
    sent = [emit_event("test.waited-for", {"prefect.resource.id": "test.waited-for"}) for _ in range(50)]
    notices._hand_over()
    assert [] == [record.getMessage() for record in caplog.records if record.name == "EventsWorker"]
    wanted = EventFilter(event=EventNameFilter(name=["test.waited-for"]))

    def have_come() -> bool:
        with get_client(sync_client=True) as client:
            asked = {"filter": wanted.model_dump(mode="json")}
            found = client.request("POST", "/events/count-by/event", json=asked).json()
        return [len(sent)] == [one["count"] for one in found]

    until(have_come, "the events", 60)


def test_a_stale_source_is_told_in_units_that_fit(warehouse, tmp_path, monkeypatch):
    """A threshold of a second, or of a tenth of one, is not told in hours."""
    told = []
    monkeypatch.setattr(events, "emit_event", lambda *_about, payload, **_more: told.append(payload["message"]))
    found = load(None, environment={})
    found.sources = [{"name": "drop", "paths": [str(tmp_path / "drop")], "stale": 0.1}]
    (file,) = write_dumps(tmp_path / "drop", [1])
    ingest(warehouse, tmp_path / "drop")
    with writing(warehouse) as writer:
        writer.con.execute("UPDATE raw.loads SET finished_at = finished_at - INTERVAL 90 SECOND")
        events.tell_stale(writer.con, found, ["drop"])
        found.sources[0] |= {"paths": [str(file.with_name("other"))], "stale": 7 * 86400.0}
        events.tell_stale(writer.con, found, ["drop"])
    first, second = told
    assert re.match(r"source drop brought nothing new for [12](\.\d)? min, since .*; expected every 0\.1 s$", first)
    assert "source drop has nothing in the warehouse; expected every 7 d" == second


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (Summary(seen=9, rejected=2, reject_lines=["a", "b"]), "2 of 9 dumps refused"),
        (Summary(seen=9, unreadable=["a", "b"], left_out=1), "1 of 9 dumps, 1 other path refused"),
        (Summary(seen=9, refused_messages=2, reject_lines=["a", "b"]), "0 of 9 dumps, 2 messages of logs refused"),
    ],
)
def test_what_was_refused_is_told_for_what_it_is(monkeypatch, summary, expected):
    """Messages of logs, and paths where nobody knows what is there, are not counted as dumps."""
    told = []
    monkeypatch.setattr(events, "emit_event", lambda *_about, payload, **_more: told.append(payload["message"]))
    found = load(None, environment={"BUFFERHOUSE_THRESHOLDS__REJECTS": "1"})
    events.tell_rejects(found, {"drop": summary})
    assert [f"source drop: {expected}, more than 1"] == told


def test_nobody_to_tell_is_an_error(conf):
    """Without Slack and mail there is nothing to make, and the message says where they may come from."""
    with pytest.raises(UsageError, match=r"notify\.slack or notify\.mail in .*BUFFERHOUSE_NOTIFY__SLACK"):
        notices.arrange(conf())


def test_the_automations_are_those_to_copy():
    """docs/automations.yaml differs in blocks and descriptions alone, but for what Slack must not read as a command."""
    documented = yaml.safe_load((CHECKOUT / "docs" / "automations.yaml").read_text())["automations"]
    block = documented[0]["actions"][0]["block_document_id"]
    made = notices.automations(load(None, environment={}), {"mail": block})
    for one, copy in zip(made, map(AutomationCore.model_validate, documented), strict=True):
        assert (copy.name, copy.enabled, copy.trigger) == (one.name, one.enabled, one.trigger)
    (event,), (silence,) = ([(it.subject, it.body) for it in one.actions] for one in made)
    assert event[0] == documented[0]["actions"][0]["subject"]
    assert "event.payload.validated_state.message" in event[1]
    assert silence == (notices.SILENCE, documented[1]["actions"][0]["body"].replace("three hours", "3 h"))


@pytest.mark.slow
def test_the_command_sends_a_message_and_tells_no_secret(prefect_server, conf, slack, tmp_path, monkeypatch, caplog):
    """The hook comes from the environment, and neither output nor errors nor any log have it."""
    conf()
    monkeypatch.setenv("BUFFERHOUSE_NOTIFY__SLACK", slack[0])
    outcome = call("notify", "--config", tmp_path / "bufferhouse.toml", "--test", "--format", "json")
    assert TOKEN not in outcome.out + outcome.err + caplog.text
    assert (0, "bufferhouse: a message was sent\n") == (outcome.code, outcome.err)
    expected = [("block", "bufferhouse-slack", "created"), *(("automation", name, "created") for name in
                (notices.EVENTS, notices.SILENCE))]  # fmt: skip
    assert expected == [tuple(one.values()) for one in json.loads(outcome.out)]
    assert [{"text": "bufferhouse notify --test\nEvents of bufferhouse will be told here."}] == slack[1]


def test_a_refused_message_is_an_error_that_tells_no_secret(conf, slack):
    """Its reason is told, and the address of the hook is not."""
    with pytest.raises(UsageError, match=r"notify\.slack: the message was not taken: .*404") as caught:
        notices.send(conf(slack=slack[0].replace("services", "gone")), "a", "b")
    assert TOKEN not in str(caught.value)


def test_no_secret_is_a_parameter_of_a_deployment(tmp_path):
    """`serve --set notify.slack=…` hands it to flow runs by their environment; other settings are shown."""
    (tmp_path / "bufferhouse.toml").write_text('[[sources]]\nname = "drop"\npaths = ["drop"]\n')
    flags = [f"Notify.Slack=https://hooks.example.com/{TOKEN}", "warehouse.wait=5"]
    conf = load(tmp_path / "bufferhouse.toml", flags=flags)
    made = deployments(conf, flags)
    assert [["warehouse.wait=5"]] * len(made) == [one["parameters"]["settings"] for one in made]
    assert TOKEN not in repr(made)
    assert flags == json.loads(callers.served(conf, flags))["settings"]
