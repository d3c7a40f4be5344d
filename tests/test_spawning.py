"""Processes that do not import their parent's main module."""

import os
import subprocess
import sys

from bufferhouse.trees import Directory, Entry, Found
from bufferhouse.workers import SMALLEST_INPUT_BYTES, worker_count
from tests.commands import CHECKOUT

PROGRAM = """
import sys
print("main module imported", flush=True)
from bufferhouse.workers import executor

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


def test_repeats_ask_for_no_worker_processes():
    """What counts is the text that may have to be parsed: files of one name and size nearly always repeat one."""
    entry = Entry(Directory("/runs"), "/runs/0/a", "/runs", 0, 0)
    repeats = [Found("run", f"{run}/a", {"combined": entry}, 1 << 20, 0) for run in range(1000)]
    others = [Found("run", f"0/{name}", {"combined": entry}, 1 << 20, 0) for name in range(1000)]
    assert [1, max(os.cpu_count(), 1), 1, 3] == [
        worker_count(None, repeats), worker_count(None, others), worker_count(0, others), worker_count(3, repeats),
    ]  # fmt: skip
    alone = [Found("run", "0/large", {"combined": entry}, SMALLEST_INPUT_BYTES, 0), *others[:20]]
    assert 1 == worker_count(None, alone)
