"""Dumps held against a lock, as text: the words are those of the gate of `compare`."""

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bufferhouse.compare.compare import Compared
from bufferhouse.config.threshold import RELEVANT, Threshold
from bufferhouse.errors import counted
from bufferhouse.lock.check import DONATION_LOST, Held, Judged, Moved, changed_builds, may_be_cut
from bufferhouse.lock.entry import Site
from bufferhouse.lock.file import same_options
from bufferhouse.query.statements import Answer, Record
from bufferhouse.redaction import shell_word
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.gate import (
    gate_message,
    gate_object,
    gate_sections,
    nothing_compared,
    over,
    programs_of,
)
from bufferhouse.report.compare.records import cause_with_bytes, exactly, program_records
from bufferhouse.report.site.addresses import function_address
from bufferhouse.report.site.sources import source_links
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import bytes_form, printable, some_of, space_title
from bufferhouse.report.text.github import annotation, place_of
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, plain_json

_SHOWN = 15
_NO_LIVE_RANGES = "the dump or the lock has no live ranges"
_EXPLAINED = 5  # programs
_MOST_NAMED = 5  # programs in an annotation
_SHOWN_CAUSES = 8
_LONGEST_COMMENT = 65_536  # characters that GitHub takes, a last line feed among them
_FEWER_ROWS = (200, 100, 50, 15, 5, 1)  # of a table, tried in this order
_LONGEST_LINE = 500  # characters, where a comment is too long
_PROGRAM = Column("program_label", "program", link="program_link")
_ON = Column("after_compile_target", "chip", rank=2)
_SPACE = Column("memory_space", "memory space", "count", rank=1)
_PLACE = [_PROGRAM, _ON, _SPACE]
_UNKNOWN = [*_PLACE, Column("after_bytes", "takes", "bytes")]
_UNDONATED = [*_PLACE, Column("lost_bytes", "not donated", "bytes")]
_UNJUDGED = [
    *_PLACE,
    Column("before_reserved_bytes", "reserved in the lock", "bytes", rank=3),
    Column("after_reserved_bytes", "reserved now", "bytes", rank=3),
]
_BOTH = [*_PLACE, Column("before_bytes", "in the lock", "bytes"), Column("after_bytes", "now", "bytes")]
_JOINED = [
    *_BOTH,
    Column("status", "it is", rank=2),
    Column("change_said", "what changed", limit=60, rank=1),
    Column("guess", "pair", rank=3),
]
_MOVED = [
    *_BOTH,
    Column("delta_bytes", "change", "change"),
    Column("main_cause_said", "main cause", rank=3),
]
_GONE = [_PROGRAM, Column("before_compile_target", "chip", rank=2), _SPACE, Column("before_bytes", "took", "bytes")]
_CAUSES = [
    Column("bytes", "bytes", "change"),
    Column("cause", "cause", is_whole=True),
    Column("kind", "kind", rank=4),
    Column("value_count", "values", "count", rank=3),
    Column("shape", "shape", limit=60, rank=2),
    Column("op_name", "op_name", limit=60, rank=1),
    Column("source", "source", limit=60, link="source_link"),
]
_BUILDS = [
    Column("chip", "chip"),
    Column("before", "in the lock", limit=80, is_whole=True),
    Column("after", "now", limit=80, is_whole=True),
    Column("program_count", "programs", "count"),
]


class Links(NamedTuple):
    """Where a comment leads to: the address of a site, and the pattern of addresses of source lines.

    `root` is the folder of the lock, from which its files are told, and `folder` the same as its repository calls it.
    """

    site: str | None = None
    source_url: str | None = None
    git_revision: str | None = None
    root: Path = Path()
    folder: str = "."

    def in_repository(self, source: str | None) -> str | None:
        """Return a `file:line` of the lock as annotations need it: from the top of the repository on."""
        file, _ = place_of(source)
        is_own = file is not None and not file.startswith("/") and (self.root / file).is_file()
        return posixpath.normpath(f"{self.folder}/{source}") if is_own else source

    @property
    def source(self) -> Callable[[str | None, int | None], str | None]:
        """The function from file and line to an address."""
        return source_links(self.source_url, self.git_revision)


_NO_LINKS = Links()


def lock_text(
    held: Held,
    judged: Judged,
    limit: Threshold,
    form: str,
    *,
    name: str = "memory.lock",
    links: Links = _NO_LINKS,
    exact: bool = False,
    chip: str | None = None,
) -> str:
    """Return what was found in a form of `sections.FORMATS`, as workflow commands of GitHub, or as a comment for it.

    `name` is the lock, as messages call it. `exact` writes all bytes to the byte. `chip` is the one that the call said
    of all dumps: an update without it would make entries of another chip.
    """
    check = _Check(held, judged, limit, name, links, exact, same_options(name, chip), _comparison(held, links))
    if form == "json":
        return plain_json(check.record())
    if form == "github":
        return check.github()
    has_grown = any((row.delta_bytes or 0) > 0 for row in held.rows)
    title = f"{name}: {'not passed' if not judged.is_passed else 'passed' if has_grown else 'nothing grew'}"
    if form == "comment":
        return _comment(title, check.sections(), exact=exact)
    return report_text(title, check.sections(), form, exact=exact)


def unmade_text(name: str, reason: str) -> str:
    """Return the comment about a check that could not be made."""
    return _comment(f"{name}: not checked", [Section("The check could not be made", reason.split("\n"))], exact=False)


def _comment(title: str, sections: Sequence[Section], *, exact: bool) -> str:
    """Return a report in Markdown; rows beyond what GitHub takes of a comment are counted, long texts cut."""
    text = report_text(title, sections, "markdown", exact=exact)
    for rows in _FEWER_ROWS:
        if len(text) < _LONGEST_COMMENT:
            break
        text = report_text(title, [_shorter(section, rows) for section in sections], "markdown", exact=exact)
    return text


def _shorter(section: Section, rows: int) -> Section:
    """Return a section with a limited number of rows, and texts cut to what a terminal shows."""
    texts = {column.name: column.limit for column in section.columns if column.is_text}
    records = [
        record | {key: printable(record[key], most) for key, most in texts.items() if record[key] is not None}
        for record in section.printed[:rows]
    ]
    return replace(
        section,
        lines=[printable(line, _LONGEST_LINE) for line in section.lines],
        records=[*records, *section.records[len(records) :]],
        shown=len(records),
    )


def _comparison(held: Held, links: Links) -> Comparison:
    """Return the rows as the gate of `compare` tells them, which needs no more of a comparison."""
    sides = [
        {"side": side, "dump_count": len(lock.entries)}
        for side, lock in (("before", held.before), ("after", held.after))
    ]
    programs = program_records(held.rows, RELEVANT, sides)
    if links.site:
        for record in programs:
            record["program_link"] = f"{links.site.rstrip('/')}/{quote(function_address(record['program_name']))}"
    return Comparison("", None, held.metric, RELEVANT, held.rows, {"compare_programs": Answer.of(programs)})


@dataclass(frozen=True, slots=True)
class _Check:
    """What is told of dumps held against a lock: `again` are the options by which a copied command means the same."""

    held: Held
    judged: Judged
    limit: Threshold
    name: str
    links: Links
    exact: bool
    again: str
    comparison: Comparison

    def record(self) -> Record:
        """Return it for machines; the bytes of `causes` of a program sum to its `delta_bytes`."""
        held, judged, records = self.held, self.judged, self.comparison.by_key
        by_key = {row.key: row for row in held.rows}
        return {
            "lock": self.name,
            "is_passed": judged.is_passed,
            "metric": held.metric,
            "gate": gate_object(self.comparison, judged.verdict, self.limit),
            "programs": [
                {**record, "causes": [_cause(moved) for moved in by_key[key].causes]} for key, record in records.items()
            ],
            **{
                part: [records[row.key]["program_label"] for row in getattr(judged, part)]
                for part in ("unknown", "undonated", "within_limit", "shrunk", "gone", "unjudged", "joined")
            },
            "refused": list(judged.refused),
            "absent_chips": held.absent_chips,
            "builds": changed_builds(held),
            "notes": held.after.notes,
        }

    def sections(self) -> list[Section]:
        """Return the verdict, what it does not judge, why programs grew, what to do, and the rest."""
        held, judged, name = self.held, self.judged, self.name
        show, records = exactly if self.exact else dict, self.comparison.by_key

        def table(title: str, line: str, columns: Sequence[Column], part: str) -> list[Section]:
            """Return the table of the rows of a part of the judgment, called as that is; none without a row."""
            rows = [
                show(records[row.key]) | {"lost_bytes": held.donations.get(row.key)} for row in getattr(judged, part)
            ]
            return [Section(title, [line], columns, rows, part, shown=_SHOWN)] if rows else []

        sections = []
        if judged.verdict.compared_count or _has_left_all_out(judged):
            sections = gate_sections(self.comparison, judged.verdict, self.limit, exact=self.exact)
            if judged.verdict.is_passed and not judged.is_passed:
                sections[0] = replace(sections[0], title="Growth is within the limit")
        if judged.refused:
            lines = [printable(uri, 200) for uri in judged.refused[:_SHOWN]]
            sections.append(Section(f"{counted(len(judged.refused), 'dump')} could not be read", lines))
        sections += table(f"Not in {name}", f"Nobody has reviewed these. {self._way_in()}", _UNKNOWN, "unknown")
        sections += table("Not judged", self._why_not_judged(), _UNJUDGED, "unjudged")
        line = "They grew by less than the limit, but lost a donation: outputs take memory beside arguments."
        sections += table("Programs that lost a donation", line, _UNDONATED, "undonated")
        if builds := changed_builds(held):
            sections.append(Section("Another compiler or other flags", [], _BUILDS, builds, "builds", shown=_SHOWN))
        grown = [*judged.verdict.offenders, *judged.verdict.warned, *judged.undonated]
        sections += [self._why(row, records[row.key]) for row in grown[:_EXPLAINED]]
        if grown:
            sections.append(Section("What to do", [self._way_out(grown[0])]))
        line = "They take more than the lock says, by less than the limit, and pass."
        sections += table("Grown within the limit", line, _MOVED, "within_limit")
        line = f"{name} has them under another name or signature, and they are compared with that. {self._way_in()}"
        sections += table("Renamed or reshaped", line, _JOINED, "joined")
        line = "They take less than the lock allows, and may grow back unseen until it is updated."
        sections += table("Shrunk", line, _MOVED, "shrunk")
        why = (
            "These have no dump that could be read: they were not compiled, came from a cache of compilations, or are "
            "in a dump that could not be read."
            if judged.refused
            else "These have no dump: they were not compiled, or came from a cache of compilations."
        )
        line = f"{why} Their entries stay in the lock, unless it is written without --update."
        sections += table("No dump", line, _GONE, "gone")
        if notes := [*self._absent(), *held.after.notes]:
            sections.append(Section("Notes", [printable(note) for note in notes[:_SHOWN]]))
        return sections

    def github(self) -> str:
        """Return one workflow command a line: errors stand at the line of code that takes most of the growth."""
        held, judged, limit, name, exact = self.held, self.judged, self.limit, self.name, self.exact
        records, size, lines = self.comparison.by_key, bytes_form(exact=exact), []

        def add(level: str, said: str, site: Site | None = None) -> None:
            lines.append(annotation(level, said, title=name, source=self.links.in_repository(site and site.source)))

        def label(row: Compared) -> str:
            return records[row.key]["program_label"]

        def place(row: Compared) -> str:
            return f"{label(row)}, {space_title(row.pair.any.platform, row.memory_space)}"

        for level, rows in (("error", judged.verdict.offenders), ("warning", judged.verdict.warned)):
            for row in rows:
                site, said = _culprit(row), gate_message(records[row.key], limit, exact=exact)
                add(level, f"{said}; {site.op_name}" if site and site.op_name else said, site)
        if _has_left_all_out(judged):
            add("error", nothing_compared(self.comparison))
        for row in judged.undonated:
            lost = size(held.donations[row.key])
            add("error", f"{label(row)}: {lost} of parameters are not donated any more", _culprit(row))
        for row in judged.unknown:
            add("error", f"{place(row)}: not in {name}, takes {size(row.after_bytes)}")
        for row in judged.unjudged:
            why = "its dump has allocations alone, and may be cut short" if may_be_cut(held, row) else _NO_LIVE_RANGES
            add("error", f"{place(row)}: not judged, as {why}")
        for uri in judged.refused:
            add("error", f"could not be read: {uri}")
        total = f"{counted(judged.verdict.compared_count, 'comparison')} with {name}"
        unknown = programs_of(self.comparison.records(judged.unknown))
        # The first notice: GitHub shows ten of each level.
        add("notice", f"{total}, {over(self.comparison, judged.verdict, limit, exact=exact)}, {unknown} not in it")
        for row in judged.within_limit:
            grown = size(row.delta_bytes, signed=True)
            add("notice", f"{place(row)}: {grown}, within the limit {limit.said(exact=exact)}", _culprit(row))
        for row in {row.pair: row for row in judged.joined}.values():
            add("notice", f"{label(row)}: {row.status}, {records[row.key]['change_said']}; not in {name} as it is now")
        for row in judged.shrunk:
            change = size(row.delta_bytes, signed=True)
            add("notice", f"{place(row)}: {change}, less than {name} says. {self._way_in('Lower it')}")
        read = " that could be read" if judged.refused else ""
        if gone := sorted({label(row) for row in judged.gone}):
            were, entries = ("was", "its entry stays") if len(gone) == 1 else ("were", "their entries stay")
            left = f"without a dump{read} {were} not compared, and {entries} in {name}"
            add("notice", f"{counted(len(gone), 'program')} {left}: {some_of(gone, _MOST_NAMED, 200)}")
        for said in (*self._absent(), *self._rebuilt()):
            add("notice", said)
        return "\n".join(lines)

    def _why(self, row: Compared, record: Record) -> Section:
        said = bytes_form(exact=self.exact)
        where = space_title(record["platform"], row.memory_space)
        verb = "grew" if (row.delta_bytes or 0) > 0 else "lost donations"
        title = f"Why {printable(record['program_label'], 80)} {verb} in {where}"
        before, after, change = said(row.before_bytes), said(row.after_bytes), said(row.delta_bytes, signed=True)
        lines = [f"{before} in the lock, {after} now: {change}. The causes sum to it."]
        if record["change_said"]:
            guess = ", a guess" if record["guess"] else ""
            lines.append(f"{row.status}{guess}: {printable(record['change_said'], 200)}")
        if lost := self.held.donations.get(row.key):
            lines.append(
                f"{said(lost)} of parameters are not donated any more: outputs that were placed on them have "
                "memory of their own."
            )
        if (main := row.main_cause) and row.causes[0].cause != main[0]:
            lines.append(
                f"Main cause: {cause_with_bytes(*main, exact=self.exact)}. What comes to the peak and what leaves it "
                "are set off against each other."
            )
        causes = [_cause(moved, self.links) for moved in row.causes]
        if (left := len(causes) - _SHOWN_CAUSES) > 0:
            lines.append(f"The largest causes; --format json has {left} more.")
        return Section(title, lines, _CAUSES, causes[:_SHOWN_CAUSES])

    def _way_in(self, what: str = "Add them") -> str:
        return f"{what} with: bufferhouse lock --update{self.again} DUMPS"

    def _way_out(self, row: Compared) -> str:
        program = row.pair.any
        same = {key[2] for key in self.held.after.entries if key[0] == program.program_name}
        # The name would accept every program that is called so, grown or not.
        first = shell_word(program.program_name) if len(same) == 1 else program.program_id
        return (
            f"If it is intended: bufferhouse lock{self.again} --accept {first} --why REASON DUMPS keeps the reason in "
            f"{self.name}; bufferhouse lock{self.again} --update DUMPS writes all that moved. Commit the file with the "
            "change."
        )

    def _absent(self) -> list[str]:
        return [
            f"there are no dumps for {chip}: {counted(count, 'program')} of {self.name} not compared"
            for chip, count in self.held.absent_chips.items()
        ]

    def _why_not_judged(self) -> str:
        cut = [may_be_cut(self.held, row) for row in self.judged.unjudged]
        said = []
        if not all(cut):
            said.append(
                f"{_NO_LIVE_RANGES[0].upper()}{_NO_LIVE_RANGES[1:]}, so the {self.held.metric} bytes are unknown. "
                "Reserved bytes need none."
            )
        if any(cut):
            said.append(
                f"{self.name} knows the peak, and the dump has allocations alone: its file may be cut short, and its "
                "bytes too few. If it is whole, take it into the lock with --update."
            )
        return " ".join(said)

    def _rebuilt(self) -> list[str]:
        return [
            f"{row['chip']}: {counted(row['program_count'], 'program')} of another build: {row['before']} in "
            f"{self.name}, {row['after']} now"
            for row in changed_builds(self.held)[:_SHOWN]
        ]


def _has_left_all_out(judged: Judged) -> bool:
    """Return whether nothing was compared because everything was left out; otherwise other lines say why."""
    return not (judged.verdict.compared_count or judged.unknown or judged.unjudged or judged.refused)


def _cause(moved: Moved, links: Links | None = None) -> Record:
    site = moved.site
    file, line = place_of(site and site.source)
    return {
        "bytes": moved.size_bytes,
        "cause": moved.cause,
        "kind": site and site.kind,
        "value_count": (site and site.value_count) or None,
        "shape": (site and site.shape) or None,
        "op_name": (site and site.op_name) or None,
        "source": (site and site.source) or None,
        **({"source_link": links.source(file, line)} if links else {}),
    }


def _culprit(row: Compared) -> Site | None:
    """Return the site of a line of code that grew most, and of a lost donation first."""
    named = [one for one in row.causes if one.site and one.site.source and one.size_bytes > 0]
    lost = [one for one in named if one.cause == DONATION_LOST]
    best = next(iter(lost or sorted(named, key=lambda one: -one.size_bytes)), None)
    return best.site if best else None
