"""A real Prefect server for the tests of flows: a plugin with one fixture, since a server takes seconds to start."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class PrefectServer:
    """Where the server answers, and the directory Prefect keeps its files in (results would lie in `storage`)."""

    url: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a child process that uses this server, instead of starting one of its own."""
        return {**os.environ, "PREFECT_API_URL": self.url, "PREFECT_HOME": str(self.home)}

    def stored_results(self) -> list[Path]:
        """Return the files of Prefect's storage of results."""
        return sorted(self.home.glob("storage/*"))


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """Start a server with an empty database, once for the whole test run, and let Prefect use it."""
    # Not at module top: `flows` sets the environment that Prefect reads when it is imported, which takes two seconds.
    import flows  # noqa: F401, I001
    from prefect.settings import (
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_HOME,
        get_current_settings,
        temporary_settings,
    )
    from prefect.testing.utilities import prefect_test_harness

    home = tmp_path_factory.mktemp("prefect")
    # Ending the heartbeat of a flow run takes up to a second.
    changed = {PREFECT_HOME: home, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    with temporary_settings(changed), prefect_test_harness(server_startup_timeout=120):
        yield PrefectServer(str(get_current_settings().api.url), home)
