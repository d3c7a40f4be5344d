"""What ingesting costs: a fleet for the first time, and again when all of it is known.

All in this process, with one worker and from the page cache. Beside it stands a bare loop of `os.walk`, `open`, `read`
and SHA-256 over the same files, turn by turn with ours; seconds are those of the processor, the median of the turns, as
the machine may be busy. Known again, ours lists the files, looks at size and time and opens the warehouse; with
`--rehash` it reads and hashes every file, too. Peak memory is that of a fresh process that ingests the archive.
"""

import contextlib
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.corpus import CORPUS
from bufferhouse.housekeeping import compact
from bufferhouse.ingesting import run_ingest
from bufferhouse.layout import CHECKOUT
from bufferhouse.warehouse import Warehouse

TURNS = 7
EXAMPLES = CHECKOUT / "examples" / "fleet"


def loop(directory: Path) -> int:
    """Read and hash every file below a directory, as barely as Python can; return how many there are."""
    count = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                hashlib.sha256(file.read()).hexdigest()
            count += 1
    return count


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds of the processor that some work takes, quietly."""
    start = process_time()
    with contextlib.redirect_stderr(io.StringIO()):
        work()
    return process_time() - start


@contextlib.contextmanager
def unpacked() -> Iterator[tuple[str, Path, Path]]:
    """Yield the name of the fleet that is here, its files on the disk, and what to ingest in a process of its own."""
    archives = sorted((CORPUS / "fleet").glob("*.tar.gz")) if CORPUS.is_dir() else []
    if not archives:
        yield "examples/fleet", EXAMPLES, EXAMPLES
        return
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(archives[0]) as archive:
            # Python before 3.11.4 knows no filter, and later ones warn without.
            archive.extractall(directory, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        yield "fleet", Path(directory), archives[0]


def peak_memory_mb(source: Path, warehouse: Path) -> float:
    """Return the peak memory of a fresh process that ingests a source with one worker, imports included."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchmarks.memory import peak_mb\n"
        "from bufferhouse.ingesting import run_ingest\n"
        "run_ingest([sys.argv[1]], Path(sys.argv[2]), workers=1)\n"
        "print(peak_mb())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, source, warehouse], capture_output=True, text=True, check=True)
    return float(done.stdout)


def again(files: Path, warehouse: Path) -> dict[str, list[float]]:
    """Return the seconds of each turn of the bare loop, of ours, and of ours with `--rehash`."""
    ways = {
        "loop": lambda: loop(files),
        "known": lambda: run_ingest([str(files)], warehouse, workers=1),
        "rehash": lambda: run_ingest([str(files)], warehouse, workers=1, rehash=True),
    }
    for way in ways.values():
        seconds_of(way)  # a first turn for the caches
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, work in ways.items():
            seconds[way].append(seconds_of(work))
    return seconds


def measure() -> dict[str, object]:
    """Return all figures by name."""
    with unpacked() as (name, files, source), tempfile.TemporaryDirectory() as directory:
        warehouse = Path(directory) / "warehouse.duckdb"
        first = seconds_of(lambda: run_ingest([str(files)], warehouse, workers=1))
        with Warehouse(warehouse) as opened:
            counts = opened.con.execute(
                "SELECT (SELECT COUNT(*) FROM raw.observations), COUNT(*), SUM(text_bytes) FROM raw.dumps"
            ).fetchone()
            _, compacted = compact(opened)
        seconds = again(files, warehouse)
        return {
            "name": name,
            "files": counts[0],
            "contents": counts[1],
            "text_mb": counts[2] / 1e6,
            "file_mb": compacted / 1e6,
            "first": first,
            **{way: median(turns) for way, turns in seconds.items()},
            **{
                f"{way}_ratio": median(own / bare for own, bare in zip(seconds[way], seconds["loop"], strict=True))
                for way in ("known", "rehash")
            },
            "peak_mb": peak_memory_mb(source, Path(directory) / "fresh.duckdb"),
        }


def table() -> str:
    """Return the figures as Markdown."""
    f = measure()
    lines = [
        f"{f['name']}: {f['files']:,} files, {f['contents']:,} contents of {f['text_mb']:.1f} MB; compacted, the "
        f"warehouse has {f['file_mb']:.1f} MB ({f['file_mb'] / f['text_mb']:.0%} of them). Peak memory of the first "
        f"ingest: {f['peak_mb']:.0f} MB.\n",
        "| work | seconds | files/s | against the bare loop |",
        "|---|---|---|---|",
    ]
    for way, label in (
        ("first", "first ingest"),
        ("loop", "bare loop: read and hash"),
        ("known", "again, known by path, size and time"),
        ("rehash", "again with `--rehash`"),
    ):
        ratio = f"**{f[f'{way}_ratio']:.2f}×**" if f"{way}_ratio" in f else ""
        lines.append(f"| {label} | {f[way]:.2f} | {f['files'] / f[way]:,.0f} | {ratio} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
