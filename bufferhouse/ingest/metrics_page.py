"""The metrics of a warehouse on 127.0.0.1, for a collector on this machine: what `bufferhouse metrics` prints.

Each is asked in a process of its own: the process that serves flows opens no warehouse and waits for no writer.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bufferhouse.config.load import Config, is_secret
from bufferhouse.errors import UsageError
from bufferhouse.ingest.open_metrics import CONTENT_TYPE
from bufferhouse.redaction import said

KEPT_SECONDS = 15.0  # an answer serves all who ask meanwhile
_LONGEST_SECONDS = 60.0


class MetricsServer(ThreadingHTTPServer):
    """Answers GET /metrics at 127.0.0.1 with what a command prints; other names of this machine are refused."""

    daemon_threads = True

    def __init__(self, command: Sequence[str], port: int) -> None:
        self.command = list(command)
        self._turn = threading.Lock()
        self._kept: tuple[float, int, str] | None = None
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(f"--metrics-port {port}: {getattr(error, 'strerror', None) or error}") from None

    def answer(self) -> tuple[int, str]:
        """Return the status and the text of an answer, at most KEPT_SECONDS old: 503 with the reason where none is."""
        with self._turn:
            if self._kept is None or time.monotonic() - self._kept[0] > KEPT_SECONDS:
                self._kept = (time.monotonic(), *self._asked())
            return self._kept[1:]

    def _asked(self) -> tuple[int, str]:
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=_LONGEST_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, said(f"{error}\n")
        if done.returncode:
            return HTTPStatus.SERVICE_UNAVAILABLE, said(done.stderr)
        return HTTPStatus.OK, done.stdout


class _Handler(BaseHTTPRequestHandler):
    server: MetricsServer

    def do_GET(self) -> None:
        """Answer, unless the address that was asked for is not ours."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            status, text = HTTPStatus.FORBIDDEN, "metrics are at 127.0.0.1 only\n"
        elif self.path != "/metrics":
            status, text = HTTPStatus.NOT_FOUND, "expected /metrics\n"
        else:
            status, text = self.server.answer()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE if status == HTTPStatus.OK else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Say nothing about requests."""


def words_of(conf: Config, settings: Sequence[str]) -> list[str]:
    """Return the words by which `bufferhouse metrics` reads what a configuration serves, and what was set over it.

    No secret is among them: others of this machine see the words of a process, and no figure needs one.
    """
    chosen = ["--warehouse", conf.warehouse.key, *(["--config", str(conf.path)] if conf.path else [])]
    return [*chosen, *(word for one in settings if not is_secret(one) for word in ("--set", one))]


def metrics_server(words: Sequence[str], port: int) -> MetricsServer:
    """Return a server of what `bufferhouse metrics` with these words prints, already answering; port 0 takes any.

    Raises:
        UsageError: the port is taken, or is none.
    """
    server = MetricsServer([sys.executable, "-m", "bufferhouse.cli", "metrics", *words], port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
