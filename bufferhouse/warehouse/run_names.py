"""Which run a word means: its name, the beginning of one name only, or its place among the newest.

`latest` is the newest run and `previous` the one before it, even if a run has such a name: names come with dumps, and
no folder may decide which run is compared or removed. Facts and labels after a colon choose among the runs:
`latest:track=nightly`, `previous:platform=tpu,team=vision`.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.errors import LOADING, UsageError, counted, did_you_mean
from bufferhouse.redaction import printable
from bufferhouse.sources.run import TEXTS

_PLACES = {"latest": 0, "previous": 1}
_SHOWN_CANDIDATES = 12
_LONGEST_NAME = 400  # characters: cut at all only where somebody plays tricks
_FACTS = tuple(name for name in TEXTS if name != "xla_flags")


class NoRun(UsageError):
    """No run of the warehouse is called so; `hint` names runs that are called nearly so, if there are any."""

    def __init__(self, word: str, hint: str, others: str) -> None:
        super().__init__(f"there is no run {_said(word)}{hint or others}")
        self.word, self.hint = word, hint

    @property
    def neither(self) -> str:
        """The sentence about a word that is no path, either: who mistyped one has no use for a list of runs."""
        return f"{_said(self.word)}: no such file or directory, and no run of the warehouse is called so"


@dataclass(frozen=True, slots=True)
class Named:
    """A run of the warehouse, by its number and its name."""

    run_id: int
    run_name: str
    started_at: datetime
    dump_count: int
    facts: dict[str, str]


def runs_of(con: duckdb.DuckDBPyConnection) -> list[Named]:
    """Return all runs, the newest first."""
    rows = con.execute(
        "WITH runs AS (SELECT r.* REPLACE (m.platform AS platform), m.dump_count, m.run_order"
        " FROM staging.runs AS r JOIN marts.runs_v2 AS m USING (run_id))"
        f" SELECT run_id, run_name, started_at AT TIME ZONE 'UTC', labels, dump_count, {', '.join(_FACTS)}"
        " FROM runs ORDER BY run_order DESC"
    ).fetchall()
    return [
        Named(run_id, name, moment, dumps, {**_labels(labels), **_known(facts)})
        for run_id, name, moment, labels, dumps, *facts in rows
    ]


def _known(facts: Sequence[str | None]) -> dict[str, str]:
    return {name: fact for name, fact in zip(_FACTS, facts, strict=True) if fact is not None}


def _labels(text: str) -> dict[str, str]:
    return {name: fact if isinstance(fact, str) else json.dumps(fact) for name, fact in json.loads(text).items()}


def check_new_name(name: str) -> None:
    """Refuse a name for a run that would mean another run as a word of a command.

    Raises:
        UsageError: it is empty or blank, or a word of `find`.
        UnicodeEncodeError: it is no UTF-8.
    """
    if not name.strip():
        raise UsageError("expected a name that is not empty")
    name.encode()  # before it stands in a statement, which the message would show
    if is_place(name):
        raise UsageError(f"expected a name for the run, found {_said(name)}, which means a run by its time")


def is_place(word: str) -> bool:
    """Return whether a word means a run by its place among the newest."""
    return word.partition(":")[0] in _PLACES


def is_name(con: duckdb.DuckDBPyConnection, word: str) -> bool:
    """Return whether a run has exactly this name."""
    return execute(con, "SELECT 1 FROM staging.runs WHERE run_name = $word LIMIT 1", word=word).fetchone() is not None


def find(con: duckdb.DuckDBPyConnection, word: str) -> Named:
    """Return the run that a word means.

    Raises:
        UsageError: it means none, or several. The message names candidates.
    """
    return find_all(con, [word])[0]


def find_all(con: duckdb.DuckDBPyConnection, words: Sequence[str]) -> list[Named]:
    """Return the run that each word means.

    Raises:
        UsageError: as `find`.
    """
    runs = runs_of(con) if words else []
    return [_meant(runs, word) for word in words]


def _meant(runs: Sequence[Named], word: str) -> Named:
    if not runs:
        raise UsageError(f"there is no run {_said(word)}: the warehouse has no runs yet; {LOADING}")
    place, _, conditions = word.partition(":")
    if place in _PLACES:
        return _newest(runs, word, _PLACES[place], conditions)
    for run in runs:
        if run.run_name == word:
            return run
    found = [run for run in runs if word and run.run_name.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{_said(word)} fits {counted(len(found), 'run')}; give one of them:\n{listed(found)}")
    names = [run.run_name for run in runs]
    folder = os.path.basename(word.rstrip("/"))  # which a run is called after
    hint = did_you_mean(folder, [folder]) if folder in names else did_you_mean(word, names, 3)
    raise NoRun(word, hint, f"; there are:\n{listed(runs)}")


def without_dumps(con: duckdb.DuckDBPyConnection, run_name: str) -> UsageError:
    """Return the error for a run without a loaded dump: it says whether dumps were refused, and how to list them."""
    [(refused,)] = execute(
        con,
        "SELECT COUNT(*) FROM raw.rejects JOIN raw.runs USING (run_id) WHERE run_name = $name AND state = 'open'",
        name=run_name,
    ).fetchall()
    why = f", {counted(refused, 'reject')}; list them with: bufferhouse rejects ls" if refused else ""
    return UsageError(f"the run {_said(run_name)} has no dumps{why or '; see: bufferhouse runs ls'}")


def find_where_no_file(con: duckdb.DuckDBPyConnection, word: str) -> Named:
    """Return the run that a word means if it could also be a path, but no such path exists.

    Raises:
        UsageError: it means no run, or several; the message says that it is no path, either.
    """
    try:
        return find(con, word)
    except UsageError as error:
        if isinstance(error, NoRun) and is_like_path(word):
            raise UsageError(f"{error.neither}{error.hint or '; bufferhouse runs ls lists the runs'}") from None
        raise UsageError(f"{_said(word)}: no such file or directory, and as a run: {error}") from None


def is_like_path(word: str) -> bool:
    """Return whether a word looks like the path of a file or folder: names of runs end in numbers, files in words."""
    ending = os.path.splitext(word)[1]
    return "/" in word or ending[1:].isalpha()


def find_whole(con: duckdb.DuckDBPyConnection, words: Sequence[str]) -> list[Named]:
    """Return the run that each word means by its place or by its whole name, since nobody confirms the choice.

    Otherwise a command that removes runs would remove run_10 when it is called for run_1 a second time.

    Raises:
        UsageError: a word means none, or one by the beginning of its name.
    """
    runs = find_all(con, words)
    for word, run in zip(words, runs, strict=True):
        if word != run.run_name and not is_place(word):
            said = f"found {_said(word)}, the beginning of {_said(run.run_name)}"
            raise UsageError(f"--yes: expected whole names, {said}")
    return runs


def _newest(runs: Sequence[Named], word: str, place: int, conditions: str) -> Named:
    wanted = {}
    for condition in filter(None, conditions.split(",")):
        name, sign, value = condition.partition("=")
        if not sign:
            raise UsageError(f"{_said(word)}: expected latest:NAME=VALUE, such as latest:track=nightly")
        wanted[name] = value
    chosen = [run for run in runs if all(run.facts.get(name) == value for name, value in wanted.items())]
    if place < len(chosen):
        return chosen[place]
    there = f"there {'is' if len(chosen) == 1 else 'are'} {counted(len(chosen), 'run') if chosen else 'no runs'}"
    told = " and ".join(f"{name}={value}" for name, value in wanted.items())
    known = sorted({value for run in runs for name, value in run.facts.items() if name in wanted})
    hint = f"; known: {', '.join(known[:_SHOWN_CANDIDATES])}" if known and not chosen else ""
    raise UsageError(f"there is no run {_said(word)}: {there}{f' with {told}' if told else ''}{hint}")


def listed(runs: Sequence[Named]) -> str:
    """Return a line for each run, for the first of many."""
    lines = [
        f"  {printable(run.run_name)[:_LONGEST_NAME]}  ({run.started_at:%Y-%m-%d %H:%M} UTC, "
        f"{counted(run.dump_count, 'dump')})"
        for run in runs[:_SHOWN_CANDIDATES]
    ]
    if len(runs) > _SHOWN_CANDIDATES:
        lines.append(f"  … and {len(runs) - _SHOWN_CANDIDATES:,} more: bufferhouse runs ls")
    return "\n".join(lines)


def _said(word: str) -> str:
    return repr(printable(word)[:80])
