"""What `serve` starts ends with it, also after kill -9."""

import os
import signal
from pathlib import Path

from tests.command_line import kill_group, start
from tests.flows.clock import until

# A process that starts another as `flows.server` starts Prefect's, and waits.
PARENT = """
import subprocess, sys, time
words = [sys.executable, "-u", "-m", "flows.with_parent", "http.server", "0", "--bind", "127.0.0.1"]
child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.read(7)  # it serves
print(child.pid, flush=True)
time.sleep(3600)
"""


def gone(process_id: int) -> bool:
    """Whether a process has ended, be it that nobody has asked for its exit code yet."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_server_ends_with_the_process_that_started_it():
    """After kill -9 nobody is left to tell it."""
    process = start(code=PARENT)
    try:
        child = int(process.stdout.readline())
        assert not gone(child)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: gone(child), "the end of the server", 60)
    finally:
        kill_group(process)
