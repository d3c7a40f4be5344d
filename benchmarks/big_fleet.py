"""A fleet of any size, made of real dumps: programs × runs observations, and a tenth as many contents.

Every program is a dump of the fleet that is here, read, changed and rendered anew: its name has a number, and every
ten runs its largest arena grows, each program at its own time. So a run has every program, and a tenth of its dumps are
new. The files of a content are links to one.
"""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.corpus import CORPUS, dumps_of
from benchmarks.wide_fleet import grown
from bufferhouse.dump import Dump, parse
from bufferhouse.paths import CHECKOUT

RUNS_OF_A_CONTENT = 10
SUFFIX = "-buffer-assignment.txt"
_STEP_BYTES = 512
_MOST_BYTES = 100_000  # of a real dump; a few larger ones would decide how long the whole takes


def bases(count: int) -> list[Dump]:
    """Return so many real dumps, of the fleet that is here: all different if there are enough."""
    archives = sorted((CORPUS / "fleet").glob("*.tar.gz")) if CORPUS.is_dir() else []
    files = [
        files["combined"]
        for files in dumps_of(*archives or [CHECKOUT / "examples" / "fleet"])
        if list(files) == ["combined"] and len(files["combined"]) < _MOST_BYTES
    ]
    found = []
    for number in range(count):
        dump = parse({"combined": files[number * len(files) // count if count < len(files) else number % len(files)]})
        dump.total_human = None  # a rounded figure that would have to follow the total
        found.append(dump)
    return found


def shape_of(observations: int) -> tuple[int, int]:
    """Return how many programs and runs make so many observations: at most 1,000 programs."""
    programs = min(1000, max(observations // 100, 10))
    return programs, max(observations // programs, 1)


def write_big_fleet(folder: Path, observations: int) -> tuple[int, int]:
    """Write a fleet into a folder that is not there yet, a directory for each run; return its files and contents."""
    programs, runs = shape_of(observations)
    directories = [folder / f"nightly-{run:04}" for run in range(runs)]
    for directory in directories:
        directory.mkdir(parents=True)
    contents = 0
    for program, dump in enumerate(bases(programs)):
        name = f"module_{program:04}.jit_step_p{program:03}.sm_8.0_gpu_after_optimizations{SUFFIX}"
        for first, last in _spans(program, runs):
            contents += 1
            target = directories[first] / name
            target.write_bytes(grown(dump, _STEP_BYTES * (first + 1)))
            for run in range(first + 1, last):
                os.link(target, directories[run] / name)
    return programs * runs, contents


def _spans(program: int, runs: int) -> Iterator[tuple[int, int]]:
    """Yield the runs that see the same content: the first of them, and the one behind the last."""
    edges = sorted({0, runs, *range(program % RUNS_OF_A_CONTENT, runs, RUNS_OF_A_CONTENT)})
    return pairwise(edges)
