"""How fast the questions of the cookbook answer over a fleet.

Every question of `sql/queries` is asked with its defaults, as `query --ask` does, on an open connection. A figure is
the median of the turns in seconds of the processor, of all threads together, with all rows fetched.
"""

import tempfile
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.models import source
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.query.cookbook import questions
from bufferhouse.query.door import door
from bufferhouse.warehouse.open import open_reader

TURNS = 5


def timed(path: Path) -> list[tuple[str, float, int]]:
    """Return name, median seconds and rows of every question, asked of the warehouse at `path`."""
    found = []
    con = open_reader(path).con
    with con, door(con) as opened:
        for question in questions().values():
            seconds, rows = [], 0
            for _ in range(TURNS):
                start = process_time()
                rows = len(opened.ask(question.sql, question.values({})).rows)
                seconds.append(process_time() - start)
            found.append((question.name, median(seconds), rows))
    return found


def table() -> str:
    """Return the figures as Markdown, the slowest question first."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fleet.duckdb"
        run_ingest([str(source())], path)
        found = timed(path)
    lines = ["| question | seconds | rows |", "|---|---|---|"]
    for name, seconds, rows in sorted(found, key=lambda one: -one[1]):
        lines.append(f"| `{name}` | {seconds:.3f} | {rows:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
