"""A site on 127.0.0.1, for browsers on this machine."""

import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bufferhouse.errors import UsageError


class _Handler(SimpleHTTPRequestHandler):
    """Serves files of the site to requests for 127.0.0.1 or localhost: no page of another host can read them."""

    def send_head(self) -> Any:
        """Answer, or refuse a request to another host name."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            self.send_error(HTTPStatus.FORBIDDEN, "this site is at 127.0.0.1 only")
            return None
        return super().send_head()

    def end_headers(self) -> None:
        """Make the browser ask for pages again, because they change."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def list_directory(self, path: Any) -> None:
        """Refuse to list a folder: pages link to all files."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, *words: Any) -> None:
        """Log no requests."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that has left a page before it had the whole file."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def site_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of a folder on 127.0.0.1; port 0 takes any free port. The caller calls `serve_forever`.

    Raises:
        UsageError: the port is taken, or not a port.
    """
    try:
        return _Server(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--port {port}: {getattr(error, 'strerror', None) or error}; another one, or 0 for any"
        ) from None
