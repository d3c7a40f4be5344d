"""Tables of the fleet report over all programs: what wastes memory, what is compiled again, what figures cover."""

from collections.abc import Sequence

from bufferhouse.query.statements import Record
from bufferhouse.report.compare.joined import joined_section
from bufferhouse.report.fleet.data import SHOWN_WASTE, Fleet
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.sections import Section

_PLACE = [
    Column("platform", "platform"),
    Column("track", "track"),
    Column("memory_space", "memory space", "count"),
]
_PROGRAMS = [
    Column("program_label", "program", link="program_link"),
    Column("compile_target", "target"),
    *_PLACE,
    Column("device_kind", "device", rank=3),
    Column("run_name", "newest run", rank=3, link="run_link"),
    Column("run_count", "runs", "count", rank=2),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("net_change_bytes", "net change", "change", rank=1),
    Column("occupied_peak_bytes", "occupied peak", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes", rank=1),
]
_TILES = [
    Column("element_type", "element type"),
    Column("layout", "layout"),
    Column("tiles", "tiles"),
    *_PLACE,
    Column("program_count", "programs", "count", rank=3),
    Column("layout_padding_bytes", "most layout padding", "bytes"),
    Column("occupied_bytes", "occupied", "bytes", rank=2),
    Column("program_name", "program with the most", rank=1),
]
_SOURCES = [
    Column("op_name", "operation"),
    Column("source_file", "source file"),
    Column("source_line", "line", "count"),
    *_PLACE,
    Column("program_count", "programs", "count", rank=3),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("slack_bytes", "slack", "bytes", rank=1),
    Column("program_name", "program with the most", rank=2),
]
_RECOMPILED = [
    Column("program_name", "function", link="function_link"),
    Column("compile_target", "target"),
    Column("run_count", "runs", "count"),
    Column("dump_count", "most dumps in a folder", "count"),
    Column("signature_count", "signatures", "count"),
    Column("identical_count", "identical", "count", rank=1),
    Column("run_name", "example run", rank=2, link="run_link"),
    Column("largest_reserved_bytes", "largest reserved", "bytes"),
]
_COVERAGE = [
    Column("figure", "figure", is_prose=True),
    Column("covered_count", "covers", "count"),
    Column("total_count", "of", "count"),
    Column("things", "what"),
    Column("covered_share", "share", "share"),
    Column("needs", "needs", limit=80, is_prose=True),
]
_PADDING = [
    Column("label", "program", link="function_link"),
    Column("run_name", "run", link="run_link"),
    Column("occupied_bytes", "occupied", "bytes"),
    Column("element_bytes", "elements", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("slack_bytes", "slack", "bytes"),
    Column("tuple_table_bytes", "tuple tables", "bytes"),
]
_INGESTED = [
    Column("run_name", "run", link="run_link"),
    Column("compiler", "compiler"),
    Column("compiler_version", "version"),
    Column("platform", "platform"),
    Column("track", "track"),
    Column("started", "started (UTC)"),
    Column("started_at_source", "time from"),
    Column("dump_count", "dumps", "count"),
    Column("content_count", "distinct contents", "count"),
    Column("program_count", "programs", "count"),
    Column("reject_count", "rejects", "count"),
]
_AT_PEAK = (
    "The newest run of each program, at its occupied peak. Each row shows the program with the most bytes: "
    "programs are never added up."
)


def fleet_tables(fleet: Fleet) -> list[Section]:
    """Return the tables that have a row."""
    if not fleet.runs:
        return []
    again = (
        "Functions with several dumps in one folder of a run: recompiled with the same entry signature, or with others."
    )
    return [
        *_programs(fleet),
        *_waste(fleet, "fleet_tiles", "Padding by tiles", _AT_PEAK, _TILES, "wasteful_layouts"),
        *_waste(
            fleet, "fleet_sources", "Padding and slack by operation and source line", _AT_PEAK, _SOURCES,
            "padding_by_line",
        ),
        *_waste(fleet, "fleet_recompiled", "Compiled more than once", again, _RECOMPILED),
        *filter(None, [coverage_section(fleet)]),
    ]  # fmt: skip


def padding_table(title: str, records: Sequence[Record]) -> Section:
    """Return the table of the programs of one memory space with most padding, called by its title."""
    return Section(f"Padding: {title}", (), _PADDING, records)


def ingested_table(runs: Sequence[Record]) -> Section:
    """Return the table of all runs."""
    records = [{**run, "started": f"{run['started_at']:%Y-%m-%d %H:%M}"} for run in runs]
    return Section("What was ingested", (), _INGESTED, records)


def coverage_section(fleet: Fleet) -> Section | None:
    """Return the table of what the figures cover; None where there is nothing to cover."""
    records = fleet.answers["fleet_coverage"].records
    lines = ["A figure leaves out the dumps and runs that lack what it needs."]
    return Section("What the figures cover", lines, _COVERAGE, records, "fleet_coverage") if records else None


def fleet_reshaped(fleet: Fleet, *, exact: bool = False) -> list[Section]:
    """Return the reshaped and renamed programs of the newest runs, a table for each run that has any."""
    records = fleet.answers["fleet_reshaped"].records
    runs = dict.fromkeys((row["before_run_name"], row["after_run_name"], row["after_run_id"]) for row in records)
    return [
        joined_section(
            [row for row in records if row["after_run_id"] == run_id],
            before,
            after,
            "fleet_reshaped",
            exact=exact,
            after_run_id=run_id,
        )
        for before, after, run_id in runs
    ]


def _programs(fleet: Fleet) -> list[Section]:
    """Return the table of all programs, the first of which are in the page and the others in its answer."""
    records = fleet.answers["fleet_programs"].records
    lines = ["The newest run of each program, one row a memory space."]
    left_out = sum(space.facts["series_count"] for space in fleet.spaces) - len(records)
    if left_out:
        lines.append(f"The largest {len(records):,}; {left_out:,} smaller ones are left out.")
    name = "fleet_programs"
    return [Section("Programs by size", lines, _PROGRAMS, records, name, name, shown=SHOWN_WASTE)] if records else []


def _waste(
    fleet: Fleet, name: str, title: str, line: str, columns: list[Column], question: str | None = None
) -> list[Section]:
    """Return the table of an answer, if it has a row; one that ends at a limit says where there are more rows."""
    records = fleet.answers[name].records
    lines = [line]
    if len(records) >= SHOWN_WASTE:
        more = f" bufferhouse query --ask {question} looks at all runs, one memory space at a time." if question else ""
        lines.append(f"Only the first {SHOWN_WASTE} rows are in this report.{more}")
    return [Section(title, lines, columns, records, name)] if records else []
