"""How fresh each configured source is, as the warehouse knows it: no source is listed or asked for this."""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from bufferhouse.config.load import Config
from bufferhouse.engine.sql import execute
from bufferhouse.sources.directory import ARCHIVE_SUFFIXES

_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a source has brought: how many observations, when the last of them was loaded, and its newest file."""

    observation_count: int
    last_load_at: datetime | None
    newest_file_at: datetime | None

    def quiet_seconds(self, now: datetime) -> float | None:
        """Return for how long nothing came: since the last load, as a file may have a time to come.

        None where nothing ever came. A clock that was set back makes it 0, never less.
        """
        return None if self.last_load_at is None else max(0.0, (now - self.last_load_at).total_seconds())


def freshness(con: duckdb.DuckDBPyConnection, conf: Config) -> dict[str, Freshness]:
    """Return the freshness of each configured source, by name.

    An observation belongs to a source whose path its URI begins with; of a glob, the part before the first wildcard.
    """
    return {source["name"]: _of(con, [conf.place(path) for path in source["paths"]]) for source in conf.sources}


def stale_after(conf: Config, name: str) -> float:
    """Return after how many seconds without anything new a source is stale; infinite where it never is."""
    own = (conf.source(name) or {}).get("stale")
    return conf["thresholds"]["stale"] if own is None else own


def is_stale(quiet_seconds: float | None, threshold: float) -> bool:
    """Say whether a source is stale: one that never brought anything is, unless it never can be."""
    return threshold != float("inf") and (quiet_seconds is None or quiet_seconds > threshold)


def _of(con: duckdb.DuckDBPyConnection, paths: list[str]) -> Freshness:
    count, loaded_at, mtime_ns = execute(
        con,
        "SELECT COUNT(*), arg_max(l.finished_at, load_id), MAX(o.source_mtime_ns)"
        " FROM raw.observations AS o JOIN raw.loads AS l USING (load_id)"
        " WHERE o.source_uri IN (SELECT unnest(CAST($paths AS VARCHAR[])))"
        " OR EXISTS (SELECT 1 FROM (SELECT unnest(CAST($beginnings AS VARCHAR[])) AS beginning)"
        " WHERE starts_with(o.source_uri, beginning))",
        paths=paths,
        beginnings=[_beginning(path) for path in paths],
    ).fetchone()
    newest = None if mtime_ns is None else datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    return Freshness(count, loaded_at and loaded_at.astimezone(UTC), newest)


def _beginning(path: str) -> str:
    """Return what the URIs of a path begin with; a directory ends in a slash, or its neighbours would count, too."""
    if (match := _MAGIC.search(path)) is not None and not os.path.exists(path):
        return path[: match.start()]
    return path if path.endswith(ARCHIVE_SUFFIXES) or os.path.isfile(path) else path.rstrip("/") + "/"
