"""Requests that the server of `serve` must refuse: without its authentication string, to a foreign name, of a page."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import connect

from tests.command_line import CHECKOUT
from tests.flows.clock import Clock, basic, until
from tests.system.secrets_told import FORMS, SECRET

PATHS = (
    *(
        ("GET", path)
        for path in ("admin/version", "admin/settings", "docs", "openapi.json", "logs/", "health/../ready")
    ),
    *(("POST", f"{what}/filter") for what in ("flow_runs", "flows", "deployments", "artifacts", "variables", "logs")),
    *(("POST", f"{what}/") for what in ("flow_runs", "deployments", "work_pools", "block_documents", "automations")),
    ("POST", "deployments/get_scheduled_flow_runs"),
    ("PATCH", "deployments/00000000-0000-0000-0000-000000000000"),
    ("DELETE", "flow_runs/00000000-0000-0000-0000-000000000000"),
    ("POST", "admin/database/clear"),
    ("OPTIONS", "flow_runs/filter"),
)
# What docs/security.md says is answered without the string, to a name of this machine; it tells nothing of runs.
OPEN = ("health", "ready", "/docs", "/redoc", "/openapi.json")
FOREIGN = (
    "http://evil.example",
    "https://127.0.0.1.evil.example",
    "http://127.0.0.1:1",
    "http://localhost",
    "null",
    "*",
)
# Parameters that are a place or an address which the configuration does not name; none may be for a caller to choose.
PLACES = {
    "ingest": (
        {"config": "/etc/other.toml"},
        {"warehouse": "/tmp/elsewhere/w.duckdb"},
        {"warehouse": "ducklake:postgres:host=evil.example dbname=x"},
        {"sources": ["/etc"]},
        {"sources": ["drop/../../etc"]},
        {"sources": ["s3://evil/x"]},
        {"workers": 100_000},
        *({"settings": [one]} for one in ("flows.task_runner=dask", "flows.dask_address=tcp://evil.example:8786")),
        *({"settings": [one]} for one in ("warehouse.path=/tmp/x.duckdb", "SOURCES.drop.paths=['/etc']")),
    ),
    "site": ({"target": "s3://evil/x"}, {"url": "http://evil.example"}, {"settings": ["report.target=/tmp"]}),
    "fleet_report": ({"target": "s3://evil/x"}, {"url": "http://evil.example"}, {"settings": ["report.target=/tmp"]}),
    "regressions": ({"accept": "/etc/passwd"}, {"settings": ["regressions.accept=/etc/passwd"]}),
}
SOCKETS = ("events/in", "events/out", "logs/out", "task_runs/subscriptions/scheduled")


def answers(port: int, auth: str, *, is_short: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield what was tried on the server of a port, and whether it was refused as it should be.

    If `is_short`, one path of each method is asked for: whoever guards them does not look at the path.
    """
    wrong = {"nothing": {}, "nonsense": {"authorization": "Basic !"}, "a bearer": {"authorization": f"Bearer {auth}"}}
    wrong |= {"another string": {"authorization": f"Basic {basic(auth + 'x')}"}}
    known = {"type": "auth", "token": auth}
    right = {"authorization": f"Basic {basic(auth)}"}
    for method, path in dict(reversed(PATHS)).items() if is_short else PATHS:
        for what, headers in wrong.items():
            status, _ = _asked(port, method, path, headers)
            yield f"{method} {path} with {what}: {status}", status in (401, 403, 404, 405)
        for origin in FOREIGN:
            status, told = _asked(port, method, path, {**right, "origin": origin})
            is_held = status == 403 and "access-control-allow-origin" not in told
            yield f"{method} {path} of the page {origin}: {status}", is_held
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "0.0.0.0", "", "127.0.0.1@evil"):
            status, _ = _asked(port, method, path, {**right, "host": host})
            yield f"{method} {path} of the host {host!r}: {status}", status in (400, 421)
    for path in OPEN:
        status, told = _asked(port, "GET", path, {})
        is_confined = "script-src 'self' 'unsafe-inline' 'unsafe-eval';" in told.get("content-security-policy", "")
        yield f"GET {path} without a string: {status}", status == 200 and is_confined
        for more, refusal in (({"origin": FOREIGN[0]}, 403), ({"host": "evil.example"}, 421)):
            status, _ = _asked(port, "GET", path, more)
            yield f"GET {path} with {more}: {status}", status == refusal
    pages = {**right, "origin": f"http://127.0.0.1:{port}"}
    yield "its own page is answered", _asked(port, "GET", "admin/version", pages)[0] == 200
    yield "its own socket is answered", _is_heard(port, SOCKETS[1], known, subprotocols=["prefect"])
    for path in SOCKETS:
        for what, more in (
            ("no protocol", {}),
            ("no string", {"subprotocols": ["prefect"], "said": {"type": "auth"}}),
            ("another string", {"subprotocols": ["prefect"], "said": {"type": "auth", "token": f"{auth}x"}}),
            ("a foreign page", {"subprotocols": ["prefect"], "said": known, "origin": FOREIGN[0]}),
            ("a foreign host", {"subprotocols": ["prefect"], "said": known, "host": "evil.example"}),
        ):
            yield f"socket {path} with {what}", not _is_heard(port, path, **more)


def forbidden_choices(clock: Clock) -> Iterator[tuple[str, bool]]:
    """Yield each choice that is not for callers, and whether its flow run failed for it, having done nothing."""
    ordered = []
    for flow, choices in PLACES.items():
        found = until(lambda flow=flow: _deployment(clock, flow), f"the deployment of {flow}")
        for choice in choices:
            asked = {"state": {"type": "SCHEDULED"}, "parameters": {**found["parameters"], **choice}}
            ordered.append((flow, choice, clock.ask(f"deployments/{found['id']}/create_flow_run", asked)["id"]))
    for flow, choice, number in ordered:
        run = until(lambda number=number: ended_run(clock, number), f"the end of a run of {flow}")
        message = run["state"]["message"] or ""
        is_held = run["state_type"] == "FAILED" and "what is served decides that" in message
        yield f"{flow} with {choice}: {run['state_type']}, {message}", is_held


def _deployment(clock: Clock, flow: str) -> dict | None:
    return next(iter(clock.ask("deployments/filter", {"flows": {"name": {"any_": [flow]}}})), None)


def ended_run(clock: Clock, number: str) -> dict | None:
    """Return a flow run that has ended."""
    run = clock.ask(f"flow_runs/{number}")
    return run if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED") else None


# A flow run that has every secret in all that it says.
_TELLING = """
import json, sys
import flows
from prefect import flow, get_run_logger
from flows import events
from flows.steps import leave_link, leave_summary, log, step
from bufferhouse.errors import UsageError
from bufferhouse.ingest.summary import Summary
forms = json.loads(sys.argv[1])
@step(name="fails", retries=0)
def fails(form):
    raise ValueError(form)
@step(name="refuses", retries=0)
def refuses(form):
    raise UsageError(form)
@flow(name="telling")
def telling():
    for form in forms:
        log(f"found {form}", source=form)
        get_run_logger().error("found %s", form)
        leave_summary("secret", f"it is {form}", "of secrets")
        events.tell_rejects({"thresholds": {"rejects": 0}}, {"a": Summary(seen=1, reject_lines=[form])})
        try:
            raise OSError(5, form, form)
        except OSError:
            get_run_logger().exception("caught")
    for task in (fails, refuses):
        task(forms[0], return_state=True)
    leave_link("secret-link", "http://u:" + forms[0] + "@h/x", "x", "y")
telling()
"""


def artifacts_of_secrets(clock: Clock) -> Iterator[tuple[str, bool]]:
    """Yield each kind of record of a flow run that tells secrets, and whether none is in it."""
    environment = {**clock.environment, "PREFECT_API_URL": clock.url, "PREFECT_API_AUTH_STRING": clock.authentication}
    done = subprocess.run(
        [sys.executable, "-c", _TELLING, json.dumps(FORMS[::4])],
        cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    said = done.stdout + done.stderr
    at = max(said.find(SECRET), 0)
    yield (
        f"console: {done.returncode}, {said[max(at - 300, 0) : at + 300]}",
        done.returncode == 0 and SECRET not in said,
    )
    for kind in ("logs", "artifacts", "task_runs", "flow_runs", "events"):
        asked = {"limit": 50} if kind == "events" else {"limit": 200}
        found = until(lambda kind=kind, asked=asked: clock.ask(f"{kind}/filter", asked), kind)
        text = json.dumps(found)
        at = max(text.find(SECRET), 0)
        yield f"{kind}: {text[max(at - 200, 0) : at + 50]}", SECRET not in text


def _asked(port: int, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    body = b"{}" if method in ("POST", "PATCH") else None
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest(method, path if path.startswith("/") else f"/api/{path}", skip_host="host" in headers)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(body or b"")),
            **headers,
        }.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def _is_heard(
    port: int, path: str, said: dict[str, str] | None = None, host: str = "127.0.0.1", **more: object
) -> bool:
    """Return whether a socket is opened and answers that it is, after a first message where there is one."""
    try:
        road = socket.create_connection(("127.0.0.1", port), timeout=30)
        with connect(f"ws://{host}:{port}/api/{path}", sock=road, open_timeout=30, **more) as opened:
            opened.send(json.dumps(said or {"type": "auth"}))
            return json.loads(opened.recv(timeout=30)).get("type") == "auth_success"
    except (WebSocketException, InvalidHandshake, TimeoutError, OSError):
        return False
