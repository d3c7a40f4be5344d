"""A Prefect server of our own on loopback, where none is configured."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from bufferhouse.errors import UsageError

_START_SECONDS = 120.0
# Services for many workers: on SQLite they get in the way of the others' transactions, and log that at length.
_SERVICES = {
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",
}


@contextmanager
def server(port: int) -> Iterator[str]:
    """Yield the URL of the server in use: the one configured, one that answers on the port, or a new one.

    A new one ends with this process, also where that is killed.

    Raises:
        UsageError: it does not start.
    """
    if url := get_current_settings().api.url:
        yield str(url)
        return
    url = f"http://127.0.0.1:{port}/api"
    child = None if _answers(url) else _start(port)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while child and not _answers(url):
            if child.poll() is not None or time.monotonic() > deadline:
                raise UsageError(f"no Prefect server starts on port {port}; give another with --port")
            time.sleep(0.2)
        # Flow runs are processes of their own, and read it there.
        os.environ["PREFECT_API_URL"] = url
        with temporary_settings({PREFECT_API_URL: url}):
            yield url
    finally:
        if child:
            child.terminate()
            child.wait()


def _start(port: int) -> subprocess.Popen:
    return subprocess.Popen(
        # Else a server would stay behind when this process is killed.
        [
            *(sys.executable, "-m", "flows.with_parent", "prefect"),
            *("server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **_SERVICES},
    )


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
