"""One source, configured or named on a call: what is there, what of it is new, what of that may be read now."""

import glob
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bufferhouse.config.load import FILE_NAME, Config
from bufferhouse.errors import UsageError
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.arrivals import Arrivals, Rules, orphans
from bufferhouse.ingest.known import unknown_files
from bufferhouse.ingest.summary import Summary
from bufferhouse.sources import discover as finding
from bufferhouse.sources.directory import ARCHIVE_SUFFIXES
from bufferhouse.sources.discover import Discovery, Found
from bufferhouse.sources.naming import Named
from bufferhouse.warehouse.runs import COMPLETED, complete_runs, declared_complete
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

    @classmethod
    def named(cls, paths: Sequence[str], **facts: Any) -> "Source":
        """Return what was named on a call, as one source; `facts` are its other fields."""
        return cls(", ".join(paths), list(paths), **facts)

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


def chosen_sources(
    conf: Config, names: Sequence[str] | None = None, run: str | None = None, labels: Mapping[str, str] | None = None
) -> list[Source]:
    """Return the configured sources of some names, all for None, and one source of all that is no such name.

    Raises:
        UsageError: none is named, and none is configured.
    """
    if names is None and not conf.sources:
        where = f" in {conf.path}" if conf.path else ""
        raise UsageError(f"expected sources, or [[sources]]{where or f' in a {FILE_NAME}'}; found none")
    named = conf.sources if names is None else [one for one in conf.sources if one["name"] in names]
    chosen = [Source.configured(one, map(conf.place, one["paths"])) for one in named]
    known = {source.name for source in chosen}
    paths = [name for name in names or () if name not in known]
    if paths:
        chosen.append(Source.named(paths))
    for source in chosen:
        source.run_name = run
        source.labels = {**source.labels, **(labels or {})}
    return chosen


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
        is_lenient=source.is_configured,
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


def choose(warehouse: Warehouse, source: Source, seen: Seen, summary: Summary, *, rehash: bool = False) -> Arrivals:
    """Return which of the dumps that were seen are to be read now, and count all others in `summary`.

    To be called by the one who holds the warehouse: what another pass loaded meanwhile is known. With `rehash` all are
    read that do not wait.

    Raises:
        UsageError: as `unknown_files`.
    """
    discovery = seen.discovery
    fresh = unknown_files(warehouse, discovery, summary, rehash=rehash)
    complete = declared_complete(warehouse.con) | {
        name for name, run in discovery.runs.items() if run.labels.get(COMPLETED)
    }
    if source.is_configured:
        arrivals = Arrivals(source.rules, seen.now_ns, frozenset(complete), waiting=seen.waiting)
        arrivals.sort(fresh, {name: directory_of(dumps) for name, dumps in _by_run(fresh).items()})
        arrivals.waiting += orphans(discovery.orphans)
        for name, mtime_ns in arrivals.marked.items():
            moment = datetime.fromtimestamp(mtime_ns / 1e9, UTC)
            discovery.runs[name].labels.setdefault(COMPLETED, moment.isoformat(timespec="seconds"))
    else:
        arrivals = Arrivals(source.rules, seen.now_ns, ready=fresh)  # what is named is read as it is
    complete_runs(warehouse, discovery.runs)
    summary.late = sum(dump.run_name in complete for dump in arrivals.ready if dump.content is None)
    return arrivals


def _by_run(dumps: Sequence[Found]) -> dict[str, list[Found]]:
    runs: dict[str, list[Found]] = {}
    for dump in dumps:
        runs.setdefault(dump.run_name, []).append(dump)
    return runs


def directory_of(dumps: Sequence[Found]) -> str:
    """Return the directory of the run that some dumps belong to."""
    path = dumps[0].uri
    return path[: len(path) - len(dumps[0].relative_path)].rstrip("/") or "/"
