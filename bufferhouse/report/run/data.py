"""The answers about one run. The terminal, the page and JSON show the same answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bufferhouse.query.statements import Answer, Record, ask
from bufferhouse.report.compare.joined import joined_records
from bufferhouse.report.opening import find_run, opened

CONSTANTS = 1_000  # of all programs together
DONATIONS = 1_000
BLOCKS = 500  # per platform and memory space
REJECTS = 100


@dataclass(frozen=True, slots=True)
class Run:
    """All answers about a run by the name of their statement."""

    warehouse: str
    asked_at: datetime
    note: str | None
    answers: dict[str, Answer]

    @property
    def facts(self) -> Record:
        """The one row of `run_facts`."""
        return self.answers["run_facts"].records[0]

    def records(self, name: str, **where: object) -> list[Record]:
        """Return the records of an answer whose columns equal those of `where`."""
        rows = self.answers[name].records
        return [row for row in rows if all(row[column] == value for column, value in where.items())]


def read_run(path: Path | None, word: str | None, *, sources: Sequence[str] = (), wait: float = 0.0) -> Run:
    """Ask all statements about a run: `word` is its name, or a beginning that fits one run only; None is the newest.

    Raises:
        UsageError: the word fits no run or several. The message names candidates.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(path, sources, wait) as (con, name, note):
        con.execute("SET TimeZone = 'UTC'")
        run_id = find_run(con, word)
        before = ask(con, "run_before", run_id=run_id)
        answers = {
            "run_facts": ask(con, "run_facts", run_id=run_id),
            "run_before": before,
            "run_reshaped": Answer.of(
                [row for run in before.records for row in joined_records(con, run["before_run_id"], run_id)]
            ),
            "run_spaces": ask(con, "run_spaces", run_id=run_id),
            "run_programs": ask(con, "run_programs", run_id=run_id),
            "run_recompiled": ask(con, "run_recompiled", run_id=run_id),
            "run_constants": ask(con, "run_constants", run_id=run_id, constants=CONSTANTS),
            "run_donations": ask(con, "run_donations", run_id=run_id, donations=DONATIONS),
            "run_blocks": ask(con, "run_blocks", run_id=run_id, blocks=BLOCKS),
            "run_rejects": ask(con, "run_rejects", run_id=run_id, rejects=REJECTS),
        }
    return Run(name, datetime.now(UTC), note, answers)
