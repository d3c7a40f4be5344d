"""A real Prefect server for the tests of flows: a plugin with one fixture, since a server takes seconds to start."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.clock import free_port
from tests.shares import until_last_test
from tests.system.heard import heard


@dataclass(frozen=True, slots=True)
class PrefectServer:
    """Where the server answers, the directory of its files (results would lie in `storage`), and whom it contacted.

    `auth` is its authentication string.
    """

    url: str
    port: int
    home: Path
    contacts: Path
    auth: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a child process that uses this server, instead of starting one of its own."""
        own = {"PREFECT_API_URL": self.url, "PREFECT_API_AUTH_STRING": self.auth, "PREFECT_HOME": str(self.home)}
        return {**os.environ, **own}

    def stored_results(self) -> list[Path]:
        """Return the files of Prefect's storage of results."""
        return sorted(self.home.glob("storage/*"))


@pytest.fixture(scope="session")
def prefect_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PrefectServer:
    """Start a server as `bufferhouse serve` does, once for the whole test run, and let Prefect use it."""
    return until_last_test(request).enter_context(_served(tmp_path_factory.mktemp("prefect")))


@contextmanager
def _served(home: Path) -> Iterator[PrefectServer]:
    # Not at module top: `flows` sets the environment that Prefect reads when it is imported, which takes two seconds.
    import flows  # noqa: F401, I001
    from flows.server import server
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, PREFECT_HOME, temporary_settings

    port = free_port()
    # Ending the heartbeat of a flow run takes up to a second.
    changed = {PREFECT_HOME: home, PREFECT_API_URL: None, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    with pytest.MonkeyPatch.context() as outside, ExitStack() as stack:
        for name in [name for name in os.environ if name.startswith("PREFECT_API")]:
            outside.delenv(name)
        stack.enter_context(temporary_settings(changed))
        with pytest.MonkeyPatch.context() as starting:
            for name, value in {**heard(home / "contacts"), "PREFECT_HOME": str(home)}.items():
                starting.setenv(name, value)
            url = stack.enter_context(server(port))
        auth = os.environ.pop("PREFECT_API_AUTH_STRING")
        os.environ.pop("PREFECT_API_URL")  # only processes that are given `environment` are to use it
        yield PrefectServer(url, port, home, home / "contacts", auth)
        # What is still to be told would be tried again for minutes once the server is gone.
        APILogWorker.instance().drain()
        EventsWorker.drain_all()
