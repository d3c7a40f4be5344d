"""How the memory of all programs moves over the runs: what is asked, and what is made of the answers.

Every figure comes from a statement in `sql/reports/`. The terminal and the page show the same answers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import duckdb

from bufferhouse.compare.causes import former
from bufferhouse.compare.compare import compare_pairs
from bufferhouse.compare.groups import by
from bufferhouse.compare.pairing import RESHAPED, Dump, Pair
from bufferhouse.compare.sizes import SizesOfDumps
from bufferhouse.query.statements import Answer, Record, ask, keep
from bufferhouse.report.compare.joined import joined_records
from bufferhouse.report.opening import Answers, Origin, opened
from bufferhouse.report.text.figures import printable

SHOWN_SERIES = 15  # per table
SHOWN_RUNS = 100  # newest runs per table, for charts and sparklines
SHOWN_PADDING = 10  # programs per table
SHOWN_REJECTS = 10
SHOWN_WASTE = 20  # layouts, source lines and functions
PROGRAMS = 2_000  # series in the table of programs by size
_ID_DIGITS = 6
_RUNS = ("before_run_id", "before_run_name", "after_run_id", "after_run_name")
# Asked once, for statements that read them; the series take most of the time.
KEPT = ("fleet_series_runs", "fleet_series", "recompiled_folders")


@dataclass(frozen=True, slots=True)
class Series:
    """One row of a table: a program and compile target, with its record of `fleet_trend` by run.

    `main_cause` is the main cause of its net change and the bytes of that cause; None without a net change.
    """

    rank: int
    label: str
    run_count: int
    net_change_bytes: int
    main_cause: tuple[str, int] | None
    by_run: dict[int, Record]

    @property
    def has_moved(self) -> bool:
        """Whether the series can have moved: a series of one run cannot."""
        return self.run_count > 1

    def reserved(self, runs: Sequence[Record]) -> list[int | None]:
        """Return its reserved bytes in each of some runs; None for a run without it."""
        return [self.by_run.get(run["run_id"], {}).get("reserved_bytes") for run in runs]


@dataclass(frozen=True, slots=True)
class Space:
    """One table: a memory space of a platform and track, its runs in order and the series to show, movers first.

    `facts` is its record of `fleet_spaces`, which counts all of its series.
    """

    facts: Record
    runs: list[Record]
    series: list[Series]
    padding: list[Record]
    reshaped_count: int

    @property
    def shown_moved_count(self) -> int:
        """How many of the series to show have moved."""
        return sum(series.has_moved for series in self.series)


@dataclass(frozen=True, slots=True)
class Fleet(Answers):
    """All answers by the name of their statement, and the tables made of them."""

    spaces: list[Space]

    @property
    def overview(self) -> Record:
        """The one row of `fleet_overview`."""
        return self.answers["fleet_overview"].records[0]

    @property
    def runs(self) -> list[Record]:
        """The runs in order."""
        return self.answers["fleet_runs"].records


def read_fleet(origin: Origin, *, wait: float = 0.0) -> Fleet:
    """Ask all statements of the report.

    Raises:
        UsageError: a source does not exist.
        UsageError, WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(origin, wait) as (con, name, note):
        return fleet_of(con, name, note)


def fleet_of(con: duckdb.DuckDBPyConnection, name: str = "", note: str | None = None) -> Fleet:
    """Ask all statements of the report on a connection."""
    for statement in KEPT:
        keep(con, statement)
    answers = {
        "fleet_overview": ask(con, "fleet_overview"),
        "fleet_reshaped": _reshaped(con),
        "fleet_runs": ask(con, "fleet_runs"),
        "fleet_spaces": ask(con, "fleet_spaces"),
        "fleet_trend": ask(con, "fleet_trend", shown=SHOWN_SERIES, runs=SHOWN_RUNS),
        "fleet_movers": _movers(con, SHOWN_SERIES),
        "fleet_programs": ask(con, "fleet_programs", programs=PROGRAMS),
        "fleet_padding": ask(con, "fleet_padding", padded=SHOWN_PADDING),
        "fleet_rejects": ask(con, "fleet_rejects", rejects=SHOWN_REJECTS),
        "fleet_tiles": ask(con, "fleet_tiles", tiles=SHOWN_WASTE),
        "fleet_sources": ask(con, "fleet_sources", sources=SHOWN_WASTE),
        "fleet_recompiled": ask(con, "fleet_recompiled", recompiled=SHOWN_WASTE),
        "fleet_coverage": ask(con, "fleet_coverage"),
    }
    return Fleet(name, note, answers, _spaces(answers))


_key = itemgetter("platform", "track", "memory_space")


def _spaces(answers: dict[str, Answer]) -> list[Space]:
    trend = by(_key, answers["fleet_trend"].records)
    padding = by(_key, answers["fleet_padding"].records)
    causes = {
        (*_key(row), row["series_rank"]): (row["main_cause_label"], row["main_cause_bytes"])
        for row in answers["fleet_movers"].records
        if row["main_cause"]
    }
    reshaped = Counter(_key(row) for row in answers["fleet_reshaped"].records if row["status"] == RESHAPED)
    spaces = []
    for record in answers["fleet_spaces"].records:
        key, run_ids = _key(record), set(record["run_ids"])
        runs = [run for run in answers["fleet_runs"].records if run["run_id"] in run_ids]
        series = _series(trend.get(key, []), causes)
        spaces.append(Space(record, runs, series, _labeled(padding.get(key, [])), reshaped[key]))
    return spaces


def _series(records: Sequence[Record], causes: Mapping[tuple, tuple[str, int]]) -> list[Series]:
    return [
        Series(
            rank=rank,
            label=rows[0]["label"],
            run_count=rows[0]["series_run_count"],
            net_change_bytes=rows[0]["net_change_bytes"],
            main_cause=causes.get((*_key(rows[0]), rank)),
            by_run={row["run_id"]: row for row in rows},
        )
        for rank, rows in by(itemgetter("series_rank"), _labeled(records)).items()
    ]


def _labeled(records: Sequence[Record]) -> list[Record]:
    """Return the records of one table with a `label` that tells its series apart.

    The label is the program's name; where other programs bear it, the first digits of the program_id too; where the
    platform does not say it, the compile target too, and the device where the table has several.
    """
    digits = _ID_DIGITS
    while len({str(row["program_id"])[:digits] for row in records}) < len({row["program_id"] for row in records}):
        digits += 1
    return [{**row, "label": _label(row, digits)} for row in records]


def _label(row: Record, digits: int) -> str:
    parts = [printable(row["program_name"], 120)]
    if row["has_namesakes"]:
        parts.append(f"#{str(row['program_id'])[:digits]}")
    if row["compile_target"] and row["compile_target"] != row["platform"]:
        parts.append(printable(row["compile_target"], 20))
    if row.get("has_devices"):
        parts.append(printable(row["device_kind"] or "unknown device", 40))
    return " ".join(parts)


def _movers(con: duckdb.DuckDBPyConnection, shown: int) -> Answer:
    """Return the answer of `fleet_movers`, with the main cause of each series and the bytes of that cause.

    All three columns are None without a net change. `main_cause` is in the words of earlier releases.

    As for the net change, the first run of a series is compared with its newest, whatever lies between them.
    """
    movers = ask(con, "fleet_movers", shown=shown)
    pairs = {place: _pair(mover) for place, mover in enumerate(movers.records) if mover["net_change_bytes"]}
    sizes = SizesOfDumps(con, {dump.dump_id for pair in pairs.values() for dump in (pair.before, pair.after)})
    # A program that moved in several memory spaces is compared once.
    compared = compare_pairs(con, dict.fromkeys(pairs.values()), sizes, metric="reserved") if pairs else []
    causes = {(row.pair, row.memory_space): row.main_cause for row in compared}
    return Answer(
        [*movers.columns, "main_cause", "main_cause_bytes", "main_cause_label"],
        [
            (*row, former(cause) if cause else None, size, cause)
            for place, (row, mover) in enumerate(zip(movers.rows, movers.records, strict=True))
            for cause, size in [causes.get((pairs.get(place), mover["memory_space"])) or (None, None)]
        ],
    )


def _reshaped(con: duckdb.DuckDBPyConnection) -> Answer:
    """Return the reshaped and renamed programs of the newest runs, each compared with the run before it."""
    return Answer.of(
        [
            {**{name: runs[name] for name in ("track", "device_kind", *_RUNS)}, **record}
            for runs in ask(con, "newest_runs").records
            for record in joined_records(con, runs["before_run_id"], runs["after_run_id"])
        ]
    )


def _pair(mover: Record) -> Pair:
    about = (mover["program_id"], mover["program_name"], mover["platform"], mover["compile_target"], 1)
    return Pair(Dump(mover["before_dump_id"], *about), Dump(mover["after_dump_id"], *about), False)
