"""What no ingest of these dumps goes below, however its work is arranged: reading them, and one load.

*Reading* is the reader alone, from dumps to columns with all its proofs, neighbours together as in an ingest: no hash,
no shapes, no frames, no tables. It is shared among the cores, a dump to each. *One load* is the ingest of one small
dump, nearly all of it planning of models and checks. A target beyond both needs another reader or another planner.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import Files, dumps_of
from benchmarks.places import EXAMPLES
from benchmarks.turns import in_turns, middle
from bufferhouse.collecting import collector_paused
from bufferhouse.dump import parse, together
from bufferhouse.ingesting import run_ingest

_NEIGHBOURS = 64


class Floor(NamedTuple):
    """Processor seconds of reading all dumps, of reading the largest, and of one load."""

    reading: float
    largest: float
    load: float

    @property
    def shared(self) -> float:
        """Seconds that reading takes where all cores share it; a dump is read by one of them."""
        return max(self.reading / (os.cpu_count() or 1), self.largest)


def floor(folder: Path, scratch: Path, turns: int) -> Floor:
    """Return what there is at the bottom of an ingest of the dumps below a folder."""
    dumps = sorted(dumps_of(folder), key=_size)
    small = min(EXAMPLES.rglob("*-buffer-assignment.txt"), key=lambda path: path.stat().st_size)
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        warehouses = Path(directory) / "made"

        def load() -> None:
            shutil.rmtree(warehouses, ignore_errors=True)
            warehouses.mkdir()
            run_ingest([str(small)], warehouses / "one.duckdb")

        works = {"reading": lambda: read_all(dumps), "largest": lambda: read_all(dumps[-1:]), "load": load}
        in_turns(works, 1)
        found = in_turns(works, turns)
    return Floor(*(middle(found[name]).processor for name in works))


@collector_paused()
def read_all(dumps: list[Files]) -> None:
    """Read dumps into columns."""
    for first in range(0, len(dumps), _NEIGHBOURS):
        cuts = [(files, together.sections(files)) for files in dumps[first : first + _NEIGHBOURS]]
        forms = {cut.form for _, cut in cuts if cut}
        for form in forms:
            alike = [cut for _, cut in cuts if cut and cut.form == form]
            together.read(alike)
        for files, cut in cuts:
            if cut is None:
                parse(files["combined"] if len(files) == 1 else files)


def _size(files: Files) -> int:
    return sum(map(len, files.values()))
