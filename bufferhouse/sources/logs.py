"""Logs beside dumps: which files are such, and which run each is of."""

import codecs
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import BinaryIO

from bufferhouse.sources import compression
from bufferhouse.sources.directory import Entry, last_name, split_at_archive
from bufferhouse.sources.run import Places, parent_of, root_of

TEXT = "a log as text"
WHOLE = "compressed data that is whole"  # what is expected where a log is cut
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEGINNING_BYTES = 4096
_PIECE_BYTES = 4096
_MARK_BYTES = 8


class NoText(OSError):
    """A log whose bytes are those of no text; `found` says of what they are."""

    def __init__(self, found: str) -> None:
        super().__init__(f"expected {TEXT}, found: {found}")
        self.found = found


@dataclass(slots=True)
class Log:
    """A log in a source: `places` gives, for each run that it may be of, its path as seen from there.

    `may_be_of_others`: it lies near runs that a pass leaves out, too.
    """

    entry: Entry
    places: Mapping[str, str]
    may_be_of_others: bool = False


def logs_of_runs(logs: Iterable[Entry], runs: Mapping[str, str], places: Places) -> Iterator[Log]:
    """Yield each log with the runs that it may be of; `runs` gives the directory of each run by name.

    A log is of the run in whose directory it lies; else of the run NAME if it lies beside its directory and is called
    NAME.log, say; else of a run in a directory below its own, and else of any run there is: where these are several,
    its messages decide. Where `places` has one name for all, all are of that run.
    """
    roots = {name: root_of(directory) for name, directory in runs.items()}
    for entry in logs:
        path = _whole(entry.path)
        names = [places.run_name] if places.run_name else _said(entry, places, runs) or _near(path, roots)
        below = {name: roots.get(name) or root_of(entry.base) for name in names}
        yield Log(entry, {name: _seen_from(root, path) for name, root in below.items()})


def _said(entry: Entry, places: Places, runs: Mapping[str, str]) -> list[str]:
    """Return the run that a pattern over paths says, if there is such a pattern."""
    place = places.of(entry) if places.has_pattern else None
    return [place[0]] if place and place[0] in runs else []


def _near(path: str, roots: Mapping[str, str]) -> list[str]:
    around = [name for name, root in roots.items() if _is_below(path, root)]
    if around:
        return [max(around, key=lambda name: len(roots[name]))]
    folder, _, file = path.rpartition("/")
    beside = [name for name, root in roots.items() if root.rpartition("/")[0] == folder]
    alike = [(len(stem), name) for name in beside if (stem := stem_of(file, last_name(roots[name])))]
    if alike:
        return [max(alike)[1]]
    return [name for name, root in roots.items() if _is_below(root, folder)] or list(roots)


def stem_of(file: str, directory: str) -> str:
    """Return what a log is named after, of the name of a directory beside it; empty where it is not named after it.

    Of `name.dump` that is `name.dump` or `name`.
    """
    stems = directory, directory.rpartition(".")[0]
    return next((stem for stem in stems if stem and file.startswith(f"{stem}.")), "")


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith(("/", "!")) else f"{folder}/")


def _whole(path: str) -> str:
    """Return the path of a file with that of its folder as a run remembers it."""
    folder = root_of(parent_of(path))
    name = last_name(path)
    return f"{folder}{name}" if folder.endswith(("/", "!")) else f"{folder}/{name}"


def _seen_from(root: str, path: str) -> str:
    """Return the path of a file as seen from a directory; whole where both are not in one tree."""
    (tree, inside), (other, below) = _in_tree(path), _in_tree(root)
    return posixpath.relpath(f"/{inside}", f"/{below}") if tree == other else path


def _in_tree(path: str) -> tuple[str, str]:
    archive, inside = split_at_archive(path)
    if inside is not None:
        return archive, inside
    if "://" in path:
        scheme, _, rest = path.partition("://")
        bucket, _, key = rest.partition("/")
        return f"{scheme}://{bucket}", key
    return "", path.lstrip("/")


def opened(entries: Sequence[Entry]) -> Iterator[tuple[Entry, BinaryIO | Exception]]:
    """Yield logs as streams of plain bytes, or what prevents that; each is open until the next one is asked for.

    What is no text, because it begins with bytes that no text has, is an empty stream. Reading what is compressed
    without saying so in its name raises what `check_plain` does, and of what is not compressed as its name says what
    `check_name` does.
    """
    for _, group in groupby(entries, key=lambda entry: id(entry.tree)):
        of_tree = list(group)
        for entry, file in of_tree[0].tree.streams(of_tree):
            if isinstance(file, Exception):
                yield entry, file
                continue
            with closing(compression.opened(entry.path, file)) as stream:
                yield entry, _Text(stream, partial(check_name, entry.path, file))


def check_name(name: str, file: BinaryIO) -> None:
    """Refuse a log that is not compressed as its name says: a decompressor would call it damaged.

    Raises:
        OSError: `file`, of which nothing is read yet, begins as something else; the text has the way out.
    """
    if name.endswith(compression.ENDINGS) and (what := compression.misnamed(name, file.peek(_MARK_BYTES))):
        raise OSError(what)


def check_plain(beginning: bytes, way_out: str | None = None) -> None:
    """Refuse a log that is compressed and whose name does not say so: no message would be found in it.

    Raises:
        NoText: its first bytes are those of compressed data; `way_out` says what to do, else the name tells.
    """
    if found := compression.told_by_mark(beginning):
        raise NoText(f"{found[0]}; {way_out or found[1]}")


class _Text:
    """A stream that is empty where its beginning is that of no text."""

    def __init__(self, stream: BinaryIO, check: Callable[[], None]) -> None:
        self._read = getattr(stream, "read1", stream.read)
        self._check = check
        self._is_begun = False

    def read(self, size: int) -> bytes:
        """Read what there is at once: nothing of it is lost where the data behind it is damaged."""
        if not self._is_begun:
            self._check()
        data = self._read(size) or b""
        if not self._is_begun:
            check_plain(data)
            if not _is_text(data):
                self._read = lambda size: b""
                return b""
        self._is_begun = True
        return data


def _is_text(data: bytes) -> bool:
    """Return whether the beginning of a log is one of text."""
    beginning = data[:_BEGINNING_BYTES]
    # A log that was cut while its writer held it open begins with zeros; every other byte of UTF-16 is one.
    return b"\0" not in beginning.lstrip(b"\0") or beginning.startswith(_UTF16_MARKS)


class UntilDamage:
    """A log that ends where its compressed data is damaged: `damage` says how, in the line of `line_number`.

    `is_text` says whether it begins as text does.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.damage: Exception | None = None
        self.is_text = True
        self.line_number = 1
        self.byte_count = 0

    def read(self, size: int) -> bytes:
        """Read on, as many bytes as there are."""
        # Piece by piece: where a decompressor fails, what it had of this piece is lost.
        read = getattr(self._file, "read1", self._file.read)
        pieces, left = [], size
        try:
            while left > 0 and self.damage is None and (piece := read(min(left, _PIECE_BYTES))):
                pieces.append(piece)
                left -= len(piece)
        except compression.DAMAGE as error:
            self.damage = error
        data = b"".join(pieces)
        if self.byte_count == 0:
            self.is_text = _is_text(data)
        self.line_number += data.count(b"\n")
        self.byte_count += len(data)
        return data
