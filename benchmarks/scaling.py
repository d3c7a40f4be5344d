"""How an ingest and the answers grow with the fleet: 1,000 to 1,000,000 observations of a tenth as many contents.

The fleets are those of `benchmarks/big_fleet.py`. A process of its own ingests each of them cold: seconds after its
imports, by the clock and of the processor, and peak memory of the process. Memory grows until the large tables have a
full row group (122,880 rows), which DuckDB compresses as a whole in a commit.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks import answers
from benchmarks.big_fleet import write_big_fleet
from benchmarks.memory import run_alone
from benchmarks.targets import Row, times
from benchmarks.turns import Spent, spent
from bufferhouse.paths import CHECKOUT

PICTURE = CHECKOUT / "docs" / "images" / "scaling.png"
_INGEST = """
import json, sys
from pathlib import Path
from benchmarks.turns import spent
from bufferhouse.commands.ingest_run import run_ingest
print(json.dumps(spent(lambda: run_ingest([sys.argv[1]], Path(sys.argv[2])))))
"""
_PICTURE_WIDTH = 1280  # pixels, as the other pictures of the documents have
_SMALL = 10_000  # observations of the fleet that the largest is measured against


class Point(NamedTuple):
    """One fleet: its files and contents, what writing and ingesting it took, and peak memory and warehouse in MB."""

    observations: int
    contents: int
    written: Spent
    ingested: Spent
    peak_mb: int
    warehouse_mb: float


def measure(sizes: list[int], scratch: Path, turns: int) -> tuple[list[Point], list[Row]]:
    """Return a point for each size, and what was asked of the largest fleet."""
    points, rows = [], []
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            folder, warehouse = Path(directory) / "fleet", Path(directory) / "fleet.duckdb"
            counts = []
            written = spent(
                lambda folder=folder, size=size, counts=counts: counts.extend(write_big_fleet(folder, size))
            )
            text, peak = run_alone(_INGEST, folder, warehouse)
            points.append(Point(*counts, written, Spent(*json.loads(text)), peak, warehouse.stat().st_size / 1e6))
            if size == max(sizes):
                where, runs = f"{counts[0]:,} observations", sorted(path.name for path in folder.iterdir())
                rows = answers.rows(warehouse, turns, where=where, slower=5)
                rows.append(answers.compared(warehouse, *runs[-2:], turns, where=where, slower=5))
            shutil.rmtree(folder)
    return points, [_rate_row(points), *rows]


def _rate_row(points: list[Point]) -> Row:
    """Compare the rate of the largest fleet with that of the one of 10,000 observations, or the smallest."""
    small = next((point for point in points if point.observations >= _SMALL), points[0])
    large = points[-1]
    rates = [point.observations / point.ingested.seconds for point in (large, small)]
    spent_rates = [point.observations / point.ingested.processor for point in (large, small)]
    share = rates[0] / rates[1]
    return Row(
        f"cold ingest of {large.observations:,} observations of {large.contents:,} contents",
        f"{rates[0]:,.0f} dumps/s: {times(large.ingested)}",
        f"{small.observations:,} observations: {rates[1]:,.0f} dumps/s",
        f"{share:.2f}× ({spent_rates[0] / spent_rates[1]:.2f}×)", "≥ 0.8× the small fleet's rate", share >= 0.8,
    )  # fmt: skip


def as_table(points: list[Point]) -> str:
    """Return the points as Markdown."""
    lines = [
        "| observations | contents | written | ingested | dumps/s | peak memory | warehouse |",
        "|---|---|---|---|---|---|---|",
    ]
    for point in points:
        rate = point.observations / point.ingested.seconds
        lines.append(
            f"| {point.observations:,} | {point.contents:,} | {times(point.written)} | {times(point.ingested)} "
            f"| {rate:,.0f} | {point.peak_mb} MB | {point.warehouse_mb:.1f} MB |"
        )
    return "\n".join(lines)


def draw(points: list[Point], picture: Path = PICTURE) -> None:
    """Draw seconds and memory against observations, both axes logarithmic."""
    import altair as alt
    import polars as pl

    powers = alt.Axis(values=[10**power for power in range(-1, 8)], format=",~g")
    rows = [
        {"observations": point.observations, "what": what, "amount": amount}
        for point in points
        for what, amount in (
            ("seconds of the processor", point.ingested.processor),
            ("seconds by the clock", point.ingested.seconds),
            ("peak memory, MB", float(point.peak_mb)),
        )
    ]
    chart = (
        alt.Chart(
            pl.DataFrame(rows),
            width=_PICTURE_WIDTH // 2,
            height=320,
            title="Cold ingest of a growing fleet",
            autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        )
        .mark_line(point=True)
        .encode(
            x=alt.X("observations:Q", scale=alt.Scale(type="log"), axis=powers),
            y=alt.Y("amount:Q", scale=alt.Scale(type="log"), title="seconds, MB", axis=powers),
            color=alt.Color("what:N", title=None),
        )
    )
    chart.save(str(picture), scale_factor=2)
