"""The sections about two runs: the same on a terminal, in Markdown and on the page."""

from collections.abc import Callable, Sequence

from bufferhouse.compare import groups
from bufferhouse.compare.pairing import CHANGES, RESHAPED
from bufferhouse.compare.rollup import rolled_up
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.donations import donation_section
from bufferhouse.report.compare.flags import flag_section
from bufferhouse.report.compare.joined import with_guesses
from bufferhouse.report.compare.records import KEY, exactly, key_of
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import (
    bytes_form,
    compiler_said,
    percent,
    printable,
    some_of,
    space_heading,
    space_key,
    space_title,
)
from bufferhouse.report.text.sections import Section

_SHOWN = 15  # rows of a table on a terminal and in Markdown
MOST_NAMED = 15  # programs in a sentence
_PROGRAM = Column("program_label", "program", link="program_link")
_TOTALS = [
    Column("platform", "platform"),
    Column("memory_space", "memory space", "count"),
    Column("matched_count", "in both", "count"),
    Column("before_bytes", "before", "bytes", rank=1),
    Column("after_bytes", "after", "bytes", rank=1),
    Column("delta_bytes", "change", "change"),
    Column("changed_count", "changed", "count"),
    Column("relevant_count", "relevant", "count", rank=1),
    Column("risen_count", "grew", "count", rank=2),
    Column("fallen_count", "shrank", "count", rank=2),
    Column("unchanged_count", "unchanged", "count", rank=1),
    Column("same_content_count", "same dump", "count", rank=3),
    Column("new_count", "new", "count"),
    Column("gone_count", "gone", "count"),
    Column("not_compared_count", "not compared", "count", rank=1),
]
_JOINED = [Column("reshaped_count", "reshaped", "count"), Column("renamed_count", "renamed", "count")]
_CHANGED = [
    _PROGRAM,
    Column("before_bytes", "before", "bytes"),
    Column("after_bytes", "after", "bytes"),
    Column("delta_bytes", "change", "change"),
    Column("change_ratio", "%", "share", rank=2),
    Column("main_cause_said", "main cause", rank=1, is_whole=True),
    Column("occupied_change_bytes", "occupied peak change", "change", rank=3),
    Column("layout_padding_change_bytes", "padding change", "change", rank=4),
    Column("temp_change_bytes", "temporaries change", "change", rank=5),
    Column("reason", "reason", rank=4),
]
_SIZES = ("reserved", "occupied_peak", "layout_padding")
_BEFORE, _AFTER = (
    [_PROGRAM, *(Column(f"{side}_{size}_bytes", size.replace("_", " "), "bytes") for size in _SIZES)]
    for side in ("before", "after")
)
_NOT_COMPARED = [
    _PROGRAM,
    Column("reason", "why", limit=100, is_prose=True),
    Column("before_reserved_bytes", "reserved before", "bytes"),
    Column("after_reserved_bytes", "reserved after", "bytes"),
]
_GUESSED = [Column("guess", "pair", rank=1), *_CHANGED[1:]]
_RESHAPED = [_PROGRAM, Column("signature_change", "signature", limit=60, is_whole=True), *_GUESSED]
_RENAMED = [_PROGRAM, Column("before_program_name", "former name"), *_GUESSED]
_PARTS = {
    "reshaped": ("Reshaped in {}", _RESHAPED),
    "changed": ("Changed in {}", _CHANGED),
    "renamed": ("Renamed in {}", _RENAMED),
    "new": ("New in {}", _AFTER),
    "gone": ("Gone from {}", _BEFORE),
    "not compared": ("Not compared in {}", _NOT_COMPARED),
}
_JOINED_LINES = {
    "reshaped": "The same function with another entry signature; relevant changes first, then by size.",
    "renamed": "The same content, or the same signature and nearly all op_names, under another name.",
}
_LONGEST_FLAGS = 200  # characters
_EXPLAINED = 5  # programs; with one program asked for, all of its memory spaces
_SHOWN_CAUSES = 12  # causes of a program on a terminal and in Markdown
_CAUSES = [
    Column("cause_bytes", "bytes", "change"),
    Column("cause_label", "cause", is_whole=True),
    Column("value_count", "values", "count", rank=3),
    Column("other_memory_space", "memory space", "count", rank=2),
    Column("shape", "shape", limit=60, rank=1),
    Column("opcode", "opcode", rank=4),
    Column("op_name", "op_name", limit=48, rank=2),
    Column("source", "source", limit=48, rank=5, link="source_link"),
    Column("tier", "matched by", rank=3),
]
_ROLLUP = [
    Column("delta_bytes", "change", "change"),
    Column("risen_bytes", "growth", "change", rank=1),
    Column("fallen_bytes", "decrease", "change", rank=1),
    Column("program_count", "programs", "count", rank=2),
    Column("value_count", "values", "count", rank=2),
]
METRIC_NAMES = {
    "reserved": "reserved bytes",
    "occupied": "the occupied peak",
    "temp": "bytes of temporaries",
    "footprint": "the footprint",
}


def title(comparison: Comparison) -> str:
    """Return the names of both runs, with the conditions on their dumps, safe to print."""
    return " → ".join(_name(side) for side in (comparison.before, comparison.after))


def _name(side: Record) -> str:
    part = side.get("part")
    return printable(side["run_name"], 80) + (f"@{printable(part, 80)}" if part else "")


def totals_section(comparison: Comparison, *, exact: bool) -> list[Section]:
    """Return how many programs of each memory space changed, and the bytes of those in both runs; none without any."""
    totals = comparison.totals
    if not totals:
        return []
    lines = [
        f"Metric: {METRIC_NAMES[comparison.metric]}. Programs are matched by name and entry signature; bytes are sums "
        "over the programs in both runs.",
        f"A change is relevant if it is at least {comparison.relevant.said(exact=exact)}.",
    ]
    places = {(row["platform"], row["memory_space"], row["program_id"]) for row in comparison.programs}
    if len(places) < len(comparison.programs):
        lines.append("A program with several different dumps in a run counts once for each pair of dumps.")
    joined = any(total[f"{change}_count"] for total in totals for change in CHANGES)
    if joined:
        lines.append(
            "Reshaped programs have another signature, renamed ones another name; they are no part of these bytes."
        )
    columns = [*_TOTALS[:6], *_JOINED, *_TOTALS[6:]] if joined else _TOTALS
    return [Section("Programs: changed, unchanged, new, gone", lines, columns, totals, "totals")]


def status_sections(comparison: Comparison, *, exact: bool) -> list[Section]:
    """Return the programs of each status but unchanged, in each memory space."""
    totals = comparison.totals
    return [
        _status_section(comparison, space, status, exact)
        for status in _PARTS
        for space in totals
        if space[f"{status.replace(' ', '_')}_count"]
    ]


def _status_section(comparison: Comparison, space: Record, status: str, exact: bool) -> Section:
    heading, columns = _PARTS[status]
    rows = comparison.of(space["platform"], space["memory_space"], status)
    if exact:
        rows = [exactly(row) for row in rows]
    where = {"platform": space["platform"], "memory_space": space["memory_space"], "status": status}
    lines = []
    if status == "changed":
        grew = f"{counted(space['risen_count'], 'program')} grew, {space['fallen_count']:,} shrank"
        lines = [f"{grew}; relevant changes first, then by size."]
    if further := sum(row["is_further_dump"] for row in rows):
        lines = [f"{counted(further, 'further dump')} of programs that both runs have."]
    if status in CHANGES:
        lines = [_JOINED_LINES[status]]
        columns = with_guesses(columns, rows)
    if status in ("changed", *CHANGES) and not any(row["reason"] for row in rows):
        columns = columns[:-1]
    name = f"{status.replace(' ', '-')}-{space_key(space)}"
    return Section(heading.format(space_heading(space)), lines, columns, rows, name, "compare_programs", where, _SHOWN)


def subtitle(comparison: Comparison, *, exact: bool = False) -> list[str]:
    """Return one line a run: its name, compiler, platform, start and counts; and how much of the device is taken."""
    return [
        *(f"{side['side']}: {_run(side)}" for side in (comparison.before, comparison.after)),
        *_capacity_lines(comparison, bytes_form(exact=exact)),
    ]


def _capacity_lines(comparison: Comparison, shown: Callable[[int], str]) -> list[str]:
    """Return a line for each run of which the capacity is known: the program that reserves most, and how much it is."""
    lines = []
    records = comparison.by_key
    for place, side in enumerate((comparison.before, comparison.after)):
        sizes = [
            (row.on_device[place] or 0, records[row.key]["program_label"], (row.before, row.after)[place])
            for row in comparison.rows
        ]
        if side["capacity_bytes"] and sizes and max(sizes)[0]:
            size, label, own = max(sizes)
            whose = "of the programs asked for, " if comparison.is_part else ""
            where = "" if size == own.reserved else " in all memory spaces of the device"
            lines.append(
                f"capacity {side['side']}: {shown(side['capacity_bytes'])}, as "
                f"{printable(side['capacity_source'], 80)} says; {whose}{printable(label, 80)} reserves most, "
                f"{shown(size)}{where}, {percent(size / side['capacity_bytes'])} of it"
            )
    return lines


def _run(side: Record) -> str:
    facts = (compiler_said(side), side["platform"], side["device_kind"], side["track"])
    words = [_name(side), *(printable(word, 80) for word in dict.fromkeys(filter(None, facts)))]
    rejects = f", {counted(side['reject_count'], 'reject')}" if side["reject_count"] else ""
    started = f"started {side['started_at']:%Y-%m-%d %H:%M} UTC"
    return " · ".join([*words, started, f"{counted(side['program_count'], 'program')}{rejects}"])


def notes(comparison: Comparison) -> list[str]:
    """Return the warnings about the comparison, such as rejects and ambiguous pairs."""
    lines = [comparison.note] if comparison.note else []
    lines += warnings(comparison)
    if comparison.programs and all(row["status"] == "unchanged" for row in comparison.programs):
        is_same = all(row["has_same_content"] for row in comparison.programs)
        lines.append("Nothing changed." if is_same else "No size changed, but not all of the dumps are the same.")
    return lines


def warnings(comparison: Comparison) -> list[str]:
    """Return the sentences about what limits the comparison; every format has them."""
    lines = []
    before, after = comparison.before, comparison.after
    if comparison.is_of_itself:
        lines.append("Both sides are the same run.")
    if comparison.shared_count:
        is_are = "is" if comparison.shared_count == 1 else "are"
        lines.append(
            f"{counted(comparison.shared_count, 'dump')} {is_are} on both sides, and may be compared with "
            f"{'itself' if comparison.shared_count == 1 else 'themselves'}: name further conditions."
        )
    lines += _alone_in_a_part(comparison)
    lines += device_notes(comparison)
    lines += _several_compilers(comparison)
    if comparison.run_flags:
        then, now = (printable(words, _LONGEST_FLAGS) for words in comparison.run_flags)
        lines.append(f"The runs say that they were compiled with different flags, before: {then}; after: {now}.")
    for side in (before, after):
        if not side["dump_count"]:
            way_out = "" if comparison.is_in_memory else "; list its rejects with: bufferhouse rejects ls"
            lines.append(f"No dump of the run {side['side']} could be read{way_out}.")
    if comparison.spaces:
        there = ", ".join(map(str, comparison.spaces))
        lines.append(f"Neither run has an allocation in the requested memory space; there are: {there}.")
    elif not comparison.programs:
        lines.append("Neither run has an allocation that was requested, so there is nothing to compare.")
    lines += refused_notes(comparison)
    lines += _allocations_alone(comparison)
    lines += _not_fitting(comparison)
    guesses = {row["program_label"] for row in comparison.programs if row["guess"]}
    if guesses:
        lines.append(
            f"{counted(len(guesses), 'pair')} of programs may be wrong: another program is as much like the one "
            "before, or they have little in common."
        )
    # A further dump that found no partner is in no pair.
    ambiguous = {
        row["program_label"]
        for row in comparison.programs
        if row["is_ambiguous"] and not row["guess"] and None not in (row["before_dump_id"], row["after_dump_id"])
    }
    if ambiguous:
        lines.append(
            f"{counted(len(ambiguous), 'pair')} of dumps may be wrong: the program has several different dumps in a "
            "run, paired by size."
        )
    return lines


def _several_compilers(comparison: Comparison) -> list[str]:
    """Return a sentence for each run whose dumps are of several compilers, as where two jobs share a folder."""
    sides = (comparison.before,) if comparison.is_of_itself else (comparison.before, comparison.after)
    return [
        f"The dumps of the run {side['side']} are of {counted(len(found), 'compiler')}, revisions "
        f"{some_of(found, MOST_NAMED, 40)}: it may be two runs in one folder."
        for side in sides
        if (found := comparison.compilers.get(side["run_id"]))
    ]


def refused_notes(comparison: Comparison) -> list[str]:
    """Return the sentence about refused dumps of runs that have others, too; else nothing."""
    sides = (comparison.before, comparison.after)
    refused = [side["side"] for side in sides if side["refused_dump_count"] and side["dump_count"]]
    if not refused:
        return []
    return [
        f"Dumps of the run {' and of the run '.join(refused)} were refused: a program that is missing there may be "
        "in one of them."
    ]


def _allocations_alone(comparison: Comparison) -> list[str]:
    """Return a sentence for each run of which dumps have allocations alone: nothing says that these are all."""
    said = []
    for side in ("before", "after"):
        rows = [row for row in comparison.rows if (dump := getattr(row.pair, side)) and dump.has_allocations_alone]
        names = {row["program_label"]: None for row in comparison.records(rows)}
        if names:
            said.append(
                f"{counted(len(names), 'dump')} of the run {side} with allocations alone: "
                f"{some_of(names, MOST_NAMED, 120)}. If its file was cut short, its bytes are too few."
            )
    return said


def _not_fitting(comparison: Comparison) -> list[str]:
    """Return a sentence for each run with programs that did not fit: its bytes may be less than their device has."""
    said = []
    for side in ("before", "after"):
        names = {row["program_label"]: None for row in comparison.programs if row[f"{side}_did_not_fit"]}
        if names:
            programs, named = counted(len(names), "program"), some_of(names, MOST_NAMED, 120)
            said.append(f"{programs} of the run {side} did not fit, as files beside dumps or messages say: {named}.")
    return said


def _alone_in_a_part(comparison: Comparison) -> list[str]:
    """Return the sentence about programs that only one of two parts has; nothing for whole runs."""
    sides = (comparison.before, comparison.after)
    alone = [
        {row["program_id"] for row in comparison.programs if row["status"] == status and not row["is_further_dump"]}
        for status in ("gone", "new")
    ]
    if not any(side.get("part") for side in sides) or not any(alone):
        return []
    said = " and ".join(
        f"{counted(len(program_ids), 'program')} of {_name(side)}"
        for program_ids, side in zip(alone, sides, strict=True)
        if program_ids
    )
    return [f"Without a partner on the other side: {said}."]


def device_notes(comparison: Comparison) -> list[str]:
    """Return the sentence about two kinds of device, or about dumps that contradict each other; else nothing."""
    kinds = [side["device_kind"] for side in (comparison.before, comparison.after)]
    if all(kinds) and kinds[0] != kinds[1]:
        said = " → ".join(printable(kind, 60) for kind in kinds)
        return [f"The runs are of two kinds of device, {said}: the device may make the difference, not the program."]
    targets = [
        {row[f"{side}_compile_target"] for row in comparison.programs if row[f"{side}_compile_target"]}
        for side in ("before", "after")
    ]
    if all(targets) and not targets[0] & targets[1]:
        said = " → ".join(", ".join(sorted(printable(target, 30) for target in side)) for side in targets)
        return [f"The dumps are for different targets, {said}: the device may make the difference, not the program."]
    if comparison.device_facts:
        unknown = "Neither run says" if not any(kinds) else "One of the runs does not say"
        beside = "device_kind in a run.json beside their dumps"
        where = beside if comparison.is_in_memory else "bufferhouse runs set RUN device_kind=…"
        return [
            f"{unknown} what device it was compiled for, and the dumps contradict each other: "
            f"{'; '.join(comparison.device_facts)}. They may be of two kinds of device; "
            f"{where} tells them apart."
        ]
    return []


def explained(comparison: Comparison) -> list[Record]:
    """Return the programs with the biggest relevant changes; where none is relevant, with the biggest changes.

    Reshaped and renamed programs come first, and take no place of the others.
    """
    joined = [row for row in comparison.programs if row["status"] in CHANGES and row["delta_bytes"]]
    changed = [row for row in comparison.programs if row["status"] == "changed" and row["delta_bytes"]]
    return [*_biggest(joined), *_biggest(changed)]


def _biggest(changed: Sequence[Record]) -> list[Record]:
    chosen = [row for row in changed if row["is_relevant"]] or changed
    return sorted(chosen, key=lambda row: -abs(row["delta_bytes"]))[:_EXPLAINED]


def cause_section(row: Record, causes: Sequence[Record], *, exact: bool) -> Section:
    """Return why one program changed in one memory space."""
    where = {name: row[name] for name in KEY}
    space = space_title(row["platform"], row["memory_space"])
    heading = f"Why {printable(row['program_label'], 80)} changed in {space}"
    shown = [column for column in _CAUSES if any(one[column.name] is not None for one in causes)]
    lines, name = _lines(row, bytes_form(exact=exact)), f"causes-{place_key(row)}"
    return Section(heading, lines, shown, causes, name, "compare_causes", where, _SHOWN_CAUSES)


def place_key(row: Record) -> str:
    """Return the place of a record of `compare_programs` on a page, as part of an id."""
    begin = "" if row["status"] == "changed" else f"{row['status'].replace(' ', '-')}-"
    return f"{begin}{space_key(row)}-{row['status_rank']}"


def _lines(row: Record, said: Callable[..., str]) -> list[str]:
    before, after, change = (said(row[name], signed=name == "delta_bytes") for name in
                             ("before_bytes", "after_bytes", "delta_bytes"))  # fmt: skip
    lines = [f"{before} before, {after} after: {change}. The causes below sum to this change, to the byte."]
    if row["change_said"]:
        guess = " This pair is a guess." if row["guess"] else ""
        lines.append(f"{row['status'].capitalize()}: {printable(row['change_said'], 300)}.{guess}")
    if row["before_peak_position"] is None:
        return lines
    if row["before_like_position"] != row["before_peak_position"]:
        lines.append(
            f"The peak moved. In the program before it is at position {row['before_peak_position']:,}; the moment "
            f"there that is most like the peak after is position {row['before_like_position']:,}, with "
            f"{said(row['before_like_bytes'])} occupied."
        )
    if row["reordered_count"]:
        lines.append(
            f"The schedule changed: another order for {row['reordered_count']:,} of "
            f"{counted(row['ordered_count'], 'matched value')}."
        )
    return lines


def rollup_section(comparison: Comparison, by: Sequence[str]) -> list[Section]:
    """Return one table for each of `by`: the changes of all programs, added up by group."""
    return [
        Section(
            f"All changes by {key.replace('_', ' ')}",
            [],
            [Column("group_label", key.replace("_", " "), limit=80), *_ROLLUP],
            rolled_up(comparison.rows, key),
            f"by-{key}",
            shown=_SHOWN_CAUSES,
        )
        for key in by
    ]


def compare_sections(
    comparison: Comparison, *, by: Sequence[str] = (), exact: bool = False, explain: Sequence[Record] | None = None
) -> list[Section]:
    """Return all sections that have something to show; `explain` are the programs whose causes are shown, if given."""
    first = Section("", [*subtitle(comparison, exact=exact), *notes(comparison)])
    statuses = status_sections(comparison, exact=exact)
    changed = [section for section in statuses if section.where["status"] in (RESHAPED, "changed")]
    others = [section for section in statuses if section.where["status"] not in (RESHAPED, "changed")]
    chosen = explained(comparison) if explain is None else explain
    causes = groups.by(key_of, comparison.causes)
    return [
        first,
        *flag_section(comparison.flags),
        *donation_section(comparison.lost_donations),
        *totals_section(comparison, exact=exact),
        *changed,
        *(cause_section(row, causes.get(key_of(row), []), exact=exact) for row in chosen),
        *rollup_section(comparison, by),
        *others,
    ]
