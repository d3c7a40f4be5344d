"""The files of a lake as its readers see them: through a file system for DuckDB that cannot write.

With DuckDB's own file systems a statement that may read a folder may also write there, and a statement with a key of a
bucket may do all that the key allows. This one only reads, below the data path; keys of a bucket stay in Python, where
SQL cannot reach them.
"""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO

from fsspec import AbstractFileSystem

from bufferhouse.engine import faults
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.warehouse.address import ROOT

_WHOLE_BYTES = 4 << 20  # an object up to this size is fetched by one request


class LakeFiles(AbstractFileSystem):
    """Files below one folder, or one prefix of a bucket, that can be read by name, but not listed or written."""

    protocol = ROOT.partition(":")[0]
    cachable = False

    def __init__(self) -> None:
        super().__init__(use_listings_cache=False)
        self._data_path: str | None = None
        self._place = ""  # the same, or the prefix of keys in a bucket
        self._store: Any = None

    def show(self, data_path: str) -> None:
        """Show the files below a data path: a folder or an s3:// URL, with a slash behind it.

        Raises:
            UsageError: there are no keys for the bucket, or the URL is of another kind.
        """
        self._data_path = self._place = data_path
        if "://" in data_path:
            from bufferhouse.sources.s3 import open_store

            check_bucket(data_path)
            bucket, _, self._place = data_path.removeprefix("s3://").partition("/")
            self._store = open_store(bucket)

    def open(self, path: str, mode: str = "rb", **options: Any) -> BinaryIO:
        """Open a file to read.

        Raises:
            PermissionError: it is opened to write, or is not below the data path.
            WarehouseError: it is missing.
            SourceUnavailable, UsageError: the bucket does not answer, or refuses.
        """
        if mode != "rb":
            raise PermissionError(f"{path}: the files of a lake are only read")
        name = self._name(path)
        try:
            with _told(self._data_path + name):
                return _file(self._place + name) if self._store is None else self._object(name)
        except FileNotFoundError:
            raise WarehouseError(faults.missing_file(self._data_path + name)) from None

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return name, size and moment of a file.

        Raises:
            FileNotFoundError: it is missing.
            SourceUnavailable, UsageError: the bucket does not answer, or refuses.
        """
        name = self._name(path)
        with _told(self._data_path + name):
            if self._store is None:
                about = os.stat(self._place + name)
                return {"name": path, "type": "file", "size": about.st_size, "mtime": about.st_mtime}
            import obstore

            about = obstore.head(self._store, self._place + name)
            return {"name": path, "type": "file", "size": about["size"], "mtime": about["last_modified"].timestamp()}

    def modified(self, path: str) -> Any:
        """Return the same time for every file, because files of a lake never change."""
        return datetime.fromtimestamp(0, UTC)

    def glob(self, path: str, **options: Any) -> list[str]:
        """Return the path itself: names are known from the catalog."""
        return [path]

    def _name(self, path: str) -> str:
        name = path.removeprefix(ROOT)
        if self._data_path is None or "://" in name or name.startswith("/") or ".." in name.split("/"):
            raise PermissionError(f"{path}: not below the data path of the lake")
        return name

    def _object(self, name: str) -> BinaryIO:
        import obstore

        store, key = self._store, self._place + name
        size = obstore.head(store, key)["size"]
        if size <= _WHOLE_BYTES:
            return io.BytesIO(bytes(obstore.get(store, key).bytes()))
        return _object(store, key, size, self._data_path + name)


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Raise errors of obstore in one line instead of pages: DuckDB passes on only their text (`faults.raised_inside`).

    Raises:
        FileNotFoundError: the file is missing.
        WarehouseError: the folder refuses.
        SourceUnavailable, UsageError: the bucket does not answer, or refuses.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise WarehouseError(f"a file of the lake cannot be read: {place}: {error.strerror or error}") from None
    except Exception as error:
        from bufferhouse.sources.s3 import unavailable

        raise unavailable(place, error) from None


class _Ranges(io.RawIOBase):
    """A file that is read in ranges, from a start to an end: each read of DuckDB is one range."""

    def __init__(self, size: int, read: Callable[[int, int], bytes], ended: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._size, self._read, self._ended, self._at = size, read, ended, 0

    def close(self) -> None:
        if not self.closed:
            self._ended()
        super().close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        found = self._read(self._at, end) if end > self._at else b""
        self._at += len(found)
        return found


def _file(path: str) -> _Ranges:
    """Open a file of a folder. DuckDB drops files without closing them, and Python's own files would warn of that."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return _Ranges(
        os.fstat(file).st_size, lambda start, end: os.pread(file, end - start, start), partial(os.close, file)
    )


def _object(store: Any, key: str, size: int, place: str) -> _Ranges:
    """Open an object of a bucket."""
    import obstore

    def fetched(start: int, end: int) -> bytes:
        with _told(place):
            return bytes(obstore.get_range(store, key, start=start, end=end))

    return _Ranges(size, fetched)


def check_bucket(data_path: str) -> dict[str, str]:
    """Return endpoint, region and keys for an s3:// URL, in obstore's names.

    Raises:
        UsageError: there are no keys, or the URL is of another kind.
    """
    from bufferhouse.sources.s3 import KEYS_WANTED, configuration

    if not data_path.startswith("s3://"):
        raise UsageError(f"--data-path: expected a folder or s3://BUCKET/PREFIX, found {data_path}")
    found = configuration()
    if "access_key_id" not in found or "secret_access_key" not in found:
        raise UsageError(f"{data_path}: {KEYS_WANTED}")
    return found
