"""How much memory an ingest holds, and how large the warehouse is.

Memory is the peak of a fresh process. The warehouse is measured after
`compact`, against the bytes of the distinct dumps.
"""

from pathlib import Path

from benchmarks.memory import run_alone
from benchmarks.places import Places
from benchmarks.rates import Fresh
from benchmarks.targets import Row
from benchmarks.turns import spent
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.stats import stats

_INGEST = """
import sys
from pathlib import Path
from bufferhouse.commands.ingest_run import run_ingest
run_ingest([sys.argv[1]], Path(sys.argv[2]))
"""

_FRAMES = """
import sys
from bufferhouse.ingest.pipeline import parse_batch
from bufferhouse.ingest.read import read_batches
from bufferhouse.sources.discover import discover
from bufferhouse.warehouse.open import writing
with writing(None, build_models=False) as warehouse:
    for batch in read_batches(warehouse, discover([sys.argv[1]]).dumps):
        parse_batch(batch)
        break
"""


def memory_rows(places: Places) -> list[Row]:
    """Return the rows of the table that are peaks of memory."""
    found = [_memory(places.fleet, places, "the fleet", 600)]
    if places.large:
        sizes: dict[str, int] = {}
        for path in places.large.rglob("*.txt"):
            module = path.name.split(".", 2)[1]
            sizes[module] = sizes.get(module, 0) + path.stat().st_size
        largest = max(sizes.values()) / 1e6
        found.append(_memory(places.large, places, f"dumps of up to {largest:.0f} MB", 300 + 4 * largest))
    return found


def _memory(folder: Path, places: Places, label: str, most: float) -> Row:
    _, peak = run_alone(_INGEST, folder, Fresh(places.scratch)())
    _, frames = run_alone(_FRAMES, folder)
    figure = f"{peak / most:.0%} of the target"
    bound = f"the first batch in frames, before anything is loaded, takes {frames} MB"
    return Row(f"peak memory, {label}", f"{peak} MB", "", figure, f"≤ {most:.0f} MB", peak <= most, bound)


def size_row(places: Places) -> Row:
    """Return the row of the size of a warehouse of all that is here."""
    path = places.scratch / "all.duckdb"
    for source in places.all:
        spent(lambda source=source: run_ingest([source], path))
    with writing(path) as warehouse:
        size = warehouse.compact().after
        raw = sum(table["bytes"] for name, table in stats(warehouse)["tables"].items() if name.startswith("raw."))
        [text] = warehouse.con.execute("SELECT CAST(SUM(text_bytes) AS BIGINT) FROM raw.dumps").fetchone()
    path.unlink()
    share = size / text
    cells = f"{size / 1e6:.1f} MB", f"text: {text / 1e6:.1f} MB", f"{share:.1%}"
    bound = f"the raw tables alone, what models keep left out, take {raw / text:.1%}"
    return Row("warehouse of fleet, builds and large, compacted", *cells, "≤ 17 %", share <= 0.17, bound)
