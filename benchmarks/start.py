"""What a command costs before it does anything: seconds of the processor, user and system, of a new process.

The reference is Python that imports what the command cannot do without: Typer, DuckDB, and for an ingest Polars and
PyArrow with its data sets, which DuckDB imports at the first table of Arrow. An ingest also plans some 65 models and
checks, which is most of what loading takes in the rows of the distinct contents, however few there are.
"""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.rates import Fresh
from benchmarks.targets import Row
from benchmarks.turns import Spent, in_turns, middle
from bufferhouse.paths import CHECKOUT

_CALL = "from bufferhouse.cli import main; main()"


def rows(warehouse: Path, dump: Path, scratch: Path, turns: int) -> list[Row]:
    """Return the rows of the table; `dump` is one file to ingest."""
    fresh = Fresh(scratch)
    works = {
        "typer": lambda: _run("import typer"),
        "duckdb": lambda: _run("import typer, duckdb"),
        "frames": lambda: _run("import typer, duckdb, polars, pyarrow.dataset"),
        "help": lambda: _run(_CALL, "--help"),
        "query": lambda: _run(_CALL, "query", "select 1", "--warehouse", warehouse),
        "ingest": lambda: _run(_CALL, "ingest", dump, "--warehouse", fresh()),
    }
    in_turns(works, 1)
    found = {name: middle(taken) for name, taken in in_turns(works, turns).items()}
    bare = f"Typer: {found['typer'].processor:.2f} s"
    loaded = f"Typer and DuckDB: {found['duckdb'].processor:.2f} s"
    framed = f"those, Polars and PyArrow: {found['frames'].processor:.2f} s"
    return [
        _row("start of `bufferhouse --help`", found["help"], bare, 0.25),
        _row('start of `query "select 1"`', found["query"], loaded, 0.5),
        _row("start of `ingest` of one dump", found["ingest"], framed, 1.5),
    ]


def _row(work: str, took: Spent, reference: str, most: float) -> Row:
    processor = took.processor
    figure = f"{processor / most:.0%} of the target"
    cells = f"{processor:.2f} s of the processor", reference, figure, f"≤ {most:g} s"
    return Row(work, *cells, processor <= most, "imports alone take what the reference says")


def _run(code: str, *words: object) -> None:
    subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
