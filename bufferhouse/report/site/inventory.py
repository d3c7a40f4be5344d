"""What a site has pages about: the runs and series of a warehouse, the steps from run to run, and their addresses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import NamedTuple

import duckdb

from bufferhouse.compare.functions import UNNAMED
from bufferhouse.compare.groups import by
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.site.addresses import program_address, slug, step_address
from bufferhouse.report.site.manifest import fingerprint

RunId = int


class Point(NamedTuple):
    """A row of `site_series`: one run of one series, in bytes."""

    program_id: int
    program_name: str
    compile_target: str | None
    platform: str | None
    track: str | None
    device_kind: str | None
    memory_space: int
    run_id: int
    run_number: int
    dump_id: int
    variant_count: int
    dump_count: int
    reserved_bytes: int
    reserved_change_bytes: int | None
    occupied_peak_bytes: int | None
    layout_padding_bytes: int | None

    @property
    def place(self) -> tuple:
        """The series without its memory space: a program as one kind of device runs it."""
        return self[:6]

    @property
    def series(self) -> tuple:
        """The series: a program as one kind of device runs it, in one memory space."""
        return self[:7]

    @property
    def compiled(self) -> tuple:
        """The program of a run: run, program, compile target and platform."""
        return self.run_id, self.program_id, self.compile_target, self.platform


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program in a run that has a page: its first run, or a run in which its dump differs from that before.

    `before` is the compiled program before it in its series, None for the first; the address is that of the page.
    """

    address: str
    point: Point
    before: Point | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step from one run to a later one in which something moved, was new or was gone."""

    address: str
    before: Record
    after: Record

    @property
    def key(self) -> tuple[int, int]:
        """The run_ids."""
        return self.before["run_id"], self.after["run_id"]

    @property
    def shown(self) -> str:
        """The fingerprint of what its page shows: both runs, with all their dumps."""
        return fingerprint(*(_facts(run) for run in (self.before, self.after)))


def _facts(run: Record) -> tuple:
    """Return what pages say about a run, and the time of its last load, which may have added facts beside its dumps."""
    return tuple(value for name, value in run.items() if name != "run_order")


class Inventory:
    """All runs and series of a warehouse: `runs` are the answer of `site_runs`. A site keeps the addresses in `kept`.

    `targets` has, for each address of a program without a compile target in it, the compile target of its page: a
    program that comes later to a run does not take over an address. `beside` has, by run and dump, a fingerprint of
    what a later load of any run may add to a known dump.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        runs: list[Record],
        kept: Iterable[str],
        targets: Mapping[str, str | None],
    ) -> None:
        self.runs, self.kept, self.targets = runs, set(kept), dict(targets)
        self.run_of = {run["run_id"]: run for run in runs}
        self.points = [Point._make(row) for row in ask(con, "site_series").rows]
        self.beside: dict[RunId, dict[int, str]] = {}
        for run_id, dump_id, shown in ask(con, "site_beside").rows:
            self.beside.setdefault(run_id, {})[dump_id] = shown
        self.page_of: dict[tuple, str] = {}
        self.compiled: dict[str, Compiled] = {}
        self._find_pages()

    @cached_property
    def tracks(self) -> dict[tuple, list[Record]]:
        """The runs with dumps of each platform, track and device, in their order."""
        runs = [run for run in self.runs if run["dump_count"]]
        return by(itemgetter("platform", "track", "device_kind"), runs)

    @cached_property
    def functions(self) -> dict[str, list[Point]]:
        """The points of each function, by its name."""
        return by(attrgetter("program_name"), self.points)

    @cached_property
    def by_run(self) -> dict[RunId, list[Point]]:
        """The points of each run."""
        found: dict[RunId, list[Point]] = {run["run_id"]: [] for run in self.runs}
        for point in self.points:
            found[point.run_id].append(point)
        return found

    def pages_in(self, run_id: RunId) -> dict[tuple, str]:
        """Return the address of the page of each program of a run, by program, compile target and platform."""
        return {point.compiled[1:]: self.page_of[point.compiled] for point in self.by_run[run_id]}

    @cached_property
    def pages_of_run(self) -> dict[RunId, str]:
        """A fingerprint of the programs of each run and their pages, and of what lies beside its dumps."""
        return {
            run_id: fingerprint(
                sorted((str(point.compiled[1:]), self.page_of[point.compiled]) for point in points),
                self.beside.get(run_id),
            )
            for run_id, points in self.by_run.items()
        }

    @cached_property
    def newest(self) -> dict[tuple, Point]:
        """The newest point of each series."""
        found: dict[tuple, Point] = {}
        for point in self.points:
            if point.series not in found or point.run_number > found[point.series].run_number:
                found[point.series] = point
        return found

    @cached_property
    def steps(self) -> dict[str, Step]:
        """The steps in which something moved: between runs that follow each other, and within each series."""
        contents = {run_id: frozenset(map(_moving, points)) for run_id, points in self.by_run.items()}
        pairs = {
            (before["run_id"], after["run_id"])
            for runs in self.tracks.values()
            for before, after in pairwise(runs)
            if contents[before["run_id"]] != contents[after["run_id"]]
        }
        pairs |= {
            (before.run_id, after.run_id)
            for before, after in pairwise(self.points)
            if before.series == after.series and _moving(before) != _moving(after)
        }
        return self._by_address(pairs | self.returns)

    @cached_property
    def returns(self) -> set[tuple[RunId, RunId]]:
        """The pairs of runs between which a program of a function became another one; runs between have none of it."""
        found = set()
        for runs in self.tracks.values():
            seen: dict[str, tuple[int, RunId, set[int]]] = {}
            for place, run in enumerate(runs):
                run_id = run["run_id"]
                for name, points in by(attrgetter("program_name"), self.by_run[run_id]).items():
                    programs = {point.program_id for point in points}
                    last_place, last_run_id, last_programs = seen.get(name, (place, run_id, programs))
                    is_away = place - last_place > 1 and name != UNNAMED
                    if is_away and programs - last_programs and last_programs - programs:
                        found.add((last_run_id, run_id))
                    seen[name] = place, run_id, programs
        return found

    @cached_property
    def past_steps(self) -> dict[str, Step]:
        """The steps of earlier builds that no longer are steps, for example because a run came between. Pages stay."""
        slugs = {slug(run["run_name"]): run["run_id"] for run in self.runs}
        pairs = set()
        for address in self.kept:
            before, _, after = address.removeprefix("compare/").removesuffix(".html").partition("..")
            if address.startswith("compare/") and before in slugs and after in slugs and address not in self.steps:
                pairs.add((slugs[before], slugs[after]))
        return self._by_address(pairs)

    @cached_property
    def step_of(self) -> dict[tuple[int, int], str]:
        """The address of the page of each step, by its run_ids."""
        return {step.key: address for address, step in (self.steps | self.past_steps).items()}

    @cached_property
    def step_before(self) -> dict[RunId, tuple[str, str]]:
        """The name of the run before each run, and the address of their comparison, if anything moved."""
        return {
            after["run_id"]: (before["run_name"], step)
            for runs in self.tracks.values()
            for before, after in pairwise(runs)
            if (step := self.step_of.get((before["run_id"], after["run_id"])))
        }

    def is_first(self, mover: Record, run: Record) -> bool:
        """Return whether no run before `run`, of its track and device, has the program of a mover for its target."""
        return min(self._orders(mover, mover["program_id"], run), default=run["run_order"]) >= run["run_order"]

    def goes_across(self, step: Step) -> bool:
        """Return whether a step skips runs of its track, because they lack a program of it."""
        after = step.after
        track = self.tracks[after["platform"], after["track"], after["device_kind"]]
        return any(step.before["run_order"] < run["run_order"] < after["run_order"] for run in track)

    def is_told_before(self, mover: Record, step: Step) -> bool:
        """Return whether the steps between the runs of a step that skips others say what moved.

        They do if one of the skipped runs has the program of a mover. They also do if only one of the two runs has the
        program: then it is new, or gone, in a step from run to run.
        """
        first, last = step.before["run_order"], step.after["run_order"]
        programs = {mover["before_program_id"], mover["after_program_id"]}
        return None in programs or any(
            first < order < last for program_id in programs for order in self._orders(mover, program_id, step.after)
        )

    def _orders(self, mover: Record, program_id: int, run: Record) -> Iterable[int]:
        """Return the run_order of each run of the track and device of `run` that has a program for a mover's target."""
        place = mover["compile_target"], mover["platform"], run["track"], run["device_kind"]
        return self._seen.get((program_id, *place), ())

    @cached_property
    def _seen(self) -> dict[tuple, set[int]]:
        """The run_orders of the runs of each program, target and place."""
        found: dict[tuple, set[int]] = {}
        for point in self.points:
            key = (point.program_id, point.compile_target, point.platform, point.track, point.device_kind)
            found.setdefault(key, set()).add(self.run_of[point.run_id]["run_order"])
        return found

    def _by_address(self, pairs: Iterable[tuple[RunId, RunId]]) -> dict[str, Step]:
        """Return the steps between the runs of each pair, in their order."""
        found = [
            Step(step_address(*(run["run_name"] for run in runs)), *runs)
            for runs in ((self.run_of[before], self.run_of[after]) for before, after in pairs)
        ]
        found.sort(key=lambda step: (step.after["run_order"], step.before["run_order"]))
        return {step.address: step for step in found}

    def _find_pages(self) -> None:
        """Give each program of each run its page: its own, or that of the first run with the same dump."""
        rows: dict[tuple, dict[int, Point]] = {}
        for point in self.points:
            of_run = rows.setdefault(point.place, {})
            # The lowest memory space decides which dump represents the run.
            if point.run_id not in of_run or point.memory_space < of_run[point.run_id].memory_space:
                of_run[point.run_id] = point
        own_of = self._own_addresses(rows)
        for of_run in rows.values():
            before, address = None, ""
            for point in sorted(of_run.values(), key=lambda point: self.run_of[point.run_id]["run_order"]):
                own = own_of[point.compiled]
                if before is None or before.dump_id != point.dump_id or own in self.kept:
                    address = own
                    self.compiled[own] = Compiled(own, point, before)
                    if own == program_address(point.program_id, self.run_of[point.run_id]["run_name"], None):
                        self.targets[own] = point.compile_target
                self.page_of[point.compiled] = address
                before = point

    def _own_addresses(self, rows: Mapping[tuple, Mapping[int, Point]]) -> dict[tuple, str]:
        """Return the address of each compiled program: if a run has several, all but one name their target."""
        found: dict[tuple, str] = {}
        points = [point for of_run in rows.values() for point in of_run.values()]
        for (program_id, run_id), several in by(attrgetter("program_id", "run_id"), points).items():
            run_name = self.run_of[run_id]["run_name"]
            plain = program_address(program_id, run_name, None)
            named = {point: program_address(program_id, run_name, _target(point)) for point in several}
            several.sort(key=lambda point: (named[point] in self.kept, str(point.compiled[2:])))
            has_it = [point for point in several if (plain, point.compile_target) in self.targets.items()]
            first = (has_it or several)[0]
            found |= {point.compiled: plain if point is first else named[point] for point in several}
        return found


def _target(point: Point) -> str:
    """Return the word for the target in an address; in one run a compile target is of one platform."""
    target = point.compile_target or "unknown"
    return target if point.platform in (None, target) else f"{point.platform}-{target}"


# The fields of a point whose change is a move: its bytes, and not its run or order.
_moving = attrgetter(
    "program_id", "compile_target", "platform", "memory_space", "reserved_bytes", "occupied_peak_bytes",
    "layout_padding_bytes",
)  # fmt: skip
