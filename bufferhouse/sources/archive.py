"""Tar and zip files as trees: members are called `archive!member`.

A tar is streamed once: when it is listed, the files of dumps are copied into a temporary file, up to a limit; what is
needed beyond that is read in a second pass. Only one member is in memory at a time, however large the archive is. A
header is believed only if it is plausible, and an odd member affects no other member.
"""

import io
import posixpath
import tarfile
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from operator import attrgetter
from stat import S_ISLNK
from typing import BinaryIO

from bufferhouse.dump.compile_flags import ORIGINS
from bufferhouse.dump.identity import SUFFIXES, is_log, is_module_text, is_proto
from bufferhouse.errors import SourceUnavailable, UsageError, told
from bufferhouse.sources import compression
from bufferhouse.sources.directory import FIRST_BYTES, Entry, is_storable, last_name, storable
from bufferhouse.sources.module_text import head_of
from bufferhouse.sources.run import MOST_RUN_FILE_BYTES, RUN_FILE
from bufferhouse.sources.spool import Place, Spool

_MOST_TEXT_BYTES = 64 << 20  # of all run.json of an archive, which are kept while it is listed
_MOST_HELD_BYTES = 1 << 30  # of dumps, between listing and reading
_LONGEST_NAME = 4096  # characters: PATH_MAX
_NAMED = (SUFFIXES["live_range"], *ORIGINS)  # ends of names that say what a file is
_DRAINED_BYTES = 1 << 20
_MOST_HEADER_BYTES = 1 << 20  # a long name needs no more; a forged header could ask for any amount of memory
_LONG_HEADERS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


@dataclass(slots=True)
class _Member:
    """One member that is a file, or a link: then `link` is the path inside the archive that it leads to."""

    name: str
    size_bytes: int
    mtime_ns: int
    opened: Callable[[], BinaryIO]
    link: str | None = None


@dataclass(slots=True)
class Archive:
    """A tar or zip file; `opened` gives its bytes, by default those of the file at `path`."""

    path: str
    opened: Callable[[], BinaryIO] | None = None
    refused: list[tuple[str, str]] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    unread: dict[str, Exception] = field(default_factory=dict)  # what listing could not look into, and why
    links: dict[str, str] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)  # which of the members with one name is the last
    spool: Spool = field(default_factory=Spool)
    held: dict[str, Place | Exception] = field(default_factory=dict)  # dumps that were read when they were listed
    free_bytes: int = _MOST_HELD_BYTES

    @property
    def is_zip(self) -> bool:
        """Whether the archive is a zip, by its name."""
        return self.path.lower().endswith(".zip")

    @property
    def base(self) -> str:
        """Return the prefix of the path of every member."""
        return f"{self.path}!"

    def entries(self) -> Iterator[Entry]:
        """List the members that are files or links to files; a path out of the archive is refused, with its name.

        If an archive breaks off, the members before that are listed, and the archive is refused, too. Of several
        members with one name the last counts, as for tar.
        """
        kept: dict[str, Entry] = {}
        base = self.base  # one text for all: there may be a million entries
        text_bytes = 0
        for ordinal, member in enumerate(self._members()):
            path = self._place(member.name)
            if path is None:
                reason = "leaves the archive" if len(member.name) <= _LONGEST_NAME else f"is {len(member.name)} long"
                self.refused.append((f"{self.base}{member.name[:_LONGEST_NAME]}", f"the name {reason}"))
                continue
            if member.link is not None:
                if (target := self._place(member.link)) is None:
                    self.refused.append((path, "the link leaves the archive"))
                else:
                    self.links[path] = target
                continue
            name = last_name(path)
            self.unread.pop(path, None)
            if name == RUN_FILE:
                self.texts[path] = self._beginning(path, member, MOST_RUN_FILE_BYTES + 1)
                text_bytes += len(self.texts[path])
                if text_bytes > _MOST_TEXT_BYTES:
                    self.refused.append((self.path, f"expected at most {_MOST_TEXT_BYTES} bytes in {RUN_FILE} files"))
                    break
            plain = compression.plain_name(name)
            is_named = "buffer-assignment" in name or plain.endswith(_NAMED) or is_proto(plain)
            # Where the name says nothing, only the stream that just passes by can be looked into.
            looks = None
            if not is_named:
                beginning = self.texts[path] if name == RUN_FILE else self._beginning(path, member, len(FIRST_BYTES))
                looks = beginning.startswith(FIRST_BYTES)
            if path in self.unread and plain.endswith(".txt"):
                looks = None  # it may be a dump, and who asks is told why nobody knows
            entry = Entry(self, path, base, member.size_bytes, member.mtime_ns, begins_like_a_dump=looks)
            if is_named or looks or is_module_text(plain) or is_log(plain):
                kept[path] = entry
                self.ordinals[path] = ordinal
                self._hold(path, member, is_untouched=is_named)
            else:
                kept.pop(path, None)  # an earlier one of that name was a dump
                yield entry
        self.links = {path: self._led_to_its_end(path, kept) for path in self.links if path not in kept}
        for path, end in self.links.items():
            target = kept.get(end)
            if last_name(path) == RUN_FILE:
                text_bytes += len(self.texts.get(end, b""))
                if end in self.texts and text_bytes <= _MOST_TEXT_BYTES:
                    self.texts[path] = self.texts[end]
                elif end in self.unread:
                    self.unread[path] = self.unread[end]
                else:
                    self.refused.append((path, f"the link leads to no {RUN_FILE} in the archive; pack the file itself"))
                continue
            if is_log(compression.plain_name(path)):
                continue  # what it leads to is read where it lies
            if target is not None:
                kept[path] = Entry(self, path, base, target.size_bytes, target.mtime_ns)
                kept[path].begins_like_a_dump = target.begins_like_a_dump is not False
            elif "buffer-assignment" in path:
                self.refused.append((path, "the link leads to no dump in the archive"))
        yield from kept.values()

    def _beginning(self, path: str, member: _Member, count: int) -> bytes:
        data = _first_bytes(member, count)
        if isinstance(data, Exception):
            self.unread[path] = data
            return b""
        return data

    def _hold(self, path: str, member: _Member, *, is_untouched: bool) -> None:
        """Hold the bytes of a part of a dump; a stream that was looked into gives them only in the next pass."""
        self.held.pop(path, None)  # of a name that comes again
        is_of_dump = not is_module_text(compression.plain_name(path))
        if self.is_zip or not (is_untouched and is_of_dump) or member.size_bytes > self.free_bytes:
            return
        data = _content(member)
        self.free_bytes -= member.size_bytes
        self.held[path] = data if isinstance(data, Exception) else self.spool.put(data)

    def _led_to_its_end(self, path: str, kept: Container[str]) -> str:
        """Return where a link leads to by all links behind it; one that leads back to itself leads to no file."""
        seen = {path}
        while path not in kept and (target := self.links.get(path)) is not None and target not in seen:
            seen.add(path := target)
        return path

    def _place(self, name: str) -> str | None:
        """Return the path of a member, None where its name leaves the archive or is none."""
        if len(name) > _LONGEST_NAME:
            return None
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or not parts:
            return None
        return self.base + "/".join(parts)

    def beside(self, path: str) -> Entry | None:
        """Return nothing: no member is named explicitly."""
        return None

    def text(self, path: str, most_bytes: int) -> bytes | None:
        """Return a member that was kept while listing.

        Raises:
            OSError: it could not be read then.
        """
        path = self.base + path.removeprefix(self.base).lstrip("/")
        if path in self.unread:
            raise self.unread[path]
        return self.texts.get(path)

    def begins_like_a_dump(self, entry: Entry) -> bool:
        """Return what was seen when the archive was listed.

        Raises:
            OSError: a member called like text could not be read then: it may be a dump.
        """
        if entry.begins_like_a_dump is None and entry.path in self.unread:
            raise self.unread[entry.path]
        return bool(entry.begins_like_a_dump)

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes | Exception]]:
        """Yield the held members, then the others, both in the order of the archive, whatever order is requested."""
        wanted: dict[str, list[Entry]] = {}
        for entry in entries:
            wanted.setdefault(self.links.get(entry.path, entry.path), []).append(entry)
        for path in sorted(wanted.keys() & self.held.keys(), key=self.ordinals.__getitem__):
            place = self.held.pop(path)
            data = place if isinstance(place, Exception) else self.spool.take(place)
            for entry in wanted.pop(path):
                yield entry, data
        for ordinal, member in enumerate(self._members(quiet=True) if wanted else ()):
            path = self._place(member.name)
            if path in wanted and self.ordinals.get(path) == ordinal:
                found = wanted.pop(path)
                data = _soundly(member, partial(head_of, path)) if found[0].is_head_only else _content(member)
                for entry in found:
                    yield entry, data
            if not wanted:
                return
        for left in wanted.values():
            for entry in left:
                yield entry, OSError("the archive breaks off before it")

    def streams(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, BinaryIO | Exception]]:
        """Open members in the order of the archive; of one that was a link nothing is read."""
        wanted = {entry.path: entry for entry in entries}
        for ordinal, member in enumerate(self._members(quiet=True)):
            path = self._place(member.name)
            if path not in wanted or self.ordinals.get(path) != ordinal:
                continue
            entry = wanted.pop(path)
            try:
                file = member.opened()
            except (UsageError, SourceUnavailable):
                raise
            except Exception as error:
                yield entry, _fault(error)
                continue
            with file:
                yield entry, file
            if not wanted:
                return
        for entry in wanted.values():
            yield entry, OSError("the archive breaks off before it")

    def _members(self, *, quiet: bool = False) -> Iterator[_Member]:
        try:
            with self.opened() if self.opened else open(self.path, "rb") as raw:
                yield from _zipped(raw) if self.is_zip else _tarred(self.path, raw)
        except (UsageError, SourceUnavailable):
            raise
        except Exception as error:
            if not quiet:
                self.refused.append((self.path, f"the archive is damaged: {self._misnamed() or _reason(error)}"))

    def _misnamed(self) -> str | None:
        """Return what the archive is, by its first bytes, if its name says something else."""
        with suppress(OSError), self.opened() if self.opened else open(self.path, "rb") as raw:
            beginning = raw.read(tarfile.BLOCKSIZE)
            if beginning[_TAR_MARK_AT:].startswith(b"ustar") and not self.path.lower().endswith(".tar"):
                return "a tar that is not compressed; name it ….tar"
            return compression.misnamed(self.path, beginning)
        return None


def _reason(error: Exception) -> str:
    """Return why data is damaged: the message of the library, if it raised the error on purpose."""
    is_meant = isinstance(error, (*compression.DAMAGE, tarfile.TarError, zipfile.BadZipFile, RuntimeError, OSError))
    return str(error) if is_meant else told(error)


def _first_bytes(member: _Member, count: int) -> bytes | Exception:
    return _soundly(member, lambda file: file.read(min(count, member.size_bytes)))


def _content(member: _Member) -> bytes | Exception:
    limit = compression.limit_bytes()
    if member.size_bytes > limit:
        return compression.too_large(limit)
    data = _soundly(member, lambda file: file.read(member.size_bytes + 1))
    if not isinstance(data, Exception) and len(data) != member.size_bytes:
        return OSError(f"expected {member.size_bytes} bytes in the archive, found {len(data)}")
    return data


def _soundly(member: _Member, read: Callable[[BinaryIO], bytes | Exception]) -> bytes | Exception:
    """Return the bytes of a member, or the error that prevents reading it."""
    try:
        with member.opened() as file:
            return read(file)
    except (UsageError, SourceUnavailable):
        raise
    except Exception as error:
        return _fault(error)


class _Locked(OSError):
    """A member that is whole and encrypted."""


def _refuse_locked() -> BinaryIO:
    raise _Locked("encrypted with a password; unpack the archive first")


def _fault(error: Exception) -> OSError:
    """Return the error of a member that cannot be read."""
    if isinstance(error, NotImplementedError):  # zipfile's word for a method that it does not know, such as Deflate64
        return OSError("packed by a method that bufferhouse does not know; unpack the archive first")
    return error if isinstance(error, _Locked) else OSError(f"damaged in the archive: {_reason(error)}")


class _Header(tarfile.TarInfo):
    """Raises where tarfile ends silently: at an archive that breaks off between members, or turns into garbage.

    The map of a sparse member is ignored: the member has its stated size, and no dump has holes.
    """

    is_sparse = False

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> tarfile.TarInfo:
        try:
            header = super().fromtarfile(archive)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"expected a member or the end, found {error}") from None
        return _checked(header)

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        """Check a header before anything is read for it; tarfile says that this method is there to be overridden."""
        _checked(self)
        if self.type in _LONG_HEADERS and self.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"expected a header, found one of {self.size} bytes")
        return super()._proc_member(archive)

    def _proc_sparse(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        """Go past the further headers of an old sparse member (Documentation/intern.texi of GNU tar)."""
        _, is_extended, _ = self._sparse_structs
        while is_extended:
            block = archive.fileobj.read(tarfile.BLOCKSIZE)
            is_extended = len(block) == tarfile.BLOCKSIZE and block[_EXTENDED_AT]
        self.is_sparse = True
        self.offset_data = archive.fileobj.tell()
        archive.offset = self.offset_data + self._block(self.size)
        return self

    def _pass_over_map(self, header: "_Header", *_: object) -> None:
        header.is_sparse = True

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _pass_over_map


_TAR_MARK_AT = 257  # in the header of a member
_WINDOWS = 0  # the system that a member of a zip says it was written on
_ENCRYPTED = 1  # a flag of a member of a zip
_EXTENDED_AT = 504  # in a block of a sparse map: whether another one follows


def _checked(header: tarfile.TarInfo) -> tarfile.TarInfo:
    if not is_storable(header.size):
        raise tarfile.ReadError(f"expected the size of a member, found {header.size}")
    return header


class _Forward(io.RawIOBase):
    """A stream that tarfile can seek: forward alone, and not beyond its end."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.place = 0

    def tell(self) -> int:
        return self.place

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.place += len(data)
        return data

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or place < self.place:
            raise tarfile.StreamError("seeking backwards is not allowed")
        while self.place < place:
            if not self.read(min(place - self.place, _DRAINED_BYTES)):
                raise tarfile.ReadError("unexpected end of data")
        return place


def _tarred(path: str, raw: BinaryIO) -> Iterator[_Member]:
    with (
        closing(compression.opened(compression.full_name(path), raw)) as stream,
        tarfile.open(fileobj=_Forward(stream), mode="r:", tarinfo=_Header) as archive,
    ):
        for header in archive:
            if header.isreg() or header.issym() or header.islnk():
                yield _Member(
                    header.name,
                    header.size,
                    _moment(header.mtime),
                    _refuse_holes if header.is_sparse else partial(archive.extractfile, header),
                    header.linkname if header.islnk() else _led_to(header.name, header.linkname, header.issym()),
                )
            # A stream of a million members must not keep a million of them.
            archive.members = []
        # Behind the end mark of the tar the checksum of the compression is still to come.
        while stream.read(_DRAINED_BYTES):
            pass


def _moment(seconds: float) -> int:
    """Return the time of a tar header in nanoseconds; 0 if it is no time."""
    try:
        return storable(int(seconds) * 10**9)
    except (ValueError, OverflowError):
        return 0


def _refuse_holes() -> BinaryIO:
    raise OSError("a sparse member, which no dump is")


def _zipped(raw: BinaryIO) -> Iterator[_Member]:
    with zipfile.ZipFile(raw) as archive:
        _check_apart(archive.infolist())
        for info in archive.infolist():
            name = _name_in_zip(info)
            if name.endswith("/"):
                continue
            try:
                mtime_ns = int(datetime(*info.date_time, tzinfo=UTC).timestamp()) * 10**9
            except ValueError:
                mtime_ns = 0  # some writers leave month and day at 0
            opened = _refuse_locked if info.flag_bits & _ENCRYPTED else partial(archive.open, info)
            member = _Member(name, info.file_size, mtime_ns, opened)
            if S_ISLNK(info.external_attr >> 16):
                target = _first_bytes(member, _LONGEST_NAME)
                target = b"" if isinstance(target, Exception) else target
                member.link = _led_to(name, target.decode("utf-8", "surrogateescape"), True)
            yield member


def _name_in_zip(info: zipfile.ZipInfo) -> str:
    """Return the name of a member, with slashes: some writers on Windows, Compress-Archive for one, part it by `\\`."""
    is_of_windows = info.create_system == _WINDOWS and "/" not in info.filename
    return info.filename.replace("\\", "/") if is_of_windows else info.filename


def _check_apart(infos: list[zipfile.ZipInfo]) -> None:
    """Raise where two members share bytes: a small file could hold any amount of members that are large."""
    for one, other in pairwise(sorted(infos, key=attrgetter("header_offset"))):
        if one.header_offset + one.compress_size >= other.header_offset:
            raise zipfile.BadZipFile(f"{one.filename[:_LONGEST_NAME]} and {other.filename[:_LONGEST_NAME]} overlap")


def _led_to(name: str, link: str, is_link: bool) -> str | None:
    """Return the path inside the archive that a symbolic link leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) if is_link else None
