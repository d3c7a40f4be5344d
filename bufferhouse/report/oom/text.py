"""Findings about programs that did not fit, as text."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bufferhouse.errors import counted
from bufferhouse.messages.figures import Figure, nominal, shows
from bufferhouse.messages.figures import printed as size_text
from bufferhouse.messages.message import ALLOCATOR_LIMIT, HOST, IN_USE, LARGEST_FREE, Message, Refused
from bufferhouse.messages.rules import NOT_COUNTED
from bufferhouse.oom.finding import Finding, record
from bufferhouse.query.statements import Record
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import human_bytes, printable, sentence, some_of
from bufferhouse.report.text.github import annotation
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, plain_json

_MOST_NAMED = 10  # dumps that no message is about, and paths that could not be read
_SPACES = {None: "device memory", HOST: "the memory that a GPU pins on its host"}  # others are called by their names
_BAR = 24  # characters for the capacity: twice as many and the line between fit a terminal of 80
_SAID = {
    "T4": "The compiler gave up early, before it assigned buffers: there is no dump, and the figure is its estimate.",
    "T7": "One value is too large for an address of this chip, however much memory there is.",
    **dict.fromkeys(("T8", "G1", "G2"), "It did not fit while it ran: no dump says what else was in memory then."),
    "G3": "The compilation goes on, as if there were no limit.",
    "R": "A warning of rematerialization: the program may fit all the same.",
}
_T3 = "Its HLO temporaries are all allocations: parameters, temporaries, outputs and constants together."
_FIGURES = [
    Column("name", "figure"),
    Column("printed", "printed"),
    Column("bytes", "bytes", "bytes"),
    Column("rule", "which is"),
]
_PARTS = [Column("name", "part"), Column("bytes", "bytes", "bytes"), Column("bar", "of the capacity", limit=80)]
_VALUES = [
    Column("value_name", "value"),
    Column("shape", "shape", limit=50),
    Column("bytes", "owned", "bytes"),
    Column("worth_bytes", "worth", "bytes"),
    Column("padding_bytes", "padding", "bytes", rank=2),
    Column("positions", "positions", "count", rank=3),
    Column("kind", "kind", rank=4),
    Column("op_name", "op_name", limit=60, rank=1),
    Column("source", "source", limit=60),
]
_KERNEL = [
    Column("instruction", "instruction"),
    Column("shape", "shape", limit=50),
    Column("bytes", "bytes", "bytes"),
    Column("tag", "what it is", limit=80, rank=1),
    Column("op_name", "op_name", limit=60),
    Column("source", "source", limit=60),
]
_LISTED = [column for column in _KERNEL if column.name not in ("tag", "source")]
_ADVICE = [
    Column("kind", "change"),
    Column("bytes", "concerns", "bytes"),
    Column("change", "how", limit=100, is_prose=True),
]


class Explanation(NamedTuple):
    """Findings, and what is refused in the logs.

    `silent` are the dumps of programs that did not fit and that no message is about; `unread` says of each dump that
    could not be read where it is and why.
    """

    findings: Sequence[Finding]
    refused: Sequence[Refused] = ()
    silent: Sequence[Record] = ()
    unread: Sequence[str] = ()


def oom_text(found: Explanation, form: str) -> str:
    """Return findings as table, markdown, json, or github: annotations of a workflow."""
    findings, refused, silent, unread = found
    if form == "json":
        return plain_json(
            {
                "findings": [record(one) for one in findings],
                "refused": [
                    {
                        "log": one.log, "line": one.line_number, "column": one.column_number, "expected": one.expected,
                        "found": one.found, "count": one.count,
                    }
                    for one in refused
                ],
                "without_message": [
                    {"program": one["program_name"], "module": one["module_name"], "dump": one["source_uri"]}
                    for one in silent
                ],
                "unread_dumps": list(unread),
            }
        )  # fmt: skip
    if form == "github":
        told_ones = [_annotation(one) for one in findings if one.message.is_failure]
        others = [*map(refused_line, refused), *([_silent(silent)] if silent else [])]
        if unread:
            others.append(_unread(unread) if told_ones or others else title(found))
        told_ones += [annotation("error", one, title="bufferhouse oom") for one in others]
        return "\n".join(told_ones)
    sections = [section for finding in told(findings) for section in oom_sections(finding)]
    return report_text(title(found), [*sections, *sections_about_all(found)], form)


def sections_about_all(found: Explanation) -> list[Section]:
    """Return what is about no finding alone: lines that are refused, programs without a message, dumps unread."""
    return [*_refused_section(found.refused), *_silent_section(found.silent), *_unread_section(found.unread)]


def _silent_section(silent: Sequence[Record]) -> list[Section]:
    """Return the programs that did not fit, as files beside their dumps say, and that no message is about, if any."""
    return [Section(_silent(silent), _first_of([one["source_uri"] for one in silent]), name="silent")] if silent else []


def _unread_section(unread: Sequence[str]) -> list[Section]:
    """Return the dumps that could not be read, if any: a message may be about one of them."""
    return [Section(_unread(unread), _first_of(unread), name="unread")] if unread else []


def _first_of(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST_NAMED
    return [*map(printable, lines[:_MOST_NAMED]), *([f"and {counted(more, 'other')}"] if more > 0 else [])]


def _unread(unread: Sequence[str]) -> str:
    return f"{counted(len(unread), 'path')} of dumps could not be read"


def _silent(silent: Sequence[Record]) -> str:
    of_whom = printable(silent[0]["program_name"]) if len(silent) == 1 else counted(len(silent), "program")
    # A message that is doubted, or that fits no dump, may be about it.
    return f"{of_whom} did not fit, as files beside the dump say; no message is known to be about it: name its log"


def _refused_section(refused: Sequence[Refused]) -> list[Section]:
    """Return the lines that look like messages and are none that is known, and the logs that cannot be read, if any."""
    said = _not_read(refused)
    return [Section(f"{said[0].upper()}{said[1:]}", [*map(refused_line, refused)], name="refused")] if refused else []


def refused_line(one: Refused) -> str:
    """Return the place of what is refused, what was expected and what was found, safe to print."""
    if one.line_number is None:
        return printable(f"{one.log}: expected {one.expected}, found: {one.found}")
    return printable(f"{one.log}:{one.line_number}:{one.column_number}: expected {one.expected}, found {one.found!r}")


def _not_read(refused: Sequence[Refused]) -> str:
    """Return how many logs could not be read, and how many lines were not understood."""
    logs = sum(one.line_number is None for one in refused)
    lines = sum(one.count for one in refused if one.line_number is not None)
    said = {f"{counted(logs, 'log')} could not be read": logs, f"{counted(lines, 'line')} not understood": lines}
    return ", ".join(part for part, count in said.items() if count)


def told(findings: Sequence[Finding]) -> list[Finding]:
    """Return what a reader is shown: failures; warnings of the compiler only where nothing failed."""
    failures = [one for one in findings if one.message.is_failure]
    return failures or list(findings)


def title(found: Explanation) -> str:
    """Return what was found in one line."""
    if failures := sum(one.message.is_failure for one in found.findings) or len(found.silent):
        return f"{counted(failures, 'program')} did not fit"
    if found.refused or found.unread:
        missing = [_not_read(found.refused)] * bool(found.refused) + ["dumps could not be read"] * bool(found.unread)
        return f"Whether a program did not fit is not known: {', '.join(missing)}"
    return "No failure for lack of memory was found"


def verdict(finding: Finding) -> str:
    """Return in a sentence what was refused, by how much and where."""
    message = finding.message
    is_known = finding.dump is not None and finding.doubt is None
    name = message.module or (finding.dump["program_name"] if is_known else None) or "a program"
    space = _SPACES.get(message.memory_space) or message.memory_space.upper()
    needed, limit = message.needed, message.limit
    need = human_bytes(finding.needed_bytes) if finding.needed_bytes is not None else needed and needed.printed
    capacity = limit and _size(limit)
    about = "about " if finding.is_over_estimate else ""
    over = f", {about}{human_bytes(finding.over_bytes)} too much" if (finding.over_bytes or 0) > 0 else ""
    if message.dialect == "G3":
        taken, planned = (human_bytes(message.figure(one).size_bytes) for one in ("arguments_and_outputs", "limit"))
        return (
            f"{printable(name)}: its arguments and outputs alone take {taken}, over the compiler's {planned}; "
            "it may not fit when it runs."
        )
    if not message.is_failure:
        return f"{printable(name)}: rematerialization did not reach its limit; it may fit all the same."
    return f"{printable(name)}: {need or 'its values'} do not fit into {space}" + (
        f" of {capacity}{over}." if capacity else "."
    )


def oom_sections(finding: Finding) -> list[Section]:
    """Return the sections of one finding: the verdict, where the bytes go, the values, what would change it."""
    figures = _figures(finding)
    columns = _FIGURES if figures else ()
    sections = [Section(verdict(finding), [*_told_about(finding)], columns, figures, "figures")]
    if not finding.message.is_failure:
        return sections
    if finding.parts:
        capacity = finding.capacity_bytes
        columns = _PARTS if capacity else _PARTS[:-1]  # there is no bar without it
        bars = [{"name": name, "bytes": size, "bar": _bar(size, capacity)} for name, size in finding.parts.items()]
        sections.append(Section("Where the bytes go", _bars_are(finding), columns, bars, "parts"))
    if finding.values:
        sections.append(_values_section(finding))
    if finding.advice:
        about = "Changes that the dump supports. The bytes are those that a change concerns; it may save fewer."
        sections.append(Section("What could change it", [about], _ADVICE, finding.advice, "advice"))
    return sections


def _told_about(finding: Finding) -> Iterator[str]:
    """Yield what stands below the verdict: where the message is, who else says it, and which dump it is about."""
    message = finding.message
    yield f"{message.dialect} in line {message.line_number:,} of {printable(message.log)}"
    if message.ranks:
        yield f"said by {counted(len(message.ranks), 'rank')}: {some_of(message.ranks, 8)}"
    if others := message.other_logs:
        yield f"said in {counted(len(others), 'other log')}, too: {some_of(others, 8)}"
    for fault in message.faults:
        yield f"The message cannot be relied on: {printable(fault)}."
    if alike := finding.alike_count:
        said = f"{counted(alike, 'message')} with the same beginning, cut or mixed with other lines"
        yield f"Not shown: {said}; perhaps about another program."
    if tensorcore := message.figure("tensorcore"):
        sparsecore = message.figure("sparsecore").printed
        yield f"Together they take too much: TensorCore {tensorcore.printed}, SparseCore {sparsecore}."
    elif message.dialect in _SAID:
        yield _SAID[message.dialect]
    if message.dialect.startswith("T3"):
        yield _T3
    if free := message.figure("free"):
        yield f"Free was {free.printed}."
    if message.figure(IN_USE):
        yield _of_allocator(message)
    elif message.dialect == "G2" or message.is_rounded_up:
        yield "With TF_CPP_MIN_LOG_LEVEL=0, set before JAX is imported, the allocator of a GPU logs what it had in use."
    if finding.dump:
        yield f"dump: {printable(finding.dump['source_uri'])}"
        if finding.chosen:
            yield printable(sentence(finding.chosen))
    elif message.dialect != "T4" or tensorcore:  # else it is said that there is none
        yield f"{'dump not known' if finding.several else 'no dump'}: {finding.reason}"
    if finding.doubt:
        yield f"The dump, of {printable(finding.dump['program_name'])}, may be another program's: {finding.doubt}."
    if finding.lacks:
        yield f"The dump has no allocation of {finding.lacks}: it may be of the module at other sizes."
    unknown = [one for one in finding.figures if not one.is_reproduced and one.found_bytes is not None]
    for one in unknown:
        yield (
            f"{one.figure.name} {one.figure.printed} is unknown: the rule of this compiler gives "
            f"{size_text(one.found_bytes)} ({one.found_bytes:,} B)"
        )
    besides = [one for one in message.figures if one.name.startswith("program_") and one.printed != "0B"]
    if any(one.figure.name == "used" for one in unknown) and besides:
        named = ", ".join(f"{one.name.removeprefix('program_')} {one.printed}" for one in besides)
        yield f"The figure includes what else the program takes, which is in no dump: {named}."


def _of_allocator(message: Message) -> str:
    """Return what the allocator of the process had when it failed, and whether that left enough."""
    limit, in_use, block = (message.figure(name) for name in (ALLOCATOR_LIMIT, IN_USE, LARGEST_FREE))
    of_limit = f"Of {_size(limit)} that its allocator may take, " if limit else "In its allocator, "
    said = f"{of_limit}{_size(in_use)} were in use"
    said += f"; the largest free block was {_size(block)}." if block else "."
    needed = nominal(message.needed.printed)
    if limit is None:
        return said
    if needed > nominal(limit.printed):
        return f"{said} The allocation alone is larger."
    if needed <= nominal(limit.printed) - nominal(in_use.printed):
        return f"{said} The rest would be enough: it was in pieces, or other processes had it."
    return said


def _size(figure: Figure) -> str:
    return figure.printed if figure.size_bytes is None else human_bytes(figure.size_bytes)


def _figures(finding: Finding) -> list[Record]:
    """Return the figures of a message that say something.

    Without a dump the message is all there is; with one a figure that is neither reproduced nor denied says nothing.
    """
    return [
        {
            "name": one.figure.name,
            "printed": one.figure.printed,
            "bytes": one.size_bytes,
            "rule": one.rule or "as printed",
        }
        for one in finding.figures
        if (one.is_reproduced or (finding.dump is None and one.found_bytes is None)) and one.rule != NOT_COUNTED
    ]


def _values_section(finding: Finding) -> Section:
    """Return the values at the peak, or the allocations that the message lists where no dump has them."""
    shown_count = len(finding.values)
    if not finding.message.is_of_default_space:
        about = "A buffer assignment does not show what a kernel takes while it runs; the message lists it."
        if finding.value_count > shown_count:
            about = f"{about} Of its {finding.value_count:,} allocations the first {shown_count} are shown."
        return Section("Allocations of the kernel", [about], _KERNEL, finding.values, "values")
    if finding.dump is None:
        about = f"The first {shown_count} of {len(finding.message.allocations):,}, as the message has them."
        return Section("Allocations that the message lists", [about], _LISTED, finding.values, "values")
    about = "Worth is how far the occupied peak falls without the value. The next highest moment limits it."
    if "other memory spaces" in finding.parts:
        about = f"Those of memory space 0 alone. {about}"
    if finding.value_count > shown_count:
        about = f"The {shown_count} largest owners of {finding.value_count:,}. {about}"
    return Section("Values at the peak", [about], _VALUES, finding.values, "values")


def _bars_are(finding: Finding) -> list[str]:
    capacity = finding.capacity_bytes
    lines = [f"The line | is the capacity, {human_bytes(capacity)}."] if capacity is not None else []
    lines.append(
        "Padding and fragmentation are included in the other parts."
        if "padding" in finding.parts
        else "The dump has no live ranges: which values are alive at the peak and what is padding is not known."
    )
    told = finding.message.figure("hlo_temp_fragmentation")
    own = finding.parts.get("fragmentation")
    if told and own is not None and not shows(told.printed, own):
        lines.append(f"The message counts fragmentation by a rule of its own: {told.printed}.")
    return [" ".join(lines)]


def _bar(size: int, capacity: int | None) -> str:
    if not capacity:
        return ""
    filled = min((size * _BAR + capacity // 2) // capacity, 2 * _BAR)
    return "█" * min(filled, _BAR) + "░" * max(_BAR - filled, 0) + "|" + "█" * max(filled - _BAR, 0)


def _annotation(finding: Finding) -> str:
    source = next((one["source"] for one in finding.values if one["source"]), None)
    return annotation("error", verdict(finding), title="bufferhouse oom", source=source)
