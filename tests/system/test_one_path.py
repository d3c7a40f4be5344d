"""One path of data, and a short one: through how many modules the ingest of one dump goes.

Counted is a second ingest in one process, of one dump into a warehouse that is there, from `run_ingest` to its return;
all imports are done then. A module is entered when a function of it is called, in any thread. A move is a call of a
function of our own whose module is another than that of such a call before it.

Where the native reader is not built the reader in Python reads, which is several modules.
"""

import sys
import threading
from pathlib import Path

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.dump.native import new_scanner
from bufferhouse.paths import CHECKOUT
from tests.system.test_floors import MODULES, imports

MOST_MODULES, MOST_MOVES = (40, 300) if new_scanner() else (46, 340)
OURS = {str(path) for path in MODULES.values()}
SEEDS = CHECKOUT / "examples" / "fleet" / "seeds"


class Walk:
    """A profiler that notes in which order modules are entered."""

    def __init__(self) -> None:
        self.modules: list[str] = []

    def __call__(self, frame, event: str, _argument) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path in OURS and self.modules[-1:] != [path]:
            self.modules.append(path)

    def __enter__(self) -> "Walk":
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def test_the_ingest_of_one_dump_goes_a_short_way(warehouse: Path):
    """Few modules are entered, and few moves are made between them; the dump is loaded all the same."""
    first, second = sorted(SEEDS.glob("*.txt"))[:2]
    run_ingest([str(first)], warehouse, run_name="one")
    with Walk() as walk:
        summary = run_ingest([str(second)], warehouse, run_name="two")
    assert 1 == summary.new
    names = {str(Path(path).relative_to(CHECKOUT)) for path in walk.modules}
    assert {"bufferhouse/ingest/pipeline.py", "bufferhouse/warehouse/load.py"} <= names
    assert len(names) <= MOST_MODULES, sorted(names)
    assert len(walk.modules) - 1 <= MOST_MOVES


def test_whoever_ingests_walks_the_pipeline():
    """The command line, a configured pass, the flow and `--from` hand their sources to `pipeline.ingest`.

    None of them reads or parses by itself, and nobody else loads what was read, but for rejects that are tried again.
    """
    steps = {"bufferhouse.ingest.read", "bufferhouse.tabulate.contents", "bufferhouse.warehouse.load"}
    walkers = {"bufferhouse.commands.ingest_run", "bufferhouse.ingest.in_memory", "flows.ingest"}
    assert walkers <= {name for name in MODULES if "bufferhouse.ingest.pipeline" in imports(name)}
    assert {name: set() for name in walkers} == {name: imports(name) & steps for name in walkers}
    readers = {name for name in MODULES if "bufferhouse.ingest.read" in imports(name)}
    assert {f"bufferhouse.ingest.{name}" for name in ("pipeline", "claimed", "rejects")} == readers
