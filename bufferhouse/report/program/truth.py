"""The truth page of a program: every official number, and how it comes from the bytes of the dump.

The numbers are those of `marts.official_numbers_v1`; what no rule gives stands there as unknown.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, Record, ask_each
from bufferhouse.redaction import shell_word
from bufferhouse.report.opening import Origin, Reported, opened
from bufferhouse.report.program.data import find_dump
from bufferhouse.report.program.text import subtitle
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes, printable, space_title
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, json_text

SOURCE = "program_truth"  # the answer: the official numbers of dumps, as each file of each run sees them
_PLACE = ("run_id", "relative_path")
VERDICTS = {
    "agrees": "the number that is printed is the one computed from the dump",
    "differs": "the number that is printed is not the one computed from the dump",
    "not stored": "computed; no file that was read has the tool's own number, so it cannot be compared",
    "guessed": "computed, but by a guess about something that the dump does not say; it cannot be compared",
    "printed alone": "printed; it does not come from the bytes of the dump, so it cannot be compared",
    "not in the dump": "the rule is known, but no file that was read has what it needs",
    "not reported": "this compiler, or this dump, has no such number",
    "unknown": "no rule is known, so it cannot be computed from the dump",
}  # in the order in which they are explained
_HEADINGS = {
    "memory_analysis()": "compiled.memory_analysis()",
    "the dump": "Printed in the dump",
    "memory-usage report": "Memory-usage report",
    "XProf": "XProf's memory viewer",
    "OOM message": "Message about a program that did not fit",
}  # by who says the number
_COLUMNS = [
    Column("number", "number", is_whole=True, limit=80),
    Column("computed_bytes", "from the dump", "bytes"),
    Column("printed", "printed", limit=40),
    Column("verdict", "verdict", is_whole=True),
]
_UNKNOWN_COMPILER = "nothing says which compiler made the dump"


@dataclass(frozen=True, slots=True)
class Truth(Reported):
    """The official numbers of one dump of a program in one run."""

    dump: Record
    answer: Answer

    @property
    def name(self) -> str:
        """The name of the program, safe to print."""
        return printable(self.dump["program_name"], 120)


def read_truth(origin: Origin, word: str, *, run: str | None = None, wait: float = 0.0) -> Truth:
    """Ask for the official numbers of the program that `word` means, as `read_program` finds it.

    Raises:
        NothingToShow, UsageError, WarehouseBusy, WarehouseError: as `read_program`.
    """
    with opened(origin, wait) as (con, name, note):
        _, _, dump = find_dump(con, word, run)
        answer = ask_each(con, SOURCE, [dump["dump_id"]])[dump["dump_id"]]
    return Truth(name, note, dump, of_file(answer, dump["run_id"], dump["relative_path"]))


def of_file(answer: Answer, run_id: int, relative_path: str) -> Answer:
    """Return those of one file of one run, without the columns that say so."""
    places = [answer.columns.index(name) for name in _PLACE]
    rows = [row for row in answer.rows if [row[place] for place in places] == [run_id, relative_path]]
    return Answer(answer.columns, rows).without(*_PLACE)


def truth_text(truth: Truth, form: str, *, exact: bool = False) -> str:
    """Return the truth page in a form of `sections.FORMATS`; `exact` writes all bytes to the byte."""
    if form == "json":
        return json_text({**truth.provenance, "dump": truth.dump}, {SOURCE: truth.answer})
    sections = [Section("", [*subtitle(truth.dump), *notes(truth)])]
    for section, rules in truth_sections(truth.answer.records, truth.dump["platform"]):
        sections += [section, Section("", rules)]
    sections.append(Section("Verdicts", [f"{name}: {said}." for name, said in verdicts(truth.answer.records).items()]))
    return report_text(f"Official numbers: {truth.name}", sections, form, exact=exact)


def truth_page(truth: Truth) -> str:
    """Return the whole page."""
    from bufferhouse.report.html.page import page

    return page(
        "truth.html",
        f"Official numbers: {truth.name}",
        {SOURCE: truth.answer},
        **truth.provenance,
        name=truth.name,
        subtitle=subtitle(truth.dump),
        notes=notes(truth),
        sections=truth_sections(truth.answer.records, truth.dump["platform"]),
        verdicts=verdicts(truth.answer.records),
    )


def truth_sections(numbers: Sequence[Record], platform: str | None) -> list[tuple[Section, list[str]]]:
    """Return a table for each who says official numbers, and the rules as sentences, which stand below it.

    `platform` names the memory spaces.
    """
    found = []
    for said_by in dict.fromkeys(one["said_by"] for one in numbers):
        own = [_shown(one, platform) for one in numbers if one["said_by"] == said_by]
        name = "truth-" + "".join(char if char.isalnum() else "-" for char in said_by.lower()).strip("-")
        section = Section(_HEADINGS.get(said_by, said_by), (), _COLUMNS, own, name)
        found.append((section, _rule_lines(own)))
    return found


def verdicts(numbers: Sequence[Record]) -> dict[str, str]:
    """Return what the verdicts on these numbers mean."""
    found = {one["verdict"] for one in numbers}
    return {name: said for name, said in VERDICTS.items() if name in found}


def notes(truth: Truth) -> list[str]:
    """Return the lines about all numbers: how many agree, differ and are unknown, and what would tell more."""
    return [*([truth.note] if truth.note else []), *verdict_lines(truth.answer.records, truth.dump["run_name"])]


def verdict_lines(numbers: Sequence[Record], run_name: str) -> list[str]:
    """Return how many numbers have each verdict, and the next step where nothing says the compiler."""
    counts = Counter(one["verdict"] for one in numbers)
    said = ", ".join(f"{name} {counts[name]}" for name in VERDICTS if counts[name])
    lines = [f"{counted(len(numbers), 'official number')}: {said}."]
    if any(one["why_text"] == _UNKNOWN_COMPILER for one in numbers):
        lines.append(
            f"Nothing says which compiler made the dump: bufferhouse runs set {printable(shell_word(run_name), 400)} "
            "compiler=… compiler_version=… platform=…"
        )
    return lines


def _shown(one: Record, platform: str | None) -> Record:
    """Return a number as tables show it."""
    space = one["memory_space"]
    return one | {
        "number": one["number_name"] + (f", {space_title(platform, space)}" if space is not None else ""),
        "printed": _printed(one),
        "holds": _holds(one),
    }


def _printed(one: Record) -> str | None:
    """Return the number that is printed, None where no file that was read has it."""
    if one["printed_text"] is not None:
        return one["printed_text"]
    if one["printed_bytes"] is None:
        return None
    moment = one["printed_position"]
    return exact_bytes(one["printed_bytes"]) + (f" at {moment:,}" if moment is not None else "")


def _holds(one: Record) -> str | None:
    """Return since which release the rule is known, and whether it was compared; None where there is none."""
    if one["rule"] == "unknown" or one["holds_since"] is None:
        return None
    until = f", not from {one['holds_below']} on" if one["holds_below"] else ""
    return (
        f"since {one['holds_since']}{until}; {'compared' if one['is_compared'] else 'not compared with this release'}"
    )


def _rule_lines(numbers: Sequence[Record]) -> list[str]:
    """Return a sentence for each rule, behind the names of the numbers that have it."""
    names: dict[str, list[str]] = {}
    for one in numbers:
        said = one["rule_text"]
        if (moment := one["computed_position"]) is not None:
            said += f" (position {moment:,})"
        rule = "; ".join(filter(None, (said, one["holds"] and f"rule known {one['holds']}", one["why_text"])))
        names.setdefault(rule, []).append(one["number_name"])
    return [f"{', '.join(dict.fromkeys(of))}: {rule}." for rule, of in names.items()]
