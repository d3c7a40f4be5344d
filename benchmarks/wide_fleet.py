"""A fleet of many programs and runs, made of a few real dumps: what a report has to cope with."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bufferhouse.dump import Dump, parse, render
from bufferhouse.paths import CHECKOUT

RUNS_OF_A_CONTENT = 5  # in a row: four of them repeat the first
_RELEASES = {"0.0.8": "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8", "0.0.33": "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"}
_BASES = ("donate1", "donate_swap", "dt_bf16", "dt_int4", "while_simple")  # the small ones that both releases have
_STEP_BYTES = 4096


def write_wide_fleet(folder: Path, programs: int, runs: int) -> None:
    """Write programs × runs dumps into a folder that is not there yet, a directory for each run.

    The programs are small TPU dumps of `examples/fleet` under other names. Half of the runs are of one compiler
    release, half of the next. Every few runs the arena of a program grows or shrinks, each at its own time; that of
    every seventh program never does. Repeats are links to one file in `<folder>-contents`.
    """
    contents = folder.with_name(f"{folder.name}-contents")
    contents.mkdir()
    dumps = {(version, base): _real(release, base) for version, release in _RELEASES.items() for base in _BASES}
    for run in range(runs):
        version = list(_RELEASES)[run * len(_RELEASES) // runs]
        directory = folder / f"nightly-{run:03}"
        directory.mkdir(parents=True)
        started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=run)
        facts = {"platform": "tpu", "track": "nightly", "compiler": "libtpu", "compiler_version": version}
        (directory / "run.json").write_text(json.dumps({**facts, "started_at": started.isoformat()}))
        for program in range(programs):
            base = _BASES[program % len(_BASES)]
            step = 0 if program % 7 == 0 else (run + program) // RUNS_OF_A_CONTENT
            content = contents / f"{program}-{version}-{step}"
            if not content.exists():
                more = _STEP_BYTES * (step * (program % 11 + 1) % 19) + 64 * (program + 1)
                content.write_bytes(grown(dumps[version, base], more))
            name = f"module_{program:04}.jit_{base}_p{program:03}.after_optimizations-buffer-assignment.txt"
            os.link(content, directory / name)


def _real(release: str, base: str) -> Dump:
    (path,) = (CHECKOUT / "examples" / "fleet" / release).glob(f"*.jit_{base}.*")
    dump = parse({"combined": path.read_bytes()})
    dump.total_human = None  # a rounded figure that would have to follow the total
    return dump


def grown(dump: Dump, more: int) -> bytes:
    """Return the text of a dump whose largest arena has so many bytes more than its values need."""
    sizes = dump.allocations.size_bytes
    arena = max(range(len(sizes)), key=lambda row: (_is_arena(dump, row), sizes[row]))
    size, total = sizes[arena], dump.total_bytes
    sizes[arena], dump.total_bytes = size + more, total + more
    try:
        return render(dump)["combined"]
    finally:
        sizes[arena], dump.total_bytes = size, total


def _is_arena(dump: Dump, row: int) -> bool:
    a = dump.allocations
    marked = a.is_constant[row] or a.is_thread_local[row] or a.is_maybe_live_out[row]
    return not marked and a.parameter_number[row] is None
