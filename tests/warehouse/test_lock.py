"""One writer at a time, whoever holds the lock and however that ends."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import bufferhouse
from bufferhouse.agents.worker import Request
from bufferhouse.errors import UsageError, WarehouseBusy
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse import file
from bufferhouse.warehouse.address import FileAddress
from bufferhouse.warehouse.file import writer_lock
from tests.command_line import call, call_without_capabilities, kill_group, start
from tests.synthetic import small_dump
from tests.warehouses import counts

HOLDER = """
import sys
from pathlib import Path
from bufferhouse.warehouse.open import writing
with writing(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""
READER = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def holder(warehouse: Path):
    """Another process that writes the warehouse until a line is sent to it."""
    process = start(warehouse, code=HOLDER, stdin=subprocess.PIPE)
    try:
        assert "held\n" == process.stdout.readline()
        yield process
    finally:
        kill_group(process)


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "x-buffer-assignment.txt"
    path.parent.mkdir()
    path.write_bytes(small_dump(1))
    return path.parent


def test_a_lock_is_for_those_who_may_write_the_warehouse(warehouse):
    """Root that writes somebody's warehouse once shuts nobody out, nor does who shares it with a group."""
    lock = FileAddress(warehouse).lock
    lock.unlink(missing_ok=True)
    owner = os.getuid() or 65534  # only root gives files away
    os.chown(warehouse, owner, -1)
    warehouse.chmod(0o664)
    group = warehouse.stat().st_gid
    with writer_lock(warehouse):
        found = lock.stat()
    assert (owner, group, 0o664) == (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))


def test_who_may_not_write_is_told_and_leaves_no_lock(warehouse):
    """The lock would be that of a stranger, and keep the owner out; where one lies there, its fault is told."""
    lock = FileAddress(warehouse).lock
    lock.unlink(missing_ok=True)
    warehouse.chmod(0o444)
    outcome = call_without_capabilities("publish", "--warehouse", warehouse)
    assert (2, f"bufferhouse: {warehouse}: this user may not write the warehouse; let it read and write there\n") == (
        outcome.code,
        outcome.err,
    )
    assert not lock.exists()
    warehouse.chmod(0o644)
    lock.touch(0o444)
    outcome = call_without_capabilities("publish", "--warehouse", warehouse)
    assert (2, True) == (outcome.code, "may not write the lock of the warehouse" in outcome.err), outcome.err


def test_a_second_writer_is_told_who_holds_the_warehouse(warehouse, holder, dumps):
    """Exit 3, the process id and the way out; nothing is loaded. A reader is told so in the same words."""
    for words in (("ingest", dumps), ("runs", "ls"), ("verify",)):
        outcome = call(*words, "--warehouse", warehouse)
        assert (3, "") == (outcome.code, outcome.out)
        told = rf"bufferhouse: {re.escape(str(warehouse))} is being written by process {holder.pid} on \S+; "
        assert re.fullmatch(told + "try again later, or wait with --wait SECONDS\n", outcome.err)


def test_whoever_finds_the_warehouse_in_use_is_told_what_waits_there(warehouse, holder):
    """A verb by its option, a notebook by its argument; an agent, who has neither, is told to try again."""
    busy = "; try again later"
    for words in (("runs", "ls"), ("rejects",)):
        assert call(*words, "--warehouse", warehouse).err.endswith(f"{busy}, or wait with --wait SECONDS\n")
    for ask in (partial(bufferhouse.connect, warehouse), partial(bufferhouse.program, "jit_step", warehouse=warehouse)):
        with pytest.raises(WarehouseBusy) as told:
            ask()
        assert str(told.value).endswith(f"{busy}, or wait with wait=SECONDS")
    request = Request("list_runs", {}, str(warehouse), 20.0, 256 << 20, 100, 0, 10, os.getpid())
    words = [sys.executable, "-m", "bufferhouse.agents.worker"]
    said = subprocess.run(words, input=json.dumps(request._asdict()), capture_output=True, text=True, cwd=CHECKOUT)
    assert json.loads(said.stdout)["refused"].endswith(busy)


def test_a_wait_that_is_over_is_told_who_holds_the_warehouse(warehouse, holder, dumps):
    """As without one, whoever it is: the writer, or a reader of the file itself once the writer has gone."""
    outcome = call("ingest", dumps, "--warehouse", warehouse, "--wait", 0.3)
    assert (3, "") == (outcome.code, outcome.out)
    assert f"{warehouse} is being written by process {holder.pid} on " in outcome.err
    kill_group(holder)
    reader = start(warehouse, code=READER, stdin=subprocess.PIPE)
    try:
        assert "held\n" == reader.stdout.readline()
        outcome = call("ingest", dumps, "--warehouse", warehouse, "--wait", 0.3)
    finally:
        kill_group(reader)
    assert (3, "") == (outcome.code, outcome.out)
    assert f"{warehouse} is open in another process (PID {reader.pid})" in outcome.err
    assert 0 == counts(warehouse)["dumps"]


def test_waiting_lasts_until_the_holder_lets_go(tmp_path):
    """With `wait` the lock is taken as soon as it is free, and not before."""
    events = []
    path = tmp_path / "w.duckdb"

    def second() -> None:
        with writer_lock(path, wait=60):
            events.append("taken")

    with writer_lock(path):
        waiting = threading.Thread(target=second)
        waiting.start()
        with pytest.raises(WarehouseBusy), writer_lock(path, wait=0.2):
            pass
        events.append("freed")
    waiting.join()
    assert ["freed", "taken"] == events


def test_wait_of_the_command_line(warehouse, holder, dumps):
    """`ingest --wait` loads once the other writer is done."""
    process = start("ingest", dumps, "--warehouse", warehouse, "--wait", 60)
    try:
        time.sleep(0.5)
        assert process.poll() is None
        holder.stdin.write("done\n")
        holder.stdin.flush()
        out, errors = process.communicate(timeout=60)
    finally:
        kill_group(process)
    assert 0 == process.returncode, errors
    assert "1 new" in out
    assert 1 == counts(warehouse)["dumps"]


def test_a_killed_holder_leaves_no_lock(warehouse, holder, dumps):
    """The kernel frees the lock of a process that was killed; the next writer need not clean up."""
    holder.kill()
    holder.wait()
    assert 0 == call("ingest", dumps, "--warehouse", warehouse).code
    assert 1 == counts(warehouse)["dumps"]


def test_the_lock_file_names_nobody_when_it_is_free(tmp_path):
    """What stands in the file is about the holder; afterwards it is empty."""
    path = tmp_path / "w.duckdb"
    with writer_lock(path) as lock:
        assert f"process {os.getpid()} on " in lock.read_text()
    assert "" == lock.read_text()


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_what_is_no_plain_file_is_no_lock(warehouse, dumps, tmp_path, kind):
    """Whoever may write to the folder neither chooses a file of this user to be emptied nor lets one wait."""
    path, other = FileAddress(warehouse).lock, tmp_path / "other"
    path.unlink(missing_ok=True)
    if kind == "link":
        other.write_text("mine")
    makers = {"pipe": os.mkfifo, "folder": os.mkdir}
    makers.get(kind, lambda name: os.symlink(other, name))(path)
    with pytest.raises(UsageError, match="expected the lock of a warehouse, a plain file"), writer_lock(warehouse):
        pass
    assert file.writer(warehouse) is None
    assert 2 == call("ingest", dumps, "--warehouse", warehouse).code
    assert 0 == call("query", "SELECT 1", "--warehouse", warehouse).code
    assert ("mine" if kind == "link" else None) == (other.read_text() if other.exists() else None)
