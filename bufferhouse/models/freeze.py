"""Released marts never change: a lock file holds the fingerprint of each one's SQL and of its result.

The result is taken over `examples/fleet`, so that a change in a model beneath a mart is caught as well. Run
`python -m bufferhouse.commands.freeze` at a release to add new marts; the command never changes an entry.
"""

import hashlib
import json
from pathlib import Path

import duckdb

from bufferhouse.models.project import Model, read
from bufferhouse.paths import CHECKOUT, MODELS

LOCK = MODELS / "models.lock"
FLEET = CHECKOUT / "examples" / "fleet"
# Numbers that a warehouse gives out as things arrive, and moments of its loads: they mean nothing elsewhere.
VOLATILE = {"run_id", "load_id", "reject_id", "loaded_at", "rejected_at"}


def sql_fingerprint(model: Model) -> str:
    """Return a hash of a model's SQL as parsed: comments and layout do not count."""
    return hashlib.sha256(model.expression.sql(dialect="duckdb", comments=False).encode()).hexdigest()


def result_fingerprint(con: duckdb.DuckDBPyConnection, model: Model) -> str:
    """Return a hash of all rows of a model, the same however and in whatever order the dumps were loaded.

    Columns in VOLATILE are left out; what they number has a name or a hash beside it. Times are taken in UTC.
    """
    con.execute("SET TimeZone = 'UTC'")
    columns = sorted(model.columns.keys() - VOLATILE)
    rows = con.execute(f"SELECT {', '.join(columns)} FROM {model.name}").fetchall()
    text = json.dumps([columns, *sorted(json.dumps(row, default=str) for row in rows)])
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprints(con: duckdb.DuckDBPyConnection, directory: Path = MODELS) -> dict[str, dict[str, str]]:
    """Return both fingerprints of every mart; `con` holds `examples/fleet`."""
    return {
        model.name: {"sql": sql_fingerprint(model), "result": result_fingerprint(con, model)}
        for model in read(directory)
        if model.layer == "marts"
    }


def locked(path: Path = LOCK) -> dict[str, dict[str, str]]:
    """Return the content of the lock file, {} if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def broken(current: dict[str, dict[str, str]], frozen: dict[str, dict[str, str]]) -> list[str]:
    """Return a sentence for each frozen mart that has changed."""
    sentences = []
    for name, was in frozen.items():
        now = current.get(name)
        if now is None:
            sentences.append(f"{name} is frozen and gone; retire it in docs/decisions first")
        elif now["sql"] != was["sql"]:
            sentences.append(f"{name} is frozen and its SQL changed; write {_next(name)} beside it")
        elif now["result"] != was["result"]:
            sentences.append(
                f"{name} is frozen and its result over examples/fleet changed; something beneath it did: "
                f"undo that, or write {_next(name)}"
            )
    return sentences


def _next(name: str) -> str:
    stem, _, number = name.rpartition("_v")
    return f"{stem}_v{int(number) + 1}"
