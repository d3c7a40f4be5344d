"""The answers about one run. The terminal, the page and JSON show the same answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from bufferhouse.query.statements import Answer, Record, ask, ask_each, keep
from bufferhouse.report.compare.joined import joined_records
from bufferhouse.report.opening import Answers, Origin, find_run, opened

CONSTANTS = 1_000  # of all programs together
DONATIONS = 1_000
BLOCKS = 500  # per platform and memory space
REJECTS = 100


@dataclass(frozen=True, slots=True)
class Run(Answers):
    """All answers about a run by the name of their statement."""

    @property
    def facts(self) -> Record:
        """The one row of `run_facts`."""
        return self.answers["run_facts"].records[0]

    def records(self, name: str, **where: object) -> list[Record]:
        """Return the records of an answer whose columns equal those of `where`."""
        rows = self.answers[name].records
        return [row for row in rows if all(row[column] == value for column, value in where.items())]


def read_run(origin: Origin, word: str | None, *, wait: float = 0.0) -> Run:
    """Ask all statements about a run: `word` is its name, or a beginning that fits one run only; None is the newest.

    Raises:
        UsageError: the word fits no run or several. The message names candidates.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(origin, wait) as (con, name, note):
        run_id = find_run(con, word)
        before = ask(con, "run_before", run_id=run_id)
        joined = [row for run in before.records for row in joined_records(con, run["before_run_id"], run_id)]
        asked = asked_of(con, [run_id])[run_id]
    # The facts stay in front.
    answers = {"run_facts": asked["run_facts"], "run_before": before, "run_reshaped": Answer.of(joined), **asked}
    return Run(name, note, answers)


def asked_of(con: duckdb.DuckDBPyConnection, run_ids: Sequence[int]) -> dict[int, dict[str, Answer]]:
    """Return the answers about some runs, by the names of their statements; each statement is asked once."""
    limits: dict[str, dict[str, int]] = {
        "run_spaces": {},
        "run_programs": {},
        "run_recompiled": {},
        "run_constants": {"constants": CONSTANTS},
        "run_donations": {"donations": DONATIONS},
        "run_blocks": {"blocks": BLOCKS},
        "run_rejects": {"rejects": REJECTS},
    }
    keep(con, "recompiled_folders")
    found = {name: ask_each(con, name, run_ids, **limit) for name, limit in limits.items()}
    facts = ask(con, "run_facts", run_ids=run_ids)
    told = {row["run_id"]: Answer(facts.columns, [tuple(row.values())]) for row in facts.records}
    return {
        run_id: {"run_facts": told[run_id], **{name: of[run_id] for name, of in found.items()}} for run_id in run_ids
    }
