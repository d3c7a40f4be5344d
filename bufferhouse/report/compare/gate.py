"""The verdict of the gate: on a terminal and in Markdown, as JSON, and as annotations of GitHub's checks."""

from collections.abc import Sequence
from itertools import chain

from bufferhouse.compare.compare import GONE, NEW, Compared
from bufferhouse.compare.gate import Accepted, Verdict
from bufferhouse.compare.pairing import CHANGES
from bufferhouse.config.threshold import Threshold
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.sections import METRIC_NAMES, MOST_NAMED, exactly, title, warnings
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import bytes_form, exact_bytes, percent, printable, sentence, some_of, space_title
from bufferhouse.report.text.github import annotation
from bufferhouse.report.text.sections import Section

_OFFENDERS = [
    Column("program_label", "program", link="program_link"),
    Column("memory_space", "memory space", "count"),
    Column("before_bytes", "before", "bytes"),
    Column("after_bytes", "after", "bytes"),
    Column("delta_bytes", "change", "change"),
    Column("change_ratio", "%", "share", rank=1),
    Column("change_said", "what changed", limit=60, is_whole=True, rank=2),
    Column("guess", "pair", rank=3),
    Column("main_cause_said", "main cause", rank=3),
]
_MISSING = [column for column in _OFFENDERS if column.name in ("program_label", "memory_space", "before_bytes")]
_CUT = [
    column for column in _OFFENDERS if column.name in ("program_label", "memory_space", "before_bytes", "after_bytes")
]
_WHY = Column("why", "accepted because", rank=1, is_prose=True)


def gate_sections(comparison: Comparison, verdict: Verdict, limit: Threshold, *, exact: bool = False) -> list[Section]:
    """Return the sections of the verdict: offenders, what is not judged, headroom, accepted growth, stale entries."""
    show, by_key = exactly if exact else dict, comparison.by_key
    offenders = [show(row) for row in comparison.records(verdict.offenders)]
    least = limit.said(exact=exact)
    others = " beside what is told below" if verdict.accepted or verdict.warned else ""
    said = grown(offenders, least) if offenders else f"Nothing grew by {least}{others}"
    # A program is compared in each of its memory spaces.
    places = f", in {len(offenders):,}" if programs_of(offenders) < len(offenders) else ","
    compared = counted(verdict.compared_count, "comparison")
    unknown = f"; {unjudged}" if (unjudged := _unjudged(comparison, verdict)) else ""
    sections = [
        Section(
            f"The gate is {'' if verdict.is_passed else 'not '}passed",
            [
                f"{said}{places} of {compared}{unknown}."
                if verdict.compared_count
                else sentence(nothing_compared(comparison))
            ],
            _columns(offenders),
            offenders,
            "offenders",
        )
    ]
    sections[0].lines.extend(sentence(exceeded_line(row, entry)) for row, entry in verdict.exceeded)
    if verdict.missing:
        records = [show(row) for row in _missing_records(comparison, verdict)]
        lines = [_missing(comparison, verdict)]
        sections.append(Section("Missing in the run after, and not judged", lines, _MISSING, records, "missing"))
    if verdict.maybe_cut:
        records = [show(row) for row in comparison.records(verdict.maybe_cut)]
        sections.append(
            Section("Maybe cut short, and not judged", [sentence(_maybe_cut(records))], _CUT, records, "maybe-cut")
        )
    if verdict.tight:
        records = [show(row) for row in _tight_records(comparison, verdict)]
        memory = bytes_form(exact=exact)(comparison.after["device_memory_bytes"])
        lines = [f"{counted(programs_of(records), 'program')} beside the {memory} of the device."]
        if refused := [row["program_label"] for row in records if row["after_did_not_fit"]]:
            lines.append(f"Known not to fit, whatever they reserve: {some_of(refused, MOST_NAMED, 120)}.")
        columns = [*_columns(records), *_on_device(records)]
        sections.append(Section("Too little headroom", lines, columns, records, "tight"))
    if verdict.warned:
        records = [show(row) for row in comparison.records(verdict.warned)]
        said = f"{grown(records, least, 'reshaped program')}, which is a warning here."
        sections.append(Section("Reshaped and grown", [said], _columns(records), records, "warned"))
    if verdict.accepted:
        records = [{**show(by_key[row.key]), "why": entry.why} for row, entry in verdict.accepted]
        sections.append(Section("Accepted", [], [*_columns(records), _WHY], records, "accepted"))
    if verdict.stale:
        sections.append(Section("Stale in the accept file", [sentence(stale_line(entry)) for entry in verdict.stale]))
    return sections


def programs_of(records: Sequence[Record]) -> int:
    """Return how many programs some records are of: each may be there with several memory spaces."""
    return len(set(map(_program, records)))


def _program(row: Record) -> tuple:
    """Return what tells the program of a record, as it was compiled for a target."""
    return row["platform"], row["program_id"], row["after_compile_target"] or row["before_compile_target"]


def grown(records: Sequence[Record], least: str, thing: str = "program") -> str:
    """Return the sentence about programs that grew by a limit at least."""
    return f"{counted(programs_of(records), thing)} grew by at least {least}"


def _columns(records: Sequence[Record]) -> list[Column]:
    if not records:
        return []
    empty = [name for name in ("change_said", "guess") if not any(row[name] for row in records)]
    return [column for column in _OFFENDERS if column.name not in empty]


def gate_object(comparison: Comparison, verdict: Verdict, limit: Threshold) -> Record:
    """Return the verdict for machines."""
    by_key = comparison.by_key
    return {
        "is_passed": verdict.is_passed,
        "limit": limit._asdict(),
        "compared_count": verdict.compared_count,
        "unknown_count": _unknown_count(comparison),
        "ignored_count": len(verdict.ignored),
        "offenders": comparison.records(verdict.offenders),
        "accepted": [{**by_key[row.key], "why": entry.why} for row, entry in verdict.accepted],
        "exceeded": [
            {**by_key[row.key], "up_to_bytes": entry.up_to_bytes, "why": entry.why} for row, entry in verdict.exceeded
        ],
        "stale": [entry._asdict() for entry in verdict.stale],
        "warned": comparison.records(verdict.warned),
        "tight": _tight_records(comparison, verdict),
        "missing": comparison.records(verdict.missing),
        "maybe_cut": comparison.records(verdict.maybe_cut),
    }


def github_text(comparison: Comparison, verdict: Verdict, limit: Threshold, *, exact: bool = False) -> str:
    """Return one workflow command a line: errors of what fails the gate, then warnings and notices of what passes.

    Warnings are of entries that accept less, of stale entries, of what the text warns of, such as dumps that were
    refused or could not be read, or two kinds of device, and, for each program, of donations that are lost; notices of
    new programs, of those that are gone, and of the whole. `exact` writes their bytes to the byte.
    """

    def grew(rows: Sequence[Compared]) -> list[str]:
        return [gate_message(row, limit, exact=exact) for row in comparison.records(rows)]

    lines = [annotation("error", said) for said in grew(verdict.offenders)]
    lines += [annotation("error", _tight(row, comparison, exact)) for row in _tight_records(comparison, verdict)]
    if verdict.missing:
        lines.append(annotation("error", _missing(comparison, verdict)))
    if verdict.maybe_cut:
        lines.append(annotation("error", _maybe_cut(comparison.records(verdict.maybe_cut))))
    if not verdict.compared_count:
        lines.append(annotation("error", nothing_compared(comparison)))
    lines += [annotation("warning", said) for said in grew(verdict.warned)]
    lines += [annotation("warning", exceeded_line(row, entry)) for row, entry in verdict.exceeded]
    lines += [annotation("warning", stale_line(entry)) for entry in verdict.stale]
    lines += [annotation("warning", note) for note in filter(None, [comparison.note, *warnings(comparison)])]
    lines += [annotation("warning", said) for said in _undonated(comparison, exact)]
    lines += [annotation("notice", said) for said in _come_and_gone(comparison)]
    total = f"{title(comparison)}: {counted(verdict.compared_count, 'comparison')} of {METRIC_NAMES[comparison.metric]}"
    unknown = f", {unjudged}" if (unjudged := _unjudged(comparison, verdict)) else ""
    found = over(comparison, verdict, limit, exact=exact)
    lines.append(annotation("notice", f"{total}{unknown}, {found}, {len(verdict.accepted)} accepted"))
    return "\n".join(lines)


def over(comparison: Comparison, verdict: Verdict, limit: Threshold, *, exact: bool = False) -> str:
    """Return how many programs are over the limit; those that only are a warning are counted by themselves."""
    offenders, warned = (programs_of(comparison.records(rows)) for rows in (verdict.offenders, verdict.warned))
    more = f", {warned:,} more reshaped with a warning" if warned else ""
    return f"{counted(offenders, 'program')} over {limit.said(exact=exact)}{more}"


def stale_line(entry: Accepted) -> str:
    """Return the sentence about a stale entry."""
    where = f"{printable(entry.program, 80)} in memory space {entry.memory_space}"
    return f"nothing grew over the limit for {where}; remove the entry ({printable(entry.why, 80)})"


def exceeded_line(row: Compared, entry: Accepted) -> str:
    """Return the sentence about an offender that takes more than an entry accepts."""
    where = f"{printable(entry.program, 80)} in memory space {entry.memory_space}"
    return (
        f"the accept file allows {where} up to {exact_bytes(entry.up_to_bytes)}, found {exact_bytes(row.after_bytes)} "
        f"({printable(entry.why, 80)})"
    )


def _undonated(comparison: Comparison, exact: bool) -> list[str]:
    lost: dict[str, int] = {}
    for one in comparison.lost_donations:
        lost[one["program"]] = lost.get(one["program"], 0) + one["bytes"]
    return [
        f"{printable(program, 120)}: {bytes_form(exact=exact)(size)} of parameters are not donated any more"
        for program, size in lost.items()
    ]


def _come_and_gone(comparison: Comparison) -> list[str]:
    """Return a sentence about new programs and one about those that are gone, if there are any.

    Further dumps of programs that both runs have are counted by themselves.
    """
    said = []
    for status in (NEW, GONE):
        rows = [row for row in comparison.programs if row["status"] == status]
        for thing, names in _programs_and_dumps(rows).items():
            said.append(f"{counted(len(names), thing)} {status}: {some_of(names, MOST_NAMED, 120)}")
    return said


def gone_programs(comparison: Comparison) -> list[str]:
    """Return the labels of the programs that are gone; a further dump of one that both runs have is none."""
    gone = [row for row in comparison.programs if row["status"] == GONE]
    return _programs_and_dumps(gone).get("program", [])


def _programs_and_dumps(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the labels of programs that a run lacks, and of further dumps of those that it has; none without any.

    A program of which several dumps are lacking is one program, and called as the first of them.
    """
    programs: dict[tuple, str] = {}
    dumps: dict[str, None] = {}
    for row in records:
        if _is_further(row):
            dumps[row["program_label"]] = None
        else:
            programs.setdefault(_program(row), row["program_label"])
    found = {"program": list(programs.values()), "further dump": list(dumps)}
    return {thing: names for thing, names in found.items() if names}


def nothing_compared(comparison: Comparison) -> str:
    """Return the sentence about why nothing was compared."""
    known = [row for row in comparison.rows if row.delta_bytes is not None]
    if any(row.may_be_cut for row in known):
        return "nothing was compared: every program that has known bytes in both runs may be cut short, or is left out"
    # Of pairs with known bytes only those of reshaped programs may be left out.
    if known:
        return (
            "nothing was compared: every program that has known bytes in both runs is reshaped, and those are ignored"
        )
    return "nothing was compared: no program has known bytes in both runs"


def _missing(comparison: Comparison, verdict: Verdict) -> str:
    """Return the sentence about what a refused or unread dump of the run after may hold, and the way out."""
    found = _programs_and_dumps(_missing_records(comparison, verdict))
    names = list(chain(*found.values()))
    said = " and ".join(counted(len(labels), thing) for thing, labels in found.items())
    # Of a path that could not be read nobody knows of which run its dumps are.
    why = "where dumps were refused" if comparison.after["refused_dump_count"] else "and paths could not be read"
    way_out = "standard error names them" if comparison.is_in_memory else "bufferhouse rejects ls lists them"
    is_are = "is" if len(names) == 1 else "are"
    return (
        f"{said} of the run before {is_are} missing in the run after, {why} ({way_out}): "
        f"{some_of(names, MOST_NAMED, 120)}"
    )


def _maybe_cut(records: Sequence[Record]) -> str:
    """Return the sentence about dumps that may be the beginning of a file only, and the way out."""
    names = list(dict.fromkeys(row["program_label"] for row in records))
    its, file = ("its", "file") if len(names) == 1 else ("their", "files")
    return (
        f"{counted(len(names), 'program')} with allocations alone in the run after, whose peak the run before knows: "
        f"{its} {file} may be cut short, and {its} bytes too few. Ingest the whole {file} again, with those of values "
        f"and live ranges if they are apart: {some_of(names, MOST_NAMED, 120)}"
    )


def _missing_records(comparison: Comparison, verdict: Verdict) -> list[Record]:
    """Return the records of what is missing, called as the run before calls it."""
    return [
        {**row, "program_label": row["before_program_name"]} if row["status"] in CHANGES else row
        for row in comparison.records(verdict.missing)
    ]


def _is_further(row: Record) -> bool:
    """Return whether the run that lacks a dump has its program all the same."""
    if row["status"] in CHANGES:
        return False
    return row["is_further_dump"] or None not in (row["before_dump_id"], row["after_dump_id"])


def _unjudged(comparison: Comparison, verdict: Verdict) -> str:
    """Return how many pairs were not judged, and why; empty if all were."""
    cut = sum(row.delta_bytes is not None for row in verdict.maybe_cut)
    reasons = {
        "without known bytes": _unknown_count(comparison),
        "maybe cut short": cut,
        "reshaped and ignored": len(verdict.ignored),
    }
    return ", ".join(f"{count:,} more {why}" for why, count in reasons.items() if count)


def _unknown_count(comparison: Comparison) -> int:
    """Return how many pairs could not be judged, as the bytes of one side are not known."""
    return sum(row.is_unknown for row in comparison.rows)


def gate_message(row: Record, limit: Threshold, *, exact: bool = False) -> str:
    """Return the sentence about a program that grew over a limit."""
    if exact:
        row = exactly(row)
    ratio = f", {percent(row['change_ratio'], signed=True)}" if row["change_ratio"] else ""
    size = bytes_form(exact=exact)
    change = f"{size(row['delta_bytes'], signed=True)}{ratio}"
    guess = ", a guess" if row["guess"] else ""
    said = f"; {row['status']}{guess}: {row['change_said']}" if row["change_said"] else ""
    cause = f"; main cause: {row['main_cause_said']}" if row["main_cause_said"] else ""
    return (
        f"{printable(row['program_label'], 120)}, {space_title(row['platform'], row['memory_space'])}: "
        f"{size(row['before_bytes'])} → {size(row['after_bytes'])} ({change}), "
        f"limit {limit.said(exact=exact)}{said}{cause}"
    )


def _tight_records(comparison: Comparison, verdict: Verdict) -> list[Record]:
    """Return the records of programs that leave too little room, with all that they reserve on the device."""
    records = zip(comparison.records(verdict.tight), verdict.tight, strict=True)
    return [{**record, "after_device_bytes": row.on_device[1]} for record, row in records]


def _on_device(records: Sequence[Record]) -> list[Column]:
    """Return the column of what programs reserve on the device where some have more memory spaces there than one."""
    more = any(row["after_device_bytes"] != row["after_bytes"] for row in records)
    return [Column("after_device_bytes", "on the device", "bytes")] if more else []


def _tight(row: Record, comparison: Comparison, exact: bool) -> str:
    why = "and it did not fit" if row["after_did_not_fit"] else "too little headroom"
    return (
        f"{printable(row['program_label'], 120)}: {bytes_form(exact=exact)(row['after_device_bytes'])} of "
        f"{bytes_form(exact=exact)(comparison.after['device_memory_bytes'])} of the device, {why}"
    )
