"""How fast dumps become columns, beside two line-by-line readers and `wc -l` of the same bytes.

All run in one process, in turns; a figure is the least processor time of the turns, because the machine may be busy
(for `wc -l` it is the time by the clock).

* *ours*: `dump.parse`, `dump.instruction_text` and `shape.parse_shape`: every column of every table, as lists, and the
  proof that no byte was skipped, all in Python; *frames* is what an ingest makes, a Polars frame of each table with
  interned names, with the native reader if it is built.
* *plain* (`benchmarks/plain_reader.py`): tries one pattern after the other on each line, makes a dict per row, fills
  the same columns, and checks only that each line is known.
* *lean* (`benchmarks/lean_reader.py`): a state machine that knows which pattern is next, and fills half of the columns:
  nothing of shapes, and of instruction texts only opcode and op_name.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from time import perf_counter, process_time

from benchmarks import lean_reader, plain_reader
from benchmarks.corpus import Files, sets
from bufferhouse.dump import Dump, instruction_text, parse
from bufferhouse.dump.identity import content_of
from bufferhouse.tabulate.contents import parse_contents
from bufferhouse.tabulate.memory import collector_paused
from bufferhouse.tabulate.shape import _parse_leaf, parse_shape

TURNS = 7


@collector_paused()
def ours(dumps: list[Files]) -> None:
    """Read everything into lists, in Python: the dumps, then what all their texts and shapes say."""
    read = [_parsed(files) for files in dumps]
    instruction_text.read(list(dict.fromkeys(chain.from_iterable(dump.values.instruction_text for dump in read))))
    shapes = dict.fromkeys(chain.from_iterable(dump.values.shape for dump in read))
    for text in shapes:
        parse_shape(text)


def frames(dumps: list[Files]) -> None:
    """Read everything into frames."""
    parse_contents([(_content(files), files) for files in dumps])


def _parsed(files: Files) -> Dump:
    return parse(files if len(files) > 1 else files["combined"])


_contents: dict[int, object] = {}


def _content(files: Files):
    """Hash outside the clock: it is no part of reading."""
    if id(files) not in _contents:
        _contents[id(files)] = content_of(files)
    return _contents[id(files)]


def plain(dumps: list[Files]) -> None:
    """Read with the plain reader into lists of dicts."""
    plain_reader.instruction.cache_clear()
    plain_reader.shape.cache_clear()
    tables: dict[str, list[dict]] = {}
    for files in dumps:
        plain_reader.read(_text(files), lambda table, row: tables.setdefault(table, []).append(row))


def lean(dumps: list[Files]) -> None:
    """Read with the lean reader into lists of tuples."""
    for files in dumps:
        lean_reader.read(_text(files))


def _text(files: Files) -> str:
    return "".join(data.decode("utf-8", "surrogateescape") for data in files.values())


def count_lines(dumps: list[Files]) -> None:
    """Count lines with `wc -l`."""
    data = b"".join(part for files in dumps for part in files.values())
    subprocess.run(["wc", "-l"], input=data, stdout=subprocess.DEVNULL, check=True)


READERS: tuple[Callable[[list[Files]], None], ...] = (ours, frames, plain, lean, count_lines)


def measure(found: Iterable[tuple[str, list[Files]]], turns: int = TURNS) -> list[tuple[str, int, float, list[float]]]:
    """Return per set: name, dumps, MB, and the least seconds of each reader."""
    rows = []
    for name, dumps in found:
        for files in dumps:
            _content(files)
        seconds: dict[str, list[float]] = {reader.__name__: [] for reader in READERS}
        for _ in range(turns):
            for reader in READERS:
                _parse_leaf.cache_clear()
                clock = perf_counter if reader is count_lines else process_time
                start = clock()
                reader(dumps)
                seconds[reader.__name__].append(clock() - start)
        size = sum(len(data) for files in dumps for data in files.values()) / 1e6
        rows.append((name, len(dumps), size, [min(taken) for taken in seconds.values()]))
    return rows


def peak_memory_mb(files: Files) -> float:
    """Return the most memory a fresh process has held while it made frames of one dump, in MB."""
    code = (
        "import pickle, sys\nfrom benchmarks.memory import peak_mb\n"
        "from bufferhouse.tabulate.contents import parse_contents\nfrom bufferhouse.dump.identity import content_of\n"
        "files = pickle.load(sys.stdin.buffer)\n"
        "parse_contents([(content_of(files), files)])\n"
        "print(peak_mb())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(files), capture_output=True, check=True)
    return float(done.stdout)


def table() -> str:
    """Return the figures as Markdown."""
    lines = [
        "| dumps | MB | ours | frames | plain | lean | `wc -l` | ours against plain | against lean |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, count, size, (mine, framed, other, least, wc) in measure(sets()):
        lines.append(
            f"| {name}: {count} | {size:.1f} | {mine:.2f} s ({size / mine:.0f} MB/s, {count / mine:,.0f} dumps/s) "
            f"| {framed:.2f} s | {other:.2f} s ({size / other:.0f} MB/s) | {least:.2f} s ({size / least:.0f} MB/s) "
            f"| {wc:.2f} s | **{other / mine:.1f}×** | {least / mine:.1f}× |"
        )
    combined = [files for _, dumps in sets() for files in dumps if len(files) == 1]
    largest = max(combined, key=lambda files: len(files["combined"]))
    size = len(largest["combined"]) / 1e6
    lines += ["", f"A process that makes frames of one dump of {size:.1f} MB holds {peak_memory_mb(largest):.0f} MB."]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
