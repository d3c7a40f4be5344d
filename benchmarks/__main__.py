"""Run every benchmark and write `docs/benchmarks.md`."""

import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks import clock, compare, ingest, models, queries, reader, reports
from bufferhouse.layout import CHECKOUT

PAGE = CHECKOUT / "docs" / "benchmarks.md"


def main() -> None:
    """Print the tables and put them on the page."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=CHECKOUT)
    where = (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit.stdout.strip() or 'unknown'}, "
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "prefect"))
    )
    text = f"# Benchmarks\n\nLast run: {where}.\n"
    parts = {
        "Reader": reader,
        "Ingest": ingest,
        "Models": models,
        "Cookbook": queries,
        "Reports": reports,
        "Compare": compare,
        "Clock": clock,
    }
    for title, part in parts.items():
        text += f"\n## {title}\n\n{part.__doc__.strip()}\n\n{part.table()}\n"
    print(text)
    PAGE.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
