"""Paths, globs, directories, archives and buckets to dumps: what is a candidate, its run, which files are one dump."""

import glob
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from operator import methodcaller
from typing import BinaryIO

from bufferhouse.dump.identity import (
    SUFFIXES,
    dump_beside,
    ending_of,
    is_module_text,
    is_written_beside,
    module_text_beside,
)
from bufferhouse.errors import SourceUnavailable, UsageError, told
from bufferhouse.sources import compression
from bufferhouse.sources.compression import CompressionError
from bufferhouse.sources.directory import (
    ARCHIVE_SUFFIXES,
    Directory,
    Entry,
    Found,
    Tree,
    is_storable,
    split_at_archive,
)
from bufferhouse.sources.run import RUN_FILE, Places, Run, RunFault, own_names, relative_to, root_of

Listing = Callable[[Tree], Iterable[Entry]]


Place = bytes | tuple[int, int]
"""A part itself, or where in the temporary file it begins and how long it is."""


class Waiting:
    """Holds parts; `take` gives each back once."""

    def __init__(self, memory_bytes: int = 64 << 20) -> None:
        self._free_bytes = memory_bytes
        self._file: BinaryIO | None = None

    def put(self, part: bytes) -> Place:
        """Hold a part; return what `take` wants."""
        if len(part) <= self._free_bytes:
            self._free_bytes -= len(part)
            return part
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until the last part is taken
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(part)
        return start, len(part)

    def take(self, place: Place) -> bytes:
        """Return a part."""
        if isinstance(place, bytes):
            self._free_bytes += len(place)
            return place
        self._file.seek(place[0])
        return self._file.read(place[1])

    def __enter__(self) -> "Waiting":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


_SIBLINGS = (SUFFIXES["values"], SUFFIXES["live_range"])


@dataclass(slots=True)
class Files:
    """The files beside dumps, by path: parts of split dumps and module texts; and the number of other files."""

    siblings: dict[str, Entry] = field(default_factory=dict)
    module_texts: dict[str, Entry] = field(default_factory=dict)
    ignored_count: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)

    def joined(self, other: "Files") -> "Files":
        """Return both together."""
        return Files(
            self.siblings | other.siblings,
            self.module_texts | other.module_texts,
            self.ignored_count + other.ignored_count,
            self.endings + other.endings,
            self.refused + other.refused,
        )


def main_of(path: str) -> str:
    """Return the path of the file that the dump of a values, live range or module text file is known by."""
    plain = compression.plain_name(path)
    if is_module_text(plain):
        return dump_beside(plain)
    for suffix in _SIBLINGS:
        if plain.endswith(suffix):
            return plain.removesuffix(suffix) + SUFFIXES["allocations"]
    return path


def has_main(path: str, files: Mapping[str, Entry]) -> bool:
    """Return whether the dump exists that a file belongs to."""
    main = main_of(path)
    return any(main + suffix in files for suffix in ("", *compression.SUFFIXES))


def parted(files: Mapping[str, Entry], look_inside: bool) -> tuple[list[Entry], Files]:
    """Part files into those that may be dumps and those that lie beside some."""
    candidates: list[Entry] = []
    beside = Files()
    for path, entry in files.items():
        if path.endswith("buffer-assignment.txt"):
            candidates.append(entry)  # asked first, as most files are such
            continue
        try:
            if _is_candidate(entry, files, beside, look_inside):
                candidates.append(entry)
        except SourceUnavailable:
            raise
        except Exception as error:
            beside.refused.append(f"{path}: {told(error)}")
    return candidates, beside


def grouped(entry: Entry, beside: Files, run_name: str, directory: str) -> Found:
    """Join a dump with its values and live range files, which share its name up to the suffix, and its module text."""
    relative_path = relative_to(entry.path, directory)
    is_alone = not (beside.siblings or beside.module_texts or entry.is_explicit)
    plain = "" if is_alone else compression.plain_name(entry.path)
    if is_alone or not plain.endswith(SUFFIXES["allocations"]):
        return Found(run_name, relative_path, {"combined": entry}, entry.size_bytes, entry.mtime_ns)
    parts = {"allocations": entry}
    stem = plain.removesuffix(SUFFIXES["allocations"])
    own_kind = entry.path.removeprefix(plain)
    for role in ("values", "live_range"):
        paths = [stem + SUFFIXES[role] + suffix for suffix in (own_kind, "", *compression.SUFFIXES)]
        sibling = _first(entry, paths, beside.siblings)
        if sibling is not None:
            parts[role] = sibling
    text = module_text_beside(plain)
    texts = [f"{text}{suffix}" for suffix in ("", *compression.SUFFIXES)] if text else []
    module_text = _first(entry, texts, beside.module_texts)
    if module_text is not None:
        module_text.is_head_only = True
    return Found(
        run_name,
        relative_path,
        parts if len(parts) > 1 else {"combined": entry},
        sum(part.size_bytes for part in parts.values()),
        max(part.mtime_ns for part in parts.values()),
        module_text,
    )


def _first(entry: Entry, paths: list[str], known: Mapping[str, Entry]) -> Entry | None:
    """Return the first existing one of some files; the folder of an explicitly named file is not listed yet."""
    for path in paths:
        found = known.get(path) or (entry.tree.beside(path) if entry.is_explicit else None)
        if found is not None:
            return found
    return None


@dataclass(slots=True)
class Discovery:
    """All dumps of some sources, the runs they belong to, how many files are none, and what was refused at sight.

    `endings` counts the files that are no dumps by how their names end. `orphans` are values and live range files whose
    first file is not there, `archives` those that a walk came by and did not open; both count as ignored.
    """

    dumps: list[Found] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    ignored_count: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    archives: list[str] = field(default_factory=list)


def discover(
    sources: Iterable[str | os.PathLike[str]],
    *,
    run_name: str | None = None,
    labels: Mapping[str, str] | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    places: Places | None = None,
    look_inside: bool = True,
    entries_of: Listing = methodcaller("entries"),
) -> Discovery:
    """Find the dumps of files, globs, directories, archives and s3:// URLs, directories recursively.

    In a walk a candidate is named `*buffer-assignment.txt` (also compressed) or begins with the line
    `BufferAssignment:`; a file named explicitly is always one. Archives are opened where they are named, and where a
    walk finds them and no dump. A run is a directory with dumps in it, or the nearest one above with a `run.json`;
    with `run_name` all dumps are of that run; `places` says it in another way. Without `look_inside` names alone
    decide. `entries_of` lists a tree. What cannot be looked at is refused alone; a run.json that cannot be read leaves
    out the dumps of its run.

    Raises:
        UsageError: a source does not exist, two runs have one name, or a label means nothing.
        SourceUnavailable: a bucket does not answer.
    """
    found = Discovery()
    listed = partial(_listed, found=found, include=include, exclude=exclude, entries_of=entries_of)
    files = listed([tree for source in sources for tree in _trees(os.fspath(source))])
    candidates, beside = parted(files, look_inside)
    found.archives = [path for path, entry in files.items() if path.endswith(ARCHIVE_SUFFIXES) and _is_walked(entry)]
    if found.archives and not candidates:
        found.ignored_count -= len(found.archives)
        inside = listed([_tree_of(path) for path in found.archives])
        candidates, more = parted(inside, look_inside)
        files, beside, found.archives = files | inside, beside.joined(more), []
    found.ignored_count += beside.ignored_count
    found.endings += beside.endings
    runs = places or Places(run_name, labels, _common_base(candidates) if run_name else None)
    faults: Counter[str] = Counter()
    placed = list(_placed(candidates, runs, found, faults))
    own = own_names(placed)
    directories: dict[str, tuple[Tree, str]] = {}
    for entry, given, directory in placed:
        name = given or own[directory]
        first = directories.setdefault(name, (entry.tree, directory))[1]
        if first != directory and root_of(first) != root_of(directory):
            raise UsageError(
                f"two directories are called {name!r}: {first} and {directory}; "
                "name their runs with --run, or with another run_name in the run.json of one"
            )
        found.dumps.append(grouped(entry, beside, name, directory))
    _describe(found, runs, directories, faults)
    found.refused += [f"{fault}; {count} dump{'s' * (count > 1)} left out" for fault, count in faults.items()]
    found.refused += beside.refused
    _count_unused(found, beside, files)
    return found


def _placed(
    candidates: Iterable[Entry], runs: Places, found: Discovery, faults: Counter[str]
) -> Iterator[tuple[Entry, str | None, str]]:
    """Yield what may be dumps, each with the name and the directory of its run; note what belongs to none."""
    for entry in candidates:
        try:
            place = runs.of(entry)
        except SourceUnavailable:
            raise
        except RunFault as fault:
            faults[str(fault)] += 1
            continue
        except Exception as error:
            found.refused.append(f"{entry.path}: {told(error)}")
            continue
        if place is None:
            found.ignored_count += 1
        else:
            yield entry, *place


def _count_unused(found: Discovery, beside: Files, files: Mapping[str, Entry]) -> None:
    """Count the files that belong to a dump and were not wanted there, and name the orphans among them."""
    if beside.siblings:
        used = {part.path for dump in found.dumps for part in dump.parts.values()}
        found.orphans = [path for path in beside.siblings if path not in used and not has_main(path, files)]
        found.ignored_count += sum(path not in used for path in beside.siblings)
    if beside.module_texts:
        read = {dump.module_text.path for dump in found.dumps if dump.module_text is not None}
        found.ignored_count += sum(path not in read for path in beside.module_texts)


def _is_walked(entry: Entry) -> bool:
    return isinstance(entry.tree, Directory) and not entry.is_explicit


def _describe(
    found: Discovery, places: Places, directories: Mapping[str, tuple[Tree, str]], faults: Counter[str]
) -> None:
    """Describe all runs; those whose description does not hold are left out, with their dumps."""
    described = places.describe(found.dumps, directories)
    found.runs = {name: run for name, run in described.items() if isinstance(run, Run)}
    if len(found.runs) < len(described):
        faults.update(str(described[dump.run_name]) for dump in found.dumps if dump.run_name not in found.runs)
        found.dumps = [dump for dump in found.dumps if dump.run_name in found.runs]


def _listed(
    trees: Sequence[Tree], found: Discovery, include: Sequence[str], exclude: Sequence[str], entries_of: Listing
) -> dict[str, Entry]:
    """Return the files of all trees by path; a file that two sources hold, by whatever spelling, is one file."""
    files: dict[str, Entry] = {}
    seen: set[str] = set()
    has_patterns = bool(include or exclude)
    for tree in trees:
        for entry in entries_of(tree):
            path = entry.path
            if not path.isascii() and not _is_text(path):
                found.refused.append(f"{path.encode('utf-8', 'backslashreplace').decode()}: the name is not UTF-8")
            elif not is_storable(entry.size_bytes):
                found.refused.append(f"{path}: it says to have {entry.size_bytes} bytes")
            elif has_patterns and not entry.is_explicit and not _is_wanted(entry, include, exclude):
                found.ignored_count += 1
            elif len(trees) > 1:
                place = f"{root_of(entry.base)}/{relative_to(path, entry.base)}"
                if place not in seen:
                    seen.add(place)
                    files[path] = entry
            else:
                files[path] = entry
        found.refused += tree.refused
    return files


def _is_text(name: str) -> bool:
    """Say whether a name is UTF-8: Python keeps the bytes of one that is not as half surrogate pairs."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read(dumps: Sequence[Found]) -> Iterator[tuple[Found, dict[str, bytes] | Exception]]:
    """Yield the bytes of dumps by role, decompressed, or the OSError or CompressionError that prevents it.

    Archives are streamed, so their dumps come in the order in which their last file stands there. What is read of a
    module text becomes the `head` of its dump, and a dump whose content is known yields no bytes.
    """
    start = 0
    while start < len(dumps):
        tree = next(iter(dumps[start].parts.values())).tree
        stop = start
        while stop < len(dumps) and next(iter(dumps[stop].parts.values())).tree is tree:
            stop += 1
        yield from _read_from(tree, dumps[start:stop])
        start = stop


def _read_from(tree: Tree, dumps: Sequence[Found]) -> Iterator[tuple[Found, dict[str, bytes] | Exception]]:
    owners: dict[str, list[tuple[Found, str]]] = {}
    entries = []
    for dump in dumps:
        for role, entry in _wanted(dump):
            # The same dump may lie there plain and compressed: what lies beside them once is read once, for both.
            if entry.path not in owners:
                entries.append(entry)
            owners.setdefault(entry.path, []).append((dump, role))
    pending: dict[int, dict[str, Place | Exception]] = {}
    with Waiting() as waiting:
        for entry, data in tree.read(entries):
            for dump, role in owners[entry.path]:
                if role == _HEAD:
                    dump.head, part = data, b""
                else:
                    part = _decompressed(entry.path, role, data)
                    if len(dump.parts) == 1 and dump.module_text is None:
                        yield dump, part if isinstance(part, Exception) else {role: part}
                        continue
                parts = pending.setdefault(id(dump), {})
                parts[role] = part if isinstance(part, Exception) else waiting.put(part)
                if len(parts) == len(_wanted(dump)):
                    del pending[id(dump)]
                    yield dump, _joined(dump, parts, waiting)


_HEAD = "head of the module text"


def _wanted(dump: Found) -> list[tuple[str, Entry]]:
    """Return the files to be read for a dump, by role."""
    wanted = list(dump.parts.items()) if dump.content is None else []
    return wanted if dump.module_text is None else [*wanted, (_HEAD, dump.module_text)]


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


def _joined(dump: Found, parts: Mapping[str, Place | Exception], waiting: Waiting) -> dict[str, bytes] | Exception:
    errors = [part for part in parts.values() if isinstance(part, Exception)]
    files = {role: waiting.take(parts[role]) for role in dump.parts if role in parts and not errors}
    return errors[0] if errors else files


def _trees(source: str) -> Iterator[Tree]:
    if source.startswith("s3://"):
        from bufferhouse.sources.bucket import Bucket

        bucket = Bucket(source)
        if source.endswith(ARCHIVE_SUFFIXES):
            from bufferhouse.sources.archive import Archive

            yield Archive(source, bucket.file)
        else:
            yield bucket
    elif os.path.exists(source) or not glob.has_magic(source):
        yield _tree_of(source)
    else:
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise UsageError(f"{source}: the pattern matches no file")
        yield from map(_tree_of, matches)


def _is_wanted(entry: Entry, include: Sequence[str], exclude: Sequence[str]) -> bool:
    # A file of a split dump is wanted where the dump is.
    paths = {entry.path, main_of(entry.path)}
    relative = {relative_to(path, entry.base) for path in paths}
    names = relative | {path.rsplit("/", 1)[-1] for path in relative}

    def matches(patterns: Sequence[str]) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns for name in names)

    return (not include or matches(include)) and not matches(exclude)


def _common_base(entries: Sequence[Entry]) -> str | None:
    bases = sorted({entry.base for entry in entries})
    if len(bases) < 2:
        return bases[0] if bases else None
    if any(split_at_archive(base)[1] is not None or "://" in base for base in bases):
        raise UsageError("several archives or buckets cannot be one run; ingest them one by one with the same --run")
    return os.path.commonpath([os.path.abspath(base) for base in bases])


def _tree_of(path: str) -> Tree:
    """Return the tree of a path that exists: an archive by its name, else a directory or a single file.

    Raises:
        UsageError: there is nothing at `path`, or no file: a pipe would be waited on for ever.
    """
    if os.path.isdir(path):
        return Directory(path.rstrip("/") or "/")
    if path.endswith(ARCHIVE_SUFFIXES) and os.path.isfile(path):
        from bufferhouse.sources.archive import Archive

        return Archive(path)
    if os.path.isfile(path):
        return Directory(os.path.dirname(path) or ".", [path])
    what = "not a regular file" if os.path.exists(path) else "no such file or directory"
    raise UsageError(f"{path}: {what}")


def _is_candidate(entry: Entry, files: Mapping[str, Entry], beside: Files, look_inside: bool) -> bool:
    path = entry.path
    name = compression.plain_name(path)
    if is_module_text(name) and has_main(path, files):
        beside.module_texts[path] = entry
        return False
    if name.endswith(_SIBLINGS) and (not entry.is_explicit or has_main(path, files)):
        beside.siblings[path] = entry
        return False
    if path.endswith(RUN_FILE) and path[-len(RUN_FILE) - 1 : -len(RUN_FILE)] in ("", "/", "!"):
        return False
    is_like_a_dump = name.endswith("buffer-assignment.txt") or (entry.is_explicit and not is_written_beside(name))
    if is_like_a_dump or (look_inside and entry.tree.begins_like_a_dump(entry)):
        return True
    beside.ignored_count += 1
    beside.endings[ending_of(name)] += 1
    return False
