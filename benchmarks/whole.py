"""What bufferhouse costs, beside a reference in the same run, and what it may cost.

*Naive* is what a good engineer writes in a day (`benchmarks/naive.py`): a reader that goes line by line with regexes,
then Arrow into DuckDB; no hash, no shapes, no validation, no models, no checks, no look for repeats. *Hash* is a bare
Python loop that reads and SHA-256s the same files, *text* the bytes of the distinct dumps. All run in the same process
after its imports, from the page cache, in turns with ours; only start-up, memory and growing fleets are measured in
processes of their own. Figures are medians of the turns: seconds by the clock, and in parentheses those of the
processor, all processes together. A target is judged by the clock; that of start-up by the processor. If other jobs
keep the cores busy, the clock shows too much, most of all for work on both cores: then compare the figures in
parentheses.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import answers, lake, proof, rates, scaling, space, start
from benchmarks.places import Places, unpacked
from benchmarks.rates import Fresh
from benchmarks.targets import Row, as_table, line
from benchmarks.turns import spent
from bufferhouse.commands.ingest_run import run_ingest

TURNS = 5
OBSERVATIONS = 1_000_000


def table(*, turns: int = TURNS, observations: int = OBSERVATIONS, is_drawn: bool = True) -> str:
    """Return the table of targets as Markdown, and how cost grows with the fleet up to so many observations."""
    powers = [10**power for power in range(3, 9) if 10**power <= observations]
    sizes = [*powers[:-1], powers[-1] // 2, powers[-1]]  # the last two show whether memory grows
    with unpacked() as places:
        rows = _told(_rows(places, turns))
        points, of_the_largest = scaling.measure(sizes, places.scratch, turns)
    if is_drawn:
        scaling.draw(points)
    growth = f"### Growth\n\n{scaling.__doc__.strip()}\n\n{scaling.as_table(points)}"
    return (
        f"{as_table([*rows, *of_the_largest])}\n\n{growth}\n\n![Cost against the size of the fleet](images/scaling.png)"
    )


def _rows(places: Places, turns: int) -> Iterator[Row]:
    """Yield the rows, each as soon as it is measured."""
    yield from rates.rows(places, turns)
    yield lake.load_row(places, turns)
    yield from space.memory_rows(places)
    yield space.size_row(places)
    yield proof.row(places, turns)
    warehouse = Fresh(places.scratch)()
    spent(lambda: run_ingest([str(places.fleet)], warehouse))
    yield from answers.rows(warehouse, turns, where=places.name)
    yield from answers.compare_row(places.scratch, turns)
    dump = next(path for path in sorted(places.fleet.rglob("*.txt")) if path.name.endswith("-buffer-assignment.txt"))
    yield from start.rows(warehouse, dump, places.scratch, turns)


def _told(rows: Iterable[Row]) -> list[Row]:
    """Return rows, and say each on standard error as soon as it is there: the whole takes long."""
    found = []
    for row in rows:
        found.append(row)
        print(line(row), file=sys.stderr, flush=True)
    return found


def machine() -> str:
    """Return what the machine is."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [
        line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
    ]
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"{os.cpu_count()} cores of {names[0] if names else 'an unknown processor'}, load {load}"
