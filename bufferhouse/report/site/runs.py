"""The pages of runs, the list of them, and the page on which any two are compared."""

from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter

import duckdb

from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.run.data import Run, asked_of
from bufferhouse.report.run.page import run_page
from bufferhouse.report.site.addresses import function_address, run_address, slug
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.figures import figures, script
from bufferhouse.report.site.inventory import Inventory
from bufferhouse.report.site.manifest import code, fingerprint
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.sections import Section

LIST = "runs/index.html"
ANY = "compare/any.html"
_BATCH = 40  # runs that are asked for at once
_RUNS = [
    Column("run_name", "run", link="run_link"),
    Column("started", "started (UTC)"),
    Column("compiler", "compiler"),
    Column("compiler_version", "version"),
    Column("platform", "platform"),
    Column("device_kind", "device"),
    Column("track", "track"),
    Column("dump_count", "dumps", "count"),
    Column("content_count", "distinct contents", "count"),
    Column("program_count", "programs", "count"),
    Column("reject_count", "rejects", "count"),
    Column("before_name", "compared with", link="step_link"),
]
_TOLD = (
    "program_id", "program_name", "compile_target", "platform", "memory_space", "reserved_bytes",
    "occupied_peak_bytes", "layout_padding_bytes",
)  # fmt: skip
_told_of = attrgetter(*_TOLD)


class Runs:
    """The pages of all runs."""

    def __init__(self, con: duckdb.DuckDBPyConnection, inventory: Inventory, shared: Shared) -> None:
        self._con, self._inventory, self._shared = con, inventory, shared
        self._of_address = {run_address(run["run_name"]): run for run in inventory.runs}
        self.wanted = {address: self._shows(run) for address, run in self._of_address.items()}

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages; some dozens are read at once."""
        for first in range(0, len(addresses), _BATCH):
            runs = [self._of_address[address] for address in addresses[first : first + _BATCH]]
            asked = asked_of(self._con, [run["run_id"] for run in runs])
            for run in runs:
                yield self._page(run, asked[run["run_id"]])

    def _shows(self, run: Record) -> str:
        points = [(*point, self._inventory.page_of[point.compiled]) for point in self._inventory.by_run[run["run_id"]]]
        beside = self._inventory.beside.get(run["run_id"])
        return fingerprint(code(), run, points, self._inventory.step_before.get(run["run_id"]), beside)

    def _page(self, run: Record, answers: dict[str, Answer]) -> Made:
        address = run_address(run["run_name"])
        points = self._inventory.by_run[run["run_id"]]
        pages = self._inventory.pages_in(run["run_id"])
        linked = {name: _linked(answer, pages) for name, answer in answers.items()}
        empty = Answer([], [])
        of_run = {"run_facts": linked["run_facts"], "run_before": empty, "run_reshaped": empty, **linked}
        frame = Frame(address, "Runs", self._shared, [("Runs", LIST)])
        text = run_page(Run("", None, of_run), frame, self._links(run))
        told = [(*_told_of(point), self._inventory.page_of[point.compiled]) for point in points]
        named = {"name": run["run_name"], "link": address, "columns": (*_TOLD, "program_link"), "rows": told}
        files = figures(address, {}, {name: answer for name, answer in of_run.items() if answer.columns})
        return Made(address, text, {**files, **script(address, slug(run["run_name"]), named)})

    def _links(self, run: Record) -> list[tuple[str, str]]:
        before = self._inventory.step_before.get(run["run_id"])
        found = [(f"Comparison with {printable(before[0], 60)}", before[1])] if before else []
        return [*found, ("Compare with any run", ANY)]


def _linked(answer: Answer, pages: dict[tuple, str]) -> Answer:
    """Return an answer with the addresses of the programs and functions that it names."""
    columns = answer.columns
    if "program_id" in columns:
        compiled = itemgetter(*(columns.index(name) for name in ("program_id", "compile_target", "platform")))
        return Answer([*columns, "program_link"], [(*row, pages.get(compiled(row))) for row in answer.rows])
    if "program_name" in columns:
        name = columns.index("program_name")
        return Answer([*columns, "function_link"], [(*row, function_address(row[name])) for row in answer.rows])
    return answer


class RunLists:
    """The list of all runs, the newest first, and the page on which any two are compared."""

    def __init__(self, inventory: Inventory, shared: Shared) -> None:
        self._shared = shared
        self._records = [_listed(run, inventory.step_before.get(run["run_id"])) for run in reversed(inventory.runs)]
        shown = fingerprint(code(), self._records)
        self.wanted = {LIST: shown, ANY: shown}

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages."""
        answers = {"runs": Answer.of(self._records)}
        if LIST in addresses:
            frame = Frame(LIST, "Runs", self._shared)
            shown = Section("", (), _RUNS, self._records, "runs")
            text = page("site_runs.html", "Runs", {}, frame=frame, section=shown, count=len(self._records))
            names = [[run["run_name"], run["slug"], run["started"], run["run_link"]] for run in self._records]
            yield Made(LIST, text, {**figures(LIST, {}, answers), **script("runs/list.html", "runs", names)})
        if ANY in addresses:
            crumbs = [("Comparisons", "compare/index.html")]
            frame = Frame(ANY, "Comparisons", self._shared, crumbs, ["../runs/list.js"], has_figures=False)
            yield Made(ANY, page("site_any.html", "Compare any two runs", {}, frame=frame, scripts=["tables", "any"]))


def _listed(run: Record, before: tuple[str, str] | None) -> Record:
    return {
        **{name: run[name] for name in run if name not in ("run_order", "fingerprint", "loaded_at")},
        "started": f"{run['started_at']:%Y-%m-%d %H:%M}",
        "slug": slug(run["run_name"]),
        "run_link": run_address(run["run_name"]),
        "before_name": before and before[0],
        "step_link": before and before[1],
    }
