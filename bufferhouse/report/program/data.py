"""One program in one run: its dump, the answers about it, and its memory spaces.

Every figure comes from a statement in `sql/reports/`. The terminal, the page and JSON show the same answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from bufferhouse.errors import UsageError, counted
from bufferhouse.query.hints import REJECTS, lister_of_programs
from bufferhouse.query.statements import Answer, Record, ask, ask_each
from bufferhouse.report.nothing import nothing_of
from bufferhouse.report.opening import ROUNDED, Answers, Origin, find_run, opened, rounded_from, without_name
from bufferhouse.report.program.savings import MAPPED, savings_of
from bufferhouse.report.text.figures import printable, some_of
from bufferhouse.report.text.screen import shortened
from bufferhouse.whatif.space import read_space

STRETCHES = 400  # of the schedule in the timeline: about one for each three pixels of a wide page
MAP_VALUES = 20_000  # drawn in the allocation map
PEAK_OWNERS = 10_000  # per memory space, in the table of values at the peak
KEPT_OWNERS = 15  # per memory space, of which is told what keeps them alive
COPIES = 15  # between memory spaces, those that are copied back first, then the largest
SERIES = ("platform", "track", "compile_target", "device_kind")  # of one program: what tells its series apart
_SHOWN_CANDIDATES = 12
_SIGNATURE = 60  # characters of a signature in a list of candidates
PARTS = {
    "element": "elements",
    "layout_padding": "layout padding",
    "slack": "slack",
    "tuple_table": "tuple tables",
    "other_moments": "other moments",
    "without_live_range": "without live range",
    "stride": "stride",
    "unused": "unused",
}  # of an allocation, as in its balance: PART_bytes and what a person reads


@dataclass(frozen=True, slots=True)
class Space:
    """One memory space of the dump: its records of each answer."""

    memory_space: int
    facts: Record
    timeline: list[Record]
    peak: list[Record]
    peak_value_count: int
    balance: list[Record]
    mapped_count: int
    left_out_count: int
    largest_left_out_bytes: int | None
    savings: list[Record]
    kept: list[Record]

    @property
    def has_live_ranges(self) -> bool:
        """Whether the dump has live ranges; without them no moment of the schedule is known."""
        return self.facts["occupied_peak_bytes"] is not None

    def balance_total(self, part: str) -> int | None:
        """Return one part of all allocations but thread-local ones; None without live ranges."""
        parts = [row[f"{part}_bytes"] for row in self.balance if row["kind"] != "thread-local"]
        return None if None in parts else sum(parts)


@dataclass(frozen=True, slots=True)
class Program(Answers):
    """All answers by the name of their statement, the dump they are about, and its memory spaces."""

    dump: Record
    spaces: list[Space]

    @property
    def name(self) -> str:
        """The name of the program, safe to print."""
        return printable(self.dump["program_name"], 120)

    @property
    def capacity(self) -> Record | None:
        """How much of the default memory space a program of the run may take; None where nobody knows."""
        return next(iter(self.answers["program_capacity"].records), None)

    def limit(self, space: Space) -> Record | None:
        """Return the capacity of a memory space: it is known of the default one alone."""
        return self.capacity if space.memory_space == 0 else None

    @property
    def donations(self) -> list[Record]:
        """The donations of its file that were lost, as far as files and logs beside it tell; none in a site."""
        found = self.answers.get("program_donations")
        return [row for row in found.records if row["relative_path"] == self.dump["relative_path"]] if found else []

    @property
    def others(self) -> list[Record]:
        """The other dumps of the program in the same run."""
        dumps = self.answers["program_dumps"].records
        return [row for row in dumps if row["run_id"] == self.dump["run_id"]][1:]

    @property
    def trend(self) -> list[Record]:
        """The runs of all series of the program."""
        return self.answers["program_trend"].records

    def series(self, memory_space: int) -> list[Record]:
        """Return the runs of the series that the dump belongs to."""
        return [
            row
            for row in self.trend
            if row["memory_space"] == memory_space and all(row[name] == self.dump[name] for name in SERIES)
        ]


def read_program(
    origin: Origin,
    word: str,
    *,
    run: str | None = None,
    wait: float = 0.0,
    mapped: int = MAPPED,
    owners: int | None = None,
) -> Program:
    """Ask all statements about the program that `word` means, in `run` or else in the newest run that has it.

    `word` is a name, a program_id, or the beginning of either that fits one program only, of that run if one is given;
    `#` before an id is taken. `run` is what `run_names.find` takes. `mapped` edits of the ranking have a map, which a
    page shows; `owners` is as in `asked_of`.

    Raises:
        NothingToShow: there is no program at all, or all dumps of the run were refused.
        UsageError: the word fits no program or several, or the run has no dump of it. The message names candidates.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(origin, wait) as (con, name, note):
        program_id, dumps, dump = find_dump(con, word, run)
        dump_id = dump["dump_id"]
        asked = asked_of(con, [dump_id], owners=owners)[dump_id]
        lives = {
            "program_kept": ask(con, "program_kept", dump_id=dump_id, owners=KEPT_OWNERS),
            "program_copies": ask(con, "program_copies", dump_id=dump_id, copies=COPIES),
        }
        trend = ask_each(con, "program_trend", [program_id])[program_id]
        capacity = ask(con, "program_capacity", run_id=dump["run_id"])
        donations = ask(con, "program_donations", run_id=dump["run_id"], dump_ids=[dump_id])
        # Of memory space 0, which people run out of.
        has_peak = any(
            one["occupied_peak_bytes"] and not one["memory_space"] for one in asked["program_spaces"].records
        )
        savings = savings_of(read_space(con, dump_id) if has_peak else None, mapped=mapped)
    answers = {"program_dumps": dumps, **asked, "program_trend": trend}
    answers["program_warnings"] = answers.pop("program_warnings")  # in the order of earlier releases
    answers |= {"program_capacity": capacity, **savings, "program_donations": donations, **lives}
    return Program(name, note, answers, dump, spaces_of(answers))


def asked_of(
    con: duckdb.DuckDBPyConnection, dump_ids: Sequence[int], *, owners: int | None = None
) -> dict[int, dict[str, Answer]]:
    """Return the answers about some dumps, by the names of their statements; each statement is asked once.

    `owners` of the peak of a memory space are listed at most; else as many as a page that stands alone has.
    """
    limits: dict[str, dict[str, int]] = {
        "program_spaces": {},
        "program_timeline": {"stretches": STRETCHES},
        "program_allocations": {},
        "program_map_spaces": {"values": MAP_VALUES},
        "program_map": {"values": MAP_VALUES},
        "program_peak_totals": {},
        "program_peak": {"owners": owners or PEAK_OWNERS},
        "program_balance": {},
        "program_warnings": {},
    }
    found = {name: ask_each(con, name, dump_ids, **limit) for name, limit in limits.items()}
    return {dump_id: {name: of[dump_id] for name, of in found.items()} for dump_id in dump_ids}


def find_dump(con: duckdb.DuckDBPyConnection, word: str, run: str | None) -> tuple[int, Answer, Record]:
    """Return the program that a word means, the answer of `program_dumps`, and its dump in a run, else the newest.

    Raises:
        NothingToShow, UsageError: as `read_program`.
    """
    run_id = None if run is None else find_run(con, run)
    program_id = _program_id(con, word, run_id)
    dumps = ask(con, "program_dumps", program_id=program_id)
    return program_id, dumps, _dump(con, dumps.records, run_id)


def _program_id(con: duckdb.DuckDBPyConnection, word: str, run_id: int | None) -> int:
    matches = ask(con, "program_matches", word=without_name(word)).records
    if run_id is not None and len(matches) > 1:
        here = {row["program_id"] for row in ask(con, "program_matches_of_run", run_id=run_id).records}
        matches = [row for row in matches if row["program_id"] in here] or matches
    if len(matches) == 1:
        return matches[0]["program_id"]
    shown = printable(word, 80)
    if matches:
        raise UsageError(
            f"{shown!r} fits {counted(len(matches), 'program')}; give the id of one of them:\n"
            f"{_listed(con, _largest_first(con, matches))}"
        )
    known = ask(con, "program_matches", word="").records
    if not known:
        raise nothing_of(con, f"there is no program {shown!r}")
    if rounded := rounded_from(word, known):
        raise UsageError(f"there is no program {shown!r}; {ROUNDED}:\n{_listed(con, rounded)}")
    near = [row for row in known if word.lower() in row["program_name"].lower()] or known
    raise UsageError(
        f"there is no program {shown!r}; {'similar names' if near is not known else 'there are'}:\n{_listed(con, near)}"
    )


def _largest_first(con: duckdb.DuckDBPyConnection, matches: Sequence[Record]) -> Sequence[Record]:
    """Return programs of one name, such as all graphs of PyTorch/XLA, by size: a step of a training stands first."""
    if len({row["program_name"] for row in matches}) > 1:
        return matches
    sizes = dict(ask(con, "program_sizes", program_ids=[row["program_id"] for row in matches]).rows)
    return sorted(matches, key=lambda row: -sizes.get(row["program_id"], 0))


def _listed(con: duckdb.DuckDBPyConnection, matches: Sequence[Record]) -> str:
    shown = matches[:_SHOWN_CANDIDATES]
    lines = [
        f"  {row['program_id']:>19}  {printable(row['program_name'], 80)}  ({counted(row['run_count'], 'run')})"
        for row in shown
    ]
    if len({row["program_name"] for row in shown}) < len(shown):
        signatures = shortened([printable(row["entry_signature"] or "") for row in shown], _SIGNATURE)
        lines = [f"{line}  {signature}".rstrip() for line, signature in zip(lines, signatures, strict=True)]
    if len(matches) > _SHOWN_CANDIDATES:
        lines.append(f"  … and {len(matches) - _SHOWN_CANDIDATES:,} more: {lister_of_programs(con)}")
    return "\n".join(lines)


def _dump(con: duckdb.DuckDBPyConnection, dumps: Sequence[Record], run_id: int | None) -> Record:
    """Return the chosen record of `program_dumps`: the first of the run, else of the newest run."""
    newest = max(row["run_order"] for row in dumps)
    meant = [row for row in dumps if (row["run_order"] == newest if run_id is None else row["run_id"] == run_id)]
    if meant:
        return meant[0]
    run = next(row for row in ask(con, "fleet_runs").records if row["run_id"] == run_id)
    name, shown = printable(dumps[0]["program_name"], 80), printable(run["run_name"], 80)
    runs = dict.fromkeys(row["run_name"] for row in reversed(dumps))
    others = f"runs that have {name}: {some_of(runs, _SHOWN_CANDIDATES, 60)}"
    if run["dump_count"]:
        raise UsageError(f"run {shown!r} has no dump of it; {others}")
    why = f"{counted(run['reject_count'], 'reject')} ({REJECTS}); {others}"
    raise nothing_of(con, f"run {shown!r} has no dump of any program", why)


def spaces_of(answers: dict[str, Answer]) -> list[Space]:
    """Return the memory spaces of a dump, made of its answers."""

    def of(name: str, memory_space: int) -> list[Record]:
        return [row for row in answers[name].records if row["memory_space"] == memory_space]

    spaces = []
    for facts in answers["program_spaces"].records:
        number = facts["memory_space"]
        mapped = next(iter(of("program_map_spaces", number)), {})
        totals = next(iter(of("program_peak_totals", number)), {})
        spaces.append(
            Space(
                number,
                facts,
                timeline=of("program_timeline", number),
                peak=of("program_peak", number),
                peak_value_count=totals.get("value_count", 0),
                balance=of("program_balance", number),
                mapped_count=mapped.get("value_count", 0),
                left_out_count=mapped.get("left_out_count", 0),
                largest_left_out_bytes=mapped.get("largest_left_out_bytes"),
                savings=of("program_savings", number),
                kept=of("program_kept", number) if "program_kept" in answers else [],
            )
        )
    return spaces
