"""How fresh each configured source is, from the warehouse alone: no source is listed or read for this."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from bufferhouse.config.load import Config
from bufferhouse.engine.sql import quoted
from bufferhouse.sources.naming import WILD

_MAGIC = re.compile(r"[*?\[]")
_PART = re.compile(r"(?<![^/])\*\*/|\*+|\?|\[(?P<negation>!?)(?P<members>\]?[^\]]*)\]|.", re.DOTALL)
_ODD = re.compile(r"[\[\]\\^]")  # what means something within brackets, but `-`


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a source has brought: how many observations, when the last of them was loaded, and its newest file."""

    observation_count: int
    last_load_at: datetime | None
    newest_file_at: datetime | None

    def quiet_seconds(self, now: datetime) -> float | None:
        """Return the seconds since the last load, not the age of the newest file, whose time may lie in the future.

        None if the source never brought a dump. After a clock was set back the result is 0, never less.
        """
        return None if self.last_load_at is None else max(0.0, (now - self.last_load_at).total_seconds())


def freshness(con: duckdb.DuckDBPyConnection, conf: Config) -> dict[str, Freshness]:
    """Return the freshness of each configured source, by name.

    An observation belongs to a source if its file is a path of the source, lies below one, or matches a glob of it,
    itself or by a folder above. Relative paths of dumps that were loaded by hand are taken relative to the working
    directory and to the configuration.
    """
    return {source["name"]: _of(con, _places_of(conf, source["paths"])) for source in conf.sources}


def stale_after(conf: Config, name: str) -> float:
    """Return after how many seconds without new dumps a source is stale; infinite if it never is."""
    own = (conf.source(name) or {}).get("stale")
    return conf["thresholds"]["stale"] if own is None else own


def is_stale(quiet_seconds: float | None, threshold: float) -> bool:
    """Return whether a source is stale; one that never brought a dump is, unless the threshold is infinite."""
    return threshold != float("inf") and (quiet_seconds is None or quiet_seconds > threshold)


def _of(con: duckdb.DuckDBPyConnection, places: Sequence[str]) -> Freshness:
    is_of_source = " OR ".join(
        f"(starts_with(o.source_uri, {quoted(beginning)}) AND regexp_full_match(o.source_uri, {quoted(files)}, 's'))"
        for beginning, files in map(_files_of, places)
    )
    count, loaded_at, mtime_ns = con.execute(
        "SELECT COUNT(*), arg_max(l.finished_at, load_id), MAX(o.source_mtime_ns)"
        f" FROM staging.observations AS o JOIN raw.loads AS l USING (load_id) WHERE {is_of_source}"
    ).fetchone()
    newest = None if mtime_ns is None else datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    return Freshness(count, loaded_at and loaded_at.astimezone(UTC), newest)


def _places_of(conf: Config, paths: Sequence[str]) -> list[str]:
    """Return the paths of a source, absolute and as they are called from here and from the configuration."""
    places = [conf.place(path) for path in paths]
    starts = {os.getcwd(), *([os.path.dirname(os.path.abspath(conf.path))] if conf.path else [])}
    return places + [os.path.relpath(place, start) for place in places if os.path.isabs(place) for start in starts]


def _files_of(place: str) -> tuple[str, str]:
    """Return the beginning of the URIs of a path's files, and their regular expression: in an archive a `!` follows."""
    match = _MAGIC.search(place) if "://" not in place and not os.path.exists(place) else None
    if match is None:
        own = place.rstrip("/")
        return own, f"{re.escape(own)}(?:[/!].*)?"
    # `DIR/**` is a folder with all that is in it.
    return place[: match.start()], f"{_PART.sub(_of_part, place.removesuffix('/**'))}(?:[/!].*)?"


def _of_part(match: re.Match[str]) -> str:
    """Return the regular expression of a part of a glob, as `glob.glob` understands it."""
    text, negation, members = match[0], match["negation"], match["members"]
    if members is not None:
        inside = _ODD.sub(lambda odd: f"\\{odd[0]}", members)
        return f"[{'^' if negation else ''}{inside}]"
    return WILD.get("*" if text.strip("*") == "" else text) or re.escape(text)
