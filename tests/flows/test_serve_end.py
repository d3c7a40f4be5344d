"""`bufferhouse serve` with a server of its own ends as it should, however it is asked to."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.flows.clock import Clock, free_port, until

pytestmark = pytest.mark.soak


def test_ctrl_c_pauses_the_deployments_and_says_one_line(tmp_path: Path):
    """Ctrl-C of a terminal goes to the whole group: the server is not in it, and ends last. Exit 130, no traceback."""
    clock = Clock(tmp_path, free_port())
    clock.drop.mkdir()
    clock.config.write_text('[warehouse]\npath = "warehouse.duckdb"\n[[sources]]\nname = "drop"\npaths = ["drop"]\n')
    clock.start()
    until(lambda: 5 == clock.ask("deployments/count", {}), "the deployments")
    time.sleep(3)  # until the runner waits for flow runs; nothing tells that it does
    os.killpg(clock.process.pid, signal.SIGINT)
    try:
        assert 130 == clock.process.wait(10)
    finally:
        clock.process.kill()
    said = (tmp_path / "serve.log").read_text()
    last = said.strip().split("\n")[-1]
    assert re.fullmatch(r"bufferhouse: interrupted after [\d.]+ s; what was committed is kept", last)
    assert "All deployments have been paused" in said
    assert [] == [line for line in said.split("\n") if re.search("Traceback|WARNING|ERROR", line)]
    with pytest.raises(OSError, match="refused"):
        clock.ask("health")
