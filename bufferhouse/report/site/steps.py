"""The comparisons of a site: a page for each step from run to run in which something moved, and what moved in it."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain

import duckdb

from bufferhouse.compare.pairing import CHANGES
from bufferhouse.compare.parts import Part
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.compare.data import Comparison, comparison_of
from bufferhouse.report.compare.page import compare_page
from bufferhouse.report.compare.sections import notes
from bufferhouse.report.html.frame import Frame, Shared, beside
from bufferhouse.report.html.page import json_block
from bufferhouse.report.site.addresses import run_address
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.figures import figures
from bufferhouse.report.site.inventory import Inventory, Step
from bufferhouse.report.site.manifest import Manifest, code, fingerprint
from bufferhouse.report.site.sources import source_links
from bufferhouse.report.site.target import Target
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.github import place_of

MOVER = (
    "status", "program_id", "program_name", "program_label", "platform", "compile_target", "memory_space",
    "is_relevant", "before_bytes", "after_bytes", "delta_bytes", "change_percent", "main_cause_label",
    "main_cause_bytes", "main_cause_said", "change_said", "guess", "program_link", "before_program_id",
    "before_program_name", "after_program_id",
)  # fmt: skip
_MOVERS = "movers.json"
_IDS = ("program_id", "before_program_id", "after_program_id")  # text in a file: too large for numbers of JavaScript


class Steps:
    """The pages of the steps of an inventory; the movers of each are kept beside its page, for later builds."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        inventory: Inventory,
        shared: Shared,
        target: Target,
        manifest: Manifest,
        source_url: str | None,
    ) -> None:
        self._con, self._inventory, self._shared, self._source_url = con, inventory, shared, source_url
        self._movers: dict[str, list[Record]] = {}
        self._steps = inventory.steps | inventory.past_steps
        self.wanted = {address: self._shows(step) for address, step in self._steps.items()}
        for address, shown in self.wanted.items():
            if manifest.shown(address) == shown and not self._read(target, address):
                del manifest.pages[address]

    def movers(self, address: str) -> list[Record]:
        """Return what moved in a step whose page was made, the biggest first: records with the columns of `MOVER`.

        A program that an earlier run of the track had is back, and not new: its step from that run says what moved, and
        leaves out programs that runs between have. The same holds if another one of its function became it.
        """
        step, became = self._steps[address], self._became(self._steps[address].after)
        rows = [
            row
            for row in self._movers[address]
            if row["status"] != "new" or (self._inventory.is_first(row, step.after) and row["program_id"] not in became)
        ]
        # Past steps are not counted: their pages of triage stay as they are.
        if address in self._inventory.past_steps or not self._inventory.goes_across(step):
            return rows
        return [row for row in rows if not self._inventory.is_told_before(row, step)]

    def _became(self, run: Record) -> set[int]:
        """Return the programs of a run that other ones of their function became since an earlier run of the track."""
        returned = [self._inventory.step_of[pair] for pair in self._inventory.returns if pair[1] == run["run_id"]]
        movers = chain.from_iterable(self._movers.get(address, ()) for address in returned)
        return {one["after_program_id"] for one in movers if one["status"] in CHANGES}

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages, one comparison after the other."""
        for address in addresses:
            yield self._page(self._steps[address])

    def _shows(self, step: Step) -> str:
        pages = [self._inventory.pages_of_run[run_id] for run_id in step.key]
        return fingerprint(code(), self._source_url, step.shown, pages)

    def _read(self, target: Target, address: str) -> bool:
        """Read what moved in a step from the site; return whether it is there."""
        try:
            found = json.loads(target.read(beside(address, _MOVERS)) or b"")
            movers = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
            self._movers[address] = [row | {name: row[name] and int(row[name]) for name in _IDS} for row in movers]
        except (ValueError, KeyError, TypeError):
            return False
        return True

    def _page(self, step: Step) -> Made:
        comparison = comparison_of(self._con, *map(Part, step.key))
        # The order of runs may change when a run comes that is older: nothing else on these pages would change.
        comparison.answers["compare_runs"] = comparison.answers["compare_runs"].without("run_order")
        comparison.answers["compare_programs"] = self._with_pages(step, comparison)
        comparison.answers["compare_causes"] = self._with_sources(step, comparison)
        rows = [[row[name] for name in MOVER] for row in comparison.programs if _is_mover(row)]
        told = {"columns": MOVER, "rows": rows}
        self._movers[step.address] = [dict(zip(MOVER, row, strict=True)) for row in rows]
        frame = Frame(step.address, "Comparisons", self._shared, [("Comparisons", "compare/index.html")])
        links = [
            (f"Run {printable(run['run_name'], 60)}", run_address(run["run_name"])) for run in (step.before, step.after)
        ]
        links.append(("Compare other runs", "compare/any.html"))
        # The times of loads do not belong to the comparison.
        answers = comparison.answers | {"compare_runs": comparison.answers["compare_runs"].without("loaded_at")}
        text = compare_page(comparison, frame, links)
        # Programs with the same dump in both runs would be most of the figures, and did not move.
        others = Answer.of([row for row in comparison.programs if not row["has_same_content"]])
        about = {"metric": comparison.metric, "notes": notes(comparison)}
        files = figures(step.address, about, answers | {"compare_programs": others})
        return Made(step.address, text, {**files, beside(step.address, _MOVERS): json_block(told).encode()})

    def _with_pages(self, step: Step, comparison: Comparison) -> Answer:
        """Return the programs, each with the address of its page after the step, or before it if it is gone."""
        pages: dict[tuple, str] = {}
        for run_id in step.key:  # the run after wins
            pages |= self._inventory.pages_in(run_id)
        rows = []
        for row in comparison.programs:
            target = row["after_compile_target"] or row["before_compile_target"]
            program_id = row["after_program_id"] or row["before_program_id"]
            found = pages.get((program_id, target, row["platform"]))
            rows.append({**row, "compile_target": target, "program_link": found})
        return Answer.of(rows)

    def _with_sources(self, step: Step, comparison: Comparison) -> Answer:
        if not self._source_url:
            return comparison.answers["compare_causes"]
        link = source_links(self._source_url, step.after["git_revision"])
        return Answer.of([{**row, "source_link": link(*place_of(row["source"]))} for row in comparison.causes])


def _is_mover(row: Record) -> bool:
    is_other_program = row["status"] in (*CHANGES, "new", "gone") and not row["is_further_dump"]
    return bool(row["delta_bytes"]) or is_other_program
