"""Find the dumps in paths, globs, directories, archives and buckets: candidates, their runs, the files of each dump."""

import glob
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from itertools import groupby
from operator import methodcaller

from bufferhouse.dump.compile_flags import ORIGINS
from bufferhouse.dump.identity import (
    SUFFIXES,
    dump_beside,
    dump_of_proto,
    ending_of,
    is_log,
    is_module_text,
    is_proto,
    is_written_beside,
    module_prefix,
    module_text_beside,
    protos_beside,
)
from bufferhouse.errors import SourceUnavailable, UsageError, counted, told
from bufferhouse.redaction import printable
from bufferhouse.sources import compression
from bufferhouse.sources.compression import CompressionError, is_unread
from bufferhouse.sources.directory import (
    Directory,
    Entry,
    Tree,
    archive_ending,
    is_storable,
    last_name,
    split_at_archive,
)
from bufferhouse.sources.found import HEAD, PORTION, Found, FoundDumps, FoundRun, portions_of
from bufferhouse.sources.logs import Log, logs_of_runs
from bufferhouse.sources.run import RUN_FILE, Places, Run, RunFault, own_names, parent_of, relative_to, root_of
from bufferhouse.sources.spool import Place, Spool

Listing = Callable[[Tree], Iterable[Entry]]


# XLA:TPU writes `MODULE.oom_intermediate_module.txt` and `.hlo.pb` where a compilation runs out of HBM.
OOM_MARK = ".oom_intermediate_module."
_FLAGS = tuple(ORIGINS)
_SIBLINGS = (SUFFIXES["values"], SUFFIXES["live_range"])


@dataclass(slots=True)
class Files:
    """The files beside dumps, by path: parts of split dumps, module texts, protos, flags.

    `failed` has the paths of the files that XLA writes if a compilation runs out of memory, up to `OOM_MARK`.
    """

    siblings: dict[str, Entry] = field(default_factory=dict)
    module_texts: dict[str, Entry] = field(default_factory=dict)
    protos: dict[str, Entry] = field(default_factory=dict)
    flags: dict[str, Entry] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        """Whether there is no file beside the dumps that could belong to one of them."""
        return not (self.siblings or self.module_texts or self.protos or self.flags)


def main_of(path: str) -> str:
    """Return the path of the main file of the dump that a values, live range, module text or proto file belongs to.

    If a proto is a dump itself, there is no such file.
    """
    plain = compression.plain_name(path)
    if is_module_text(plain):
        return dump_beside(plain)
    if is_proto(plain):
        return dump_of_proto(plain)
    for suffix in _SIBLINGS:
        if plain.endswith(suffix):
            return plain.removesuffix(suffix) + SUFFIXES["allocations"]
    return path


def has_main(path: str, files: Mapping[str, Entry]) -> bool:
    """Return whether the main file exists of the dump that a file belongs to."""
    main = main_of(path)
    return any(main + suffix in files for suffix in ("", *compression.ENDINGS))


def grouped(entry: Entry, beside: Files, directory: str) -> Found:
    """Join a dump with its values and live range files, which share its name up to the suffix, and its module text."""
    relative_path = relative_to(entry.path, directory)
    if beside.is_empty and not entry.is_explicit and ".hlo" not in entry.path:
        return Found.of(relative_path, {"combined": entry})
    plain = compression.plain_name(entry.path)
    if is_proto(plain):
        return Found.of(relative_path, {"proto": entry}, flags=_flags(entry, plain, beside.flags))
    if not plain.endswith(SUFFIXES["allocations"]):
        return Found.of(relative_path, {"combined": entry})
    parts = {"allocations": entry}
    stem = plain.removesuffix(SUFFIXES["allocations"])
    own_kind = entry.path.removeprefix(plain)
    for role in ("values", "live_range"):
        sibling = _first(entry, [stem + SUFFIXES[role]], beside.siblings, own_kind)
        if sibling is not None:
            parts[role] = sibling
    text = module_text_beside(plain)
    module_text = _first(entry, [text] if text else [], beside.module_texts)
    if module_text is not None:
        module_text.is_head_only = True
    return Found.of(
        relative_path,
        parts if len(parts) > 1 else {"combined": entry},
        module_text=module_text,
        flags=_flags(entry, plain, beside.flags),
        proto=_first(entry, protos_beside(plain), beside.protos),
    )


def _twins(candidates: Sequence[Entry]) -> set[str]:
    """Return the paths of dumps that are called like another one but for the compression: `x.txt` and `x.txt.gz`."""
    if not any(entry.path.endswith(compression.ENDINGS) for entry in candidates):
        return set()
    names = [compression.plain_name(entry.path) for entry in candidates]
    counts = Counter(names)
    return {entry.path for entry, name in zip(candidates, names, strict=True) if counts[name] > 1}


def _note_failures(dumps: Iterable[Found], failed: set[str]) -> None:
    """Mark the dumps beside which XLA wrote the files that it writes if a compilation runs out of memory."""
    for dump in dumps:
        entry = dump.main
        if entry.is_explicit:  # its folder is not listed
            mark = f"{_module_of(entry.path)}{OOM_MARK}"
            dump.did_not_fit = any(map(entry.tree.beside, (f"{mark}txt", f"{mark}hlo.pb"))) or None
        elif failed:
            dump.did_not_fit = _module_of(entry.path) in failed or None


def _module_of(path: str) -> str:
    """Return the prefix that the names of all files of a dump's module share."""
    plain = compression.plain_name(path)
    if is_proto(plain):
        return module_prefix(plain) or path
    folder, slash, name = path.rpartition("/")
    stage = name.rfind(".", 0, name.find("buffer-assignment"))
    return f"{folder}{slash}{name[:stage] if stage > 0 else name}"


def _flags(entry: Entry, plain: str, known: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the files with the options of a dump's compilation, by kind."""
    prefix = module_prefix(plain) if known or entry.is_explicit else None
    if prefix is None:
        return {}
    found = {kind: _first(entry, [prefix + ending], known) for ending, kind in ORIGINS.items()}
    return {kind: file for kind, file in found.items() if file is not None}


def _first(entry: Entry, paths: Sequence[str], known: Mapping[str, Entry], kind: str = "") -> Entry | None:
    """Return the first of some files that exists: compressed as `kind` says, else uncompressed, else in any other way.

    If the dump was named explicitly, its folder is not listed yet, so the files are looked up one by one.
    """
    own = entry.path[len(compression.plain_name(entry.path)) :]  # it may be in capitals
    for path in (path + suffix for path in paths for suffix in dict.fromkeys((kind, "", *compression.SUFFIXES, own))):
        found = known.get(path) or (entry.tree.beside(path) if entry.is_explicit else None)
        if found is not None:
            return found
    return None


@dataclass(slots=True)
class Discovery:
    """All dumps of some sources, their runs, the number of files that are no dumps, and what could not be looked at.

    `endings` counts the files that are no dumps by the end of their names. `orphans` are values and live range files
    whose first file is missing. `archives` are archives that a walk found and did not open, archives inside archives,
    and files named like a dump or an archive in a compression that is not read. Orphans and archives count as ignored.
    `has_named_files` says whether a file was named, and not only found. `logs` may have messages about the dumps. If
    the call or a pattern says the directory of a run, `run_files_below` gives a run.json further below, which is not
    read. `twins` are the paths of dumps that have the name of another one but for its compression.
    """

    dumps: FoundDumps = field(default_factory=FoundDumps)
    runs: dict[str, Run] = field(default_factory=dict)
    ignored_count: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    archives: list[str] = field(default_factory=list)
    has_named_files: bool = False
    logs: list[Log] = field(default_factory=list)
    run_files_below: dict[str, str] = field(default_factory=dict)
    twins: set[str] = field(default_factory=set)


def discover(
    sources: Iterable[str | os.PathLike[str]],
    *,
    run_name: str | None = None,
    labels: Mapping[str, str] | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    places: Places | None = None,
    look_inside: bool = True,
    may_be_empty: bool = False,
    waits: Callable[[str], bool] = lambda archive: False,
    entries_of: Listing = methodcaller("entries"),
    portion: int = PORTION,
) -> Discovery:
    """Find the dumps of files, globs, directories, archives and s3:// URLs; directories are searched recursively.

    In a walk a file is a candidate if it is named `*buffer-assignment.txt` (also compressed), if it begins with the
    line `BufferAssignment:`, or if it is named like a proto and no text lies beside it. A file that is named explicitly
    is always a candidate. Archives are opened if they are named, or if a walk finds archives and no dump.

    A run is a directory with dumps in it, or the nearest directory above with a `run.json`. With `run_name` all dumps
    are of that run; `places` gives other rules. Without `look_inside` only names decide. With `include` only dumps are
    taken that match one of the globs, with `exclude` only files that match none, even if a glob found them; files that
    are named are always taken.

    A glob that matches nothing is a wrong call unless it `may_be_empty`. An archive that `waits` is not opened yet.
    `entries_of` lists a tree; `portion` is the number of files held at a time. A file that cannot be looked at is
    refused alone; if a run.json cannot be read, all dumps of its run are left out.

    Raises:
        UsageError: a source does not exist, two runs have one name, or a label means nothing.
        SourceUnavailable: a bucket does not answer.
    """
    named = {_absolute(source) for source in map(os.fspath, sources)}

    def noted(archive: str) -> bool:
        named.add(_absolute(archive))
        return waits(archive)

    finding = _Finding(places or Places(run_name, labels), look_inside, FoundDumps(portion))
    found = finding.found

    def leaves_out(archive: str) -> bool:
        is_excluded = _matches([os.path.basename(archive)], exclude)
        found.ignored_count += is_excluded
        return is_excluded

    trees = [tree for source in sources for tree in _trees(os.fspath(source), may_be_empty, noted, leaves_out)]
    listed = partial(_listed, found=found, include=include, exclude=exclude, entries_of=entries_of)
    # Files that are named one by one may belong together wherever they stand, and so may all that is called one run.
    is_whole = len(trees) > 1 and (
        run_name is not None or any(isinstance(tree, Directory) and tree.only is not None for tree in trees)
    )
    finding.take(_portions(listed(trees), portion, is_whole=is_whole))
    # A walk may also find archives that were named.
    archives = [path for path in found.archives if _absolute(path) not in named]
    found.ignored_count -= len(found.archives) - len(archives)
    found.archives = archives
    if archives and not finding.has_candidates:
        found.ignored_count -= len(archives)
        found.archives = []
        inside = [tree for path in archives for tree in _trees(path, waits=waits)]
        finding.take(_portions(listed(inside), portion, is_whole=run_name is not None))
    found.archives += [*sorted(finding.inner_archives), *sorted(finding.unread)]
    return finding.discovery()


class _Finding:
    """What was found so far, and the rules that give each dump its run."""

    def __init__(self, places: Places, look_inside: bool, dumps: FoundDumps) -> None:
        self.found = Discovery(dumps)
        self.places = places
        self.look_inside = look_inside
        self.has_candidates = False
        self.run_numbers: dict[tuple[str | None, str], int] = {}
        self.faults: Counter[str] = Counter()
        self.refused: list[str] = []
        self.unplaced_count = 0  # dumps that match no pattern of runs
        self.first_unplaced: str | None = None
        self.logs: list[Entry] = []
        self.run_files: list[str] = []
        self.inner_archives: list[str] = []
        self.unread: list[str] = []

    def take(self, portions: Iterable[dict[str, Entry]]) -> None:
        """Find the dumps among files, which come in portions; the files of one directory are in one portion."""
        for files in portions:
            candidates, beside = self._parted(files)
            if candidates:
                self.has_candidates = True
                if self.places.run_name and self.places.only_base is None:
                    self.places.only_base = _common_base(candidates)
                self.found.twins |= _twins(candidates)
            placed = [(self._run_number(entry, place), entry) for entry, *place in self._placed(candidates)]
            directories = [run.directory for run in self.found.dumps.runs]
            dumps = [(grouped(entry, beside, directories[run]), run) for run, entry in placed]
            _note_failures((dump for dump, _ in dumps), beside.failed)
            self.found.dumps.add(dumps)
            self._count_unused([dump for dump, _ in dumps], beside, files)

    def _parted(self, files: Mapping[str, Entry]) -> tuple[list[Entry], Files]:
        """Split files into those that may be dumps and those beside dumps; note logs, archives and each run.json."""
        candidates: list[Entry] = []
        beside = Files()
        for path, entry in files.items():
            if path.endswith("buffer-assignment.txt"):
                candidates.append(entry)  # tested first, as most files have this name
                continue
            if not entry.is_explicit:
                self._note_archive(entry)
            try:
                if self._is_candidate(entry, files, beside):
                    candidates.append(entry)
            except SourceUnavailable:
                raise
            except Exception as error:
                self.refused.append(f"{path}: {told(error)}")
        return candidates, beside

    def _note_archive(self, entry: Entry) -> None:
        if archive_ending(entry.path):
            is_inner = split_at_archive(entry.base)[1] is not None
            (self.inner_archives if is_inner else self.found.archives).append(entry.path)
        elif is_unread(entry.path):
            self.unread.append(entry.path)

    def _is_candidate(self, entry: Entry, files: Mapping[str, Entry], beside: Files) -> bool:
        path = entry.path
        name = compression.plain_name(path)
        if is_module_text(name) and has_main(path, files):
            beside.module_texts[path] = entry
            return False
        if name.endswith(_SIBLINGS) and (not entry.is_explicit or has_main(path, files)):
            beside.siblings[path] = entry
            return False
        if is_proto(name):
            if has_main(path, files):
                beside.protos[path] = entry
                return False
            return True
        if name.endswith(_FLAGS) and not entry.is_explicit:
            beside.flags[path] = entry
            return False
        if path.endswith(RUN_FILE) and last_name(path) == RUN_FILE:
            self.run_files.append(path)
            return False
        if is_log(name) and not ((self.look_inside or entry.is_explicit) and _begins_like_a_dump(entry)):
            self.logs.append(entry)
            return False
        if OOM_MARK in name:
            beside.failed.add(name[: name.index(OOM_MARK)])
        is_like_a_dump = name.endswith("buffer-assignment.txt") or (entry.is_explicit and not is_written_beside(name))
        if is_like_a_dump or (self.look_inside and _begins_like_a_dump(entry)):
            return True
        self.found.ignored_count += 1
        self.found.endings[ending_of(name)] += 1
        return False

    def _run_number(self, entry: Entry, place: tuple[str | None, str]) -> int:
        given, directory = place
        number = self.run_numbers.get((given, directory))
        if number is None:
            runs = self.found.dumps.runs
            number = self.run_numbers[given, directory] = len(runs)
            runs.append(FoundRun(given, directory, entry.tree))
        return number

    def _placed(self, candidates: Iterable[Entry]) -> Iterator[tuple[Entry, str | None, str]]:
        """Yield the candidates, each with the name and the directory of its run; note those that belong to no run."""
        for entry in candidates:
            try:
                place = self.places.of(entry)
            except SourceUnavailable:
                raise
            except RunFault as fault:
                self.faults[str(fault)] += 1
                continue
            except Exception as error:
                self.found.refused.append(f"{entry.path}: {told(error)}")
                continue
            if place is None:
                self.found.ignored_count += 1
                self.unplaced_count += 1
                self.first_unplaced = self.first_unplaced or entry.path
            else:
                yield entry, *place

    def _count_unused(self, dumps: Sequence[Found], beside: Files, files: Mapping[str, Entry]) -> None:
        """Count the files beside dumps that no dump uses, and list the orphans among them."""
        if beside.is_empty:
            return
        found = self.found
        used = {entry.path for dump in dumps for entry in dump.entries}
        found.orphans += [path for path in beside.siblings if path not in used and not has_main(path, files)]
        found.ignored_count += sum(path not in used for path in [*beside.siblings, *beside.module_texts])
        unread = [path for path in [*beside.protos, *beside.flags] if path not in used]
        found.ignored_count += len(unread)
        found.endings.update(ending_of(compression.plain_name(path)) for path in unread)

    def discovery(self) -> Discovery:
        """Return all that was found, with the names of all runs, which are known only now.

        Raises:
            UsageError: two directories have one name that is no directory's.
        """
        found, runs = self.found, self.found.dumps.runs
        if self.unplaced_count and not runs:
            others = self.unplaced_count - 1
            more = f", and neither {'does' if others == 1 else 'do'} {counted(others, 'other dump')}" if others else ""
            found.refused.append(
                f"{self.first_unplaced}: below its source its path does not match the pattern of runs{more}"
            )
        own = own_names((run.given, run.directory) for run in runs)
        by_name: dict[str, list[FoundRun]] = {}
        for run in runs:
            run.run_name = run.given or own[run.directory]
            same = by_name.setdefault(run.run_name, [])
            same.append(run)
            first = same[0].directory
            if first != run.directory and root_of(first) != root_of(run.directory):
                way_out = (
                    "take more of the path into the name, as runs_regex = '(?P<run>[^/]+/[^/]+)/.*' does"
                    if self.places.has_pattern
                    else "name their runs with --run, or with another run_name in the run.json of one"
                )
                both = f"{printable(first)} and {printable(run.directory)}"
                raise UsageError(f"two directories are called {run.run_name!r}: {both}; {way_out}")
        described = self.places.describe(by_name)
        found.runs = {name: run for name, run in described.items() if isinstance(run, Run)}
        for name, fault in described.items():
            if isinstance(fault, RunFault):
                for run in by_name[name]:
                    self.faults[str(fault)] += run.count
                    run.run_name = None
        found.dumps.settle()
        # A run.json that is a link out of its tree was refused when it was listed, too.
        found.refused = [path for path in found.refused if path not in self.faults]
        found.refused += [f"{fault}; {counted(count, 'dump')} left out" for fault, count in self.faults.items()]
        found.refused += self.refused
        if self.run_files and (self.places.has_pattern or self.places.run_name):
            named = {root_of(run.directory): run.run_name for run in runs if run.run_name}
            found.run_files_below = dict(_below(named, sorted(self.run_files, reverse=True)))
        if self.logs:
            there = {name: by_name[name][0].directory for name in found.runs}
            found.logs = list(logs_of_runs(self.logs, there, self.places))
        return found


def _below(runs: Mapping[str, str], run_files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the runs, given by directory, with a run.json in a folder below that belongs to no run."""
    for path in run_files:
        directory = root_of(parent_of(path))
        if directory not in runs:
            above = parent_of(directory)
            while above not in runs and above != directory:
                directory, above = above, parent_of(above)
            if above in runs:
                yield runs[above], path


def _portions(entries: Iterable[Entry], portion: int, *, is_whole: bool) -> Iterator[dict[str, Entry]]:
    """Yield files by path in portions of what is held in memory; with `is_whole` all at once.

    The files of one directory stay together, and so do those of one archive, because the files of a dump lie beside
    each other. A walk may return to a directory after the directories below it.
    """
    files: dict[str, Entry] = {}
    most = portion
    for entry in entries:
        if len(files) >= most and not is_whole and split_at_archive(entry.base)[1] is None:
            ended = {path: one for path, one in files.items() if not _is_under_way(one, entry)}
            if len(ended) >= portion // 2:
                files = {path: one for path, one in files.items() if path not in ended}
                yield ended
            most = max(portion, 2 * len(files))
        files[entry.path] = entry
    yield files


def _is_under_way(one: Entry, entry: Entry) -> bool:
    """Return whether a walk that has reached `entry` may still find other files in the directory of `one`."""
    return entry.path.startswith(one.path[: one.path.rfind("/") + 1])


def _is_found(entry: Entry) -> bool:
    """Return whether a file was found by a walk or a glob, and not named."""
    return not entry.is_explicit or (isinstance(entry.tree, Directory) and entry.tree.is_matched)


def _listed(
    trees: Sequence[Tree], found: Discovery, include: Sequence[str], exclude: Sequence[str], entries_of: Listing
) -> Iterator[Entry]:
    """Yield the files of all trees; a file in two sources counts once, however its path is spelled."""
    seen: set[str] = set()
    has_patterns = bool(include or exclude)
    for tree in trees:
        for entry in entries_of(tree):
            path = entry.path
            if has_patterns and _is_found(entry) and not _is_wanted(entry, include, exclude):
                found.ignored_count += 1
            elif not path.isascii() and not _is_text(path):
                found.refused.append(f"{path.encode('utf-8', 'backslashreplace').decode()}: the name is not UTF-8")
            elif not is_storable(entry.size_bytes):
                found.refused.append(f"{path}: it says to have {entry.size_bytes} bytes")
            elif len(trees) > 1:
                place = f"{root_of(entry.base)}/{relative_to(path, entry.base)}"
                if place not in seen:
                    seen.add(place)
                    yield entry
            else:
                yield entry
            found.has_named_files = found.has_named_files or entry.is_explicit
        for path, reason in tree.refused:
            if _is_excluded(path, tree.base, exclude):
                found.ignored_count += 1
            else:
                found.refused.append(f"{path}: {reason}")


def _is_excluded(path: str, base: str, exclude: Sequence[str]) -> bool:
    """Return whether the path of a file, or of a folder that cannot be listed, matches a glob of `exclude`."""
    relative = relative_to(path, base) if exclude and path.startswith(base) else ""
    # What excludes all files of a folder excludes the folder.
    names = (relative, f"{relative}/", relative.rsplit("/", 1)[-1])
    return bool(relative) and _matches(names, exclude)


def _matches(names: Collection[str], patterns: Sequence[str]) -> bool:
    """Return whether one of several names of a path matches a glob."""
    return any(fnmatch(name, pattern) for pattern in patterns for name in names)


def _is_text(name: str) -> bool:
    """Return whether a name is UTF-8: Python keeps the bytes of one that is not as half surrogate pairs."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read(
    dumps: FoundDumps | Sequence[Found], *, waiting_bytes: int = 64 << 20
) -> Iterator[tuple[Found, dict[str, bytes] | Exception]]:
    """Yield the bytes of dumps by role, decompressed, or the OSError or CompressionError that prevents it.

    Archives are streamed, so a dump comes when the last of its files was read. What is read beside a dump becomes its
    `read_beside`. A dump whose content is known yields no bytes. At most `waiting_bytes` of dumps whose other files are
    still to come are in memory.
    """
    for portion in portions_of(dumps):
        for _, same in groupby(portion, lambda dump: id(dump.main.tree)):
            yield from _read_from(list(same), Spool(waiting_bytes))


def _read_from(dumps: Sequence[Found], waiting: Spool) -> Iterator[tuple[Found, dict[str, bytes] | Exception]]:
    """Yield the bytes of dumps that lie in one tree."""
    alone: dict[str, Found] = {}
    owners: dict[str, list[tuple[Found, str]]] = {}
    entries = []
    counts: dict[int, int] = {}
    for dump in dumps:
        if dump.is_alone and dump.content is None:
            entry = dump.parts["combined"]
            if entry.path not in owners and alone.setdefault(entry.path, dump) is dump:
                entries.append(entry)
                continue
        wanted = _wanted(dump)
        counts[id(dump)] = len(wanted)
        if not wanted:
            yield dump, {}
        for role, entry in wanted:
            # The same dump may lie there plain and compressed: what lies beside them once is read once, for both.
            if entry.path not in owners and entry.path not in alone:
                entries.append(entry)
            owners.setdefault(entry.path, []).append((dump, role))
    pending: dict[int, dict[str, Place | Exception]] = {}
    for entry, data in dumps[0].main.tree.read(entries):
        if (dump := alone.get(entry.path)) is not None:
            part = _decompressed(entry.path, "combined", data)
            yield dump, part if isinstance(part, Exception) else {"combined": part}
        for dump, role in owners.get(entry.path, ()):
            part = data if role == HEAD else _decompressed(entry.path, role, data)
            if role not in dump.parts:
                dump.read_beside[role], part = part, b""
            parts = pending.setdefault(id(dump), {})
            parts[role] = part if isinstance(part, Exception) else waiting.put(part)
            if len(parts) == counts[id(dump)]:
                del pending[id(dump)]
                yield dump, _joined(dump, parts, waiting)


def _wanted(dump: Found) -> list[tuple[str, Entry]]:
    """Return the files to be read for a dump, by role."""
    # What else a module text or a proto beside it tells stands in a proto itself, too.
    own = dump.parts if dump.content is None or "proto" in dump.parts else {}
    return [*own.items(), *dump.beside.items()]


def _decompressed(path: str, role: str, data: bytes | Exception) -> bytes | Exception:
    if isinstance(data, Exception):
        return data
    try:
        return compression.decompressed(path, data)
    except CompressionError as error:
        error.role = role
        return error
    except Exception as error:
        return error


def _joined(dump: Found, parts: Mapping[str, Place | Exception], waiting: Spool) -> dict[str, bytes] | Exception:
    for role, part in parts.items():
        if isinstance(part, Exception):
            dump.unread_uri = dump.parts[role].path
            return part
    return {role: waiting.take(parts[role]) for role in dump.parts if role in parts}


def _trees(
    source: str,
    may_be_empty: bool = False,
    waits: Callable[[str], bool] = lambda archive: False,
    leaves_out: Callable[[str], bool] = lambda archive: False,
) -> Iterator[Tree]:
    """Yield the trees of a source, without archives that wait and without archives of a glob that are left out."""
    if source.startswith("s3://"):
        from bufferhouse.sources.bucket import Bucket

        bucket = Bucket(source)
        if archive_ending(source):
            from bufferhouse.sources.archive import Archive

            yield Archive(source, bucket.file)
        else:
            yield bucket
        return
    if os.path.exists(source) or not glob.has_magic(source):
        paths, is_matched = [source], False
    else:
        paths, is_matched = sorted(glob.glob(source, recursive=True)), True
        if not paths and not may_be_empty:
            raise UsageError(f"{source}: the pattern matches no file")
        # Nothing may have come yet; a folder that is gone, as one that is not mounted, brings nothing any more.
        if not paths and not os.path.exists(folder := folder_of(source)):
            raise UsageError(f"{printable(source)}: no such file or directory: {printable(folder)}")
    for path in paths:
        if not (_is_archive(path) and ((is_matched and leaves_out(path)) or waits(path))):
            yield _tree_of(path, is_matched=is_matched)


def folder_of(pattern: str) -> str:
    """Return the folder before the first part of a glob that has a wildcard."""
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:first]) or ("/" if first else ".")


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _is_archive(path: str) -> bool:
    return bool(archive_ending(path)) and os.path.isfile(path)


def logs_in(source: str) -> tuple[list[Entry], bool]:
    """Return the logs of a directory, an archive or an s3:// URL, and whether it may hold dumps as well.

    Raises:
        UsageError, SourceUnavailable: as `discover`.
    """
    entries = [entry for tree in _trees(source) for entry in tree.entries()]
    is_one_log = len(entries) == 1 and entries[0].is_explicit and "buffer-assignment" not in entries[0].path
    return [entry for entry in entries if is_log(compression.plain_name(entry.path)) or is_one_log], not is_one_log


def _is_wanted(entry: Entry, include: Sequence[str], exclude: Sequence[str]) -> bool:
    # A file of a split dump is wanted where the dump is. Flags, logs and marks are named after a module, or after none:
    # they say something of a dump that is wanted, or are not used. What an archive holds is asked one by one.
    paths = {entry.path, main_of(entry.path)}
    relative = {relative_to(path, entry.base) for path in paths}
    names = relative | {path.rsplit("/", 1)[-1] for path in relative}

    if include and not _matches(names, include):
        plain = compression.plain_name(entry.path)
        if is_log(plain):
            entry.begins_like_a_dump = False  # a log and nothing else
        elif not (plain.endswith(_FLAGS) or OOM_MARK in plain or archive_ending(entry.path)):
            return False
    return not _matches(names, exclude)


def _begins_like_a_dump(entry: Entry) -> bool:
    known = entry.begins_like_a_dump
    return entry.tree.begins_like_a_dump(entry) if known is None else known


def _common_base(entries: Sequence[Entry]) -> str:
    bases = sorted({entry.base for entry in entries})
    if len(bases) == 1:
        return bases[0]
    if any(split_at_archive(base)[1] is not None or "://" in base for base in bases):
        raise UsageError("several archives or buckets cannot be one run; without --run each is a run of its own")
    return os.path.commonpath([os.path.abspath(base) for base in bases])


def _tree_of(path: str, *, is_matched: bool) -> Tree:
    """Return the tree of a path that exists: an archive by its name, else a directory or a single file.

    A file that a glob matched may be gone by now: then the tree refuses it.

    Raises:
        UsageError: there is nothing at `path`, or no file: a pipe would be waited on for ever.
    """
    if os.path.isdir(path):
        return Directory(path.rstrip("/") or "/")
    if _is_archive(path):
        from bufferhouse.sources.archive import Archive

        return Archive(path)
    if is_matched or os.path.isfile(path):
        return Directory(os.path.dirname(path) or ".", [path], is_matched=is_matched)
    what = "not a regular file" if os.path.exists(path) else "no such file or directory"
    raise UsageError(f"{printable(path)}: {what}")
