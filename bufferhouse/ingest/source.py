"""One source, configured or named on a call: which files it has, which are new, and which may be read now."""

import os
import time
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple

from bufferhouse.config.load import FILE_NAME, Config
from bufferhouse.dump.identity import Content, content_of
from bufferhouse.engine.sql import execute, streamed
from bufferhouse.errors import UsageError, counted
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.arrivals import Arrivals, Rules, orphans
from bufferhouse.ingest.logs import unknown_logs
from bufferhouse.ingest.summary import Summary
from bufferhouse.redaction import printable
from bufferhouse.sources import compression
from bufferhouse.sources import discover as finding
from bufferhouse.sources.directory import split_at_archive
from bufferhouse.sources.discover import Discovery, read
from bufferhouse.sources.found import Found, FoundDumps
from bufferhouse.sources.logs import Log
from bufferhouse.sources.naming import Named, check_pattern, check_regex
from bufferhouse.sources.run import AHEAD, names_by_place
from bufferhouse.version import __version__
from bufferhouse.warehouse.retention import pruned_runs
from bufferhouse.warehouse.runs import COMPLETED, complete_runs, declared_complete, other_facts
from bufferhouse.warehouse.warehouse import Warehouse


@dataclass(slots=True)
class Source:
    """Where dumps come from, and what is known about them. `pattern` is that of `naming`, None for the usual rules.

    If a source may not be empty, but is, no warehouse is opened. Without `with_logs` logs beside dumps are not read.
    """

    name: str
    paths: list[str]
    rules: Rules = field(default_factory=Rules)
    run_name: str | None = None
    pattern: Any = None
    labels: Mapping[str, str] = field(default_factory=dict)
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    look_inside: bool = True
    may_be_empty: bool = True
    with_logs: bool = True
    is_configured: bool = False  # its files follow its rules; what was just named on a call is read as it is

    @classmethod
    def configured(cls, values: Mapping[str, Any], paths: Iterable[str]) -> "Source":
        """Return a source as the configuration describes it; `paths` are its own, as they were meant."""
        track = {"track": values["track"]} if values["track"] else {}
        regex = values["runs_regex"]
        return cls(
            values["name"],
            list(paths),
            Rules(values["settle"], values["grace"], values["marker"]),
            pattern=check_pattern(values["runs"]) if values["runs"] else (regex and check_regex(regex)),
            labels={**track, **values["labels"]},
            include=values["include"],
            exclude=values["exclude"],
            look_inside=values["look_inside"],
            is_configured=True,
        )

    @classmethod
    def named(cls, paths: Sequence[str], **facts: Any) -> "Source":
        """Return what was named on a call, as one source; `facts` are its other fields."""
        return cls(", ".join(paths), list(paths), **facts)


@dataclass(slots=True)
class Seen:
    """What one look found: dumps by run, and archives that are still being written."""

    discovery: Discovery
    now_ns: int
    waiting: list[str] = field(default_factory=list)


def chosen_sources(
    conf: Config, names: Sequence[str] | None = None, run: str | None = None, labels: Mapping[str, str] | None = None
) -> list[Source]:
    """Return the configured sources with some names, or all for None; all other words make one more source.

    A configured source may be empty for now; what a call names may not.

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
        chosen.append(Source.named(paths, may_be_empty=False))
    for source in chosen:
        source.run_name = run
        source.labels = {**source.labels, **(labels or {})}
    return chosen


def look(source: Source, listings: Listings | None = None) -> Seen:
    """List the files of a source; dumps are opened only if its `look_inside` asks for it.

    With `listings`, archives that were listed before and have not changed are not opened either.

    Raises:
        UsageError, SourceUnavailable: as `sources.discover`.
    """
    seen = Seen(Discovery(), time.time_ns())
    seen.discovery = finding.discover(
        source.paths,
        run_name=source.run_name,
        labels=source.labels,
        include=source.include,
        exclude=source.exclude,
        places=Named(source.pattern, source.labels) if source.pattern and source.run_name is None else None,
        look_inside=source.look_inside,
        may_be_empty=source.is_configured,
        waits=lambda archive: not _has_settled(source, seen, archive, os.stat(archive).st_mtime_ns, seen.waiting),
        **({"entries_of": listings.entries} if listings else {}),
    )
    return seen


def _has_settled(source: Source, seen: Seen, path: str, mtime_ns: int, waiting: list[str]) -> bool:
    """Return whether a file is unchanged for as long as its source requires; else note it in `waiting`."""
    if abs(seen.now_ns - mtime_ns) / 1e9 >= source.rules.settle:
        return True
    waiting.append(f"{path}: it changed less than {source.rules.settle:g} s ago")
    return False


def choose(
    warehouse: Warehouse,
    source: Source,
    seen: Seen,
    summary: Summary,
    *,
    rehash: bool = False,
    others: Sequence[Discovery] = (),
) -> Arrivals:
    """Return the dumps to read now among those that were seen; count all others in `summary`.

    Call it while holding the warehouse, so that dumps are known that another pass has loaded meanwhile. With `rehash`
    all dumps are read that do not wait. `others` was found in earlier sources, and is not loaded yet.

    Raises:
        UsageError: as `unknown_files`.
    """
    discovery = seen.discovery
    known = known_runs(warehouse)
    if source.is_configured and discovery.runs.keys() - known.keys():
        _leave_out_pruned(warehouse, discovery, known, summary)
    fresh = unknown_files(warehouse, discovery, known, summary, rehash=rehash, others=others)
    are_any_known = bool(known.keys() & discovery.runs.keys())  # in a lake it takes long to ask for nothing
    complete = {name for name, run in discovery.runs.items() if run.labels.get(COMPLETED)}
    if are_any_known:
        complete |= declared_complete(warehouse.con)
    if source.is_configured:
        arrivals = Arrivals(source.rules, seen.now_ns, frozenset(complete), waiting=seen.waiting)
        roots = {run.run_name: run.directory.rstrip("/") or "/" for run in reversed(discovery.dumps.runs)}
        arrivals.sort(fresh, roots)
        arrivals.waiting += orphans(discovery.orphans)
        if (summary.undescribed or summary.ahead) and arrivals.waiting_dumps:
            # A new run whose dumps all wait is not in the warehouse yet, so nothing can be said of it there.
            loaded = {dump.run_name for dump in arrivals.ready}
            summary.undescribed = {name: facts for name, facts in summary.undescribed.items() if name in loaded}
            summary.ahead = {name: start for name, start in summary.ahead.items() if name in loaded}
        for name, mtime_ns in arrivals.marked.items():
            moment = datetime.fromtimestamp(mtime_ns / 1e9, UTC)
            discovery.runs[name].labels.setdefault(COMPLETED, moment.isoformat(timespec="seconds"))
    else:
        arrivals = Arrivals(source.rules, seen.now_ns, ready=fresh)  # what is named is read as it is
    if are_any_known:
        complete_runs(warehouse, discovery.runs)
    if complete & discovery.runs.keys():
        summary.late = sum(dump.run_name in complete for dump in arrivals.ready if dump.content is None)
    return arrivals


def ready_logs(warehouse: Warehouse, source: Source, seen: Seen, summary: Summary, *, rehash: bool) -> list[Log]:
    """Return the logs of a source to read now; logs that are still being written wait, and are noted in `summary`."""
    logs = seen.discovery.logs if source.with_logs else []
    fresh = list(logs) if rehash or not logs else unknown_logs(warehouse, logs)
    return [log for log in fresh if _has_settled(source, seen, log.entry.path, log.entry.mtime_ns, summary.waiting)]


class KnownRun(NamedTuple):
    """A run that is in the warehouse: its number, and where it was found."""

    run_id: int
    root: str


def known_runs(warehouse: Warehouse) -> dict[str, KnownRun]:
    """Return the runs of a warehouse by name, in the order of their numbers."""
    rows = warehouse.con.execute("SELECT run_name, run_id, root FROM raw.runs ORDER BY run_id").fetchall()
    return {name: KnownRun(*told) for name, *told in rows}


def unknown_files(
    warehouse: Warehouse,
    discovery: Discovery,
    runs: Mapping[str, KnownRun],
    summary: Summary,
    *,
    rehash: bool,
    others: Sequence[Discovery] = (),
) -> FoundDumps:
    """Return the dumps whose path, size or modification time is new; count the others in `summary`.

    `runs` are those of the warehouse. If only files beside a dump are new, the dump is returned with its known
    `content`, so that it is not read again.

    Raises:
        UsageError: all that was found is one run, and another one has its name: in the warehouse, or in `others`.
    """
    _pass_by_itself(warehouse, discovery)
    roots = {name: run.root for name, run in runs.items()}
    _follow_renames(warehouse, discovery, roots, summary)
    _part_strangers(warehouse, discovery, roots, others)
    summary.seen = len(discovery.dumps)
    summary.ignored = discovery.ignored_count
    summary.unreadable += discovery.refused
    summary.runs = list(discovery.runs)
    summary.undescribed = _undescribed(discovery, roots)
    summary.run_files_below = {
        name: (discovery.run_files_below[name], discovery.runs[name].root)
        for name in summary.undescribed
        if name in discovery.run_files_below
    }
    summary.unread_keys = {
        name: run.unread_keys for name, run in discovery.runs.items() if run.unread_keys and name not in roots
    }
    latest = datetime.now(UTC) + AHEAD
    summary.ahead = {
        name: f"{run.started_at:%Y-%m-%d %H:%M} UTC ({run.started_at_source})"
        for name, run in discovery.runs.items()
        if name not in roots and run.started_at > latest
    }
    again = {name: run for name, run in discovery.runs.items() if name in runs}
    if again:
        summary.other_facts = other_facts(warehouse, again)
    if rehash or not again:
        summary.twins = _twins(discovery, discovery.dumps)
        return discovery.dumps
    fresh = array("L")
    for portion in discovery.dumps.portions():
        changed = _not_known(warehouse, runs, portion)
        summary.add_known_rejects(
            [dump.uri for dump in portion if dump.number in changed and changed[dump.number][0] == _REFUSED]
        )
        summary.known += len(portion) - len(changed)
        same = {number: dump_id for number, (state, dump_id) in changed.items() if state == _OTHER_FILES_BESIDE}
        known = warehouse.known_contents(set(same.values()))
        for number, dump_id in same.items():
            discovery.dumps.know(number, Content(dump_id, known[dump_id][0], {}))
        fresh.extend(number for number, (state, _) in changed.items() if state != _REFUSED)
    found = discovery.dumps.only(fresh)
    summary.other_endings = _other_endings(warehouse, discovery, runs, found)
    summary.twins = _twins(discovery, found)
    return found


def _twins(discovery: Discovery, fresh: FoundDumps) -> Counter[str]:
    """Count by run the dumps of which several files lie there, plain or compressed in several ways, and one is new."""
    if not discovery.twins:
        return Counter()
    stems = {(dump.run_name, compression.plain_name(dump.uri)) for dump in fresh if dump.uri in discovery.twins}
    return Counter(run for run, _ in sorted(stems))


def _other_endings(
    warehouse: Warehouse, discovery: Discovery, runs: Mapping[str, KnownRun], fresh: FoundDumps
) -> Counter[str]:
    """Count by run the new files that were seen before in another compression, under a name that is gone now.

    Paths identify files, so the earlier observation stays: the run has each of these dumps twice.
    """
    import polars as pl

    seen: list[tuple[str, str]] = []
    for portion in fresh.portions():
        asked = [
            (runs[dump.run_name].run_id, dump.run_name, dump.relative_path, compression.plain_name(dump.relative_path))
            for dump in portion
            if dump.run_name in runs and dump.content is None
        ]
        if asked:
            types = {"run_id": pl.Int64, "run_name": pl.String, "fresh_path": pl.String, "plain_path": pl.String}
            with streamed(warehouse.con, "asked", pl.DataFrame(asked, schema=types, orient="row")):
                seen += execute(
                    warehouse.con,
                    "SELECT run_name, relative_path FROM (SELECT *, plain_path || UNNEST($endings) AS relative_path"
                    " FROM asked) SEMI JOIN raw.observations USING (run_id, relative_path)"
                    " WHERE relative_path <> fresh_path",
                    endings=["", *compression.ENDINGS],
                ).fetchall()
    if not seen:
        return Counter()
    gone = set(seen) - {(dump.run_name, dump.relative_path) for dump in discovery.dumps}
    return Counter(run for run, _ in sorted(gone))


_NEVER_SEEN, _KNOWN, _REFUSED, _OTHER_FILES_BESIDE = range(4)


def _not_known(
    warehouse: Warehouse, runs: Mapping[str, KnownRun], dumps: Sequence[Found]
) -> dict[int, tuple[int, int | None]]:
    """Return the dumps that are not as they were last seen, by number: how they differ, and the content seen then.

    Such a dump was never seen with this size and time, or was refused then; or only its module text, its options, its
    proto or the files that say that it did not fit have changed or arrived since.

    The rows of a run may be many: they are compared where they lie, and only what is different comes out.
    """
    import polars as pl

    if not runs.keys() & {dump.run_name for dump in dumps}:
        return {dump.number: (_NEVER_SEEN, None) for dump in dumps}
    columns = {
        "number": [dump.number for dump in dumps],
        "run_id": [run and run.run_id for run in (runs.get(dump.run_name) for dump in dumps)],
        "relative_path": [dump.relative_path for dump in dumps],
        "size_bytes": [dump.size_bytes for dump in dumps],
        "mtime_ns": [dump.mtime_ns for dump in dumps],
        "text_size_bytes": [dump.module_text and dump.module_text.size_bytes for dump in dumps],
        "text_mtime_ns": [dump.module_text and dump.module_text.mtime_ns for dump in dumps],
        "did_not_fit": [dump.did_not_fit for dump in dumps],
        "flags_size_bytes": [
            sum(one.size_bytes for one in dump.flags.values()) if dump.flags else None for dump in dumps
        ],
        "flags_mtime_ns": [max((entry.mtime_ns for entry in dump.flags.values()), default=None) for dump in dumps],
        "proto_size_bytes": [dump.proto and dump.proto.size_bytes for dump in dumps],
        "proto_mtime_ns": [dump.proto and dump.proto.mtime_ns for dump in dumps],
    }
    kinds = dict.fromkeys(columns, pl.Int64) | {"relative_path": pl.String, "did_not_fit": pl.Boolean}
    with streamed(warehouse.con, "asked", pl.DataFrame(columns, schema=kinds)):
        # Of the rows of one file that of the last load stands.
        rows = execute(
            warehouse.con,
            "WITH told AS (SELECT run_id, relative_path, source_size_bytes, source_mtime_ns, load_id, $known AS state,"
            " dump_id, module_text_size_bytes, module_text_mtime_ns, did_not_fit,"
            " compile_flags_size_bytes, compile_flags_mtime_ns, proto_size_bytes, proto_mtime_ns"
            " FROM raw.observations UNION ALL"
            " SELECT run_id, relative_path, source_size_bytes, source_mtime_ns, load_id, $refused, -1,"
            " NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM raw.rejects"
            " WHERE parser_version = $version AND state = 'open')"
            " SELECT a.number, COALESCE(ARG_MAX(CASE"
            " WHEN t.source_size_bytes <> a.size_bytes OR t.source_mtime_ns IS DISTINCT FROM a.mtime_ns THEN $unseen"
            " WHEN t.state = $known AND a.text_size_bytes IS NOT NULL"
            " AND (t.module_text_size_bytes IS DISTINCT FROM a.text_size_bytes"
            " OR t.module_text_mtime_ns IS DISTINCT FROM a.text_mtime_ns) THEN $other"
            " WHEN t.state = $known AND a.did_not_fit AND t.did_not_fit IS NOT TRUE THEN $other"
            " WHEN t.state = $known AND a.flags_size_bytes IS NOT NULL"
            " AND (t.compile_flags_size_bytes IS DISTINCT FROM a.flags_size_bytes"
            " OR t.compile_flags_mtime_ns IS DISTINCT FROM a.flags_mtime_ns) THEN $other"
            " WHEN t.state = $known AND a.proto_size_bytes IS NOT NULL"
            " AND (t.proto_size_bytes IS DISTINCT FROM a.proto_size_bytes"
            " OR t.proto_mtime_ns IS DISTINCT FROM a.proto_mtime_ns) THEN $other"
            " ELSE t.state END, t.load_id), $unseen) AS found, ARG_MAX(t.dump_id, t.load_id) AS dump_id"
            " FROM asked AS a LEFT JOIN told AS t USING (run_id, relative_path)"
            " GROUP BY a.number HAVING found <> $known ORDER BY a.number",
            version=__version__,
            unseen=_NEVER_SEEN,
            known=_KNOWN,
            refused=_REFUSED,
            other=_OTHER_FILES_BESIDE,
        ).fetchall()
    return {number: (state, dump_id) for number, state, dump_id in rows}


def _undescribed(discovery: Discovery, known: Container[str]) -> dict[str, list[str]]:
    """Return new runs with what is not known: the compiler, or a platform that neither they nor their files say."""
    with_target = {run.run_name for run in discovery.dumps.runs if run.has_target}
    lacking = {
        name: [
            *([] if run.facts.get("compiler") else ["compiler"]),
            *([] if run.facts.get("platform") or name in with_target else ["platform"]),
        ]
        for name, run in discovery.runs.items()
        if name not in known
    }
    return {name: facts for name, facts in lacking.items() if facts}


def _pass_by_itself(warehouse: Warehouse, discovery: Discovery) -> None:
    """Leave out the warehouse's own files if they were named, as when a shell expands `*` beside them.

    Reading the database here would drop DuckDB's lock on it, which is gone when this process closes any descriptor of
    the file.
    """
    own = {os.path.realpath(path) for path in warehouse.address.files} if warehouse.address else set()
    if not (own and discovery.has_named_files):
        return
    # In a walk only what is named or begins like a dump comes as far as this.
    kept = [
        dump.number for dump in discovery.dumps if not (dump.main.is_explicit and os.path.realpath(dump.uri) in own)
    ]
    discovery.ignored_count += len(discovery.dumps) - len(kept)
    discovery.dumps = discovery.dumps.only(kept)


def _follow_renames(warehouse: Warehouse, discovery: Discovery, roots: Mapping[str, str], summary: Summary) -> None:
    """Give a run that the call does not name the name of the known run with the same root and a file in common.

    The known run was renamed, or the run.json came later: the summary then says that the names differ.
    """
    names_there = {root: name for name, root in roots.items()}
    names = {
        name: names_there[run.root]
        for name, run in discovery.runs.items()
        if not run.is_named_by_call
        and roots.get(name) != run.root
        and names_there.get(run.root) not in {None, *discovery.runs}
    }
    files = warehouse.known_files(names.values()) if names else {}
    known = {
        dump.run_name
        for dump in (discovery.dumps if names else ())
        if dump.run_name in names
        and files.get((names[dump.run_name], dump.relative_path)) == (dump.size_bytes, dump.mtime_ns)
    }
    same = {name: there for name, there in names.items() if name in known}
    for name, there in same.items():
        if not discovery.runs[name].is_named_by_place:
            summary.other_names[there] = name
    _rename(discovery, same)


def _rename(discovery: Discovery, names: Mapping[str, str]) -> None:
    """Give runs of a discovery other names."""
    if not names:
        return
    discovery.dumps.rename(names)
    for log in discovery.logs:
        log.places = {names.get(name, name): path for name, path in log.places.items()}
    for name, other in names.items():
        discovery.runs[name].run_name = other
    discovery.runs = {run.run_name: run for run in discovery.runs.values()}


def _part_strangers(
    warehouse: Warehouse, discovery: Discovery, roots: Mapping[str, str], others: Sequence[Discovery]
) -> None:
    """Add no dumps to another run that happens to have the same name: a run named by its directory gets a longer name.

    Raises:
        UsageError: its name was given, and nothing else was found.
    """
    chosen = {name: run.root for other in others for name, run in other.runs.items()}
    parted = _parted(discovery, others, chosen)
    longer: dict[str, str] = {}
    for name, run in list(discovery.runs.items()):
        if roots.get(name) == run.root:
            continue
        is_new = roots.get(name) is None or not _is_stranger(warehouse, discovery, name)
        if is_new and name not in parted:
            continue
        if run.is_named_by_place:
            known = [*roots.items(), *chosen.items()]
            taken = {other for other, root in known if root != run.root} | {*discovery.runs, *longer.values()}
            longer[name] = names_by_place([run.root], taken)[run.root]
            continue
        there = f"the warehouse has a run {name!r} from {roots[name]}" if not is_new else (
            f"there is a run {name!r} from {chosen[name]} with other files of the same names"
        )  # fmt: skip
        fault = f"{there}, and no dump of {run.root} is in it; give the run of this folder another name with --run"
        fault = printable(fault)
        if len(discovery.runs) == 1:
            raise UsageError(fault)
        discovery.refused.append(f"{fault}; {counted(_take_out(discovery, {name: inf})[name], 'dump')} left out")
    _rename(discovery, longer)


def _parted(discovery: Discovery, others: Sequence[Discovery], chosen: Mapping[str, str]) -> set[str]:
    """Return the runs that are not those of the same names in other sources, whose roots are `chosen`.

    A run that its directory names is not. Of a name that was given the run is one, but two files cannot be one file.
    """
    alike = {name: run for name, run in discovery.runs.items() if chosen.get(name, run.root) != run.root}
    given = {name for name, run in alike.items() if not run.is_named_by_place}
    found = alike.keys() - given
    if given:
        there = {(dump.run_name, dump.relative_path) for one in others for dump in one.dumps if dump.run_name in given}
        found |= {dump.run_name for dump in discovery.dumps if (dump.run_name, dump.relative_path) in there}
    return found


def _leave_out_pruned(
    warehouse: Warehouse, discovery: Discovery, known: Mapping[str, KnownRun], summary: Summary
) -> None:
    """Leave out the runs that retention removed, unless a dump, or its archive, is newer than the removal."""
    pruned = pruned_runs(warehouse.con)
    roots = Counter(run.root for run in discovery.runs.values())
    since = {}
    for name, run in discovery.runs.items():
        names = pruned.get(run.root)
        if names is None or name in known:
            continue
        # It may have been renamed: then its place tells it, where no other run lies there.
        if moment := names.get(name) or (max(names.values()) if roots[run.root] == 1 else None):
            since[name] = moment.timestamp() * 1e9
    if not since:
        return
    places = {name: split_at_archive(discovery.runs[name].root) for name in since}
    archives = {name: archive for name, (archive, inside) in places.items() if inside is not None}
    mtimes = {archive: _archive_mtime_ns(archive.removesuffix("!")) for archive in {*archives.values()}}
    newer = {name for name, archive in archives.items() if mtimes[archive] > since[name]}
    newer |= {dump.run_name for dump in discovery.dumps if dump.mtime_ns > since.get(dump.run_name, inf)}
    removed = {name: moment for name, moment in since.items() if name not in newer}
    summary.pruned = Counter(dict(sorted(_take_out(discovery, removed).items())))


def _archive_mtime_ns(path: str) -> int:
    """Return when an archive was last written, since its members keep their own times; 0 if it is gone.

    Raises:
        UsageError, SourceUnavailable: it lies in a bucket that does not answer.
    """
    if path.startswith("s3://"):
        from bufferhouse.sources.bucket import Bucket

        entry = Bucket(path).beside(path)
        return 0 if entry is None else entry.mtime_ns
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _take_out(discovery: Discovery, names: Mapping[str, float]) -> Counter[str]:
    """Remove runs from what was found, with their logs; return how many dumps they had.

    Each run has a moment, in nanoseconds: a log that is newer is of none of them.
    """
    counts = Counter(dict.fromkeys(names, 0))
    kept = array("L")
    for dump in discovery.dumps:
        if dump.run_name in names:
            counts[dump.run_name] += 1
        else:
            kept.append(dump.number)
    discovery.dumps = discovery.dumps.only(kept)
    discovery.runs = {name: run for name, run in discovery.runs.items() if name not in names}
    for log in discovery.logs:
        log.may_be_of_others |= any(log.entry.mtime_ns <= names.get(run, -inf) for run in log.places)
        log.places = {run: path for run, path in log.places.items() if run not in names}
    discovery.logs = [log for log in discovery.logs if log.places]
    return counts


def _is_stranger(warehouse: Warehouse, discovery: Discovery, name: str) -> bool:
    """Return whether a run of the warehouse has contents and is another run than the found one with its name.

    If the name was given to both, they are one run if they have a content in common. Two directories with one name are
    one directory that was moved if all files of the same names agree: all, since small programs are equal in most runs.
    """
    rows = execute(
        warehouse.con,
        "SELECT o.relative_path, o.dump_id FROM staging.observations AS o JOIN raw.runs AS u USING (run_id)"
        " WHERE u.run_name = $name",
        name=name,
    ).fetchall()
    there = dict(rows)
    own = [dump for dump in discovery.dumps if dump.run_name == name]
    if not discovery.runs[name].is_named_by_place:
        contents = set(there.values())
        return bool(contents) and contents.isdisjoint(content.dump_id for _, content in _contents(own))
    own = [dump for dump in own if dump.relative_path in there]
    seen = warehouse.known_files([name])
    unsure = [d for d in own if seen.get((name, d.relative_path)) != (d.size_bytes, d.mtime_ns)]
    differ = any(content.dump_id != there[dump.relative_path] for dump, content in _contents(unsure))
    return bool(there) and (differ or not own)


def _contents(dumps: Sequence[Found]) -> Iterator[tuple[Found, Content]]:
    """Read dumps, and yield those that can be read, each with its content."""
    return ((dump, content_of(files)) for dump, files in read(dumps) if not isinstance(files, Exception))
