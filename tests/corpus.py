"""Every real dump there is, read, written back and compared: `python -m tests.corpus`.

Two lines per fleet, build and large archive. First: how many dumps were accepted, refused, written back byte for byte,
and found equal to what the slow reader in `tests.oracle` and the compiler's own `BufferAssignmentProto` say. Second:
how many positions, peaks, balances and peak lines of the marts are those of brute force, and how the occupied peaks
compare with the compiler's heap simulator. A third line per build of which memory_analysis() is known: in how many
programs its figures are those derived from the dump. Only the dumps of TensorFlow 1.15 may be refused, and those by
name.
"""

import sys
import time
from pathlib import Path

from bufferhouse.dump import DumpError, parse, render
from bufferhouse.dump.identity import content_of
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.paths import CHECKOUT
from tests.dump.facts import facts, facts_for_proto, facts_of_proto, oracle_facts
from tests.models.corpus_marts import MartCount
from tests.models.official import OfficialCount, said_in, tell_compiler
from tests.samples import FLEET, Sample, of_archive, of_fleet

CORPUS = CHECKOUT / ".." / "shared" / "corpus"
BUILDS = CHECKOUT / "tests" / "data" / "builds"
TOO_OLD = "pre-2019-09 dialect"


class Count:
    """What became of the dumps of one archive."""

    def __init__(self) -> None:
        self.dumps = self.accepted = self.refused = self.exact = self.by_oracle = self.truths = self.by_truth = 0
        self.bytes = 0
        self.problems: list[str] = []
        self.known: set[tuple] = set()

    def add(self, sample: Sample) -> dict | None:
        """Read one dump and return what the oracle reads in it.

        What equals a dump before it, byte for byte, is read and rendered but not compared again; it returns None, as
        what is refused does.
        """
        self.dumps += 1
        self.bytes += sum(map(len, sample.files.values()))
        try:
            dump = parse(sample.files)
        except DumpError as error:
            self.refused += TOO_OLD in str(error)
            self.problems += [] if TOO_OLD in str(error) else [f"{sample.name}: {error}"]
            return None
        self.accepted += 1
        self.tally("exact", sample, render(dump) == sample.files)
        content = tuple(sorted(sample.files.items()))
        is_known, _ = content in self.known, self.known.add(content)
        by_oracle = None if is_known else oracle_facts(sample.files)
        self.tally("by_oracle", sample, is_known or by_oracle == facts(dump))
        if sample.truth is not None:
            self.truths += 1
            self.tally("by_truth", sample, facts_of_proto(sample.truth) == facts_for_proto(dump))
        return by_oracle

    def tally(self, name: str, sample: Sample, holds: bool) -> None:
        setattr(self, name, getattr(self, name) + holds)
        self.problems += [] if holds else [f"{sample.name}: not {name}"]

    def line(self, name: str, seconds: float) -> str:
        return (
            f"{name:45} {self.dumps:6} dumps, {self.accepted:6} accepted, {self.refused:3} too old, "
            f"{self.exact:6} byte-exact, {self.by_oracle:6} equal to oracle, "
            f"{self.by_truth:3} of {self.truths:3} equal to truth, {self.bytes / 1e6:6.1f} MB, {seconds:5.1f} s"
        )


def compare(name: str, path: Path) -> list[str]:
    """Print the lines of one fleet or archive; return what is not as it should be."""
    started, count = time.monotonic(), Count()
    is_too_old = name.startswith("tensorflow-1.")
    read = {}
    for sample in of_fleet() if path == FLEET else of_archive(path):
        if (dump := count.add(sample)) is not None:
            read[content_of(sample.files).dump_id] = sample, dump
    print(count.line(name, time.monotonic() - started), flush=True)
    refused = [f"{name}: refused"] if count.refused != (count.dumps if is_too_old else 0) else []
    if is_too_old:
        return count.problems + refused
    said = {} if path == FLEET else said_in(path)
    with in_memory([str(path)]) as con:
        marts = MartCount(con)
        if said:
            tell_compiler(con, name)
        official = OfficialCount(con)
    for dump_id, (sample, dump) in read.items():
        marts.add(sample.name, dump_id, dump, sample.truth)
    print(marts.line(), flush=True)
    protos = {Path(sample.name).name: sample.truth for sample, _ in read.values()}
    for module_name, figures in said.items():
        official.add(name, module_name, figures, protos)
    if said:
        print(official.line(), flush=True)
    return count.problems + refused + marts.problems + official.problems


def main() -> int:
    """Print two lines per fleet and archive; return 1 if anything is not as it should be."""
    archives = [path for folder in ("builds", "fleet", "large") for path in sorted((CORPUS / folder).glob("*.tar.gz"))]
    problems = [] if archives else [f"{CORPUS}: the corpus is not here"]
    archives += sorted(BUILDS.glob("*.tar.gz"))
    sources = {"examples/fleet": FLEET, **{path.name.removesuffix(".tar.gz"): path for path in archives}}
    for name, path in sources.items():
        if not name.endswith("-hlo"):  # sibling modules, no dumps
            problems += compare(name, path)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
