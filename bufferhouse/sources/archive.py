"""Tar and zip files as trees: members are called `archive!member`.

A tar is streamed, twice: to list its members, and to read those that are wanted. Nothing but one member is held at a
time, however large the archive is.
"""

import posixpath
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from stat import S_ISLNK
from typing import BinaryIO

from bufferhouse.sources import compression
from bufferhouse.sources.directory import FIRST_BYTES, Entry, too_large
from bufferhouse.sources.module_text import HeadError, head_of, is_module_text

_TEXT_NAME = "run.json"
_MOST_TEXT_BYTES = 16 << 20
_DRAINED_BYTES = 1 << 20
_MOST_HEADER_BYTES = 1 << 20  # a long name needs no more; a forged header could ask for any amount of memory
_LONG_HEADERS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
# RuntimeError is what zipfile raises for a password and, as NotImplementedError, for a method it does not know.
_DAMAGE = (*compression.DAMAGE, tarfile.TarError, zipfile.BadZipFile, RuntimeError, OSError)


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
    refused: list[str] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)  # which of the members with one name is the last

    @property
    def base(self) -> str:
        """Return what the path of every member begins with."""
        return f"{self.path}!"

    def entries(self) -> Iterator[Entry]:
        """List the members that are files, and links to such; what leaves the archive is refused by name.

        An archive that breaks off ends with what it held, and is refused by name, too. Of members with one name the
        last counts, as it does for tar.
        """
        kept: dict[str, Entry] = {}
        base = self.base  # one text for all: there may be a million entries
        for ordinal, member in enumerate(self._members()):
            path = self._place(member.name)
            if path is None:
                self.refused.append(f"{self.base}{member.name}: the name leaves the archive")
                continue
            if member.link is not None:
                self._keep_link(path, member.link)
                continue
            name = path.rsplit("/", 1)[-1].rsplit("!", 1)[-1]
            if name == _TEXT_NAME:
                self.texts[path] = _first_bytes(member, _MOST_TEXT_BYTES)
            is_named = "buffer-assignment" in name
            # Where the name says nothing, only the stream that just passes by can be looked into.
            looks = None if is_named else _first_bytes(member, len(FIRST_BYTES)) == FIRST_BYTES
            entry = Entry(self, path, base, member.size_bytes, member.mtime_ns, begins_like_a_dump=looks)
            if is_named or looks or "live-range" in name or is_module_text(name):
                kept[path] = entry
                self.ordinals[path] = ordinal
            else:
                yield entry
        for path in [path for path in self.links if path not in kept]:
            target = kept.get(self.links[path])
            if target is not None:
                kept[path] = Entry(self, path, base, target.size_bytes, target.mtime_ns)
                kept[path].begins_like_a_dump = target.begins_like_a_dump is not False
            elif "buffer-assignment" in path:
                self.refused.append(f"{path}: the link leads to no dump in the archive")
        yield from kept.values()

    def _keep_link(self, path: str, link: str) -> None:
        target = self._place(link)
        if target is None:
            self.refused.append(f"{path}: the link leaves the archive")
        else:
            self.links[path] = target

    def _place(self, name: str) -> str | None:
        """Return the path of a member, None where its name leaves the archive or is none."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or not parts:
            return None
        return self.base + "/".join(parts)

    def beside(self, path: str) -> Entry | None:
        """Return nothing: no member is named explicitly."""
        return None

    def text(self, path: str) -> bytes | None:
        """Return a member that was kept while listing."""
        return self.texts.get(self.base + path.removeprefix(self.base).lstrip("/"))

    def begins_like_a_dump(self, entry: Entry) -> bool:
        """Say what listing saw."""
        return bool(entry.begins_like_a_dump)

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes | Exception]]:
        """Yield members in the order of the archive, whatever order they are asked for in."""
        wanted: dict[str, list[Entry]] = {}
        for entry in entries:
            wanted.setdefault(self.links.get(entry.path, entry.path), []).append(entry)
        for ordinal, member in enumerate(self._members(quiet=True)):
            path = self._place(member.name)
            if path in wanted and self.ordinals.get(path) == ordinal:
                found = wanted.pop(path)
                data = _head(member, path) if found[0].is_head_only else _content(member)
                for entry in found:
                    yield entry, data
            if not wanted:
                return
        for left in wanted.values():
            for entry in left:
                yield entry, OSError("the archive breaks off before it")

    def _members(self, *, quiet: bool = False) -> Iterator[_Member]:
        try:
            with self.opened() if self.opened else open(self.path, "rb") as raw:
                yield from _zipped(raw) if self.path.endswith(".zip") else _tarred(self.path, raw)
        except _DAMAGE as error:
            if not quiet:
                self.refused.append(f"{self.path}: the archive is damaged: {error}")


def _first_bytes(member: _Member, count: int) -> bytes:
    try:
        with member.opened() as file:
            return file.read(min(count, member.size_bytes))
    except _DAMAGE:
        return b""


def _head(member: _Member, path: str) -> bytes | HeadError | OSError:
    try:
        with member.opened() as file:
            return head_of(path, file)
    except _DAMAGE as error:
        return OSError(f"damaged in the archive: {error}")


def _content(member: _Member) -> bytes | Exception:
    limit = compression.limit_bytes()
    if member.size_bytes > limit:
        return too_large(limit)
    try:
        with member.opened() as file:
            data = file.read(member.size_bytes + 1)
    except _DAMAGE as error:
        return OSError(f"damaged in the archive: {error}")
    if len(data) != member.size_bytes:
        return OSError(f"expected {member.size_bytes} bytes in the archive, found {len(data)}")
    return data


class _Header(tarfile.TarInfo):
    """Raises where tarfile ends silently: at an archive that breaks off between members, or turns into garbage."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> tarfile.TarInfo:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"expected a member or the end, found {error}") from None

    @classmethod
    def frombuf(cls, *block: object) -> tarfile.TarInfo:
        header = super().frombuf(*block)
        if header.type in _LONG_HEADERS and header.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"expected a header, found one of {header.size} bytes")
        return header


def _tarred(path: str, raw: BinaryIO) -> Iterator[_Member]:
    name = path.removesuffix(".tgz") + ".tar.gz" if path.endswith(".tgz") else path
    with (
        closing(compression.opened(name, raw)) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive,
    ):
        for header in archive:
            if header.isreg() or header.issym() or header.islnk():
                yield _Member(
                    header.name,
                    header.size,
                    int(header.mtime) * 10**9,
                    partial(archive.extractfile, header),
                    header.linkname if header.islnk() else _led_to(header.name, header.linkname, header.issym()),
                )
            # A stream of a million members must not keep a million of them.
            archive.members = []
        # Behind the end mark of the tar the checksum of the compression is still to come.
        while stream.read(_DRAINED_BYTES):
            pass


def _zipped(raw: BinaryIO) -> Iterator[_Member]:
    with zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            try:
                mtime_ns = int(datetime(*info.date_time, tzinfo=UTC).timestamp()) * 10**9
            except ValueError:
                mtime_ns = 0  # some writers leave month and day at 0
            link = None
            if S_ISLNK(info.external_attr >> 16):
                link = _led_to(info.filename, archive.read(info).decode("utf-8", "surrogateescape"), True)
            yield _Member(info.filename, info.file_size, mtime_ns, partial(archive.open, info), link)


def _led_to(name: str, link: str, is_link: bool) -> str | None:
    """Return the path inside the archive that a symbolic link leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) if is_link else None
