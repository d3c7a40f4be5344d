"""Prefect's server behind a gate: `python -m flows.gate --host 127.0.0.1 --port 4200 [--name NAME…]`.

Prefect answers everybody who knows the authentication string, under any host name and for any web page. The gate lets
through only requests to a name of this machine, so that no foreign name can be pointed at it (DNS rebinding). Requests
from web pages must come from pages of the allowed origins (PREFECT_SERVER_CORS_ALLOWED_ORIGINS).
"""

import argparse
import logging
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

from bufferhouse.paths import FLOWS

# Prefect's dashboard runs scripts and styles that stand in its pages, and reports its visitors to another server.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'; "
    "connect-src 'self' {origins}"
)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def origins(port: int) -> str:
    """Return the origins of the pages that may use a server of ours, as Prefect's setting: its own dashboard."""
    return ",".join(f"http://{name}:{port}" for name in LOOPBACK)


class Gate:
    """An ASGI application before another one."""

    def __init__(self, app: Any, names: Iterable[str], allowed: Collection[str]) -> None:
        self._app = app
        self._names = {*LOOPBACK, *names}
        self._allowed = allowed
        self._policy = _POLICY.format(origins=" ".join(sorted(allowed))).encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Let a request through, or refuse it: 421 for a foreign name, 403 for a foreign page."""
        status = self._refusal(scope["headers"]) if scope["type"] in ("http", "websocket") else None
        if status is None:
            await self._app(scope, receive, self._confined(send) if scope["type"] == "http" else send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    def _confined(self, send: Any) -> Any:
        """Return a `send` that adds the policy: pages may contact only this server and the allowed origins."""

        async def sent(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"content-security-policy", self._policy)]
            await send(message)

        return sent

    def _refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or _without_port(hosts[0]) not in self._names:
            return 421
        pages = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        return None if all(page in self._allowed for page in pages) else 403


def _without_port(host: str) -> str:
    name, sign, port = host.rpartition(":")
    return name if sign and port.isdigit() else host


def main() -> int:
    """Run the server until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(prog=f"python -m {FLOWS}.gate", description="Prefect's server behind a gate.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=4200, help="the port to listen on")
    parser.add_argument("--name", action="append", default=[], help="another name that it is called by")
    call = parser.parse_args()
    # Prefect reads its settings when it is imported.
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import get_current_settings

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """End; before the server has started, hide the long errors of Prefect's services, which have not begun."""
            if not self.started:
                logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            super().handle_exit(sig, frame)

    settings = get_current_settings().server
    if settings.api.auth_string is None:
        print("bufferhouse: $PREFECT_SERVER_API_AUTH_STRING: expected user:password, found nothing", file=sys.stderr)
        return 2
    config = uvicorn.Config(
        Gate(create_app(final=True), call.name, settings.api.cors_allowed_origins.split(",")),
        host=call.host,
        port=call.port,
        timeout_keep_alive=settings.api.keepalive_timeout,
        ws_ping_interval=settings.api.websocket_ping_interval,
        ws_ping_timeout=settings.api.websocket_ping_timeout,
        log_level=settings.logging_level.lower(),
    )
    with suppress(KeyboardInterrupt):
        Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
