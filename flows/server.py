"""A Prefect server of our own on loopback, where none is configured.

Whoever talks to it needs its authentication string: that of Prefect's settings, else one that is made once and kept in
`$PREFECT_HOME/bufferhouse-auth`, a file that only its user may read.
"""

import base64
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_URL,
    PREFECT_SERVER_API_AUTH_STRING,
    get_current_settings,
    temporary_settings,
)

from bufferhouse.errors import UsageError
from flows import NO_PAGES
from flows.gate import origins

_START_SECONDS = 120.0
_AUTH_FILE = "bufferhouse-auth"
# Services for many workers: on SQLite they get in the way of the others' transactions, and log that at length.
_SERVICES = {
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",
}


@contextmanager
def server(port: int, *, has_dashboard: bool = False) -> Iterator[str]:
    """Yield the URL of the server in use: the one configured, one that answers on the port, or a new one.

    A new one serves Prefect's dashboard, too, if `has_dashboard`. It ends with this process, also where that is killed.

    Raises:
        UsageError: it does not start, or the one on the port wants another authentication string.
    """
    if url := get_current_settings().api.url:
        yield str(url)
        return
    url, auth = f"http://127.0.0.1:{port}/api", authentication()
    child = None if _status(f"{url}/health") == 200 else _start(port, auth, has_dashboard)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while child and _status(f"{url}/health") != 200:
            if child.poll() is not None or time.monotonic() > deadline:
                raise UsageError(f"no Prefect server starts on port {port}; give another with --port")
            time.sleep(0.2)
        if _status(f"{url}/admin/version", auth) == 401:
            raise UsageError(
                f"the Prefect server on port {port} wants another authentication string; give it in "
                "$PREFECT_API_AUTH_STRING, or another port with --port"
            )
        # Flow runs are processes of their own, and read it there.
        os.environ.update({"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": auth})
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: auth}):
            yield url
    finally:
        if child:
            with child:  # closes its pipe, and waits for it
                child.terminate()


def dashboard(url: str) -> str | None:
    """Return the address of Prefect's dashboard, or None where the server of the URL serves none to this machine."""
    page = url.removesuffix("/api")
    return page if page.startswith("http://127.0.0.1:") and _status(page) == 200 else None


def kept_authentication() -> Path | None:
    """Return the file with the authentication string that was made here; None where it was given."""
    settings = get_current_settings()
    is_given = settings.server.api.auth_string or settings.api.auth_string
    return None if is_given else Path(settings.home) / _AUTH_FILE


@contextmanager
def own_authentication() -> Iterator[None]:
    """Give the temporary server of a flow run an authentication string of its own, where no server is configured.

    Raises:
        UsageError: the server would have no place for its database; Prefect says no more than that it timed out.
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
        UsageError: the file that keeps it is not ours alone.
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
        with suppress(FileExistsError):  # whoever came first has made it
            os.link(new, path)
    finally:
        new.unlink()
    about = path.lstat()
    if not path.is_file() or path.is_symlink() or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise UsageError(f"{path}: expected a file that only its user may read; remove it, and a new one is made")
    return path.read_text(encoding="ascii")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _start(port: int, auth: str, has_dashboard: bool) -> subprocess.Popen:
    pages = os.environ["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"]
    return subprocess.Popen(
        # Else a server would stay behind when this process is killed.
        [
            *(sys.executable, "-m", f"{__package__}.with_parent", f"{__package__}.gate"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for the server: deployments are paused there before it ends
        env={
            **os.environ,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": origins(port) if pages == NO_PAGES else pages,
            **_SERVICES,
            "PREFECT_SERVER_API_AUTH_STRING": auth,
            "PREFECT_SERVER_UI_ENABLED": str(has_dashboard).lower(),
            "PREFECT_UI_API_URL": f"http://127.0.0.1:{port}/api",
            # Prefect unpacks it there, else beside its own code, where a user may not write.
            "PREFECT_UI_STATIC_DIRECTORY": str(Path(get_current_settings().home) / "dashboard"),
        },
    )


def _status(url: str, auth: str = "") -> int:
    """Return the status of an answer; 0 where nobody answers."""
    sent = {"authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"} if auth else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=sent), timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
