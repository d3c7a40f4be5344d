"""Change what is known about a run that is in the warehouse, or declare it complete.

The dumps of a complete run wait for no other file, and what comes later is called late. The declaration is the label
`completed_at`. It comes from `bufferhouse runs complete`, from `labels` in a run.json, or from a source's marker file
in the run's own directory.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import duckdb

from bufferhouse.engine.sql import execute, transaction
from bufferhouse.errors import UsageError, did_you_mean
from bufferhouse.sources.run import NUMBERS, SOURCES, TEXTS, Run, moment_of, number_of, text_of
from bufferhouse.warehouse.run_names import Named, check_new_name, find, find_all, is_name
from bufferhouse.warehouse.warehouse import Warehouse

COMPLETED = "completed_at"
_LABEL = "label."
_KEPT = {
    "run_id": "the warehouse numbers its runs",
    "run_name": "bufferhouse runs rename changes the name",
    "root": "it is where the dumps of the run were found",
    "labels": f"set each of them as {_LABEL}NAME=VALUE",
    "started_at_source": "it follows from started_at",
}
"""What nobody sets by hand, and why, or how it is changed."""
PINNED = "pinned"
_OF_NAMES = "run_name IN (SELECT unnest(CAST($names AS VARCHAR[])))"


def run_ids(warehouse: Warehouse, names: Collection[str]) -> dict[str, int]:
    """Return the number of each run of these names that is in the warehouse."""
    if _are_new(warehouse, names):
        return {}
    sql = f"SELECT run_name, run_id FROM raw.runs WHERE {_OF_NAMES}"
    return dict(execute(warehouse.con, sql, names=list(names)).fetchall())


def _are_new(warehouse: Warehouse, names: Collection[str]) -> bool:
    """Return whether no run has, or ever had, one of these names.

    Most loads bring new runs, and what `raw.runs` puts together in a lake takes DuckLake 40 ms to plan.
    """
    sql = f"SELECT 1 FROM {warehouse.stored('runs')} WHERE {_OF_NAMES} LIMIT 1"
    return not execute(warehouse.con, sql, names=list(names)).fetchone()


def rename(warehouse: Warehouse, name: str, new_name: str) -> str:
    """Give a run another name, while nobody loads into it under the one it has; return that one.

    Raises:
        UsageError: there is no such run, or one of the new name, or that would mean another run.
        WarehouseBusy: others write to the same lake.
    """
    with warehouse.alone():
        name = find(warehouse.con, name).run_name
        check_new_name(new_name)
        if is_name(warehouse.con, new_name):
            raise UsageError(f"there is a run {new_name!r} already")
        warehouse.change_run(name, {"run_name": new_name})
        return name


def set_facts(warehouse: Warehouse, name: str, facts: dict[str, str]) -> str:
    """Set columns of raw.runs, or labels for keys `label.NAME`; an empty text removes. Return the name of the run.

    Raises:
        UsageError: there is no such run or fact, or a value is not of its column's kind; nothing was changed.
    """
    with warehouse.turn(), transaction(warehouse.con):
        return _set_facts(warehouse, find(warehouse.con, name), facts)


def _set_facts(warehouse: Warehouse, run: Named, facts: dict[str, str]) -> str:
    [(stored,)] = warehouse.con.execute(f"SELECT labels FROM raw.runs WHERE run_id = {run.run_id}").fetchall()
    labels = json.loads(stored)
    changes: dict[str, object] = {}
    for key, value in facts.items():
        if key == "started_at" and not value:
            raise UsageError("started_at cannot be removed: every run has a start; give one as ISO 8601")
        if key == "started_at":
            changes["started_at"] = moment_of(value, "started_at")
            changes["started_at_source"] = "given"
        elif key in NUMBERS:
            changes[key] = number_of(value, key) if value else None
        elif key in TEXTS:
            changes[key] = text_of(key, value) or None
        elif way_out := _KEPT.get(key):
            raise UsageError(f"{key} cannot be set; {way_out}")
        elif key == _LABEL:
            raise UsageError(f"{key}: expected the name of a label behind it, such as {_LABEL}team={value}")
        elif not key.startswith(_LABEL):
            hint = did_you_mean(key, [*TEXTS, *NUMBERS, "started_at"])
            said = f"{key!r} is no fact of a run" + (f"{hint} For" if hint else "; for")
            raise UsageError(f"{said} a label of your own: {_LABEL}{key}={value}")
        elif value:
            labels[key.removeprefix(_LABEL)] = value
        else:
            labels.pop(key.removeprefix(_LABEL), None)
    changes["labels"] = json.dumps(labels, sort_keys=True)
    warehouse.change_run(run.run_name, changes)
    return run.run_name


def pin(warehouse: Warehouse, names: Sequence[str], *, is_pinned: bool = True) -> list[str]:
    """Give runs the label that keeps them when old runs are removed, or take it away; return their names.

    Raises:
        UsageError: a word means no run, or several; nothing was changed.
    """
    return _label(warehouse, names, PINNED, "yes" if is_pinned else "")


def complete_runs(warehouse: Warehouse, runs: Mapping[str, Run | None]) -> dict[str, int]:
    """Add newly known facts to runs that are in the warehouse; return the number of each of these runs.

    A known fact or label stays; a missing one is filled in. A `started_at` is replaced by one of a better source (in
    the order of SOURCES), and by an earlier one of the same source; one given by hand stays.
    """
    if not runs or _are_new(warehouse, runs):
        return {}
    columns = ("run_id", "run_name", "started_at", "started_at_source", "labels", *TEXTS, *NUMBERS)
    sql = f"SELECT {', '.join(columns)} FROM raw.runs WHERE {_OF_NAMES} ORDER BY run_id"
    rows = execute(warehouse.con, sql, names=list(runs)).fetchall()
    for row in rows:
        stored = dict(zip(columns, row, strict=True))
        run = runs.get(stored["run_name"])
        if run is None:
            continue  # not described
        changes = {name: value for name, value in run.facts.items() if value is not None and stored[name] is None}
        labels = json.loads(stored["labels"])
        if run.labels.keys() - labels.keys():
            changes["labels"] = json.dumps({**run.labels, **labels}, sort_keys=True)
        if _is_better(run, stored["started_at"], stored["started_at_source"]):
            changes["started_at"], changes["started_at_source"] = run.started_at, run.started_at_source
        if changes:
            warehouse.change_run(stored["run_name"], changes, is_whole=False)
    return {name: number for number, name, *_ in rows}


def other_facts(warehouse: Warehouse, runs: Mapping[str, Run]) -> dict[str, dict[str, str]]:
    """Return the new values of facts and labels of runs that contradict those in the warehouse, which stay.

    They are named as `set_facts` takes them, by the name of the run. When a run was complete may be said again.
    """
    columns = ("run_name", "labels", *TEXTS, *NUMBERS)
    sql = f"SELECT {', '.join(columns)} FROM raw.runs WHERE {_OF_NAMES} ORDER BY run_id"
    found = {}
    for row in execute(warehouse.con, sql, names=list(runs)).fetchall():
        stored = dict(zip(columns, row, strict=True))
        run, labels = runs[stored["run_name"]], json.loads(stored["labels"])
        pairs = [(name, stored[name], fact) for name, fact in run.facts.items()]
        pairs += [(_LABEL + name, labels.get(name), label) for name, label in run.labels.items() if name != COMPLETED]
        others = {name: _text(fact) for name, known, fact in pairs if None not in (known, fact) and known != fact}
        if others:
            found[run.run_name] = others
    return found


def _text(fact: object) -> str:
    return fact if isinstance(fact, str) else json.dumps(fact)


def _is_better(run: Run, moment: datetime, source: str) -> bool:
    mine, own = SOURCES.index(run.started_at_source), SOURCES.index(source)
    if mine != own:
        return mine < own
    if run.started_at_source == "run.json":
        return run.started_at != moment
    return run.started_at_source in ("file name", "file time") and run.started_at < moment


def complete(warehouse: Warehouse, names: Sequence[str]) -> list[str]:
    """Declare runs complete, all or none; return their names.

    Raises:
        UsageError: there is no run of one of the names.
    """
    return _label(warehouse, names, COMPLETED, datetime.now(UTC).isoformat(timespec="seconds"))


def _label(warehouse: Warehouse, names: Sequence[str], label: str, value: str) -> list[str]:
    with warehouse.turn(), transaction(warehouse.con):
        runs = find_all(warehouse.con, names)  # before the label is set: a word may ask for it
        return [_set_facts(warehouse, run, {_LABEL + label: value}) for run in runs]


def declared_complete(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the runs that are declared complete."""
    rows = execute(
        con, "SELECT run_name, labels FROM raw.runs WHERE contains(labels, $word)", word=f'"{COMPLETED}"'
    ).fetchall()
    return {name for name, labels in rows if json.loads(labels).get(COMPLETED)}
