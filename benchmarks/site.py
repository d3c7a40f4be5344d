"""What a site costs: the first build, one with a new run, one with nothing new, and how large its pages are.

The fleets are those of the reports: 14,603 files of 40 runs, and 500 programs in 100 runs, of which the last is added
alone. Each build is a process of its own, imports included: seconds of the processor, user and system, and by the
clock. *First picture* is the largest contentful paint of the index and of the largest program page in headless
Chromium, loaded from disk.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.models import source
from benchmarks.reports import PROGRAMS, RUNS
from benchmarks.wide_fleet import write_wide_fleet
from bufferhouse.commands.ingest_run import run_ingest
from tests.report.browser import browsing, installed

FIRST_SECONDS = {"fleet": 60, "wide": 300}  # of the processor, at most
_NEW_SHARE, _NOTHING_SECONDS = 0.1, 1.0
_INDEX_BYTES, _PROGRAM_BYTES, _SITE_BYTES = 1_000_000, 300_000, 100_000_000
_PAINT_MILLISECONDS = 1000
_HEAD = "| what | figure | target | met |\n|---|---|---|---|"
_PAINT = """new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
  .observe({ type: "largest-contentful-paint", buffered: true }))"""


class Row(NamedTuple):
    """A row of the table; without a target nothing is met or not."""

    what: str
    figure: str
    target: str = ""
    is_met: bool | None = None


def build(warehouse: Path, folder: Path) -> tuple[float, float]:
    """Return seconds of the processor and of the clock that a build takes in a process of its own."""
    before, start = os.times(), perf_counter()
    call = [sys.executable, "-m", "bufferhouse.cli", "site", str(folder), "--warehouse", str(warehouse)]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    passed, after = perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, passed


def of_the_fleet(folder: Path) -> Iterator[Row]:
    """Yield the figures of the fleet that is here."""
    warehouse, site = folder / "here.duckdb", folder / "here"
    run_ingest([str(source())], warehouse)
    yield _first("the fleet, first build", build(warehouse, site), FIRST_SECONDS["fleet"])
    spent, passed = build(warehouse, site)
    yield Row("the fleet, nothing new", _seconds(spent, passed), f"≤ {_NOTHING_SECONDS:g} s", spent <= _NOTHING_SECONDS)
    yield from _sizes("the fleet", site)
    yield from _pictures(folder, site)


def of_the_wide_fleet(folder: Path) -> Iterator[Row]:
    """Yield the figures of 500 programs in 100 runs."""
    warehouse, site, dumps = folder / "wide.duckdb", folder / "wide-site", folder / "wide"
    write_wide_fleet(dumps, PROGRAMS, RUNS)
    last = folder / "last" / f"nightly-{RUNS - 1:03}"
    last.parent.mkdir()
    (dumps / last.name).rename(last)
    run_ingest([str(dumps)], warehouse)
    name = f"{PROGRAMS} programs × {RUNS - 1} runs"
    first = build(warehouse, site)
    yield _first(f"{name}, first build", first, FIRST_SECONDS["wide"])
    run_ingest([str(last.parent)], warehouse)
    spent, passed = build(warehouse, site)
    share = spent / first[0]
    said = f"{_seconds(spent, passed)}, {share:.1%} of the first"
    yield Row("one more run", said, f"≤ {_NEW_SHARE:.0%}", share <= _NEW_SHARE)
    spent, passed = build(warehouse, site)
    yield Row("nothing new", _seconds(spent, passed), f"≤ {_NOTHING_SECONDS:g} s", spent <= _NOTHING_SECONDS)
    yield from _sizes(f"{PROGRAMS} programs × {RUNS} runs", site, has_target=False)


def _first(name: str, found: tuple[float, float], most: float) -> Row:
    return Row(name, _seconds(*found), f"≤ {most} s of the processor", found[0] <= most)


def _sizes(name: str, site: Path, *, has_target: bool = True) -> Iterator[Row]:
    files = [path for path in site.rglob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in files)
    pages = sum(path.suffix == ".html" for path in files)
    said = f"{total / 1e6:.0f} MB, {pages:,} pages in {len(files):,} files"
    yield Row(f"{name}, size", said, *(("≤ 100 MB", total <= _SITE_BYTES) if has_target else ()))
    # What a browser asks for: the page, the names for its search, and the files that it shares with others.
    index = (site / "index.html").read_text(encoding="utf-8")
    shared = [path for path in files if path.parent.name == "assets" and path.name in index]
    own = sum(path.stat().st_size for path in (site / "index.html", site / "programs" / "list.js", *shared))
    yield Row(f"{name}, index with all that it needs", f"{own / 1e3:.0f} kB", "≤ 1 MB", own <= _INDEX_BYTES)
    most = max(path.stat().st_size for path in site.glob("programs/*/*.html"))
    yield Row(f"{name}, largest page of a program", f"{most / 1e3:.0f} kB", "≤ 300 kB", most <= _PROGRAM_BYTES)


def _pictures(folder: Path, site: Path) -> Iterator[Row]:
    if installed() is None:
        return
    largest = max(site.glob("programs/*/*.html"), key=lambda path: path.stat().st_size)
    with browsing(folder / "profile") as browser:
        for name, page in {"index": site / "index.html", "largest page of a program": largest}.items():
            with browser.opened(page) as opened:
                shown = opened.ask(_PAINT)
            said = f"{shown:.0f} ms"
            yield Row(f"the fleet, first picture of the {name}", said, "≤ 1 s", shown <= _PAINT_MILLISECONDS)


def _seconds(spent: float, passed: float) -> str:
    return f"{spent:.1f} s of the processor ({passed:.1f} s passed)"


def table() -> str:
    """Return the figures as Markdown."""
    lines = [_HEAD]
    with tempfile.TemporaryDirectory() as directory:
        for part in (of_the_fleet, of_the_wide_fleet):
            for row in part(Path(directory)):
                met = {True: "yes", False: "**no**", None: ""}[row.is_met]
                lines.append(f"| {row.what} | {row.figure} | {row.target} | {met} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
