"""A Prefect server of our own on loopback, if none is configured.

Its clients need its authentication string: that of Prefect's settings, else one that is made once and kept in
`$PREFECT_HOME/bufferhouse-auth`, a file that only its user may read.
"""

import base64
import fcntl
import hashlib
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO
from urllib.parse import urlsplit

import httpx
from prefect.client.orchestration import get_client
from prefect.exceptions import PrefectHTTPStatusError
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_REQUEST_TIMEOUT,
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    PREFECT_SERVER_API_AUTH_STRING,
    PREFECT_UI_URL,
    get_current_settings,
    temporary_settings,
)

from bufferhouse.errors import SourceUnavailable, UsageError, first_line, told, unwritable
from bufferhouse.redaction import redacted
from flows import NO_PAGES
from flows.gate import origins

_START_SECONDS = 120.0
_AUTH_FILE = "bufferhouse-auth"
# Services for many workers: on SQLite they conflict with the transactions of other services, and log that at length.
_SERVICES = {
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",
}


@contextmanager
def server(port: int, *, has_dashboard: bool = False, is_brief: bool = False) -> Iterator[str]:
    """Yield the URL of the server in use: the configured one, one that answers on the port, or a new one.

    A new server also serves Prefect's dashboard if `has_dashboard`. It ends with this process, even if that is killed.
    If `is_brief`, it may end before other processes do, so they wait for its end and start their own.

    Raises:
        UsageError: another program has the port, or the server does not start, or wants another authentication string.
        SourceUnavailable: the configured server does not answer.
    """
    if url := get_current_settings().api.url:
        _check_answer(str(url))
        yield str(url)
        return
    url, auth = f"http://127.0.0.1:{port}/api", authentication()
    with _turn() as turn:
        child = None
        if _status(f"{url}/health") != 200:
            _check_port(port)
            child = _start(port, auth, has_dashboard)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while child and _status(f"{url}/health") != 200:
                if child.poll() is not None or time.monotonic() > deadline:
                    raise UsageError(
                        f"no Prefect server starts on port {port}, for the reason above; {records_said()}; else give "
                        "another port with --port"
                    )
                time.sleep(0.2)
            if _status(f"{url}/admin/version", auth) == 401:
                raise UsageError(
                    f"the Prefect server on port {port} wants another authentication string; give it in "
                    "$PREFECT_API_AUTH_STRING, or another port with --port"
                )
            if not (child and is_brief):
                fcntl.flock(turn, fcntl.LOCK_UN)
            # Flow runs are processes of their own, and read these variables.
            chosen = {PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: auth}
            if not dashboard(url):
                chosen[PREFECT_UI_URL] = ""  # else each flow run logs the address of a page that is not there
            os.environ.update({setting.name: value for setting, value in chosen.items()})
            with temporary_settings(chosen):
                yield url
        finally:
            if child:
                with child:  # closes its pipe, and waits for it
                    child.terminate()


def records_said() -> str:
    """Return the way out of records that this release of Prefect cannot read."""
    home = get_current_settings().home
    return f"if its records in {home} are of a newer Prefect, name another folder in $PREFECT_HOME"


@contextmanager
def _turn() -> Iterator[TextIO]:
    """Wait until no other process starts a server on the records in `$PREFECT_HOME`, and yield the locked file.

    If two servers make its database at the same time, one of them does not start.
    """
    with _lock_file(Path(get_current_settings().home) / "bufferhouse-server.lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _lock_file(path: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a+", encoding="utf-8", opener=_private)
    except OSError as error:
        raise unwritable(str(path), error) from None


@contextmanager
def alone(port: int) -> Iterator[None]:
    """Be the only process of this user that serves the deployments of the server in use, until the context ends.

    Two processes would carry out the same flow runs, and the one that ends first would pause the deployments of both. A
    server of ours has its records in `$PREFECT_HOME`, so another port alone does not separate two processes. The locks
    are the kernel's: it removes them when their holder ends, even by a kill.

    Raises:
        UsageError: another process serves them; the message names it, its port or server, and the way out.
    """
    home, configured = Path(get_current_settings().home), get_current_settings().api.url
    url = str(configured or f"http://127.0.0.1:{port}/api")
    way_out = (
        "another server in $PREFECT_API_URL" if configured else "another folder in $PREFECT_HOME and another --port"
    )
    with ExitStack() as stack:
        for name in (f"-{_digest(url)}",) if configured else ("", f"-{_digest(url)}"):
            path = home / f"bufferhouse-serve{name}.lock"
            file = stack.enter_context(_lock_file(path))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.truncate(0)
                file.write(f"process {os.getpid()} on {redacted(url) if configured else f'port {port}'}")
                file.flush()  # the text of the file is only for the message
            except BlockingIOError:
                file.seek(0)
                raise UsageError(
                    f"another bufferhouse serve, {file.read(200)}, carries out the same deployments; "
                    f"stop it, or name {way_out}"
                ) from None
            except OSError as error:
                raise unwritable(str(path), error) from None
        yield


def _digest(url: str) -> str:
    """Return a short text for the address of a server, the same for each name of loopback."""
    parts = urlsplit(url.rstrip("/").lower())
    host = "127.0.0.1" if parts.hostname in ("localhost", "::1") else parts.hostname
    return hashlib.sha256(f"{host}:{parts.port} {parts.path}".encode()).hexdigest()[:16]


def _check_answer(url: str) -> None:
    """Send the configured server a request, with Prefect's own client, which has the settings for certificates.

    Raises:
        UsageError: the server wants another authentication string.
        SourceUnavailable: it does not answer, or not as a Prefect server.
    """
    try:
        with (
            temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0, PREFECT_API_REQUEST_TIMEOUT: 10.0}),
            get_client(sync_client=True) as client,
        ):
            client.read_flows(limit=1)
    except PrefectHTTPStatusError as error:
        if error.response.status_code in (401, 403):
            raise UsageError(
                f"the Prefect server at {url} wants another authentication string; give it in $PREFECT_API_AUTH_STRING"
            ) from None
        raise SourceUnavailable(f"the Prefect server at {url} does not answer as one: {first_line(error)}") from None
    except httpx.HTTPError as error:
        raise SourceUnavailable(
            f"the Prefect server at {url} does not answer: {first_line(error)}; start it, or name another in "
            "$PREFECT_API_URL, or none for one of our own"
        ) from None


def dashboard(url: str) -> str | None:
    """Return the address of Prefect's dashboard, or None if the server of the URL serves none on this machine."""
    page = url.removesuffix("/api")
    return page if page.startswith("http://127.0.0.1:") and _status(page) == 200 else None


def kept_authentication() -> Path | None:
    """Return the file with the authentication string that was made here; None if the settings give one."""
    settings = get_current_settings()
    is_given = settings.server.api.auth_string or settings.api.auth_string
    return None if is_given else Path(settings.home) / _AUTH_FILE


@contextmanager
def own_authentication() -> Iterator[None]:
    """Give the temporary server of a flow run its own authentication string, if no server is configured.

    Raises:
        UsageError: the server cannot write its database; Prefect itself would only say that it timed out.
    """
    if get_current_settings().api.url:
        yield
        return
    _check_home(Path(get_current_settings().home))
    auth = f"bufferhouse:{secrets.token_urlsafe(32)}"
    with temporary_settings({PREFECT_API_AUTH_STRING: auth, PREFECT_SERVER_API_AUTH_STRING: auth}):
        yield


def _check_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise UsageError(
            f"{home}: Prefect's server keeps its database there: {error.strerror}; "
            "name another folder in $PREFECT_HOME, or a server in $PREFECT_API_URL"
        ) from None


def authentication() -> str:
    """Return the authentication string of a server of ours, `user:password`.

    Raises:
        UsageError: others may read the file that keeps it, or it belongs to another user.
    """
    settings = get_current_settings()
    path = kept_authentication()
    if path is None:
        return (settings.server.api.auth_string or settings.api.auth_string).get_secret_value()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{_AUTH_FILE}.{secrets.token_hex(8)}.tmp")
    with open(new, "x", encoding="utf-8", opener=_private) as file:
        file.write(f"bufferhouse:{secrets.token_urlsafe(32)}")
    try:
        with suppress(FileExistsError):  # another process was first
            os.link(new, path)
    finally:
        new.unlink()
    about = path.lstat()
    if not path.is_file() or path.is_symlink() or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise UsageError(f"{path}: expected a file that only its user may read; remove it, and a new one is made")
    return path.read_text(encoding="ascii")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _check_port(port: int) -> None:
    """Check that a server may listen on a port: Prefect's own message for a port in use is pages long.

    Raises:
        UsageError: another program listens there, or this user may not.
    """
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server's own: a port just left is free
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(f"port {port}: {told(error)}; give another with --port") from None


def _start(port: int, auth: str, has_dashboard: bool) -> subprocess.Popen:
    pages = os.environ["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"]
    return subprocess.Popen(
        # With `with_parent` the server ends when this process is killed.
        [
            *(sys.executable, "-m", f"{__package__}.with_parent", f"{__package__}.gate"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C must not reach the server: it is needed to pause deployments first
        env={
            **os.environ,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": origins(port) if pages == NO_PAGES else pages,
            **_SERVICES,
            "PREFECT_SERVER_API_AUTH_STRING": auth,
            "PREFECT_SERVER_UI_ENABLED": str(has_dashboard).lower(),
            "PREFECT_UI_API_URL": f"http://127.0.0.1:{port}/api",
            # Prefect unpacks the dashboard there; its default is beside its own code, where a user may not write.
            "PREFECT_UI_STATIC_DIRECTORY": str(Path(get_current_settings().home) / "dashboard"),
        },
    )


def _status(url: str, auth: str = "") -> int:
    """Return the HTTP status of an answer; 0 if there is no answer."""
    sent = {"authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"} if auth else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=sent), timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
