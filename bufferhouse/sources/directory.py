"""Where files lie: a directory tree, an archive, a bucket. Each lists its entries and reads those that are wanted."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import BinaryIO, Protocol

from bufferhouse.dump.grammar import FIRST_LINE
from bufferhouse.errors import LARGEST_NUMBER, UsageError
from bufferhouse.redaction import printable
from bufferhouse.sources.compression import limit_bytes, plain_name, too_large
from bufferhouse.sources.module_text import head_of

FIRST_BYTES = FIRST_LINE.encode()
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".zip")
_LONGEST = max(map(len, _ARCHIVES))
_ARCHIVE_MARK = re.compile(rf"(?:{'|'.join(map(re.escape, _ARCHIVES))})!", re.IGNORECASE | re.ASCII)


class StillWritten(OSError):
    """A file has changed since it was listed: it is being written. Trying again later can help."""

    def __init__(self) -> None:
        super().__init__("it changed while it was read")


@dataclass(slots=True)
class Entry:
    """One file of a tree. `path` tells it from every other, `base` is the path of the tree it was found in."""

    tree: "Tree"
    path: str
    base: str
    size_bytes: int
    mtime_ns: int
    is_explicit: bool = False
    begins_like_a_dump: bool | None = None  # None: not known yet
    is_head_only: bool = False  # a module text: only its head is read


class Tree(Protocol):
    """The operations of a tree of files. `refused` has the paths that it does not list, each with the reason."""

    refused: list[tuple[str, str]]

    def entries(self) -> Iterator[Entry]:
        """List the files."""

    def beside(self, path: str) -> Entry | None:
        """Return a file next to one that was named explicitly, None where there is none."""

    def text(self, path: str, most_bytes: int) -> bytes | None:
        """Return the first bytes of a small file that describes others (run.json), None where there is none.

        Raises:
            OSError: it cannot be read, or is no file.
        """

    def begins_like_a_dump(self, entry: Entry) -> bool:
        """Return whether a file begins with the line `BufferAssignment:`.

        Raises:
            OSError, UsageError: a file called like text cannot be read: it may be a dump.
        """

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes | Exception]]:
        """Yield the bytes of some entries, or why they cannot be read, in an order that suits the tree.

        Of one that is `is_head_only` the bytes are what `module_text.head_of` returns.
        """

    def streams(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, BinaryIO | Exception]]:
        """Yield some entries of any size opened, or why they cannot be; each is closed when the next one is asked for.

        Of an archive only those called like logs can be asked for.
        """


@dataclass(slots=True)
class Directory:
    """A directory and everything below it, or single files; of these `is_matched` says that a glob found them."""

    base: str
    only: list[str] | None = None
    refused: list[tuple[str, str]] = field(default_factory=list)
    is_matched: bool = False

    def entries(self) -> Iterator[Entry]:
        """List files by name; links to directories are passed by, links that leave the tree are refused.

        Raises:
            UsageError: a file that was named is not there.
        """
        if self.only is None:
            yield from self._walk(self.base, self._root())
        for path in self.only or ():
            try:
                stat = os.stat(path)
                if not S_ISREG(stat.st_mode):
                    raise OSError(0, "expected a file, found a pipe, a socket or a device")
            except OSError as error:
                if not self.is_matched:
                    raise UsageError(f"{printable(path)}: {error.strerror}") from None
                self.refused.append((path, error.strerror))
                continue
            yield self._named(path, stat)

    def _walk(self, directory: str, root: str) -> Iterator[Entry]:
        # A pile of what is left of each directory, not a generator in a generator: every file would pass through all.
        pile = [self._items(directory)]
        while pile:
            for item in pile[-1]:
                if item.is_dir(follow_symlinks=False):
                    pile.append(self._items(item.path))
                    break
                try:
                    stat = item.stat() if not item.is_symlink() else self._linked(item, root)
                except OSError as error:
                    self.refused.append((item.path, error.strerror))
                    continue
                if stat is not None and S_ISREG(stat.st_mode):
                    yield Entry(self, item.path, self.base, stat.st_size, storable(stat.st_mtime_ns))
                elif stat is not None and S_ISLNK(stat.st_mode):
                    # A dangling link: reading it reports that, if its name is that of a dump.
                    yield Entry(self, item.path, self.base, 0, storable(stat.st_mtime_ns))
                elif stat is not None and not S_ISDIR(stat.st_mode) and item.name.endswith("buffer-assignment.txt"):
                    self.refused.append((item.path, "expected a file, found a pipe, a socket or a device"))
            else:
                pile.pop()

    def _items(self, directory: str) -> Iterator[os.DirEntry]:
        try:
            with os.scandir(directory) as found:
                return iter(sorted(found, key=attrgetter("name")))
        except OSError as error:
            self.refused.append((directory, error.strerror))
            return iter(())

    def _root(self) -> str:
        return os.path.realpath(self.base).rstrip("/") + "/"

    def _linked(self, item: os.DirEntry, root: str) -> os.stat_result | None:
        """Return what a link leads to, itself where that is nothing, None where it leaves the tree."""
        if _leaves(item.path, root):
            self.refused.append((item.path, f"the link leaves {self.base}"))
            return None
        return item.stat(follow_symlinks=os.path.exists(item.path))

    def beside(self, path: str) -> Entry | None:
        """Return a file by its path."""
        return self._named(path, os.stat(path)) if os.path.isfile(path) else None

    def _named(self, path: str, stat: os.stat_result) -> Entry:
        return Entry(self, path, os.path.dirname(path) or ".", stat.st_size, storable(stat.st_mtime_ns), True)

    def text(self, path: str, most_bytes: int) -> bytes | None:
        """Return the first bytes of a file, None where there is none; a pipe or a device is not opened.

        Raises:
            OSError: it cannot be read, or is a link that leads nowhere or out of the tree.
        """
        if os.path.islink(path):
            if not os.path.exists(path):
                raise OSError("the link leads nowhere")
            if self.only is None and _leaves(path, self._root()):
                raise OSError(f"the link leaves {self.base}")
        try:
            if not S_ISREG(os.stat(path).st_mode):
                raise OSError("expected a file, found a directory, a pipe or a device")
            with open(path, "rb") as file:
                return file.read(most_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def begins_like_a_dump(self, entry: Entry) -> bool:
        """Look at the first line.

        Raises:
            OSError: a file called like text cannot be read: it may be a dump.
        """
        try:
            with open(entry.path, "rb") as file:
                return file.read(len(FIRST_BYTES)) == FIRST_BYTES
        except OSError as error:
            if plain_name(entry.path).endswith(".txt") and not isinstance(error, FileNotFoundError):
                raise
            return False

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes | Exception]]:
        """Yield files in the order given."""
        limit = limit_bytes()
        for entry in entries:
            if entry.is_head_only:
                yield entry, _head(entry.path)
                continue
            if entry.size_bytes > limit:
                yield entry, too_large(limit)
                continue
            try:
                data, stat = _content(entry.path, entry.size_bytes)
            except Exception as error:
                yield entry, error
            else:
                # Under its old size and time the new content would be taken for known, and never be read again.
                is_same = (stat.st_size, storable(stat.st_mtime_ns)) == (entry.size_bytes, entry.mtime_ns)
                yield entry, data if is_same and len(data) == stat.st_size else StillWritten()

    def streams(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, BinaryIO | Exception]]:
        """Open files in the order given."""
        for entry in entries:
            try:
                # A pipe that took its place is not waited for.
                handle = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                yield entry, error
                continue
            with open(handle, "rb") as file:
                yield entry, file


def _leaves(path: str, root: str) -> bool:
    """Return whether a path leads out of a tree, all links followed; `root` is its real path with a slash behind it."""
    return not f"{os.path.realpath(path)}/".startswith(root)


def _head(path: str) -> bytes | Exception:
    try:
        with open(path, "rb") as file:
            return head_of(path, file)
    except Exception as error:
        return error


def _content(path: str, size_bytes: int) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a file and what it is after the reading; takes half the time of open() and read()."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe that took its place is not waited for
    try:
        data = os.read(handle, size_bytes + 1)
        if len(data) < size_bytes:  # one call gives 2 GiB at most
            with open(handle, "rb", closefd=False) as file:
                data += file.read()
        return data, os.fstat(handle)
    finally:
        os.close(handle)


def storable(mtime_ns: int) -> int:
    """Return a time in nanoseconds as the warehouse can keep it: beyond the year 2262 all are the last."""
    if -LARGEST_NUMBER <= mtime_ns <= LARGEST_NUMBER:
        return mtime_ns
    return LARGEST_NUMBER if mtime_ns > 0 else -LARGEST_NUMBER


def is_storable(size_bytes: int) -> bool:
    """Return whether a size is one: what an archive says may be anything."""
    return 0 <= size_bytes <= LARGEST_NUMBER


def archive_ending(path: str) -> str:
    """Return how the name of an archive ends, `.tar.gz` or `.Zip`; empty where the name is of no archive."""
    end = path[-_LONGEST:].lower()
    return next((path[-len(one) :] for one in _ARCHIVES if end.endswith(one)), "") if end.endswith(_ARCHIVES) else ""


def last_name(path: str) -> str:
    """Return the name of a file by its path, which may be that of a member of an archive."""
    return path[max(path.rfind("/"), path.rfind("!")) + 1 :]


def split_at_archive(path: str) -> tuple[str, str | None]:
    """Return a path up to the `!` behind an archive, and what is inside; None where the path is in no archive."""
    if "!" in path and (match := _ARCHIVE_MARK.search(path)):
        return path[: match.end()], path[match.end() :]
    return path, None
