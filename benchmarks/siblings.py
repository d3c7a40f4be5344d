"""What the files beside dumps cost an ingest: protos, module texts and options of the compilation.

The input is about a hundred small programs of three compilers (33 KB of text each, a proto and a module text of 29 KB
each) with all their siblings: each program as it is, and up to nine copies in which one instruction has another name in
all files, so that contents are distinct. Options are equal within a compiler, as in a run; tables of stack frames are
equal within a program, as if it were compiled again. Ingests with siblings and without take turns, each into a new
warehouse. *Ratio* is the median of the ratios of the turns.

The target is 1.3 times the time of an ingest without siblings. A thousand small contents miss it: the siblings of one
take 0.8 ms. Half of that goes to Python, which reads the fields of the decoded proto one by one, and the rest to
opening four more files, storing their rows, and comparing them with the text.
"""

import re
import string
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.corpus import CORPUS, members
from benchmarks.turns import in_turns, middle, ratio
from bufferhouse.dump.compile_flags import ORIGINS
from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse.open import writing

VARIANTS, TURNS = 10, 5
_DUMP = "-buffer-assignment.txt"
_TEXTS = (_DUMP, "-buffer-assignment-values.txt", "-live-range.txt")
_PROTO, _MODULE = ".hlo.pb", ".txt"
_NAME = re.compile(rb" value: <[0-9]+ ([a-z]+_[a-z_]{3,100})(?=[. {])")
Files = dict[str, bytes]


def programs() -> Iterator[tuple[str, str, Files]]:
    """Yield compiler, name and files of each program: by their ends behind the name of the stage, or of the module."""
    archive = CORPUS / "proto.tar.gz"
    root = CHECKOUT / "tests" / "data" / "protos"
    found = dict(members(archive)) if archive.exists() else {
        str(path.relative_to(root.parent)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }  # fmt: skip
    options: dict[str, Files] = {}
    for name, data in found.items():
        for end in ORIGINS:
            if name.endswith(end):
                options.setdefault(name.split("/")[1], {})[end] = data
    for name in sorted(found):
        stem = name.removesuffix(_DUMP)
        if stem != name and f"{stem}{_PROTO}" in found:
            files = {end: found[stem + end] for end in (*_TEXTS, _PROTO, _MODULE) if stem + end in found}
            yield name.split("/")[1], stem.rpartition("/")[2], files | options.get(name.split("/")[1], {})


def varied(files: Mapping[str, bytes], number: int) -> Files | None:
    """Return the files with another name of an instruction; None if no name of the text stands in the proto."""
    names = [name for name in _NAME.findall(files[_DUMP]) if files[_PROTO].count(name) > 1]
    if not number or not names:
        return None if number else dict(files)
    old = max(names, key=len)
    new = old[:-2] + bytes(string.ascii_lowercase, "ascii")[number : number + 2]
    return {end: data if end in ORIGINS else data.replace(old, new) for end, data in files.items()}


def write(folder: Path, variants: int) -> int:
    """Write the programs with their siblings into `folder/all`, without them into `folder/none`; return how many."""
    count = 0
    for place, (compiler, stem, files) in enumerate(programs()):
        for number in range(variants):
            if (own := varied(files, number)) is None:
                continue
            count += 1
            unique = stem.replace("module_0001", f"module_{place:04}")
            for end, data in own.items():
                name = re.sub(r"\.(?:cpu_)?after_optimizations$", "", unique) if end in ORIGINS else unique
                for kind in ("all", "none") if end in _TEXTS else ("all",):
                    path = folder / kind / f"{compiler}-{number}" / f"{name}{end}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
    return count


def ingested(folder: Path, kind: str, count: int) -> None:
    """Ingest a folder into a new warehouse."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        source = Source.named([str(folder / kind)])
        (summary,) = ingest([source], writing(Path(name) / "w.duckdb")).values()
    assert (count, 0, {}) == (summary.seen, summary.rejected, summary.warnings), summary.reject_lines


def works(folder: Path, count: int) -> dict[str, Callable[[], None]]:
    """Return an ingest without siblings and one with all."""
    return {kind: partial(ingested, folder, kind, count) for kind in ("none", "all")}


def table(sizes: Sequence[int] = (1, VARIANTS), turns_of_each: int = TURNS) -> str:
    """Return the figures as a table: a line for so many variants of each program."""
    lines = [
        "| distinct contents | without siblings, CPU s | with all, CPU s | ratio, CPU | ratio, clock |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for variants in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            count = write(folder, variants)
            own = works(folder, count)
            in_turns(own, 1)  # the first one loads modules
            turns = in_turns(own, turns_of_each)
        none, whole = (middle(turns[kind]) for kind in ("none", "all"))
        times = ratio(turns["all"], turns["none"])
        lines.append(
            f"| {count:,} | {none.processor:.2f} | {whole.processor:.2f} | **{times.processor:.2f}** |"
            f" {times.seconds:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
