"""The least time that an ingest of these dumps needs, however its work is arranged: hashing, reading, DuckDB's part.

*Hashing* is the bare loop that reads the bytes of all files and hashes them, in one process because they are one list.
*Reading* is the reader alone, from dumps to columns with all its proofs, the native one if it is built: no hash,
no shapes, no frames, no tables. It is shared among the cores, a dump to each. *Loading* is what comes after the frames,
nearly all of it statements of DuckDB: its tables, models, checks and the commit. A target below the sum of the three
needs another reader, other models or another database.
"""

import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import Files, dumps_of
from benchmarks.turns import in_turns, middle, spent
from bufferhouse.dump import parse
from bufferhouse.dump.native import new_scanner
from bufferhouse.ingest.pipeline import parse_batch
from bufferhouse.ingest.read import read_batches
from bufferhouse.sources.discover import discover
from bufferhouse.tabulate.memory import collector_paused
from bufferhouse.warehouse.load import load
from bufferhouse.warehouse.open import writing


class Floor(NamedTuple):
    """Seconds by the clock: of hashing, of reading all dumps, the largest, and of loading, with models and without."""

    hashing: float
    reading: float
    largest: float
    loading: float
    bare_loading: float

    @property
    def shared(self) -> float:
        """Seconds that reading takes where all cores share it; a dump is read by one of them."""
        return max(self.reading / (os.cpu_count() or 1), self.largest)


def floor(folder: Path, fresh: Callable[[], Path], bare: Path, turns: int) -> Floor:
    """Return what lies beneath an ingest of the dumps below a folder; `bare` is a warehouse without models."""
    dumps = sorted(dumps_of(folder), key=lambda files: sum(map(len, files.values())))
    works = {
        "hash": lambda: hash_files(folder),
        "all": lambda: read_all(dumps),
        "largest": lambda: read_all(dumps[-1:]),
    }
    in_turns(works, 1)
    reading = [middle(found).seconds for found in in_turns(works, turns).values()]
    loading = []
    for made in (None, bare):
        seconds = []
        for _ in range(turns):
            path = fresh()
            if made:
                path.write_bytes(made.read_bytes())
            seconds.append(_loading(folder, path, build_models=made is None))
        loading.append(sorted(seconds)[turns // 2])
    return Floor(*reading, *loading)


def hash_files(directory: Path) -> int:
    """Read and hash every file below a directory, as barely as Python can; return how many there are."""
    count = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                hashlib.sha256(file.read()).hexdigest()
            count += 1
    return count


@collector_paused()
def read_all(dumps: list[Files]) -> None:
    """Read dumps into columns."""
    scanner = new_scanner()
    for number, files in enumerate(dumps):
        if scanner is None or not scanner.read(number, files):
            parse(files["combined"] if len(files) == 1 else files)


def _loading(folder: Path, path: Path, *, build_models: bool) -> float:
    found, seconds = discover([str(folder)]), 0.0
    with writing(path, build_models=build_models) as warehouse:
        for batch in read_batches(warehouse, found.dumps):
            parsed, now = parse_batch(batch), datetime.now(UTC)
            seconds += spent(lambda parsed=parsed, now=now: load(warehouse, parsed, found.runs, now)).seconds
    return seconds
