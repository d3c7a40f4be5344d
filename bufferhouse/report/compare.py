"""Two runs, before and after: what is asked about them. The terminal, the page and JSON show the same answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bufferhouse.answers import Answer, Record, ask
from bufferhouse.report.finding import find_run
from bufferhouse.report.opening import opened

STATUSES = ("changed", "new", "gone", "not compared", "unchanged")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both answers by the name of their statement."""

    warehouse: str
    asked_at: datetime
    note: str | None
    answers: dict[str, Answer]

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
        """The records of `compare_programs`: one for each program, compile target and memory space."""
        return self.answers["compare_programs"].records

    @property
    def totals(self) -> list[Record]:
        """How many programs of each memory space have which status; of the changed, which way reserved bytes went."""
        spaces = dict.fromkeys((row["platform"], row["memory_space"]) for row in self.programs)
        return [
            {"platform": platform, "memory_space": memory_space, **_counts(self.of(platform, memory_space))}
            for platform, memory_space in spaces
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
    changes = [row["reserved_change_bytes"] or 0 for row in rows if row["status"] == "changed"]
    return {
        "program_count": len(rows),
        **{f"{status.replace(' ', '_')}_count": by_status[status] for status in STATUSES},
        "risen_count": sum(change > 0 for change in changes),
        "fallen_count": sum(change < 0 for change in changes),
        "same_content_count": sum(row["status"] == "unchanged" and row["has_same_content"] for row in rows),
    }


def read_comparison(
    path: Path | None, before: str, after: str, *, sources: Sequence[str] = (), wait: float = 0.0
) -> Comparison:
    """Ask all statements about the runs that `before` and `after` mean: names, or beginnings that fit one run only.

    Raises:
        UsageError: a word means no run, or several. The message names candidates.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.reading`.
    """
    with opened(path, sources, wait) as (con, name, note):
        con.execute("SET TimeZone = 'UTC'")
        runs = {"before_run_id": find_run(con, before), "after_run_id": find_run(con, after)}
        answers = {statement: ask(con, statement, **runs) for statement in ("compare_runs", "compare_programs")}
    return Comparison(name, datetime.now(UTC), note, answers)
