"""Triage: for each upgrade what grew, why, and in which state: new, accepted or fixed.

An *upgrade* is a step between two compilers; other steps are grouped by day, track and device.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import attrgetter

from bufferhouse.compare.gate import Accepted
from bufferhouse.compare.groups import by
from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.site.addresses import run_address, slug
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.figures import figures, list_page
from bufferhouse.report.site.inventory import Inventory, Point, Step
from bufferhouse.report.site.manifest import Manifest, code, fingerprint
from bufferhouse.report.site.steps import Steps
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.sections import Section

LIST = "triage/index.html"
NEW, ACCEPTED, FIXED, IMPROVED = STATES = ("new", "accepted", "fixed", "improved")
_COLUMNS = [
    Column("program_label", "program", link="program_link"),
    Column("state", "state"),
    Column("why", "because", limit=80),
    Column("delta_bytes", "change", "change", link="step_link"),
    Column("before_bytes", "before", "bytes"),
    Column("after_bytes", "after", "bytes"),
    Column("newest_bytes", "newest run", "bytes"),
    Column("main_cause_said", "main cause", limit=60),
    Column("change_said", "what changed", limit=60),
    Column("memory_space", "memory space", "count"),
    Column("after_name", "run", link="run_link"),
]
_LISTED = [
    Column("title", "upgrade", limit=120, link="triage_link"),
    Column("when", "run of (UTC)"),
    *(Column(f"{state}_count", state, "count") for state in STATES),
    Column("new_bytes", "biggest new growth", "change"),
]


@dataclass
class Upgrade:
    """The steps of one page of triage."""

    address: str
    title: str
    when: datetime
    is_compiler: bool
    steps: list[Step] = field(default_factory=list)


def upgrades(steps: Mapping[str, Step]) -> dict[str, Upgrade]:
    """Return the upgrades of steps by address, in the order of their runs."""
    found: dict[str, Upgrade] = {}
    for address, step in steps.items():
        before, after = step.before, step.after
        compilers = [_compiler(run) for run in (before, after)]
        if compilers[0] != compilers[1]:
            place = f"triage/{address.removeprefix('compare/')}"
            title = " → ".join(words or "unknown compiler" for words in compilers)
            title = f"{title} ({printable(before['run_name'], 60)} → {printable(after['run_name'], 60)})"
        else:
            words = [after[name] for name in ("platform", "track", "device_kind") if after[name]]
            day = f"{after['started_at']:%Y-%m-%d}"
            place = f"triage/{day}-{slug(' '.join(words).lower().replace(' ', '-') or 'runs')}.html"
            title = f"{day}: {' · '.join(printable(word, 60) for word in words) or 'all runs'}"
        one = found.setdefault(place, Upgrade(place, title, after["started_at"], compilers[0] != compilers[1]))
        one.steps.append(step)
        one.when = max(one.when, after["started_at"])
    return found


def _compiler(run: Record) -> str:
    words = (run["compiler"], run["compiler_version"], run["compiler_revision"])
    return " ".join(printable(word, 40) for word in words if word)


class Triage:
    """The pages of all upgrades, and the list of them."""

    def __init__(
        self,
        inventory: Inventory,
        steps: Steps,
        accepted: Sequence[Accepted],
        shared: Shared,
        manifest: Manifest,
        inputs: str,
    ) -> None:
        self._inventory, self._steps, self._accepted, self._shared = inventory, steps, accepted, shared
        self._manifest = manifest
        self.upgrades = upgrades(inventory.steps)
        past = upgrades(inventory.past_steps)
        self._past = {address: one for address, one in past.items() if address not in self.upgrades}
        # The state of an old change depends on the newest run, so each build checks all pages.
        self.wanted = dict.fromkeys([*self.upgrades, *self._past, LIST], inputs)

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages."""
        listed = []
        for one in (*self._past.values(), *self.upgrades.values()):
            movers, others = self.movers(one), _others(self._steps, one)
            if one.address in self.upgrades:
                listed.append(_summary(one, movers))
            shown = fingerprint(code(), one.title, movers, others, one.address in self._past)
            if one.address in addresses and self._manifest.shown(one.address) != shown:
                self.wanted[one.address] = shown
                yield self._page(one, movers, others)
        lines = [
            "A page for each upgrade, a step between two compilers; other steps by day, track and device. Growth is "
            "new until the accept file has a reason for it, or the newest run takes no more than before."
        ]
        listed.reverse()
        yield list_page(LIST, "Triage", self._shared, lines, Section("", (), _LISTED, listed, "upgrades"))

    def movers(self, upgrade: Upgrade) -> list[Record]:
        """Return what changed in an upgrade, in the order in which to work through it."""
        rows = [
            self._judged(step, row)
            for step in upgrade.steps
            for row in self._steps.movers(step.address)
            if row["delta_bytes"]
        ]
        return sorted(
            rows, key=lambda row: (STATES.index(row["state"]), not row["is_relevant"], -abs(row["delta_bytes"]))
        )

    def _judged(self, step: Step, row: Record) -> Record:
        state, why = IMPROVED, None
        points = self._after(step, row)
        newest = points[-1].reserved_bytes if points else None
        if row["delta_bytes"] > 0:
            state = NEW
            entry = next((entry for entry in self._accepted if _covers(entry, row)), None)
            if newest is not None and newest <= row["before_bytes"]:
                since = next(point for point in points if point.reserved_bytes <= row["before_bytes"])
                state, why = FIXED, f"since {self._inventory.run_of[since.run_id]['run_name']}"
            elif entry:
                state, why = ACCEPTED, entry.why
        return {
            **row,
            "state": state,
            "why": why,
            "newest_bytes": newest,
            "step_link": step.address,
            "before_name": step.before["run_name"],
            "after_name": step.after["run_name"],
            "run_link": run_address(step.after["run_name"]),
        }

    @cached_property
    def _series(self) -> dict[tuple, list[Point]]:
        """The points by program, compile target, track, device and memory space."""
        key = attrgetter("program_id", "compile_target", "track", "device_kind", "memory_space")
        return by(key, self._inventory.points)

    def _after(self, step: Step, row: Record) -> list[Point]:
        """Return the points of a series from the run after a step on."""
        run = step.after
        key = (row["program_id"], row["compile_target"], run["track"], run["device_kind"], row["memory_space"])
        order = self._inventory.run_of
        points = self._series.get(key, [])
        return [point for point in points if order[point.run_id]["run_order"] >= run["run_order"]]

    def _page(self, one: Upgrade, movers: list[Record], others: str) -> Made:
        frame = Frame(one.address, "Triage", self._shared, [("Triage", LIST)])
        empty = [name for name in ("why", "change_said") if not any(row[name] for row in movers)]
        shown = [column for column in _COLUMNS if column.name not in empty]
        answers = {"triage_movers": Answer.of(movers)}
        text = page(
            "site_triage.html",
            f"Triage: {one.title}",
            answers if movers else {},
            shared_texts=("triage_movers",),
            frame=frame,
            heading=one.title,
            is_past=one.address in self._past,
            is_compiler=one.is_compiler,
            steps=[
                (f"{printable(step.before['run_name'], 60)} → {printable(step.after['run_name'], 60)}", step.address)
                for step in one.steps
            ],
            counts=[(state, sum(row["state"] == state for row in movers)) for state in STATES],
            others=others,
            movers=Section("", (), shown, movers, "movers", "triage_movers"),
        )
        return Made(one.address, text, figures(one.address, {"title": one.title}, answers))


def _covers(entry: Accepted, row: Record) -> bool:
    """Return whether an entry of the accept file is about a mover, by the rules of the gate, and allows its bytes."""
    names = {row["program_name"], row["before_program_name"], str(row["program_id"]), str(row["before_program_id"])}
    return (
        entry.program in names and entry.memory_space == row["memory_space"] and row["after_bytes"] <= entry.up_to_bytes
    )


def _summary(one: Upgrade, movers: Sequence[Record]) -> Record:
    counts = {f"{state}_count": sum(row["state"] == state for row in movers) for state in STATES}
    growth = max((row["delta_bytes"] for row in movers if row["state"] == NEW), default=None)
    return {
        "title": one.title,
        "when": f"{one.when:%Y-%m-%d %H:%M}",
        **counts,
        "new_bytes": growth,
        "triage_link": one.address,
    }


def _others(steps: Steps, one: Upgrade) -> str:
    """Return the sentence about programs that are new or gone, which do not count as growth."""
    rows = [row for step in one.steps for row in steps.movers(step.address)]
    counts = [(status, sum(row["status"] == status for row in rows)) for status in ("new", "gone")]
    said = [f"{counted(count, 'program')} {status}" for status, count in counts if count]
    return f"Besides, {' and '.join(said)}: see the comparisons." if said else ""
