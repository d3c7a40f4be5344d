"""Run the benchmarks and write `docs/benchmarks.md`: first the table of targets, then the rest.

A part that is not run keeps what the page says of it. All of them take 15 to 30 minutes on two idle cores, the table of
targets a third of that; with `--quick` it has one turn of each work and small fleets, takes minutes and writes nothing.
"""

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

from benchmarks import clock, compare, lake, models, queries, reader, reports, siblings, site, whole
from bufferhouse.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "benchmarks.md"
PARTS = {
    "Targets": whole,
    "Reader": reader,
    "Siblings": siblings,
    "Models": models,
    "Cookbook": queries,
    "Reports": reports,
    "Site": site,
    "Compare": compare,
    "Lake": lake,
    "Clock": clock,
}


def main() -> None:
    """Print the parts that are asked for, and put them on the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="PART", nargs="+", choices=PARTS, help=f"Some of: {', '.join(PARTS)}.")
    parser.add_argument("--quick", action="store_true", help="The table of targets with one turn each; writes nothing.")
    parser.add_argument("--turns", type=int, default=whole.TURNS, help="Turns of each work in the table of targets.")
    parser.add_argument(
        "--observations", type=int, default=whole.OBSERVATIONS, help="Observations of the largest fleet in that table."
    )
    words = parser.parse_args()
    if words.quick:
        print(whole.table(turns=1, observations=10_000, is_drawn=False))
        return
    text = PAGE.read_text()
    for title in words.only or PARTS:
        options = {"turns": words.turns, "observations": words.observations} if title == "Targets" else {}
        made = _section(title, partial(PARTS[title].table, **options))
        print(made)
        text = placed(text, title, made)
        PAGE.write_text(text)  # part by part, since all of them take long


def _section(title: str, table: Callable[[], str]) -> str:
    started = time.monotonic()
    figures = table()
    doc = PARTS[title].__doc__.strip()
    return f"## {title}\n\n{_where(time.monotonic() - started)}\n\n{doc}\n\n{figures}\n"


def _where(seconds: float) -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=CHECKOUT)
    versions = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "prefect"))
    minutes = f"{seconds / 60:.0f}" if seconds >= 60 else "less than 1"
    return (
        f"Measured {datetime.now(UTC):%Y-%m-%d} in {minutes} min, commit {done.stdout.strip() or 'unknown'}: "
        f"{whole.machine()}, Python {platform.python_version()}, {versions}."
    )


def placed(page: str, title: str, section: str) -> str:
    """Return a page with a section in the place of the one with the same title, or where `PARTS` has it.

    Sections that are no longer parts are left out.
    """
    head, *found = page.split("\n## ")
    sections = {text.split("\n", 1)[0]: f"## {text.rstrip()}\n" for text in found}
    sections[title] = section
    return "\n".join([f"{head.rstrip()}\n", *(sections[name] for name in PARTS if name in sections)])


if __name__ == "__main__":
    sys.exit(main())
