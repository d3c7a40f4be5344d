"""Locks of real dumps, made once for all tests of a process."""

from functools import cache
from pathlib import Path

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.lock.entry import Lock, Site
from bufferhouse.lock.measured import measured, output_sites
from bufferhouse.lock.places import Checkout
from bufferhouse.paths import CHECKOUT

FLEET = CHECKOUT / "examples" / "fleet"
LOCKED = CHECKOUT / "tests" / "data" / "locked"
RESHAPED = CHECKOUT / "tests" / "data" / "reshaped"
TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"


@cache
def _locks() -> dict[str, tuple[Lock, dict[int, list[Site]]]]:
    checkout = Checkout(Path("/nowhere"))
    found = {}
    with in_memory([str(folder) for folder in (FLEET, LOCKED, RESHAPED)], with_logs=False) as con:
        for run_id, name in con.execute("SELECT run_id, run_name FROM raw.runs").fetchall():
            lock = measured(con, checkout, run_ids=[run_id])
            found[name] = lock, output_sites(con, list(lock.entries.values()), checkout)
    return found


def lock_of(run: str) -> Lock:
    """The entries of a run of the examples or the test data. To be read, never changed."""
    return _locks()[run][0]


def outputs_of(run: str) -> dict[int, list[Site]]:
    """The sites of its outputs, by dump."""
    return _locks()[run][1]
