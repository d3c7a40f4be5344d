"""The dumps that were found, in their order: a portion in memory at a time, all others in a temporary file."""

import marshal
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count, repeat
from types import MappingProxyType
from typing import NamedTuple, Self

from bufferhouse.dump.identity import Content, read_file_name
from bufferhouse.sources.directory import Entry, Tree
from bufferhouse.sources.spool import Place, Spool

PORTION = 10_000  # files that are held at a time, about 1.7 KB each
HEAD, PROTO = "head of the module text", "proto beside the text"  # roles beside a dump, as are the kinds of flags
_NO_FLAGS: Mapping = MappingProxyType({})


@dataclass(slots=True)
class Found:
    """One dump in a source: its files by role (`combined` where there is one alone), and the run it belongs to.

    `module_text`, `proto` and `flags` are the files beside it, and no part of it; `flags` hold the options of its
    compilation, by kind. `read_beside` is what was read of these files, or why they cannot be read, by role. With
    `content` the dump is known to be unchanged, and only the files beside it are read. `did_not_fit` is True if files
    beside it say that the compilation ran out of memory. A dump without a text is its proto, in the part of that name.
    `number` is its place among all dumps that were found with it; `unread_uri` is the part that could not be read.
    """

    run_name: str
    relative_path: str
    parts: dict[str, Entry]
    size_bytes: int
    mtime_ns: int
    module_text: Entry | None = None
    content: Content | None = None
    did_not_fit: bool | None = None
    flags: Mapping[str, Entry] = field(default_factory=lambda: _NO_FLAGS)
    proto: Entry | None = None
    read_beside: dict[str, bytes | Exception] = field(default_factory=dict)
    number: int = 0
    unread_uri: str | None = None

    @classmethod
    def of(
        cls,
        relative_path: str,
        parts: dict[str, Entry],
        *,
        module_text: Entry | None = None,
        flags: Mapping[str, Entry] = _NO_FLAGS,
        proto: Entry | None = None,
    ) -> Self:
        """Return the dump of some files: its size is the sum of its parts, its time that of the newest."""
        part, *others = parts.values()
        size_bytes, mtime_ns = part.size_bytes, part.mtime_ns
        for other in others:
            size_bytes, mtime_ns = size_bytes + other.size_bytes, max(mtime_ns, other.mtime_ns)
        return cls("", relative_path, parts, size_bytes, mtime_ns, module_text, flags=flags, proto=proto)

    @property
    def is_alone(self) -> bool:
        """Whether it is one text without any file beside it, as most dumps of a fleet are."""
        return "combined" in self.parts and self.module_text is self.proto is None and not self.flags

    @property
    def main(self) -> Entry:
        """The file that the dump is known by."""
        return next(iter(self.parts.values()))

    @property
    def uri(self) -> str:
        """Where the dump was found, for messages and for raw.observations; archive members as archive!member."""
        return self.main.path

    @property
    def beside(self) -> dict[str, Entry]:
        """The files beside it by role: HEAD, the kinds of `flags`, and PROTO."""
        files = {HEAD: self.module_text, **self.flags, PROTO: self.proto}
        return {role: entry for role, entry in files.items() if entry is not None}

    @property
    def entries(self) -> list[Entry]:
        """All files of the dump: its parts, and those beside it."""
        return [*self.parts.values(), *self.beside.values()]


@dataclass(slots=True)
class FoundRun:
    """A directory whose dumps are of one run, and what its files say; `given` is the name, if not from the directory.

    `run_name` is known when all directories are known; it is None if the dumps are left out. `oldest_dumped_at` comes
    from the names of files; `has_target` says whether one of these names has a platform.
    """

    given: str | None
    directory: str
    tree: Tree
    run_name: str | None = None
    count: int = 0
    oldest_mtime_ns: int | None = None
    oldest_dumped_at: datetime | None = None
    has_target: bool = False

    def note(self, dump: Found) -> None:
        """Count a dump."""
        self.count += 1
        if self.oldest_mtime_ns is None or dump.mtime_ns < self.oldest_mtime_ns:
            self.oldest_mtime_ns = dump.mtime_ns
        # Only a name that begins with a time stamp has one; to look at all others would cost more than to find them.
        path = dump.relative_path
        is_stamped = path[path.rfind("/") + 1 :][:1].isdigit()
        if self.has_target and not is_stamped:
            return
        name = read_file_name(path)
        self.has_target = self.has_target or bool(name.compile_target)
        stamp = name.dumped_at
        if stamp and (self.oldest_dumped_at is None or stamp < self.oldest_dumped_at):
            self.oldest_dumped_at = stamp


class _Make(NamedTuple):
    """What many dumps share: which files they have, in the order of `Found.entries`, and whether they did not fit."""

    roles: tuple[str, ...]
    has_module_text: bool
    flag_kinds: tuple[str, ...]
    has_proto: bool
    did_not_fit: bool | None


@dataclass(slots=True)
class _Store:
    """All dumps of a discovery: the last portion in memory, those before it in a file; runs by number.

    In the file they are columns, since objects would be written, read and visited by Python's collector one by one.
    `makes` and `origins` number what many share: a `_Make` of dumps, and everything of an `Entry` except path, size and
    time, with the id of its tree.
    """

    runs: list[FoundRun] = field(default_factory=list)
    run_of: array = field(default_factory=lambda: array("L"))
    places: list[Place] = field(default_factory=list)  # of the portions that are not in memory
    last: list[Found] = field(default_factory=list)
    makes: dict[tuple, int] = field(default_factory=dict)
    origins: dict[tuple, int] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)
    contents: dict[int, Content] = field(default_factory=dict)
    spool: Spool = field(default_factory=Spool)

    def put_away(self) -> None:
        """Write the portion that is in memory into the file."""
        dumps = self.last
        entries = [entry for dump in dumps for entry in dump.entries]
        columns = (
            [dump.relative_path for dump in dumps],
            [self._make_number(dump) for dump in dumps],
            [entry.path for entry in entries],
            [self._origin_number(entry) for entry in entries],
            [entry.size_bytes for entry in entries],
            [entry.mtime_ns for entry in entries],
        )
        self.places.append(self.spool.put(marshal.dumps(columns)))
        self.last = []

    def portions(self) -> Iterator[list[Found]]:
        makes = [_Make(*make) for make in self.makes]
        origins = [(self.trees[tree], *others) for tree, *others in self.origins]
        number = 0
        for place in self.places:
            relative_paths, make_numbers, *columns = marshal.loads(self.spool.take(place))
            entries = map(partial(_entry, origins), *columns)
            of_dumps = map(makes.__getitem__, make_numbers)
            yield list(map(_found, relative_paths, of_dumps, repeat(entries), count(number)))
            number += len(relative_paths)
        yield self.last

    def _make_number(self, dump: Found) -> int:
        text, proto = dump.module_text, dump.proto
        make = ((*dump.parts,), text is not None, (*dump.flags,), proto is not None, dump.did_not_fit)
        return self.makes.setdefault(make, len(self.makes))

    def _origin_number(self, entry: Entry) -> int:
        tree = id(entry.tree)
        self.trees[tree] = entry.tree
        origin = (tree, entry.base, entry.is_explicit, entry.begins_like_a_dump, entry.is_head_only)
        return self.origins.setdefault(origin, len(self.origins))


def _entry(origins: Sequence[tuple], path: str, origin: int, size_bytes: int, mtime_ns: int) -> Entry:
    tree, base, *facts = origins[origin]
    return Entry(tree, path, base, size_bytes, mtime_ns, *facts)


def _found(relative_path: str, make: _Make, entries: Iterator[Entry], number: int) -> Found:
    # What is first of a pair ends it: no entry is taken too many.
    parts = dict(zip(make.roles, entries, strict=False))
    text = next(entries) if make.has_module_text else None
    flags = dict(zip(make.flag_kinds, entries, strict=False)) if make.flag_kinds else _NO_FLAGS
    proto = next(entries) if make.has_proto else None
    found = Found.of(relative_path, parts, module_text=text, flags=flags, proto=proto)
    found.did_not_fit, found.number = make.did_not_fit, number
    return found


class FoundDumps:
    """Dumps in the order in which they were found, all of them or some; those of one archive are in one portion."""

    def __init__(self, portion: int = PORTION) -> None:
        self._portion = portion
        self._store = _Store()
        self._chosen = bytearray()  # 1 for each dump that is among these

    def add(self, dumps: Iterable[tuple[Found, int]]) -> None:
        """Add a portion: dumps, each with the number of its run among `runs`; only before some are chosen."""
        store = self._store
        if len(store.last) >= self._portion:
            store.put_away()
        for dump, run in dumps:
            dump.number = len(store.run_of)
            store.last.append(dump)
            store.run_of.append(run)
            store.runs[run].note(dump)
            self._chosen.append(1)

    @property
    def runs(self) -> list[FoundRun]:
        """The runs whose dumps were found."""
        return self._store.runs

    def settle(self) -> None:
        """Leave out the dumps of runs without a name."""
        if any(run.run_name is None for run in self.runs):
            for number, run in enumerate(self._store.run_of):
                self._chosen[number] = self.runs[run].run_name is not None

    def rename(self, names: dict[str, str]) -> None:
        """Give runs other names."""
        for run in self.runs:
            run.run_name = names.get(run.run_name, run.run_name)

    def only(self, numbers: Iterable[int]) -> "FoundDumps":
        """Return only the dumps with some numbers."""
        some = FoundDumps(self._portion)
        some._store, some._chosen = self._store, bytearray(len(self._chosen))
        for number in numbers:
            some._chosen[number] = 1
        return some

    def know(self, number: int, content: Content) -> None:
        """Note that a dump is unchanged and need not be read again."""
        self._store.contents[number] = content

    def portions(self) -> Iterator[list[Found]]:
        """Yield the dumps in portions of what is held in memory."""
        store, chosen = self._store, self._chosen
        for portion in store.portions():
            dumps = [dump for dump in portion if chosen[dump.number]]
            for dump in dumps:
                dump.run_name = store.runs[store.run_of[dump.number]].run_name
                if store.contents:
                    dump.content = store.contents.get(dump.number)
            if dumps:
                yield dumps

    def __iter__(self) -> Iterator[Found]:
        for portion in self.portions():
            yield from portion

    def __len__(self) -> int:
        return self._chosen.count(1)


def portions_of(dumps: FoundDumps | Sequence[Found]) -> Iterator[Sequence[Found]]:
    """Yield dumps in portions of what is held in memory; a list is one portion, as it is in memory anyway."""
    return dumps.portions() if isinstance(dumps, FoundDumps) else iter([dumps])
