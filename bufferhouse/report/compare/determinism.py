"""Programs for which the same compiler with the same flags gave different bytes: read, and written as text."""

import duckdb

from bufferhouse.compare.flags import effective_options
from bufferhouse.compare.groups import gathered
from bufferhouse.engine.sql import registered
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.opening import Answers, Origin, opened
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, json_text
from bufferhouse.sources.flags import effective_flags

_SHOWN = 40  # rows on a terminal and in Markdown
_COLUMNS = [
    Column("program_name", "program"),
    Column("program_id", "program_id", "figure"),
    Column("compile_target", "target"),
    Column("memory_space", "memory space", "count"),
    Column("content_count", "dumps", "count", rank=1),
    Column("run_count", "runs", "count", rank=1),
    Column("least_reserved_bytes", "least reserved", "bytes", rank=1),
    Column("most_reserved_bytes", "most reserved", "bytes", rank=1),
    Column("reserved_spread_bytes", "difference", "bytes"),
    Column("occupied_spread_bytes", "peak difference", "bytes", rank=2),
    Column("compiler_version", "compiler", rank=2),
    Column("effective_flags", "flags", rank=5),
    Column("least_run_name", "run with the least", rank=4),
    Column("most_run_name", "run with the most", rank=3),
]


def read_determinism(origin: Origin, *, wait: float) -> Answers:
    """Ask which programs differ (`determinism`), and how many could be judged (`determinism_runs`).

    Raises:
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    import polars as pl

    with opened(origin, wait) as (con, name, note):
        told = _told(con)
        kinds = {"run_id": pl.Int64, "dump_id": pl.Int64, "effective_flags": pl.String}
        with registered(con, "determinism_flags", pl.DataFrame(told, schema=kinds, orient="row")):
            answers = {statement: ask(con, statement) for statement in ("determinism", "determinism_runs")}
    return Answers(name, note, answers)


def _told(con: duckdb.DuckDBPyConnection) -> list[tuple[int, int | None, str | None]]:
    """Return run, dump and the flags that may change code, by files beside the dump; without a dump, by the run."""
    rows = ask(con, "determinism_flags").rows
    found = [(run_id, None, effective_flags(flags)) for run_id, dump_id, flags, _ in rows if dump_id is None]
    sets = gathered(((run_id, dump_id), key) for run_id, dump_id, _, key in rows if dump_id is not None)
    by_files = effective_options(con, {tuple(keys) for keys in sets.values()})
    return found + [(*place, by_files[tuple(keys)]) for place, keys in sets.items()]


def determinism_text(found: Answers, form: str, *, exact: bool) -> str:
    """Return the report in a form of `sections.FORMATS`; `exact` writes all bytes to the byte."""
    if form == "json":
        return json_text(found.provenance, found.answers)
    facts, rows = found.answers["determinism_runs"].records[0], found.answers["determinism"].records
    judged, single = [row for row in rows if _is_judged(row)], [row for row in rows if not _is_judged(row)]
    lines = _judged(facts)
    if judged:
        lines.append(
            "Programs of one name and entry signature may differ in code; `bufferhouse export` writes their dumps."
        )
    elif facts["judged_program_count"]:
        lines.append("No program that could be judged differs in bytes.")
    sections = [Section("", lines, _COLUMNS if judged else (), judged, shown=_SHOWN)]
    if single:
        why = "The flags or the compiler version of these runs are unknown, so each is compared with itself only."
        if any(row["basis"] == "same flags" for row in single):
            why = (
                "Each of these runs is compared with itself only: its flags or its compiler version are unknown, or no "
                "other run of the same compiler and flags has the program."
            )
        sections.append(Section("Different bytes within one run", [why], _COLUMNS, single, shown=_SHOWN))
    return report_text("Programs with different bytes from the same compiler and flags", sections, form, exact=exact)


def _is_judged(row: Record) -> bool:
    """Return whether a program is counted as judged: two runs have it; what one run alone has stands by itself."""
    return row["basis"] == "same flags" and row["run_count"] > 1


def _judged(facts: Record) -> list[str]:
    """Return the lines about how much could be judged, and why not more."""
    lines = [
        f"{counted(facts['run_count'], 'run')}, {facts['versioned_run_count']:,} with a compiler version, "
        f"{facts['flagged_run_count']:,} with known flags.",
        f"Judged: {_of(facts, 'program')} and {_of(facts, 'run')}: those that one compiler compiled with the same "
        f"flags in two runs or more. Not judged: {counted(facts['unjudged_program_count'], 'program')} and "
        f"{counted(facts['unjudged_run_count'], 'run')}.",
    ]
    if facts["program_id_count"] < facts["program_count"]:
        lines[-1] += " A program counts once for each compile target."
    reasons = {
        "unflagged_run_count": "without known flags: bufferhouse runs set RUN xla_flags=… adds them",
        "unversioned_run_count": "without a compiler version: bufferhouse runs set RUN compiler_version=… adds it",
        "lone_run_count": "sharing no program with another run of the same compiler, device, source and flags",
    }
    return lines + [f"  {counted(facts[name], 'run')} {why}" for name, why in reasons.items() if facts[name]]


def _of(facts: Record, noun: str) -> str:
    return f"{facts[f'judged_{noun}_count']:,} of {counted(facts[f'{noun}_count'], noun)}"
