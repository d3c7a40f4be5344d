"""The pages of programs: one for each program and each run in which its dump differs from that before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import duckdb

from bufferhouse.compare.groups import gathered
from bufferhouse.query.statements import Answer, Record, ask, ask_each
from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import FIRST_ROWS_IN_SITE, page
from bufferhouse.report.program.data import Program, Space, asked_of, spaces_of
from bufferhouse.report.program.page import BAR_WIDTH, shown
from bufferhouse.report.program.savings import savings_of, with_drawn_slots
from bufferhouse.report.program.text import notes, subtitle
from bufferhouse.report.program.truth import SOURCE as TRUTH
from bufferhouse.report.program.truth import of_file, truth_sections, verdict_lines, verdicts
from bufferhouse.report.site.addresses import function_address, run_address
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.figures import figures
from bufferhouse.report.site.inventory import Compiled, Inventory
from bufferhouse.report.site.manifest import code, fingerprint
from bufferhouse.report.site.sources import source_links
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.sections import Section
from bufferhouse.whatif.space import read_spaces

VALUES = 1_200  # in the page, so that it stays below 300 KB; the figures beside it have more
OWNERS = 300
SMALL_BYTES = 1024  # a memory space below is folded
_BATCH = 400  # dumps that are asked for at once
# The columns that a reader looks for first, where a narrow screen does not cut them off.
_FIRST = ("value_name", "owned_bytes", "op_name", "source_place")
_EMBEDDED = (
    "program_capacity",
    "program_spaces",
    "program_timeline",
    "program_allocations",
    "program_map",
    "program_map_spaces",
)
_EDITED = ("program_edits", "program_edited_allocations", "program_edited_map")
_SAVINGS, _MAPPED = 8, 1  # edits in the ranking, and those with a map
_EMPTY = Answer([], [])
_CAPACITY = ("run_id", "device_kind", "capacity_bytes", "capacity_source")
_OF_THE_POINT = (
    "platform", "track", "device_kind", "compile_target", "program_id", "program_name", "dump_id",
)  # fmt: skip
_SAID = ("run_name", "compiler", "compiler_version", "track", "git_revision", *_CAPACITY[1:])  # of a run, in a page


class Programs:
    """The pages of all programs of an inventory."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, inventory: Inventory, shared: Shared, source_url: str | None
    ) -> None:
        self._con, self._inventory, self._shared, self._source_url = con, inventory, shared, source_url
        self.wanted = {address: self._shows(one) for address, one in inventory.compiled.items()}

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages; some hundred are read at once."""
        for first in range(0, len(addresses), _BATCH):
            compiled = [self._inventory.compiled[address] for address in addresses[first : first + _BATCH]]
            asked = asked_of(self._con, list({one.point.dump_id for one in compiled}))
            numbers = ask_each(self._con, TRUTH, list(asked))
            values = read_spaces(self._con, list(asked))  # of memory space 0, which people run out of
            files = ask(self._con, "site_dumps", run_ids=sorted({one.point.run_id for one in compiled}))
            places = {row[:3]: dict(zip(files.columns[3:], row[3:], strict=True)) for row in files.rows}
            for one in compiled:
                point = one.point
                place = places[point.run_id, point.program_id, point.dump_id]
                savings = savings_of(values[point.dump_id], most=_SAVINGS, mapped=_MAPPED)
                truth = {TRUTH: of_file(numbers[point.dump_id], point.run_id, place["relative_path"])}
                yield self._page(one, asked[point.dump_id] | savings | truth, place)

    def _shows(self, one: Compiled) -> str:
        """Return the fingerprint of a page: dumps never change, so their ids identify its content."""
        point, run = one.point, self._inventory.run_of[one.point.run_id]
        # Files beside a known dump may come with a later load, and messages with a load without dumps.
        facts = [run[name] for name in (*_SAID, "loaded_at", "fingerprint")]
        facts.append(self._inventory.beside.get(point.run_id, {}).get(point.dump_id))
        counts = point.variant_count, point.dump_count
        return fingerprint(code(), self._source_url, point[:6], point.dump_id, counts, facts, self._links(one))

    def _links(self, one: Compiled) -> list[tuple[str, str]]:
        """Return the links of the page: the run, all runs of the program, the step that led here, the page before."""
        inventory, point = self._inventory, one.point
        run = inventory.run_of[point.run_id]["run_name"]
        links = [
            (f"Run {printable(run, 60)}", run_address(run)),
            ("All runs of the program", function_address(point.program_name)),
        ]
        if one.before is not None:
            before = inventory.run_of[one.before.run_id]["run_name"]
            if step := inventory.step_of.get((one.before.run_id, point.run_id)):
                links.append((f"Comparison with {printable(before, 60)}", step))
            links.append((f"The program in {printable(before, 60)}", inventory.page_of[one.before.compiled]))
        return links

    def _page(self, one: Compiled, answers: dict[str, Answer], place: Record) -> Made:
        run = self._inventory.run_of[one.point.run_id]
        answers = self._with_sources(answers, run["git_revision"])
        limit = [tuple(run[name] for name in _CAPACITY)] if run["capacity_bytes"] is not None else []
        answers = answers | {"program_capacity": Answer(list(_CAPACITY), limit)}
        dump = _dump(one, run, place)
        empty = {"program_dumps": _EMPTY, "program_trend": _EMPTY}
        cut = _cut(answers)
        text = self._text(one, Program("", None, answers | empty, dump, spaces_of(cut | empty)), cut)
        return Made(one.address, text, figures(one.address, {"dump": dump}, answers))

    def _text(self, one: Compiled, program: Program, cut: dict[str, Answer]) -> str:
        spaces = [_shown(program, space) for space in program.spaces]
        # The largest first, so that it is seen without scrolling.
        spaces.sort(key=lambda space: (-space["facts"]["reserved_bytes"], space["memory_space"]))
        embedded = {name: answer for name, answer in cut.items() if name in (*_EMBEDDED, *_EDITED)}
        if any(space["peak"] and space["peak"].source for space in spaces):
            embedded["program_peak"] = cut["program_peak"]
        mapped = [space for space in spaces if space["mapped_count"]]
        has_timeline = any(space["has_timeline"] for space in spaces)
        crumbs = [("Programs", "programs/index.html"), (program.name, function_address(one.point.program_name))]
        frame = Frame(one.address, "Programs", self._shared, crumbs)
        count = one.point.variant_count
        variants = [f"This run has {count:,} different dumps of the program; this is the largest."] * (count > 1)
        scripts = ["map", "map_view", "map_draw"] * bool(mapped) + ["figure", "moment"] * has_timeline
        return page(
            "site_program.html",
            f"{program.name}: {printable(program.dump['run_name'], 80)}",
            embedded if mapped or has_timeline or "program_peak" in embedded else {},
            scripts=scripts,
            shared_texts=("program_map", "program_peak", "program_timeline"),
            frame=frame,
            program=program,
            subtitle=subtitle(program.dump),
            links=self._links(one),
            notes=[*variants, *notes(program)],
            spaces=spaces,
            mapped=mapped,
            has_edits="program_edits" in program.answers,
            map_values=VALUES,
            bar_width=BAR_WIDTH,
            warnings=program.answers["program_warnings"].records,
            truth=truth_sections(program.answers[TRUTH].records, program.dump["platform"]),
            truth_notes=verdict_lines(program.answers[TRUTH].records, program.dump["run_name"]),
            verdicts=verdicts(program.answers[TRUTH].records),
        )

    def _with_sources(self, answers: dict[str, Answer], git_revision: str | None) -> dict[str, Answer]:
        """Return the answers with the addresses of source lines, if `report.source_url` is configured."""
        if not self._source_url:
            return answers
        link = source_links(self._source_url, git_revision)
        drawn, peak = answers["program_map"], answers["program_peak"]
        file, line = drawn.columns.index("source_file"), drawn.columns.index("source_line")
        of_value = {row[0]: link(row[file], row[line]) for row in drawn.rows}
        value = peak.columns.index("value_id")
        return answers | {
            "program_map": Answer([*drawn.columns, "source_link"], [(*row, of_value[row[0]]) for row in drawn.rows]),
            "program_peak": Answer(
                [*peak.columns, "source_link"], [(*row, of_value.get(row[value])) for row in peak.rows]
            ),
        }


def _cut(answers: dict[str, Answer]) -> dict[str, Answer]:
    """Return the part of the answers that the page shows: the values with the largest areas, the largest owners."""
    drawn, peak, spaces = answers["program_map"], answers["program_peak"], answers["program_map_spaces"]
    if len(drawn.rows) <= VALUES and len(peak.rows) <= OWNERS:
        return answers
    rank = peak.columns.index("owner_rank")
    index, size = drawn.columns.index("allocation_index"), drawn.columns.index("size_bytes")
    space_of = {row[1]: row[0] for row in answers["program_allocations"].rows}
    left = gathered((space_of[row[index]], row[size]) for row in drawn.rows[VALUES:])
    counted = []
    for space, value_count, left_count, largest in spaces.rows:
        more = left.get(space, [])
        biggest = max([*more, largest or 0]) if more or left_count else largest
        counted.append((space, value_count, left_count + len(more), biggest))
    cut = answers | {
        "program_map": Answer(drawn.columns, drawn.rows[:VALUES]),
        "program_map_spaces": Answer(spaces.columns, counted),
        "program_peak": Answer(peak.columns, [row for row in peak.rows if row[rank] <= OWNERS]),
    }
    return with_drawn_slots(cut)


def _dump(one: Compiled, run: Record, place: Record) -> Record:
    """Return what a page says of its dump, as `program_dumps` has it."""
    point = one.point
    facts = {name: run[name] for name in ("run_name", "started_at", "compiler", "compiler_version", "git_revision")}
    return {
        "run_id": point.run_id,
        **facts,
        **{name: getattr(point, name) for name in _OF_THE_POINT},
        **place,
        "variant_count": point.variant_count,
        "dump_count": point.dump_count,
    }


def _shown(program: Program, space: Space) -> Record:
    found = shown(program, space)
    return found | {
        "has_timeline": bool(space.timeline and space.facts["occupied_peak_bytes"]),
        "is_small": space.facts["reserved_bytes"] < SMALL_BYTES and len(program.spaces) > 1,
        "peak": found["peak"] and _ordered(found["peak"]),
        "savings": found["savings"] and replace(found["savings"], source=""),  # all rows stand in the page
    }


def _ordered(section: Section) -> Section:
    """Return the table of the peak with the most wanted columns first; `source` is empty if the page has all rows."""
    columns = sorted(section.columns, key=lambda column: (*_FIRST, column.name).index(column.name))
    return replace(section, columns=columns, **({"source": ""} if len(section.records) <= FIRST_ROWS_IN_SITE else {}))
