"""The models of a warehouse: version, kind, grain, freshness and rows of each."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

import duckdb


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model as it is built.

    `version` is `v1`, with `frozen` behind it where a release froze it, and empty for what is no mart. `kind` is view,
    table (stored for each dump) or check; a check has its severity for a grain, and its rows are offenders.
    `fresh_at` is the end of the newest load that the rows stand for: of a table, the newest that brought one of its
    dumps; of what is computed when it is asked, the newest of all; None before the first. `row_count` is None where
    nobody asked for it.
    """

    name: str
    version: str
    kind: str
    grain: str
    fresh_at: datetime | None
    row_count: int | None
    purpose: str


def listed_models(
    con: duckdb.DuckDBPyConnection, frozen: Collection[str], progress: Callable[[int, int], None] | None
) -> list[ListedModel]:
    """Return the models in the order in which they are built; `frozen` holds the names of frozen marts.

    With `progress`, which takes models done and models to do, the rows of each are counted: this computes all views.
    """
    newest = con.execute("SELECT MAX(finished_at) FROM raw.loads").fetchone()[0]
    found: list[ListedModel] = []
    models = con.execute(
        "SELECT model_name, layer, is_incremental, severity, grain, purpose FROM meta.models ORDER BY ordinal"
    ).fetchall()
    for name, layer, is_incremental, severity, grain, purpose in models:
        version = f"v{name.rpartition('_v')[2]}" if layer == "marts" else ""
        found.append(
            ListedModel(
                name,
                f"{version} frozen" if name in frozen else version,
                "table" if is_incremental else "check" if severity else "view",
                ", ".join(grain) or severity,
                _stored_at(con, name) if is_incremental else newest,
                con.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] if progress else None,
                purpose,
            )
        )
        if progress:
            progress(len(found), len(models))
    return found


def _stored_at(con: duckdb.DuckDBPyConnection, table: str) -> datetime | None:
    return con.execute(
        f"SELECT MAX(l.finished_at) FROM raw.dumps AS d JOIN raw.loads AS l USING (load_id)"
        f" WHERE d.dump_id IN (SELECT dump_id FROM {table})"
    ).fetchone()[0]
