"""How long two runs of many programs take to compare.

The runs are two releases of jaxlib with about 90 programs each. They are copied until there are 552 programs; every
copy has its own name and content. The comparison runs on an open connection; a figure is the median of the turns, by
the clock and in seconds of the processor. *Command* is `bufferhouse compare` from its start to its end, in a process of
its own.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks.corpus import CORPUS
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.compare.compare import CHANGED, compare_runs
from bufferhouse.config.threshold import METRICS
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.open import open_reader

TURNS = 3
COPIES = 6
RUNS = ("jaxlib-0.4.38", "jaxlib-0.6.0")
SUFFIX = "-buffer-assignment.txt"


def write_copies(directory: Path, copies: int = COPIES) -> None:
    """Write both runs below a directory; line feeds at the end make each copy a content of its own."""
    for run in RUNS:
        (directory / run).mkdir()
        with tarfile.open(CORPUS / "builds" / f"{run}.tar.gz") as archive:
            for member in archive:
                if member.name.endswith(SUFFIX):
                    number, name, rest = Path(member.name).name.split(".", 2)
                    text = archive.extractfile(member).read()
                    for copy in range(copies):
                        path = directory / run / f"{number}.{name}_c{copy}x.{rest}"
                        path.write_bytes(text + b"\n" * copy)


def timed(path: Path, metric: str) -> tuple[float, float, int, int]:
    """Return seconds by the clock, those of the processor, programs, and those that changed."""
    clock, processor = [], []
    con = open_reader(path).con
    with con:
        ids = dict(con.execute("SELECT run_name, run_id FROM raw.runs").fetchall())
        for _ in range(TURNS):
            starts = perf_counter(), process_time()
            rows = compare_runs(con, *map(ids.get, RUNS), metric=metric)
            clock.append(perf_counter() - starts[0])
            processor.append(process_time() - starts[1])
    return median(clock), median(processor), len(rows), sum(row.status == CHANGED for row in rows)


def command_seconds(path: Path) -> float:
    """Return the median seconds that the whole command takes."""
    seconds = []
    for _ in range(TURNS):
        start = perf_counter()
        subprocess.run(
            [sys.executable, "-m", "bufferhouse.cli", "compare", *RUNS, "--warehouse", path],
            check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        )  # fmt: skip
        seconds.append(perf_counter() - start)
    return median(seconds)


def table() -> str:
    """Return the figures as Markdown."""
    with tempfile.TemporaryDirectory() as directory:
        write_copies(Path(directory))
        path = Path(directory) / "runs.duckdb"
        run_ingest([str(Path(directory) / run) for run in RUNS], path)
        lines = ["| compared | seconds | of the processor | programs | changed |", "|---|---|---|---|---|"]
        for metric in METRICS:
            clock, processor, programs, changed = timed(path, metric)
            lines.append(f"| {metric} | {clock:.2f} | {processor:.2f} | {programs} | {changed} |")
        lines.append(f"| command | {command_seconds(path):.2f} | | | |")
    return "\n".join(lines)
