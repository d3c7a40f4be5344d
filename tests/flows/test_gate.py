"""Prefect's server behind the gate, as a process of its own."""

import re
import signal
from pathlib import Path

import pytest

from tests.command_line import kill_group, start
from tests.flows.clock import free_port

pytestmark = pytest.mark.soak
GATE = "import runpy, sys; sys.argv[0] = 'flows.gate'; runpy.run_module('flows.gate', run_name='__main__')"


def test_a_server_that_has_not_begun_ends_without_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Prefect stops services that have not started, and fails; nobody can use what is said of that."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", "somebody:secret")
    monkeypatch.setenv("PREFECT_SERVER_LOGGING_LEVEL", "INFO")
    process = start("--port", free_port(), code=GATE)
    said = []
    try:
        for line in process.stderr:
            said.append(line)
            if "Waiting for application startup" in line:
                process.send_signal(signal.SIGTERM)
        assert -signal.SIGTERM == process.wait()
        assert [] == [line for line in said if re.search("Traceback|ERROR", line)]
    finally:
        kill_group(process)
