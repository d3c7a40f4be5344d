"""What a report reads: a warehouse, or dumps in memory, and the run or the programs that a word means there."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb

from bufferhouse.errors import UsageError, counted, did_you_mean
from bufferhouse.query.statements import Answer, Record, ask
from bufferhouse.report.nothing import nothing_of
from bufferhouse.report.text.figures import printable, some_of
from bufferhouse.warehouse.open import Place, reading
from bufferhouse.warehouse.run_names import find

Origin = Place | list[str]
"""What a report is made of: a warehouse, or the dumps of some sources, read into memory."""
_NAMED = 5  # programs of those that there are
ROUNDED = "JavaScript and jq before 1.7 round ids; did you mean"


@dataclass(frozen=True, slots=True)
class Reported:
    """What every report says of itself: what was asked and when, and what to note."""

    warehouse: str
    note: str | None
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC), kw_only=True)

    @property
    def provenance(self) -> Record:
        """The facts about the source that pages and JSON show."""
        return {"warehouse": self.warehouse, "asked_at": self.asked_at}


@dataclass(frozen=True, slots=True)
class Answers(Reported):
    """The answers that a report shows, by the names of their statements."""

    answers: dict[str, Answer]


@contextmanager
def opened(origin: Origin, wait: float) -> Iterator[tuple]:
    """Yield a connection, a name for the page, and a note.

    The note says what the figures are of: a published copy, or less than the dumps in memory.

    Raises:
        NothingToShow: no dump was found in the sources.
        UsageError, WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    if not isinstance(origin, list):
        with reading(origin, wait=wait, is_long=True) as warehouse:
            yield warehouse.con, warehouse.title, warehouse.note
        return
    from bufferhouse.ingest.in_memory import in_memory

    unread: list[str] = []
    with in_memory(origin, unread=unread) as con:
        if not con.execute("FROM raw.runs LIMIT 1").fetchone():
            raise nothing_of(con, "there is nothing to report")
        note = f"{counted(len(unread), 'path')} could not be read: nothing of it is in the figures" if unread else None
        yield con, " ".join(os.path.basename(source.rstrip("/")) for source in origin), note


def find_run(con: duckdb.DuckDBPyConnection, word: str | None) -> int:
    """Return the run_id that `word` means, as `run_names.find`; the newest run for None.

    Raises:
        NothingToShow: there is no run at all.
        UsageError: the word fits no run or several. The message names candidates.
    """
    if not con.execute("SELECT 1 FROM raw.runs LIMIT 1").fetchone():
        raise nothing_of(con, "there is no run" + (f" {printable(word, 80)!r}" if word else ""))
    return find(con, "latest" if word is None else word).run_id


def find_programs(con: duckdb.DuckDBPyConnection, word: str) -> list[int]:
    """Return the program_ids that `word` means: names or ids equal to it, else those that begin with it; '' means all.

    Raises:
        NothingToShow: there is no dump at all.
        UsageError: there is none. The message names programs with similar names, else some of all.
    """
    found = ask(con, "program_matches", word=without_name(word)).records
    if found:
        return [row["program_id"] for row in found]
    if not con.execute("SELECT 1 FROM raw.dumps LIMIT 1").fetchone():
        raise nothing_of(con, "there is no program" + (f" {printable(word, 80)!r}" if word else ""))
    known = ask(con, "program_matches", word="").records
    if whole := rounded_from(word, known):
        ids = " or ".join(str(row["program_id"]) for row in whole)
        raise UsageError(f"there is no program {printable(word, 80)!r}; {ROUNDED} {ids}?")
    names = sorted({row["program_name"] for row in known})
    hint = did_you_mean(word, names, 3) or f"; there are: {some_of(names, _NAMED, 80)}"
    raise UsageError(f"there is no program {printable(word, 80)!r}{hint}")


def without_name(word: str) -> str:
    """Return the id, or its beginning, of a program as reports write it: `#631026`, `SyncTensorsGraph #631026`.

    Any other word stays as it is.
    """
    name, mark, number = word.rpartition("#")
    return number if mark and (not name or (name.endswith(" ") and number.isdigit())) else word


def rounded_from(word: str, programs: Sequence[Record]) -> list[Record]:
    """Return the programs whose id becomes the number of a word where a reader of JSON keeps numbers as doubles."""
    try:
        number = float(without_name(word))
    except ValueError:
        return []
    return [row for row in programs if float(row["program_id"]) == number]
