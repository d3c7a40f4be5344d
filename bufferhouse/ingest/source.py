"""One pass over one source: what is there, what of it is new, what of that may be read now, and what came of it."""

import glob
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.arrivals import Arrivals, Rules, orphans
from bufferhouse.ingest.known import unknown_files
from bufferhouse.ingest.summary import Summary
from bufferhouse.sources import discover as finding
from bufferhouse.sources.directory import ARCHIVE_SUFFIXES
from bufferhouse.sources.discover import Discovery, Found
from bufferhouse.sources.naming import Named
from bufferhouse.warehouse.completing import COMPLETED, declared_complete
from bufferhouse.warehouse.runs import complete_runs
from bufferhouse.warehouse.warehouse import Warehouse


@dataclass(slots=True)
class Source:
    """Where dumps come from, and what is known about them. `pattern` is that of `naming`, None for the usual rules."""

    name: str
    paths: list[str]
    rules: Rules = field(default_factory=Rules)
    run_name: str | None = None
    pattern: Any = None
    labels: Mapping[str, str] = field(default_factory=dict)
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    look_inside: bool = True

    @classmethod
    def configured(cls, values: Mapping[str, Any], paths: Iterable[str]) -> "Source":
        """Return a source as the configuration describes it; `paths` are its own, as they were meant."""
        track = {"track": values["track"]} if values["track"] else {}
        return cls(
            values["name"],
            list(paths),
            Rules(values["settle"], values["grace"], values["marker"]),
            pattern=values["runs"] or values["runs_regex"],
            labels={**track, **values["labels"]},
            include=values["include"],
            exclude=values["exclude"],
            look_inside=values["look_inside"],
        )

    @property
    def is_configured(self) -> bool:
        """Whether it has rules: what was just named on a call is read as it is."""
        return self.rules != Rules()


@dataclass(slots=True)
class Seen:
    """What one look found: dumps by run, and archives that are still being written."""

    discovery: Discovery
    now_ns: int
    waiting: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Pass(Summary):
    """What one pass did: what an ingest did, and what it left for later. `late` came after their run was complete."""

    waiting: list[str] = field(default_factory=list)
    late: int = 0
    fault: str | None = None
    error: Exception | None = None

    def include(self, other: "Pass") -> None:
        """Add the figures of another pass."""
        for name in ("seen", "new", "known", "ignored", "rejected", "known_rejected", "bytes", "late"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("unreadable", "reject_lines", "head_faults", "runs", "waiting"):
            getattr(self, name).extend(item for item in getattr(other, name))
        self.add_tries(other)
        for counts, more in ((self.rows, other.rows), (self.warnings, other.warnings)):
            for name, count in more.items():
                counts[name] = counts.get(name, 0) + count

    def told(self) -> dict:
        """Return the pass as JSON knows it."""
        return {**Summary.as_dict(self), "waiting": self.waiting, "late": self.late}


def look(source: Source, listings: Listings | None = None) -> Seen:
    """List what is in a source; no dump is opened, where `look_inside` does not ask for it.

    With `listings` no archive is opened either, that was listed before and has not changed.

    Raises:
        UsageError, SourceUnavailable: as `sources.discover`.
    """
    seen = Seen(Discovery(), time.time_ns())
    paths = list(_settled_paths(source, seen)) if source.is_configured else source.paths
    seen.discovery = finding.discover(
        paths,
        run_name=source.run_name,
        labels=source.labels,
        include=source.include,
        exclude=source.exclude,
        places=Named(source.pattern, source.labels) if source.pattern else None,
        look_inside=source.look_inside,
        **({"entries_of": listings.entries} if listings else {}),
    )
    return seen


def _settled_paths(source: Source, seen: Seen) -> Iterable[str]:
    """Yield the paths of a source, globs expanded, without archives that are still being written."""
    for path in source.paths:
        is_glob = "://" not in path and not os.path.exists(path) and glob.has_magic(path)
        for match in sorted(glob.glob(path, recursive=True)) if is_glob else [path]:
            if match.endswith(ARCHIVE_SUFFIXES) and os.path.isfile(match):
                age = abs(seen.now_ns - os.stat(match).st_mtime_ns) / 1e9
                if age < source.rules.settle:
                    seen.waiting.append(f"{match}: it has not been the same for {source.rules.settle:g} s yet")
                    continue
            yield match


def choose(warehouse: Warehouse, source: Source, seen: Seen, result: Pass) -> Arrivals:
    """Return which of the dumps that were seen are to be read now, and count all others in `result`.

    To be called by the one who holds the warehouse: what another pass loaded meanwhile is known.

    Raises:
        UsageError: as `known_files.unknown_files`.
    """
    discovery = seen.discovery
    fresh = unknown_files(warehouse, discovery, result)
    complete = declared_complete(warehouse.con) | {
        name for name, run in discovery.runs.items() if run.labels.get(COMPLETED)
    }
    arrivals = Arrivals(source.rules, seen.now_ns, frozenset(complete), waiting=seen.waiting)
    arrivals.sort(fresh, {name: directory_of(dumps) for name, dumps in _by_run(fresh).items()})
    if source.is_configured:
        arrivals.waiting += orphans(discovery.orphans)
    for name, mtime_ns in arrivals.marked.items():
        moment = datetime.fromtimestamp(mtime_ns / 1e9, UTC)
        discovery.runs[name].labels.setdefault(COMPLETED, moment.isoformat(timespec="seconds"))
    complete_runs(warehouse.con, discovery.runs)
    result.late = sum(dump.run_name in complete for dump in arrivals.ready if dump.content is None)
    return arrivals


def finish(arrivals: Arrivals, result: Pass) -> None:
    """Put what has to wait into the result, when everything was read."""
    result.waiting += arrivals.waiting


def _by_run(dumps: Sequence[Found]) -> dict[str, list[Found]]:
    runs: dict[str, list[Found]] = {}
    for dump in dumps:
        runs.setdefault(dump.run_name, []).append(dump)
    return runs


def directory_of(dumps: Sequence[Found]) -> str:
    """Return the directory of the run that some dumps belong to."""
    path = dumps[0].uri
    return path[: len(path) - len(dumps[0].relative_path)].rstrip("/") or "/"
