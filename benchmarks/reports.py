"""What reports cost: of a wide fleet, of a fleet of real dumps, and of a large dump.

The *wide fleet* has 500 programs in 100 runs (`benchmarks/wide_fleet.py`); four fifths of its 50,000 files are repeats.
Each report is a process of its own, imports and writing the page included. Seconds are those of the processor, user and
system, and in parentheses those by the clock, which other work on the machine makes longer. They are of the turn that
took the fewest seconds of the processor. At the *first use* the script of the charts is missing and is bundled first;
`make install` does this once and for all.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.corpus import CORPUS
from benchmarks.models import source
from benchmarks.places import EXAMPLES
from benchmarks.wide_fleet import write_wide_fleet
from bufferhouse.commands.ingest_run import run_ingest

TURNS = 3
PROGRAMS, RUNS = 500, 100
_LARGE = CORPUS / "large" / "large-jaxlib-0.4.30.tar.gz"
_CALL = "import sys; sys.prefix = sys.argv.pop(1); from bufferhouse.cli import main; main()"


def reports(folder: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """Yield what is measured: its name, its warehouse, and the words of the report."""
    wide, here, large = (folder / f"{name}.duckdb" for name in ("wide", "here", "large"))
    write_wide_fleet(folder / "wide", PROGRAMS, RUNS)
    run_ingest([str(folder / "wide")], wide)
    yield "fleet, 500 programs × 100 runs", wide, ["fleet"]
    run_ingest([str(source())], here)
    yield f"fleet, {'examples/fleet' if source() == EXAMPLES else '14,603 files of 40 runs'}", here, ["fleet"]
    if _LARGE.exists():
        run_ingest([str(_LARGE)], large)
        yield "program, a dump of 11 MB", large, ["program", "jit_transformer160"]


def seconds(words: list[str], cache: Path, *, first: bool = False) -> tuple[float, float]:
    """Return seconds of the processor and of the clock that a report takes in a process of its own."""
    with tempfile.TemporaryDirectory() as nowhere:
        environment = {**os.environ, "XDG_CACHE_HOME": nowhere if first else str(cache)}
        before, start = os.times(), perf_counter()
        call = [sys.executable, "-c", _CALL, nowhere, "report", *words]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL, env=environment)
        passed, after = perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, passed


def table() -> str:
    """Return the figures as Markdown."""
    lines = ["| report | terminal | page | page, first use | size of the page |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        page = folder / "page.html"
        for name, warehouse, words in reports(folder):
            plain = [*words, "--warehouse", str(warehouse)]
            html = [*plain, "--html", str(page)]
            first = seconds(html, folder, first=True)
            times = [min(seconds(call, folder) for _ in range(TURNS)) for call in (plain, html)]
            figures = " | ".join(f"{spent:.1f} s ({passed:.1f} s passed)" for spent, passed in (*times, first))
            lines.append(f"| {name} | {figures} | {page.stat().st_size / 1e6:.2f} MB |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
