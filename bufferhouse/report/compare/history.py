"""The history of a program and the causes of its changes: read from the warehouse, and written as text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import duckdb

from bufferhouse.compare.compare import Compared
from bufferhouse.compare.groups import by
from bufferhouse.compare.history import Joined, Series, read_history, read_joined
from bufferhouse.config.threshold import RELEVANT
from bufferhouse.errors import UsageError, counted
from bufferhouse.query.statements import Record, ask, ask_each
from bufferhouse.report.compare.flags import flag_objects, flags_said
from bufferhouse.report.compare.joined import COLUMNS as JOINED
from bufferhouse.report.compare.joined import with_guesses
from bufferhouse.report.compare.records import cause_records, exactly, key_of, program_records
from bufferhouse.report.compare.sections import METRIC_NAMES, cause_section
from bufferhouse.report.compare.text import with_causes
from bufferhouse.report.opening import Origin, Reported, find_programs, opened
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import bytes_form, compiler_said, printable, some_of, space_title, sparkline
from bufferhouse.report.text.screen import cut, report_text
from bufferhouse.report.text.sections import Section, plain_json

_EXPLAINED = 5  # change points of a series, the biggest; --format json has all
_SHOWN = 20  # series without a change
_NAMED = 5  # runs in a sentence
_LONGEST = 60  # characters of a run's name in a heading on a terminal
_POINTS = [
    Column("run_name", "first run"),
    Column("compiler", "compiler", rank=2),
    Column("previous_run_name", "run before", rank=1),
    Column("before_bytes", "before", "bytes"),
    Column("after_bytes", "after", "bytes"),
    Column("delta_bytes", "change", "change"),
    Column("main_cause_said", "main cause", rank=1, is_whole=True),
]
_UNKNOWN = Column("unknown_count", "not known", "count", rank=1)
_UNCHANGED = [
    Column("program_name", "program"),
    Column("program_id", "program_id", "figure"),
    Column("compile_target", "target"),
    Column("memory_space", "memory space", "count"),
    Column("size_bytes", "bytes", "bytes"),
    Column("run_count", "runs", "count"),
    _UNKNOWN,
    Column("first_run_name", "first run", rank=2),
    Column("last_run_name", "last run", rank=1),
]


@dataclass(frozen=True, slots=True)
class Blamed(Reported):
    """All series of the programs that were asked for; `notes` say what the series leave out."""

    word: str
    metric: str
    series: Sequence[Series]
    joined: Sequence[Joined]
    notes: Sequence[str]


def read_blame(
    origin: Origin, word: str, *, metric: str = "reserved", memory_space: int | None = None, wait: float = 0.0
) -> Blamed:
    """Read the history of the programs that `word` means: a name or program_id, or the beginning of either.

    Raises:
        UsageError: there is no such program, or it has nothing in that memory space. The message names what there is.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(origin, wait) as (con, name, note):
        trends = ask_each(con, "program_trend", find_programs(con, word))
        found = read_history(con, trends, metric=metric, memory_space=memory_space)
        joined = read_joined(con, trends, metric=metric, memory_space=memory_space)
        if memory_space is not None and not (found or joined):
            used = sorted({record["memory_space"] for trend in trends.values() for record in trend.records})
            raise UsageError(
                f"{word} has nothing in memory space {memory_space}; its memory spaces: {', '.join(map(str, used))}"
            )
        notes = [*_refused_notes(con, found), *_variant_notes(found)]
    return Blamed(name, note, word, metric, found, joined, notes)


def _refused_notes(con: duckdb.DuckDBPyConnection, series: Sequence[Series]) -> list[str]:
    """Return the sentence about runs that lack a program where others have it, and have refused dumps; else nothing."""
    refused = ask(con, "blame_refusals").records
    names: dict[int, str] = {}
    for of_program in by(lambda one: one.key["program_id"], series).values():
        seen = {run["run_id"] for one in of_program for run in one.runs}
        kinds = {(one.key["platform"], one.key["track"], one.key["device_kind"]) for one in of_program}
        # Nothing says the platform of a run all of whose dumps were refused.
        kinds |= {(None, track, device_kind) for _, track, device_kind in kinds}
        for run in refused:
            if run["run_id"] not in seen and (run["platform"], run["track"], run["device_kind"]) in kinds:
                names[run["run_id"]] = run["run_name"]
    if not names:
        return []
    named = some_of(names.values(), _NAMED, 60)
    return [f"{counted(len(names), 'run')} without it had refused dumps, which may be of it: {named}."]


def _variant_notes(series: Sequence[Series]) -> list[str]:
    """Return the sentence about runs with several different dumps of one program; else nothing."""
    runs = [run for one in series for run in one.runs if run["variant_count"] > 1]
    names = {run["run_id"]: run["run_name"] for run in runs}
    if not names:
        return []
    return [
        f"{counted(len(names), 'run')} with several different dumps of it, of which the largest stands for the run: "
        f"{some_of(names.values(), _NAMED, 60)}."
    ]


def blame_text(blamed: Blamed, form: str, *, exact: bool) -> str:
    """Return the history in a form of `sections.FORMATS`; `exact` writes all bytes to the byte."""
    if form == "json":
        about = {**blamed.provenance, "metric": blamed.metric, "notes": list(blamed.notes)}
        return plain_json(
            {**about, "series": [_object(one) for one in blamed.series], "reshaped": _joined_records(blamed.joined)}
        )
    sections = [Section("", list(blamed.notes))] if blamed.notes else []
    sections += _joined_sections(blamed.joined, exact)
    sections += [section for one in blamed.series if one.changes for section in _sections(one, blamed.metric, exact)]
    unchanged = [one for one in blamed.series if not one.changes]
    sections += _unchanged_section("Without a change", [one for one in unchanged if _known(one)])
    sections += _unchanged_section("Not known, without live ranges", [one for one in unchanged if not _known(one)])
    if not (blamed.series or blamed.joined):
        sections.append(Section("", ["No dump of it has an allocation: there is nothing to show."]))
    return report_text(f"{cut(blamed.word, _LONGEST)} from run to run", sections, form, exact=exact)


def _joined_records(joined: Sequence[Joined]) -> list[Record]:
    """Return a record for each memory space of each step in which a program became another one, with its causes."""
    found = []
    for step in joined:
        runs = {"run_name": step.after["run_name"], "previous_run_name": step.before["run_name"]}
        found += [{**runs, **record} for record in with_causes(*_told(step.rows))]
    return found


def _joined_sections(joined: Sequence[Joined], exact: bool) -> list[Section]:
    """Return the steps in which a program became another one: a table of all, and the causes of the biggest."""
    points, explained = [], []
    for step in joined:
        records, causes = _told(step.rows)
        own = by(key_of, causes)
        for record in records:
            shown = exactly(record) if exact else record
            points.append({**shown, "run_name": step.after["run_name"], "previous_run_name": step.before["run_name"]})
            if record["delta_bytes"]:
                program, run = printable(record["program_label"], 60), printable(step.after["run_name"], 60)
                section = cause_section(record, own.get(key_of(record), []), exact=exact)
                section = replace(section, title=f"Why {program} of {run} differs")
                explained.append((abs(record["delta_bytes"]), section))
    if not points:
        return []
    explained.sort(key=lambda one: -one[0])
    lines = ["From one run to the next the program got another entry signature, or another name."]
    whole = Section("Reshaped and renamed", lines, [_POINTS[0], *with_guesses(JOINED, points)], points)
    return [whole, *(section for _, section in explained[:_EXPLAINED])]


def _object(series: Series) -> Record:
    changes = [
        {"run_name": new["run_name"], "previous_run_name": old["run_name"], "flags": flag_objects(flags), **record}
        for (old, new, row), flags in zip(series.changes, series.flags, strict=True)
        for record in with_causes(*_told([row]))
    ]
    return {**series.key, "runs": list(series.runs), "changes": changes}


def _told(rows: Sequence[Compared]) -> tuple[list[Record], list[Record]]:
    """Return the records of compared programs, and those of the causes."""
    records = program_records(rows, RELEVANT, [])
    return records, cause_records(rows, records)


def _sections(series: Series, metric: str, exact: bool) -> list[Section]:
    key, runs = series.key, series.runs
    sizes = [run["metric_bytes"] for run in runs]
    about = [printable(str(word), 60) for word in (key["compile_target"], key["track"], key["device_kind"]) if word]
    first, last = map(bytes_form(exact=exact), (_known(series)[0], _known(series)[-1]))
    unknown = f", not known in {counted(sizes.count(None), 'run')} without live ranges" if None in sizes else ""
    lines = [
        f"{METRIC_NAMES[metric]} over {counted(len(runs), 'run')}: {sparkline(sizes)} {first} → {last}, "
        f"{counted(len(series.changes), 'change')}{unknown}.",
        f"From {printable(runs[0]['run_name'], 60)} to {printable(runs[-1]['run_name'], 60)}; "
        f"program_id {key['program_id']}.",
    ]
    points, explained = [], []
    for (old, new, row), flags in zip(series.changes, series.flags, strict=True):
        (record,), causes = _told([row])
        points.append(
            {
                **(exactly(record) if exact else record),
                "run_name": new["run_name"],
                "previous_run_name": old["run_name"],
                "compiler": compiler_said(new) or None,
            }
        )
        section = cause_section(record, causes, exact=exact)
        heading = f"Why {printable(new['run_name'], 60)} differs from {printable(old['run_name'], 60)}"
        lines_of_flags = [f"Flags that differ: {flags_said(flags)}."] if flags else []
        section = replace(section, title=heading, lines=[*lines_of_flags, *section.lines])
        explained.append((abs(row.delta_bytes or 0), len(explained), section))
    title = ", ".join(
        [printable(runs[-1]["program_name"], 80), *about, space_title(key["platform"], key["memory_space"])]
    )
    whole = Section(title, lines, _POINTS if points else (), points)
    # The biggest, in the order of the runs.
    biggest = sorted(sorted(explained, key=lambda one: -one[0])[:_EXPLAINED], key=lambda one: one[1])
    if len(explained) > len(biggest):
        whole.lines.append(f"The {_EXPLAINED} biggest changes are explained; --format json has all.")
    return [whole, *(section for *_, section in biggest)]


def _known(series: Series) -> list[int]:
    """Return the bytes of the runs in which they are known."""
    return [run["metric_bytes"] for run in series.runs if run["metric_bytes"] is not None]


def _unchanged_section(title: str, found: Sequence[Series]) -> list[Section]:
    rows = [
        {
            **one.key,
            "program_name": one.runs[-1]["program_name"],
            "size_bytes": next(reversed(_known(one)), None),
            "run_count": len(one.runs),
            "unknown_count": len(one.runs) - len(_known(one)),
            "first_run_name": one.runs[0]["run_name"],
            "last_run_name": one.runs[-1]["run_name"],
        }
        for one in found
    ]
    columns = [one for one in _UNCHANGED if one is not _UNKNOWN or any(row["unknown_count"] for row in rows)]
    return [Section(title, [], columns, rows, shown=_SHOWN)] if rows else []
