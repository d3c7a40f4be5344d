"""Requests that the server of `serve` must refuse: without its authentication string, to a foreign name, of a page."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing

from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import connect

from tests.clock import basic

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
FOREIGN = (
    "http://evil.example",
    "https://127.0.0.1.evil.example",
    "http://127.0.0.1:1",
    "http://localhost",
    "null",
    "*",
)
SOCKETS = ("events/in", "events/out", "logs/out", "task_runs/subscriptions/scheduled")


def answers(port: int, auth: str) -> Iterator[tuple[str, bool]]:
    """Yield what was tried on the server of a port, and whether it was refused as it should be."""
    wrong = {"nothing": {}, "nonsense": {"authorization": "Basic !"}, "a bearer": {"authorization": f"Bearer {auth}"}}
    wrong |= {"another string": {"authorization": f"Basic {basic(auth + 'x')}"}}
    known = {"type": "auth", "token": auth}
    right = {"authorization": f"Basic {basic(auth)}"}
    for method, path in PATHS:
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


def _asked(port: int, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    body = b"{}" if method in ("POST", "PATCH") else None
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest(method, f"/api/{path}", skip_host="host" in headers)
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
    """Say whether a socket is opened and answers that it is, after a first message where there is one."""
    try:
        road = socket.create_connection(("127.0.0.1", port), timeout=30)
        with connect(f"ws://{host}:{port}/api/{path}", sock=road, open_timeout=30, **more) as opened:
            opened.send(json.dumps(said or {"type": "auth"}))
            return json.loads(opened.recv(timeout=30)).get("type") == "auth_success"
    except (WebSocketException, InvalidHandshake, TimeoutError, OSError):
        return False
