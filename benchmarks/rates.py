"""How fast dumps are ingested, beside the naive ingest and a bare loop that reads and hashes.

In this process after its imports, from the page cache, in turns with the reference (`benchmarks/naive.py`,
`hash_files`). Seconds are by the clock and, in parentheses, of the processor; a ratio is the median of those of the
turns. If other jobs keep the cores busy, the clock shows too much, most of all for work on both cores: then look at the
figures in parentheses.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import naive
from benchmarks.floors import Floor, floor, hash_files
from benchmarks.places import Places
from benchmarks.targets import Row, factor, times
from benchmarks.turns import Spent, in_turns, middle, ratio, spent
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.models.build import build
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.open import writing

_BARE = "bare.duckdb"
_CHECK = """-- Stands for all models and checks where none shall be measured.
-- severity: error
SELECT
    dump_id,  -- The dump.
    '' AS expected,  -- Nothing.
    '' AS found  -- Nothing.
FROM raw.dumps
WHERE FALSE
"""


class Fresh:
    """Names of database files that do not exist yet, a new one for each call, which removes the file of the last."""

    def __init__(self, scratch: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=scratch))
        self.count = 0

    def __call__(self) -> Path:
        for path in self.folder.iterdir():
            path.unlink()
        self.count += 1
        return self.folder / f"{self.count}.duckdb"


def bare_warehouse(path: Path) -> None:
    """Make a warehouse of tables and staging views; instead of all other models and checks one that finds nothing."""
    with tempfile.TemporaryDirectory() as directory, writing(path, build_models=False) as warehouse:
        shutil.copytree(MODELS / "staging", Path(directory) / "staging")
        check = Path(directory) / "checks" / "nothing.sql"
        check.parent.mkdir()
        check.write_text(_CHECK)
        build(warehouse.con, Path(directory))


def bare_ingest(folder: Path, path: Path) -> None:
    """Ingest as `run_ingest` does, into a bare warehouse."""
    ingest([Source.named([str(folder)])], writing(path, build_models=False))


def cold(folder: Path, scratch: Path, turns: int) -> dict[str, list[Spent]]:
    """Return what ours, ours without models and checks, and the naive ingest take in each turn."""
    fresh, made = Fresh(scratch), scratch / _BARE
    if not made.exists():
        bare_warehouse(made)

    def bare() -> None:
        path = fresh()
        path.write_bytes(made.read_bytes())
        bare_ingest(folder, path)

    works = {
        "ours": lambda: run_ingest([str(folder)], fresh()),
        "bare": bare,
        "naive": lambda: naive.ingest(folder, fresh()),
    }
    in_turns(works, 1)  # a first turn for the caches
    return in_turns(works, turns)


def rows(places: Places, turns: int) -> Iterator[Row]:
    """Yield the rows of the table that are rates."""
    yield from _cold(places.fleet, places, turns, "the fleet", Target(3, 0))
    yield from _cold(places.distinct, places, turns, "the distinct contents", Target(1, 4000), Target(2, 8000))
    if places.large:
        megabytes = sum(path.stat().st_size for path in places.large.rglob("*.txt")) / 1e6
        yield from _cold(places.large, places, turns, "large dumps", Target(1.5, 0), Target(3, 50), megabytes)
    yield _again(places, turns)


class Target(NamedTuple):
    """How many times as fast as the naive ingest, and how many dumps or MB a second."""

    factor: float
    rate: int


def _cold(
    folder: Path,
    places: Places,
    turns: int,
    label: str,
    whole: Target,
    bare: Target | None = None,
    megabytes: float = 0,
) -> list[Row]:
    """Return the row of an ingest, and that without models and checks where it has a target."""
    took = cold(folder, places.scratch, turns)
    least = floor(folder, Fresh(places.scratch), places.scratch / _BARE, turns)
    amount, unit = (megabytes, "MB") if megabytes else (sum(1 for _ in folder.rglob(f"*{naive.SUFFIX}")), "dumps")

    def rate(name: str) -> str:
        one = middle(took[name])
        return f"{amount / one.seconds:,.0f} {unit}/s: {times(one)}"

    found = []
    for name, words, target in (("ours", "", whole), ("bare", ", without models and checks", bare)):
        if target:
            faster, wanted_amount = ratio(took["naive"], took[name]), target.rate * middle(took[name]).seconds
            wanted = f"≥ {target.factor:g}× naive" + (f", ≥ {target.rate:,} {unit}/s" if target.rate else "")
            work = f"cold ingest of {label} ({amount:,.0f} {unit}){words}"
            is_met = faster.seconds >= target.factor and amount >= wanted_amount
            bound = _bound(least, middle(took["naive"]).seconds, amount, unit, has_models=name == "ours")
            found.append(Row(work, rate(name), rate("naive"), factor(faster), wanted, is_met, bound))
    return found


def _bound(least: Floor, naive_seconds: float, amount: float, unit: str, *, has_models: bool) -> str:
    """Say how near to its target comes an ingest that does nothing but hash, read and load (`benchmarks/floors.py`)."""
    loading = least.loading if has_models else least.bare_loading
    seconds = least.hashing + least.shared + loading
    return (
        f"hashing alone takes {least.hashing:.2f} s, reading {least.reading:.2f} s, {least.shared:.2f} s on all cores, "
        f"loading {loading:.2f} s: at most {naive_seconds / seconds:.1f}× naive, {amount / seconds:,.0f} {unit}/s"
    )


def _again(places: Places, turns: int) -> Row:
    path = Fresh(places.scratch)()
    spent(lambda: run_ingest([str(places.fleet)], path))
    works = {"ours": lambda: run_ingest([str(places.fleet)], path), "hash": lambda: hash_files(places.fleet)}
    in_turns(works, 1)
    found = in_turns(works, turns)
    slower = ratio(found["ours"], found["hash"])
    cells = [times(middle(turns)) for turns in found.values()]
    return Row("the known fleet again", *cells, factor(slower), "≤ 3× hash", slower.seconds <= 3)
