"""What a report reads: a warehouse, or dumps in memory, and the run or the programs that a word means there."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from bufferhouse.errors import UsageError, counted, did_you_mean
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.nothing import nothing_of
from bufferhouse.report.text.figures import printable
from bufferhouse.warehouse.open import Place, reading

_SHOWN_CANDIDATES = 12
_LONGEST_NAME = 400  # characters: cut at all only where somebody plays tricks


@contextmanager
def opened(place: Place | None, sources: Sequence[str], wait: float) -> Iterator[tuple]:
    """Yield a connection, a name for the page, and a note: of the warehouse at `place`, else of dumps in memory.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    if place is not None:
        with reading(place, wait=wait) as warehouse:
            yield warehouse.con, warehouse.title, warehouse.note
        return
    from bufferhouse.ingest.in_memory import in_memory

    with in_memory(sources) as con:
        yield con, " ".join(os.path.basename(source.rstrip("/")) for source in sources), None


def find_run(con: duckdb.DuckDBPyConnection, word: str | None) -> int:
    """Return the run_id that `word` means: a name, or a beginning that fits one run only; the newest run for None.

    Raises:
        NothingToShow: there is no run at all.
        UsageError: the word fits no run or several. The message names candidates.
    """
    found = ask(con, "run_matches", word=word or "").records
    if found and (word is None or len(found) == 1):
        return found[0]["run_id"]
    shown = printable(word or "", 80)
    if found:
        raise UsageError(f"{shown!r} fits {counted(len(found), 'run')}; give one of them:\n{_listed(found)}")
    known = ask(con, "run_matches", word="").records
    if not known:
        raise nothing_of(con, "there is no run" + (f" {shown!r}" if word else ""))
    raise UsageError(f"there is no run {shown!r}{_meant(word or '', known)}")


def find_programs(con: duckdb.DuckDBPyConnection, word: str) -> list[int]:
    """Return the program_ids that `word` means: names or ids equal to it, else those that begin with it.

    Raises:
        UsageError: there is none. The message names programs with similar names.
    """
    found = ask(con, "program_matches", word=word.removeprefix("#")).records
    if found:
        return [row["program_id"] for row in found]
    names = sorted({row["program_name"] for row in ask(con, "program_matches", word="").records})
    hint = did_you_mean(word, names, 3) or "; list them with: bufferhouse programs"
    raise UsageError(f"there is no program {printable(word, 80)!r}{hint}")


def _meant(word: str, known: Sequence[Record]) -> str:
    names = [row["run_name"] for row in known]
    return did_you_mean(word, names, 3) or f"; there are:\n{_listed(known)}"


def _listed(runs: Sequence[Record]) -> str:
    lines = [
        f"  {printable(row['run_name'], _LONGEST_NAME)}  ({row['started_at']:%Y-%m-%d %H:%M} UTC, "
        f"{counted(row['dump_count'], 'dump')})"
        for row in runs[:_SHOWN_CANDIDATES]
    ]
    if len(runs) > _SHOWN_CANDIDATES:
        lines.append(f"  … and {len(runs) - _SHOWN_CANDIDATES:,} more: bufferhouse runs ls")
    return "\n".join(lines)
