"""Ctrl-C: it ends a command, wherever it meets it."""

import signal
import threading

import pytest

from bufferhouse import interrupts
from tests.commands import run
from tests.ingests import write_dumps
from tests.warehouses import counts

# `bufferhouse` that gets Ctrl-C in the middle of an import which DuckDB tries, and forgives when it fails.
MET_IN_AN_IMPORT = """
import os, signal, sys

module = sys.argv.pop(1)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module and "bufferhouse.workers" in sys.modules:  # all that the command itself imports is there
            sys.meta_path.remove(self)
            print("met", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from bufferhouse.cli import main
main()
"""


@pytest.mark.parametrize("module", ["pandas", "pyarrow.dataset"])
def test_an_interrupt_that_duckdb_swallows_still_ends_an_ingest(warehouse, tmp_path, module):
    """Exit 130 and what is committed: nothing, as it came before the first load."""
    write_dumps(tmp_path / "run", [1])
    outcome = run(module, "ingest", tmp_path / "run", "--warehouse", warehouse, code=MET_IN_AN_IMPORT)
    assert (130, "") == (outcome.code, outcome.out)
    met, committed, interrupted = outcome.err.splitlines()
    assert "met" == met
    assert committed.startswith("bufferhouse: committed before the interrupt: 0 new, 0 known, 0 rejected; ")
    assert interrupted.startswith("bufferhouse: interrupted after ")
    assert 0 == counts(warehouse)["dumps"]


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
