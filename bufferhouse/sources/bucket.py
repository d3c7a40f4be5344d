"""Buckets of S3 as places that dumps are read from."""

import glob
import io
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import obstore

from bufferhouse.errors import SourceUnavailable, UsageError
from bufferhouse.redaction import printable
from bufferhouse.sources.compression import limit_bytes, plain_name, too_large
from bufferhouse.sources.directory import FIRST_BYTES, Entry
from bufferhouse.sources.module_text import HeadError, head_of
from bufferhouse.sources.s3 import open_store, reached, reason_of, unavailable

_CONNECTIONS = 8
_MOST_OBJECTS_AHEAD = 64
_MOST_BYTES_AHEAD = 32 << 20
_PIECE_BYTES = 1 << 20
_HEAD_BYTES = 64 << 10  # holds most heads of module texts


@dataclass(slots=True)
class Bucket:
    """The objects below an s3:// URL, or the one object of that name."""

    url: str
    refused: list[tuple[str, str]] = field(default_factory=list)
    _store: Any = None

    @property
    def bucket(self) -> str:
        """Return the bucket's URL."""
        return "s3://" + self.url.removeprefix("s3://").split("/", 1)[0]

    def _opened(self) -> Any:
        if self._store is None:
            name = self.bucket.removeprefix("s3://")
            if not name:
                raise UsageError(f"{self.url}: expected s3://BUCKET/PREFIX")
            self._store = open_store(name)
        return self._store

    def entries(self) -> Iterator[Entry]:
        """List the objects by name.

        Raises:
            SourceUnavailable: the store does not answer, also after several tries.
            UsageError: there is no such bucket or no object below the URL.
        """
        prefix = self.url.removeprefix(self.bucket).strip("/")
        objects = [item for page in self._listed(prefix) for item in page]
        if not objects:
            raise UsageError(f"{self.url}: there is no object of that name or below it{_no_glob(self.url)}")
        base = f"{self.bucket}/{prefix}".rstrip("/")
        for item in sorted(objects, key=lambda item: item["path"]):
            is_explicit = item["path"] == prefix
            if is_explicit and item["size"] == 0 and len(objects) > 1:
                continue  # what consoles make to show a folder: its key ends in a slash, which obstore takes off
            yield self._entry(item, base.rsplit("/", 1)[0] if is_explicit else base, is_explicit)

    def _listed(self, prefix: str) -> list:
        store = self._opened()
        with reached(self.url), suppress(FileNotFoundError):
            found = list(obstore.list(store, prefix or None))
            # A listing is by whole path segments, so an object of exactly that name has to be asked for.
            return found if any(found) or not prefix else [[obstore.head(store, prefix)]]
        return []

    def beside(self, path: str) -> Entry | None:
        """Return an object by its URL."""
        with reached(path), suppress(FileNotFoundError):
            return self._entry(obstore.head(self._opened(), self._key(path)), path.rsplit("/", 1)[0], True)
        return None

    def _entry(self, item: Any, base: str, is_explicit: bool) -> Entry:
        mtime_ns = int(item["last_modified"].timestamp() * 10**6) * 1000
        return Entry(self, f"{self.bucket}/{item['path']}", base, item["size"], mtime_ns, is_explicit)

    def file(self) -> BinaryIO:
        """Return the one object as a file, which is fetched piece by piece."""
        return self._remote(self.url, _PIECE_BYTES)

    def text(self, path: str, most_bytes: int) -> bytes | None:
        """Return the first bytes of an object, None where there is none."""
        with reached(path), suppress(FileNotFoundError):
            found = obstore.get(self._opened(), self._key(path))
            if found.meta["size"] <= most_bytes:
                return bytes(found.bytes())
            return bytes(obstore.get_range(self._opened(), self._key(path), start=0, length=most_bytes))
        return None

    def begins_like_a_dump(self, entry: Entry) -> bool:
        """Look at the first line; what may not be looked at and is not called like text is no dump."""
        if entry.size_bytes < len(FIRST_BYTES):
            return False
        try:
            data = obstore.get_range(self._opened(), self._key(entry.path), start=0, length=len(FIRST_BYTES))
        except FileNotFoundError:
            return False
        except Exception as error:
            found = unavailable(entry.path, error)
            if isinstance(found, UsageError) and not plain_name(entry.path).endswith(".txt"):
                return False
            raise found from None
        return bytes(data) == FIRST_BYTES

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes | Exception]]:
        """Yield objects in the order given, a few dozen ahead over several connections.

        Raises:
            SourceUnavailable: the store does not answer, also after several tries.
        """
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            for chunk in _chunks(entries):
                yield from zip(chunk, pool.map(self._get_or_error, chunk), strict=True)

    def streams(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, BinaryIO | Exception]]:
        """Open objects in the order given; they are fetched piece by piece.

        Raises:
            SourceUnavailable: the store does not answer, also after several tries.
        """
        for entry in entries:
            try:
                file = self._remote(entry.path, _PIECE_BYTES)
            except UsageError as error:
                yield entry, OSError(str(error))
                continue
            with file:
                yield entry, file

    def _get_or_error(self, entry: Entry) -> bytes | Exception:
        if entry.size_bytes > limit_bytes() and not entry.is_head_only:
            return too_large(limit_bytes())
        try:
            return self._head(entry.path) if entry.is_head_only else self._get(entry.path)
        except FileNotFoundError as error:
            return OSError(reason_of(error))
        except UsageError as error:
            return OSError(str(error).removeprefix(f"{printable(entry.path)}: "))
        except SourceUnavailable:
            raise
        except Exception as error:
            return error

    def _head(self, path: str) -> bytes | HeadError:
        with self._remote(path, _HEAD_BYTES) as file:
            return head_of(path, file)

    def _remote(self, path: str, piece_bytes: int) -> BinaryIO:
        return io.BufferedReader(_RemoteFile(self._opened(), self._key(path), piece_bytes), piece_bytes)

    def _get(self, path: str) -> bytes:
        try:
            return bytes(obstore.get(self._opened(), self._key(path)).bytes())
        except FileNotFoundError:
            raise
        except Exception as error:
            raise unavailable(path, error) from None

    def _key(self, path: str) -> str:
        return path.removeprefix(self.bucket).lstrip("/")


def _chunks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield entries in pieces that may lie in memory together."""
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        entry_bytes = _HEAD_BYTES if entry.is_head_only else entry.size_bytes
        if chunk and (size + entry_bytes > _MOST_BYTES_AHEAD or len(chunk) == _MOST_OBJECTS_AHEAD):
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += entry_bytes
    if chunk:
        yield chunk


def _no_glob(name: str) -> str:
    """Return the way out where a name was meant as a glob: an object may be called so."""
    return "; a glob is not taken there, name the prefix before it" if glob.has_magic(name) else ""


class _RemoteFile(io.RawIOBase):
    """An object as a file that can be read and sought; obstore's own gives no bytes."""

    def __init__(self, store: Any, key: str, buffer_bytes: int) -> None:
        self._key = key
        self._reader = self._ask(obstore.open_reader, store, key, buffer_size=buffer_bytes)

    def _ask(self, function: Callable, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except FileNotFoundError:
            raise UsageError(f"{printable(self._key)}: there is no object of that name{_no_glob(self._key)}") from None
        except Exception as error:
            raise unavailable(self._key, error) from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        return self._reader.seek(place, whence)

    def readinto(self, buffer: Any) -> int:
        data = self._ask(self._reader.read, len(buffer))
        buffer[: len(data)] = bytes(data)
        return len(data)
