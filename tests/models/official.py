"""What `compiled.memory_analysis()` said of programs, beside what marts.official_figures_v1 derives from their dumps.

The corpus has what it said of every program of a build, by module name, in `memory_analysis.json`. Of the programs of
examples/fleet `tests/data/memory_analysis.json` keeps the five figures that the mart derives, by run and module name.
"""

import json
import re
import tarfile
from collections import Counter
from pathlib import Path

import duckdb

from bufferhouse.paths import CHECKOUT
from tests.models.heap_trace import replayed_bytes
from tests.samples import of_archive

EXAMPLES = CHECKOUT / "tests" / "data" / "memory_analysis.json"
FILE = "memory_analysis.json"
FIGURES = ("argument", "output", "alias", "temp")
KEYS = {
    **{f"{figure}_size_in_bytes": figure for figure in FIGURES},
    "peak_memory_in_bytes": "peak_memory",
}
LONGEST_NAME = 255  # of a file: a module name that does not fit is left out of it
DERIVED = """
    SELECT o.run_name, COALESCE(o.module_name, ''), argument_bytes, output_bytes, alias_bytes, temp_bytes, peak_rule,
        peak_bytes, static_peak_bytes, relative_path
    FROM marts.official_figures_v1 AS f JOIN marts.observations_v1 AS o USING (run_id, relative_path)
"""
_BUILD = re.compile(r"(gpu-\w+-|tpu-\w+-)?(?:jaxlib-([\d.]+\d))?-?(?:libtpu-([\d.]+\d))?")


def examples() -> dict[str, dict[str, dict]]:
    """What it said of the programs of examples/fleet, by run and module name."""
    return json.loads(EXAMPLES.read_text())


def said_of(path: Path) -> dict[str, dict]:
    """What it said of the programs of a build, by module name as file names have it; {} where nobody asked."""
    with tarfile.open(path) as archive:
        [found] = [member for member in archive if Path(member.name).name == FILE] or [None]
        said = json.load(archive.extractfile(found)) if found else {}
    return {name if len(name) < LONGEST_NAME else "": figures for name, figures in said.items()}


def said_in(path: Path) -> dict[str, dict]:
    """The five figures of it that the mart derives, by the names that the mart has."""
    return {
        name: {KEYS[key]: value for key, value in figures.items() if key in KEYS}
        for name, figures in said_of(path).items()
    }


def protos_in(path: Path) -> dict[str, dict]:
    """The compiler's own proto of each dump of an archive, by the name of its file."""
    return {Path(sample.name).name: sample.truth for sample in of_archive(path) if sample.truth is not None}


def compiler_of(build: str) -> tuple[str | None, str | None, str]:
    """Compiler, version and platform of the build of that name."""
    place, jaxlib, libtpu = _BUILD.match(build).groups()
    platform = place[:3] if place else "cpu"
    return ("libtpu", libtpu, platform) if libtpu else ("jaxlib" if jaxlib else None, jaxlib, platform)


def tell_compiler(con: duckdb.DuckDBPyConnection, build: str) -> None:
    """Write into the only run of a warehouse which compiler made the build of that name."""
    facts = compiler_of(build)
    con.execute("UPDATE raw.runs SET compiler = ?, compiler_version = ?, platform = ?", facts)


class OfficialCount:
    """How many figures of the mart are what memory_analysis() said; `problems` names those that are not."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.rows: dict[tuple, list[tuple]] = {}
        for run_name, module_name, *row in con.execute(DERIVED).fetchall():
            self.rows.setdefault((run_name, module_name), []).append(tuple(row))
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def add(self, run_name: str, module_name: str, said: dict, truths: dict[str, dict]) -> None:
        """Compare one program; `truths` gives the compiler's own proto by the name of a dump's file.

        Of a name that was compiled more than once the file keeps what it said of one: one dump has to agree with it.
        """
        rows = self.rows.get((run_name, module_name), [])
        if not rows:
            self.counts["programs without a dump"] += 1
            return
        self.counts["programs"] += 1
        self.counts["dumps"] += len(rows)
        agreeing = [row for row in rows if row[:4] == tuple(said[figure] for figure in FIGURES)]
        self.counts["dumps as said"] += len(agreeing)
        self.counts["temp is not 0"] += said["temp"] > 0
        if not agreeing:
            self.problems.append(f"{run_name}/{module_name}: {said} was said, {rows} derived")
            return
        *_, peak_rule, peak, static, relative_path = agreeing[0]
        self.counts[f"peak {peak_rule}"] += 1
        if peak_rule == "static_and_replay":
            self.counts["peak derived although there is a replay"] += peak is not None
            expected = said["peak_memory"] in (peak, static + replayed_bytes(truths[Path(relative_path).name]))
        else:
            expected = said.get("peak_memory") == peak
        if not expected:
            self.problems.append(f"{run_name}/{module_name}: {said} was said, of the peak {peak_rule} {peak}, {static}")

    def line(self) -> str:
        """Say what was compared."""
        return f"{'':45} memory_analysis(): " + ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items()))
