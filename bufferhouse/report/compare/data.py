"""The answers about two runs, before and after. The terminal, the page and JSON show the same answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import duckdb

from bufferhouse.compare.compare import SAME_SIGNATURE, Compared, compare_runs
from bufferhouse.compare.donations import lost_donations
from bufferhouse.compare.flags import changed_flags
from bufferhouse.compare.pairing import CHANGES, WHOLE
from bufferhouse.compare.parts import Part, both_flag_sets, part_of, split
from bufferhouse.config.threshold import RELEVANT, Threshold
from bufferhouse.query.statements import Answer, Record, ask
from bufferhouse.report.compare.donations import donation_records
from bufferhouse.report.compare.flags import flag_records
from bufferhouse.report.compare.records import cause_records, key_of, program_records
from bufferhouse.report.opening import Origin, Reported, find_programs, find_run, opened
from bufferhouse.sources.flags import differing, effective_flags
from bufferhouse.warehouse.run_names import is_name


@dataclass(frozen=True)  # no slots: records are put by their keys once, for all parts of a verdict
class Comparison(Reported):
    """Two runs, and every memory space of every program of them.

    `answers` holds the records of both runs (`compare_runs`), of the programs (`compare_programs`: one for each pair of
    dumps and memory space) and of the causes (`compare_causes`), the biggest first. `device_facts` say where the dumps
    of a run without a known device contradict those of the other. `flags` are the options that differ between the
    compilations, with the labels of the programs, as far as files beside the dumps tell them; `lost_donations` those
    that were taken before and are not any more. `spaces` are the memory spaces of the programs where the one that is
    asked for is in none of them. `is_part`: only some programs of the runs were asked for. `run_flags` are those that
    only the run before says, and only the run after, where no file beside the dumps tells that flags differ.
    `is_in_memory`: the dumps are in no warehouse; then the note says that paths could not be read, and nothing else.
    `shared_count` is how many dumps are in both parts of one run. `compilers` are the revisions of compilers by the
    run_id of each run whose dumps are of several.
    """

    metric: str
    relevant: Threshold
    rows: Sequence[Compared]
    answers: dict[str, Answer] = field(repr=False)
    device_facts: Sequence[str] = ()
    flags: Sequence[Record] = ()
    lost_donations: Sequence[Record] = ()
    spaces: Sequence[int] = ()
    is_part: bool = False
    run_flags: Sequence[str] = ()
    is_in_memory: bool = False
    shared_count: int = 0
    compilers: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    def has_unread(self) -> bool:
        """Whether paths could not be read: to which of the runs their dumps belong nobody knows."""
        return self.is_in_memory and self.note is not None

    @property
    def is_partial(self) -> bool:
        """Whether what is missing in the run after may be in a dump that was refused or could not be read."""
        return self.has_unread or bool(self.after["refused_dump_count"])

    @property
    def is_of_itself(self) -> bool:
        """Whether both sides are the same run, or the same part of it."""
        return self.before["run_id"] == self.after["run_id"] and self.before.get("part") == self.after.get("part")

    @property
    def before(self) -> Record:
        """The record of `compare_runs` of the run before."""
        return self._side("before")

    @property
    def after(self) -> Record:
        """The record of `compare_runs` of the run after."""
        return self._side("after")

    def _side(self, side: str) -> Record:
        return next(row for row in self.answers["compare_runs"].records if row["side"] == side)

    @property
    def programs(self) -> list[Record]:
        """The records of `compare_programs`."""
        return self.answers["compare_programs"].records

    @cached_property
    def by_key(self) -> dict[tuple, Record]:
        """The records of `compare_programs`, by the keys of `rows`."""
        return {key_of(record): record for record in self.programs}

    def records(self, rows: Iterable[Compared]) -> list[Record]:
        """Return the records of `compare_programs` of some rows."""
        by_key = self.by_key
        return [by_key[row.key] for row in rows]

    @property
    def causes(self) -> list[Record]:
        """The records of `compare_causes`."""
        return self.answers["compare_causes"].records

    @property
    def totals(self) -> list[Record]:
        """For each memory space how many programs have which status, and the bytes of those that are in both runs.

        Reshaped and renamed programs are counted by themselves; their change is `joined_delta_bytes`.
        """
        spaces = dict.fromkeys((row["platform"], row["memory_space"]) for row in self.programs)
        return [
            {"platform": platform, "memory_space": memory_space, **_counts(self.of(platform, memory_space))}
            for platform, memory_space in sorted(spaces, key=lambda space: (space[0] is None, *map(str, space)))
        ]

    def of(self, platform: str | None, memory_space: int, status: str | None = None) -> list[Record]:
        """Return the records of a memory space, all or those of one status."""
        return [
            row
            for row in self.programs
            if (row["platform"], row["memory_space"]) == (platform, memory_space) and status in (None, row["status"])
        ]


def _counts(rows: Sequence[Record]) -> Record:
    by_status = Counter(row["status"] for row in rows)
    # A program that is in one run only, or is not known, says nothing about the compilers; nor does another model.
    joined = [row for row in rows if row["status"] in CHANGES]
    rows = [row for row in rows if row["status"] not in CHANGES]
    matched = [row for row in rows if row["delta_bytes"] is not None]
    changes = [row["delta_bytes"] for row in matched]
    before_bytes = sum(row["before_bytes"] for row in matched)
    return {
        "program_count": len(rows) + len(joined),
        **{f"{status.replace(' ', '_')}_count": by_status[status] for status in SAME_SIGNATURE},
        "risen_count": sum(change > 0 for change in changes),
        "fallen_count": sum(change < 0 for change in changes),
        "relevant_count": sum(row["is_relevant"] for row in rows),
        "same_content_count": sum(row["has_same_content"] for row in rows),
        "matched_count": len(matched),
        "before_bytes": before_bytes,
        "after_bytes": before_bytes + sum(changes),
        "delta_bytes": sum(changes),
        **{f"{change}_count": by_status[change] for change in CHANGES},
        "joined_delta_bytes": sum(row["delta_bytes"] or 0 for row in joined),
        "relevant_joined_count": sum(row["is_relevant"] for row in joined),
    }


def read_comparison(
    origin: Origin,
    before: str,
    after: str | None,
    *,
    metric: str = "reserved",
    program: str | None = None,
    memory_space: int | None = None,
    relevant: Threshold = RELEVANT,
    wait: float = 0.0,
) -> Comparison:
    """Compare the runs that `before` and `after` mean: names, or beginnings that fit one run only.

    Behind an @ stand conditions on the dumps of a run (`compare.parts`). Where `after` is None, the two flag sets of
    the run `before` are compared. `program` is a name or program_id, or the beginning of either: all programs that it
    fits are compared.

    Raises:
        UsageError: a word means no run or several, no dump of a run, or no program. The message names candidates.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(origin, wait) as (con, name, note):
        program_ids = None if program is None else find_programs(con, program)
        if after is None:
            parts = both_flag_sets(con, find_run(con, before), before, program_ids)
        else:
            parts = _part(con, before), _part(con, after)
        wanted = {"metric": metric, "relevant": relevant, "program_ids": program_ids, "memory_space": memory_space}
        told = {"warehouse": name, "note": note, "is_in_memory": isinstance(origin, list)}
        return comparison_of(con, *parts, **told, **wanted)


def _part(con: duckdb.DuckDBPyConnection, word: str) -> Part:
    """Return the part of a run that a word means; a run may have a name that reads as conditions, too."""
    name, conditions = (word, None) if is_name(con, word) else split(word)
    return part_of(con, find_run(con, name), name, conditions)


def comparison_of(
    con: duckdb.DuckDBPyConnection,
    before: Part,
    after: Part,
    *,
    warehouse: str = "",
    note: str | None = None,
    metric: str = "reserved",
    relevant: Threshold = RELEVANT,
    program_ids: Sequence[int] | None = None,
    memory_space: int | None = None,
    is_in_memory: bool = False,
) -> Comparison:
    """Compare two runs, or parts of them; the rest as `read_comparison`."""
    runs = {"before_run_id": before.run_id, "after_run_id": after.run_id}
    sides, within = ask(con, "compare_runs", **runs), (before.paths, after.paths)
    if within != WHOLE:
        sides = Answer.of([_of_part(side, part) for side, part in zip(sides.records, (before, after), strict=True)])
    device_facts = _device_facts(con, sides.records)
    wanted = {"metric": metric, "program_ids": program_ids, "memory_space": memory_space}
    rows = compare_runs(con, **runs, **wanted, within=within)
    spaces: set[int] = set()
    if memory_space is not None and not rows:
        of_all = compare_runs(con, **runs, metric=metric, program_ids=program_ids, within=within)
        spaces = {row.memory_space for row in of_all}
    pairs = [row.pair for row in rows]
    changes = changed_flags(con, **runs, pairs=pairs, within=within)
    lost = lost_donations(con, after.run_id, pairs, after.paths)
    lost = [one for one in lost if memory_space in (None, one.memory_space)]
    programs = program_records(rows, relevant, sides.records)
    answers = {
        "compare_runs": sides,
        "compare_programs": Answer.of(programs),
        "compare_causes": Answer.of(cause_records(rows, programs)),
    }
    beside = flag_records(changes, programs), donation_records(lost, programs)
    return Comparison(
        warehouse, note, metric, relevant, rows, answers, device_facts, *beside, sorted(spaces),
        is_part=program_ids is not None, run_flags=() if changes else _run_flags(con, runs), is_in_memory=is_in_memory,
        shared_count=_shared_count(before, after, program_ids),
        compilers=dict(ask(con, "compare_compilers", **runs).rows),
    )  # fmt: skip


def _shared_count(before: Part, after: Part, program_ids: Sequence[int] | None) -> int:
    """Return how many dumps of some programs, None for all, are in both of two parts of one run, and not all of them.

    Two conditions may hold for one dump: its flags are the default of another one.
    """
    if before.run_id != after.run_id or before.conditions == after.conditions:
        return 0
    files = [set(part.files) for part in (before, after) if part.files is not None]
    return sum(program_ids is None or file.program_id in program_ids for file in set.intersection(*files))


def _run_flags(con: duckdb.DuckDBPyConnection, runs: Mapping[str, int]) -> Sequence[str]:
    """Return the flags that only the run before says, and those that only the one after says; empty if they agree."""
    told = dict(ask(con, "compare_run_flags", **runs).rows)
    before, after = (effective_flags(told.get(run_id)) for run_id in runs.values())
    if before is None or after is None or before == after:
        return ()
    return [" ".join(words) or "no other" for words in differing(before, after)]


def _of_part(side: Record, part: Part) -> Record:
    """Return a record of `compare_runs` with the conditions of a part of the run, and the counts of its dumps.

    Rejects are those of the run: with which flags they were compiled is not known.
    """
    if part.files is None:
        return {**side, "part": None}
    counts = {
        "dump_count": len(part.files),
        "content_count": len({file.dump_id for file in part.files}),
        "program_count": len({file.program_id for file in part.files}),
    }
    return {**side, **counts, "part": part.conditions}


def _device_facts(con: duckdb.DuckDBPyConnection, sides: Sequence[Record]) -> list[str]:
    """Return what the dumps of two runs say about their devices and contradicts itself; nothing if both are known.

    Only programs of both runs are looked at: others may use what these do not.
    """
    before, after = (side["run_id"] for side in sides)
    if before == after or all(side["device_kind"] or side["platform"] == "cpu" for side in sides):
        return []
    seen: dict[str, dict[int, set[str]]] = {}
    for run_id, thing, fact in ask(con, "compare_devices", before_run_id=before, after_run_id=after).rows:
        seen.setdefault(thing, {before: set(), after: set()})[run_id].add(fact)
    return [
        f"{thing} {_only(found[before], found[after])} before, {_only(found[after], found[before])} after"
        for thing, found in seen.items()
        if found[before] != found[after]
    ]


def _only(one: set[str], other: set[str]) -> str:
    """Return what one side alone has, as text."""
    alone = sorted(one - other, key=lambda word: (len(word), word))
    return f"{', '.join(alone[:5])}{', …' if len(alone) > 5 else ''} only" if alone else "none alone"
