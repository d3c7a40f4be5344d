"""The place of a site: a folder, or a prefix of a bucket. A file appears there whole or not at all."""

import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bufferhouse.errors import UsageError, unwritable
from bufferhouse.paths import replacing
from bufferhouse.warehouse.target import check_target

if TYPE_CHECKING:
    from bufferhouse.sources.s3 import Store

KINDS = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_HALF = re.compile(r"\..+\.\d+-\d+\.new")  # as `paths.replacing` names it
_AT_ONCE = 16  # objects on their way to a bucket
Files = Iterable[tuple[str, bytes]]


class Folder:
    """A site in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: set[Path] = set()
        if not path.is_dir():
            check_target("the site:", path)

    def __str__(self) -> str:
        return str(self.path.absolute())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other builds out of the folder until the context or the process ends.

        Raises:
            UsageError: another build is running, or the folder cannot be made.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            folder = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise unwritable(f"the site cannot be written to {self.path}", error) from None
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{self.path}: another build is writing this site; try again when it has ended"
                ) from None
            yield
        finally:
            os.close(folder)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, None if there is none.

        Raises:
            UsageError: it cannot be read.
        """
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"the site cannot be read at {self.path / name}: {error.strerror}") from None

    def write(self, files: Files) -> None:
        """Write files, one after the other.

        Raises:
            UsageError: one cannot be written there.
        """
        for name, data in files:
            place = self.path / name
            try:
                if place.parent not in self._made:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    self._made.add(place.parent)
                with replacing(place) as new:
                    new.write_bytes(data)
            except OSError as error:
                raise unwritable(f"the site cannot be written to {place}", error) from None

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, whether they exist or not.

        Raises:
            UsageError: one cannot be removed.
        """
        for name in names:
            place = self.path / name
            try:
                place.unlink(missing_ok=True)
            except OSError as error:
                raise unwritable(f"the site cannot be written to {place}", error) from None

    def tidy(self) -> None:
        """Remove half-written files of a killed build."""
        for path in self.path.rglob(".*.new"):
            if _HALF.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the files that are not there."""
        return [name for name in names if not os.path.exists(self.path / name)]


class Bucket:
    """A site below a prefix of a bucket. Files of one call are written at the same time."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def __str__(self) -> str:
        return self.url

    @property
    def _store(self) -> "Store":
        from bufferhouse.sources.s3 import Store

        return Store(self.url)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Do nothing: a bucket has no locks."""
        yield

    def read(self, name: str) -> bytes | None:
        """Return the bytes of an object, None if there is none."""
        return self._store.get(name)

    def write(self, files: Files) -> None:
        """Write objects, and return when all are there.

        Raises:
            UsageError, SourceUnavailable: as `bufferhouse.sources.s3.Store.put`.
        """
        store = self._store
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for done in [pool.submit(store.put, name, data, KINDS[name.rpartition(".")[2]]) for name, data in files]:
                done.result()

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, whether they exist or not.

        Raises:
            UsageError, SourceUnavailable: as `bufferhouse.sources.s3.Store.remove`.
        """
        store = self._store
        for name in names:
            store.remove(name)

    def tidy(self) -> None:
        """Do nothing: an object is there whole or not at all."""

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the objects that are not there."""
        there = set(self._store.names())
        return [name for name in names if name not in there]


Target = Folder | Bucket


def target_of(word: str) -> Target:
    """Return the target that a word names: an s3:// URL, or a folder.

    Raises:
        UsageError: it names a file, or another kind of URL.
    """
    if word.startswith("s3://"):
        return Bucket(word)
    if "://" in word or word == "-":  # ./- is a folder of this name
        raise UsageError(f"the site: expected a folder or s3://BUCKET/PREFIX, found {word!r}")
    path = Path(word)
    if path.exists() and not path.is_dir():
        raise UsageError(f"the site: expected a folder, found a file at {path}")
    return Folder(path)
