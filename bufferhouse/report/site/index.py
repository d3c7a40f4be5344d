"""The index of a site: what moved recently, what is stale, what was refused, what the figures cover; and the search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import duckdb

from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.fleet.data import Fleet, fleet_of
from bufferhouse.report.fleet.page import fleet_page
from bufferhouse.report.fleet.tables import coverage_section
from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.site.addresses import function_address, run_address
from bufferhouse.report.site.build import INDEX, Made
from bufferhouse.report.site.figures import figures, list_page
from bufferhouse.report.site.inventory import Inventory, Step
from bufferhouse.report.site.steps import Steps
from bufferhouse.report.site.triage import NEW, Triage
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import human_bytes, printable, some_of
from bufferhouse.report.text.sections import Section

STEPS = "compare/index.html"
TRENDS = "fleet.html"
KINDS = ("regression", "improvement", "reshaped", "renamed", "new", "gone")
_MOST_MOVERS, _MOST_OTHERS = 1_500, 400  # rows of the index, which stays below a megabyte
_MOST_REFUSED = 3  # runs that are named, the newest
_MOVERS = [
    Column("program_label", "program", link="program_link"),
    Column("kind", "what"),
    Column("delta_bytes", "change", "change", link="step_link"),
    Column("after_bytes", "after", "bytes"),
    Column("main_cause_said", "main cause", limit=60),
    Column("run_name", "run", limit=40, link="run_link"),
    Column("memory_space", "memory space", "count"),
    Column("platform", "platform"),
    Column("track", "track", limit=30),
    Column("device_kind", "device", limit=30),
]
_STEPS = [
    Column("after_name", "run", link="run_link"),
    Column("before_name", "before"),
    Column("when", "run of (UTC)"),
    Column("said", "comparison", link="step_link"),
    Column("regression_count", "grew", "count"),
    Column("improvement_count", "shrank", "count"),
    Column("reshaped_count", "reshaped", "count"),
    Column("new_count", "new", "count"),
    Column("gone_count", "gone", "count"),
    Column("biggest", "biggest mover", limit=60),
    Column("biggest_bytes", "its change", "change"),
]
_TRACKS = [
    Column("platform", "platform"),
    Column("track", "track"),
    Column("device_kind", "device"),
    Column("run_name", "newest run", link="run_link"),
    Column("started", "started (UTC)"),
    Column("run_count", "runs", "count"),
]


class Index:
    """The list of comparisons, the trends of the fleet, and the index that links to all pages."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        inventory: Inventory,
        steps: Steps,
        triage: Triage,
        shared: Shared,
        stale: Sequence[str],
        inputs: str,
    ) -> None:
        self._con, self._inventory, self._steps, self._triage = con, inventory, steps, triage
        self._shared, self._stale = shared, stale
        self.wanted = dict.fromkeys([STEPS, TRENDS, INDEX], inputs)

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages, the index last."""
        fleet = fleet_of(self._con)
        by_step = {step.address: self._movers(step) for step in self._inventory.steps.values()}
        steps = [_step(step, by_step[step.address]) for step in reversed(self._inventory.steps.values())]
        lines = [
            "Each step from run to run in which a program took other bytes, was new or was gone; the newest first."
        ]
        links = [("Compare any two runs", "compare/any.html")]
        yield list_page(STEPS, "Comparisons", self._shared, lines, Section("", (), _STEPS, steps, "steps"), links)
        yield self._trends(fleet)
        yield self._index(fleet, [row for rows in by_step.values() for row in rows])

    def _movers(self, step: Step) -> list[Record]:
        run = step.after
        return [
            {
                "kind": _kind(row),
                **{name: row[name] for name in ("program_label", "program_name", "platform", "memory_space")},
                **{name: row[name] for name in ("before_bytes", "after_bytes", "delta_bytes", "main_cause_said")},
                "is_relevant": row["is_relevant"],
                "track": run["track"],
                "device_kind": run["device_kind"],
                "run_name": run["run_name"],
                "age": self._ages[run["run_id"]],
                "program_link": row["program_link"],
                "step_link": step.address,
                "run_link": run_address(run["run_name"]),
            }
            for row in self._steps.movers(step.address)
        ]

    @cached_property
    def _ages(self) -> dict[int, int]:
        """The place of each run among the runs of its track, by run_id: 1 for the newest."""
        tracks = self._inventory.tracks.values()
        return {run["run_id"]: age for runs in tracks for age, run in enumerate(reversed(runs), 1)}

    def _index(self, fleet: Fleet, movers: list[Record]) -> Made:
        shown = _most(movers)
        facts = fleet.overview
        answers = {"movers": Answer.of(shown)}
        tracks = [
            {
                "platform": platform, "track": track, "device_kind": device, "run_name": runs[-1]["run_name"],
                "started": f"{runs[-1]['started_at']:%Y-%m-%d %H:%M}", "run_count": len(runs),
                "run_link": run_address(runs[-1]["run_name"]),
            }
            for (platform, track, device), runs in self._inventory.tracks.items()
        ]  # fmt: skip
        tracks.sort(key=lambda row: row["started"], reverse=True)
        loaded = f"last loaded {facts['loaded_at']:%Y-%m-%d %H:%M} UTC" if facts["loaded_at"] else ""
        frame = Frame(INDEX, "Fleet", self._shared, scripts=["programs/list.js"], said=loaded)
        text = page(
            "site_index.html",
            "Memory of the fleet",
            answers if shown else {},
            scripts=["search", *(["index"] if shown else [])],
            shared_texts=("movers",),
            frame=frame,
            facts=facts,
            stale=self._stale,
            newest=(printable(facts["newest_run_name"] or "", 80), run_address(facts["newest_run_name"] or "")),
            movers=Section("", (), _MOVERS, shown, "movers", "movers"),
            left_out=len(movers) - len(shown),
            refused=self._refused(),
            is_compared=any(len(runs) > 1 for runs in self._inventory.tracks.values()),
            choices={
                name: sorted({row[name] for row in shown if row[name] is not None}, key=str)
                for name in ("platform", "device_kind", "track", "memory_space")
            },
            kinds=[kind for kind in KINDS if any(row["kind"] == kind for row in shown)],
            triage=self._untriaged(),
            tracks=Section("", (), _TRACKS, tracks, "tracks"),
            coverage=coverage_section(fleet),
            rejects=fleet.answers["fleet_rejects"].records,
        )
        told = {"counts": facts, "stale": list(self._stale)}
        everything = answers | {"tracks": Answer.of(tracks), "coverage": fleet.answers["fleet_coverage"]}
        return Made(INDEX, text, figures(INDEX, told, everything))

    def _refused(self) -> str:
        """Return the sentence about refused dumps, in which nobody knows what moved; empty where there are none."""
        counts = {run["run_name"]: run["refused_dump_count"] for run in reversed(self._inventory.runs)}
        runs = [name for name, count in counts.items() if count]
        if not runs:
            return ""
        dumps = counted(sum(counts.values()), "dump")
        return f"Not compared, as they were refused: {dumps} of {some_of(runs, _MOST_REFUSED, 60)}."

    def _untriaged(self) -> list[tuple[str, str]]:
        """Return the newest upgrades with growth that is new, some of it relevant, with their addresses."""
        found = []
        for one in reversed(self._triage.upgrades.values()):
            new = [row for row in self._triage.movers(one) if row["state"] == NEW]
            if any(row["is_relevant"] for row in new):
                most = human_bytes(max(row["delta_bytes"] for row in new), signed=True)
                found.append((f"{one.title}: {len(new):,} new, at most {most}", one.address))
            if len(found) == 8:
                break
        return found

    def _trends(self, fleet: Fleet) -> Made:
        frame = Frame(TRENDS, "Trends", self._shared)
        linked = self._linked(fleet)
        runs = {run["run_name"]: run_address(run["run_name"]) for run in self._inventory.runs}
        functions = {name: function_address(name) for name in self._inventory.functions}
        return Made(TRENDS, fleet_page(linked, frame, runs, functions), figures(TRENDS, {}, linked.answers))

    def _linked(self, fleet: Fleet) -> Fleet:
        """Return the fleet with the addresses of the programs and runs that its tables name."""
        names = {point.program_id: point.program_name for point in self._inventory.points}
        links = {
            "program_id": ("program_link", lambda program_id: _address(names.get(program_id))),
            "program_name": ("function_link", _address),
            "run_name": ("run_link", lambda name: name and run_address(name)),
        }

        def with_links(answer: Answer) -> Answer:
            columns = answer.columns
            more = [(columns.index(name), *link) for name, link in links.items() if name in columns]
            rows = [(*row, *(address(row[place]) for place, _, address in more)) for row in answer.rows]
            return Answer([*columns, *(name for _, name, _ in more)], rows)

        tables = ("fleet_programs", "fleet_recompiled", "fleet_tiles", "fleet_sources", "fleet_reshaped")
        answers = {name: with_links(answer) if name in tables else answer for name, answer in fleet.answers.items()}
        return replace(fleet, answers=answers)


def _address(name: str | None) -> str | None:
    return None if name is None else function_address(name)


def _kind(row: Record) -> str:
    if row["status"] in KINDS[2:]:
        return row["status"]
    return KINDS[0] if row["delta_bytes"] > 0 else KINDS[1]


def _most(movers: list[Record]) -> list[Record]:
    """Return the movers that the index shows, with a lower limit for new and gone ones: regressions first.

    Within a kind relevant movers come first, then the newest and the biggest.
    """
    order = sorted(
        movers,
        key=lambda row: (
            KINDS.index(row["kind"]),
            not row["is_relevant"],
            row["age"],
            -abs(row["delta_bytes"] or row["after_bytes"] or 0),
        ),
    )
    shown: set[int] = set()
    for kinds, most in ((KINDS[:4], _MOST_MOVERS), (KINDS[4:], _MOST_OTHERS)):
        rows = [row for row in order if row["kind"] in kinds]
        shown.update(map(id, sorted(rows, key=lambda row: row["age"])[:most]))
    return [row for row in order if id(row) in shown]


def _step(step: Step, movers: Sequence[Record]) -> Record:
    counts = {f"{kind}_count": sum(row["kind"] == kind for row in movers) for kind in KINDS}
    changed = [row for row in movers if row["delta_bytes"]]
    biggest = max(changed, key=lambda row: abs(row["delta_bytes"]), default=None)
    return {
        "after_name": step.after["run_name"],
        "before_name": step.before["run_name"],
        "when": f"{step.after['started_at']:%Y-%m-%d %H:%M}",
        "said": "compare",
        **counts,
        "biggest": biggest and biggest["program_label"],
        "biggest_bytes": biggest and biggest["delta_bytes"],
        "run_link": run_address(step.after["run_name"]),
        "step_link": step.address,
    }
