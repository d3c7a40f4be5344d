"""Ctrl-C: it ends a command, wherever it meets it."""

import re
import signal
import socket
import sys
import threading
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from bufferhouse.engine import interrupts
from tests.command_line import run
from tests.ingests import write_dumps
from tests.warehouses import counts

# `bufferhouse` that gets Ctrl-C in the middle of an import, and goes on: one that DuckDB tries, and forgives when it
# fails, or one whose finder forgives it in the same way.
MET_IN_AN_IMPORT = """
import os, signal, sys
from contextlib import nullcontext, suppress

module, after, forgiver = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module and after in sys.modules:  # all that the command itself imports is there
            sys.meta_path.remove(self)
            print("met", file=sys.stderr, flush=True)
            with suppress(KeyboardInterrupt) if forgiver == "finder" else nullcontext():
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from bufferhouse.query import supervisor
supervisor.supervised = lambda: None  # what is looked at is the process that works
from bufferhouse.cli import main
main()
"""

# `bufferhouse` that gets Ctrl-C when its main thread stands in one line for half a second, as it does in a statement.
MET_IN_A_STATEMENT = """
import os, signal, sys, threading, time

def watch():
    main, last, since = threading.main_thread().ident, None, time.monotonic()
    while True:
        time.sleep(0.05)
        frame = sys._current_frames()[main]
        place = (id(frame), frame.f_lasti) if "bufferhouse" in frame.f_code.co_filename else None
        if place is None or place != last:
            last, since = place, time.monotonic()
        elif time.monotonic() - since > 0.5:
            os.kill(os.getpid(), signal.SIGINT)
            return

from bufferhouse.query import supervisor
supervisor.supervised = lambda: None  # what is looked at is the process that works
from bufferhouse.cli import main
threading.Thread(target=watch, daemon=True).start()
main()
"""
# One step of a join, which never comes back to look for signals.
ENDLESS = "SELECT COUNT(*) FROM range(10000000000000) AS a, range(100000000) AS b WHERE a.range + b.range < 0"


def test_an_interrupt_that_is_swallowed_still_ends_an_ingest(warehouse, tmp_path):
    """Exit 130 and what is committed: nothing, as it came before the first load.

    DuckDB tries no import in an ingest any more (`test_pandas_is_not_imported`); who swallows next is not known.
    """
    write_dumps(tmp_path / "run", [1])
    words = ["ingest", tmp_path / "run", "--warehouse", warehouse]
    outcome = run("pyarrow.compute", "bufferhouse.warehouse.load", "finder", *words, code=MET_IN_AN_IMPORT)
    assert (130, "") == (outcome.code, outcome.out)
    met, interrupted = outcome.err.splitlines()
    assert "met" == met
    assert interrupted.startswith("bufferhouse: interrupted after ")
    assert interrupted.endswith(
        " s; committed before: 0 new, 0 known, 0 rejected; the same command continues from there"
    )
    assert 0 == counts(warehouse)["dumps"]


def test_an_interrupt_that_duckdb_swallows_still_ends_a_statement(warehouse):
    """DuckDB goes on to run it, and is interrupted then."""
    words = ["query", "SELECT COUNT(*) FROM range(10000000000000) WHERE range < $least", "--param", "least=0"]
    words = ["pandas", "bufferhouse.query.door", "duckdb", *words, "--warehouse", warehouse]
    outcome = run(*words, code=MET_IN_AN_IMPORT)
    assert (130, "") == (outcome.code, outcome.out)
    met, interrupted = outcome.err.splitlines()
    assert ("met", True) == (met, interrupted.startswith("bufferhouse: interrupted after "))


VERBS = {
    "query": ["query", "SELECT COUNT(*) FROM staging.runs"],
    "report": ["report", "fleet"],
    "compare": ["compare", "one", "two"],
    "list": ["runs", "ls"],
    "models": ["models"],
    "stats": ["stats"],
    "export": ["export", "--all", "-o", "exported"],
    "parquet": ["export", "--parquet", "parquet"],
    "prune": ["prune", "--keep-runs", "1", "--yes"],
}


@pytest.fixture
def endless_warehouse(warehouse) -> Path:
    """A warehouse in which whoever asks for runs never gets an answer."""
    with duckdb.connect(str(warehouse)) as con:
        of_runs = "SELECT sql FROM duckdb_views() WHERE view_name = 'runs' AND schema_name = 'staging'"
        select = con.execute(of_runs).fetchone()[0].split(" AS ", 1)[1].rstrip(";\n")
        con.execute(f"CREATE OR REPLACE VIEW staging.runs AS SELECT * FROM ({select}) AS runs WHERE ({ENDLESS}) = 0")
    return warehouse


# They ask as `query` and `list` do, and write nothing; `parquet` writes files as `export` does.
SOAK = ("report", "models", "stats", "compare", "parquet")


@pytest.mark.parametrize("verb", [pytest.param(one, marks=[pytest.mark.soak] if one in SOAK else []) for one in VERBS])
def test_ctrl_c_ends_a_verb_in_its_statement(endless_warehouse, tmp_path, verb):
    """Exit 130 and one line, soon, and no half-written file stays. Who may have committed something says so."""
    outcome = run(*VERBS[verb], "--warehouse", endless_warehouse, code=MET_IN_A_STATEMENT, cwd=tmp_path)
    assert (130, "") == (outcome.code, outcome.out)
    [said] = [line for line in outcome.err.splitlines() if not line.startswith("tables: ")]
    kept = "; what was committed is kept" if verb == "prune" else ""
    assert re.fullmatch(rf"bufferhouse: interrupted after [\d.]+ s{kept}", said)
    assert [] == list(tmp_path.rglob(".*"))


# A notebook that gets Ctrl-C in one endless step, and then the next cell.
NOTEBOOK = """
import os, signal, sys, threading, time
import bufferhouse

con = bufferhouse.connect(sys.argv[1])
try:
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        con.sql(sys.argv[2]).fetchall()
    except Exception:  # of DuckDB, which comes first now and then
        time.sleep(1)
except KeyboardInterrupt:
    pass
print("stopped")
time.sleep(1)  # nobody types faster
print(con.execute("SELECT COUNT(*) FROM range(100000)").fetchall())
con.close()
"""
# A flow that a server cancels: it handles the signal itself.
CANCELLED = """
import os, signal, sys, threading, time
from pathlib import Path
from bufferhouse.warehouse.open import reading

class Cancelled(Exception):
    pass

def cancel(number, frame):
    raise Cancelled

signal.signal(signal.SIGTERM, cancel)
try:
    try:
        with reading(Path(sys.argv[1])) as opened:
            con = opened.con
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGTERM]).start()
            con.execute(sys.argv[2])
    except Exception:  # of DuckDB, which comes first now and then
        time.sleep(1)
except Cancelled:
    pass
print("stopped")
"""


# A script whose pool is forked after it has read: signals of the child are written nowhere, and the child reads, too.
FORKED = """
import multiprocessing, os, signal, sys
import bufferhouse

def count(warehouse):
    with bufferhouse.connect(warehouse) as con:
        return con.sql("SELECT COUNT(*) FROM range(7)").fetchone()

def told(warehouse):
    pipe = os.pipe()  # takes the place of what was closed
    os.set_blocking(pipe[0], False)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.raise_signal(signal.SIGUSR1)
    try:
        written = os.read(pipe[0], 1)
    except BlockingIOError:
        written = b""
    return written, count(warehouse)

count(sys.argv[1])
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map_async(told, sys.argv[1:]).get(60))
"""


def test_a_forked_process_writes_its_signals_nowhere_and_reads(example_warehouse):
    """What woke the first process is closed in it, and something else is there."""
    outcome = run(example_warehouse, code=FORKED)
    assert (0, "[(b'', (7,))]\n") == (outcome.code, outcome.out), outcome.err


def test_ctrl_c_stops_a_statement_in_a_notebook(example_warehouse):
    """Soon, also in one endless step, and the connection answers on."""
    outcome = run(example_warehouse, ENDLESS, code=NOTEBOOK)
    assert (0, "stopped\n[(100000,)]\n", "") == (outcome.code, outcome.out, outcome.err)


def test_a_flow_that_is_cancelled_stops_its_statement(example_warehouse):
    """Whoever handles SIGTERM goes on doing so."""
    outcome = run(example_warehouse, ENDLESS, code=CANCELLED)
    assert (0, "stopped\n", "") == (outcome.code, outcome.out, outcome.err)


def test_an_interrupt_is_raised_at_once_and_remembered():
    """Whoever swallows it cannot make it undone; afterwards it is forgotten, and Python's own handler is back."""
    with interrupts.remembered():
        interrupts.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    interrupts.check()
    assert signal.default_int_handler is signal.getsignal(signal.SIGINT)


def test_an_interrupt_may_meet_the_import_of_duckdb(monkeypatch):
    """When the module is known and nothing is in it yet."""
    monkeypatch.setitem(sys.modules, "duckdb", ModuleType("duckdb"))
    with interrupts.remembered(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_who_handles_interrupts_otherwise_goes_on_doing_so():
    """Another handler stays, and other threads have nothing to do with signals."""
    handlers = []

    def look() -> None:
        with interrupts.remembered():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        look()
    finally:
        signal.signal(signal.SIGINT, before)
    assert [signal.default_int_handler, signal.SIG_IGN] == handlers


def test_who_was_woken_before_may_be_gone():
    """Where Ctrl-C meets a beginning, Python ends it whenever it likes: then nobody is woken any more."""
    ends = socket.socketpair()
    ends[1].setblocking(False)
    before = signal.set_wakeup_fd(ends[1].fileno())
    try:
        with interrupts.woken_by_signals(lambda woken: woken.recv(1)):
            for end in ends:
                end.close()
        assert -1 == signal.set_wakeup_fd(-1)
    finally:
        signal.set_wakeup_fd(before)


def test_an_interrupt_may_meet_the_beginning_of_who_waits_for_it(monkeypatch):
    """The thread has begun, and the block has not: it ends as ever, with nothing to say."""
    failures = []
    heard = []
    start = threading.Thread.start

    def interrupted_start(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    def listen(woken: socket.socket) -> None:
        heard.append(woken.recv(1))

    monkeypatch.setattr(threading, "excepthook", failures.append)
    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt), interrupts.woken_by_signals(listen):
        pytest.fail("not interrupted")
    assert [interrupts.END] == heard
    assert [] == failures
