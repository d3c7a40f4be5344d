"""Flow runs as forks: what `serve` needs of the machine."""

import os
import subprocess
import sys
from pathlib import Path

from tests.command_line import CHECKOUT

FORK = """
import multiprocessing
from flows.forked import _Context, flow_runs_forked
with flow_runs_forked():
    process = _Context().Process(target=print, args=("forked",))
    process.start()
    process.join()
"""


def test_a_long_path_of_the_temporary_folder_is_no_fault(tmp_path: Path):
    """No socket can lie in it; jobs of clusters have such folders."""
    folder = tmp_path / ("a-scratch-folder-of-a-job-" * 4)
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FORK], env={**os.environ, "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(folder)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (0, "forked\n") == (done.returncode, done.stdout), done.stderr
