"""Processes that do not import their parent's main module."""

import subprocess
import sys

from tests.command_line import CHECKOUT

PROGRAM = """
import sys
print("main module imported", flush=True)
from bufferhouse.ingest.processes import executor

if __name__ == "__main__":
    with executor(2) as pool:
        print(pool.submit(len, "work").result())
    print(sys.modules["__main__"].__file__ == sys.argv[0])
"""


def test_workers_do_not_import_what_their_parent_was_started_with(tmp_path):
    """Python alone would run the program's first lines again in each worker; the parent keeps its main module."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)], env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True, timeout=120
    )
    assert ("main module imported\n4\nTrue\n", 0) == (done.stdout, done.returncode), done.stderr
