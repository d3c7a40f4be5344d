"""Surroundings that go wrong: a disk that is full, a bucket that does not know us any more."""

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

EXPIRED = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
)


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A disk of 3 MB, which `space` enlarges."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(path)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def expired(monkeypatch) -> Iterator[None]:
    """A bucket whose server says to every request what AWS says of a token that has expired."""

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(400)
            self.send_header("content-length", str(len(EXPIRED)))
            self.end_headers()
            self.wfile.write(EXPIRED)

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "who")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield
        server.shutdown()
