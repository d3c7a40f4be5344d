"""Runs that are declared complete: their dumps wait for no other file, and what comes later is called late.

The declaration is the label `completed_at`. It comes from `bufferhouse runs complete`, from `labels` in a run.json, or
from a source's marker file in the run's own directory.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import duckdb

from bufferhouse.engine.sql import transaction
from bufferhouse.warehouse.runs import set_facts

COMPLETED = "completed_at"


def complete(con: duckdb.DuckDBPyConnection, names: Sequence[str], moment: datetime | None = None) -> None:
    """Declare runs complete, all or none.

    Raises:
        UsageError: there is no run of one of the names.
    """
    text = (moment or datetime.now(UTC)).isoformat(timespec="seconds")
    with transaction(con):
        for name in names:
            set_facts(con, name, {COMPLETED: text})


def declared_complete(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the runs that are declared complete."""
    rows = con.execute(
        "SELECT run_name, labels FROM raw.runs WHERE contains(labels, $word)", {"word": f'"{COMPLETED}"'}
    ).fetchall()
    return {name for name, labels in rows if json.loads(labels).get(COMPLETED)}
