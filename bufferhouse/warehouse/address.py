"""Where a warehouse lies: in a file, or in a lake. What lies beside it is found from here, without opening it."""

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bufferhouse.engine.journal import log_path
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.redaction import redacted

PREFIX = "ducklake:"
BESIDE = (".wal", ".lock", ".journal")  # how the names of files end that lie beside one of DuckDB, and belong to it
ROOT = "lakefiles://data/"  # stands for the data path where a reader has it attached
_POSTGRES = "postgres:"
_OTHER = re.compile(r"[a-z]\w+:")
_ELSEWHERE = re.compile(r"(\w\w+)?:")  # what DuckDB would take for another database, and load an extension for


class Address(ABC):
    """Where a warehouse lies; its text is what a call gives as --warehouse."""

    name: str  # what reports call it
    folder: Path  # for what lies beside it; for a lake whose catalog is a server it is this one
    published: Path | None = None  # its copy for readers, there or not; None where readers wait for nobody
    files: tuple[Path, ...] = ()  # that are the warehouse itself, there or not
    size_bytes: int | None = None  # of the file, where it is one that is there

    @property
    def key(self) -> str:
        """Return one text for all names of the same warehouse."""
        return str(self)

    @abstractmethod
    def with_data_path(self, data_path: str | None) -> "Address":
        """Return the same lake with the place of its files, a folder or a URL; None leaves it as it is.

        Raises:
            UsageError: it is no lake.
        """

    def check_file(self) -> None:  # noqa: B027 - of a lake there is nothing to see
        """Refuse a file that is not there; whether there is a lake is seen when it is opened.

        Raises:
            UsageError: there is none.
        """

    def existing(self) -> "Address":
        """Return the same warehouse, which no writer makes.

        Raises:
            UsageError: as `check_file`.
        """
        self.check_file()
        return self

    def is_published(self) -> bool:
        """Return whether the published copy, where one is needed, has all that was committed."""
        return True

    def is_beside(self, other: "Address") -> bool:
        """Return whether both are files of one folder, and this one no link out of it."""
        return False


@dataclass(frozen=True, slots=True)
class FileAddress(Address):
    """A file of DuckDB, by any of its names.

    A symbolic link is another name of the file that it leads to. Lock, log and published copy lie beside the file, so
    that all who call it by any name meet there.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def folder(self) -> Path:
        return self.path.absolute().parent

    @property
    def file(self) -> Path:
        """Return the file behind the name, be it there or not; the name itself where it is no link.

        Raises:
            UsageError: the link leads back to itself.
        """
        if not self.path.is_symlink():
            return self.path
        file = Path(os.path.realpath(self.path))
        if file.is_symlink():
            raise UsageError(
                f"{self.path}: expected a file or a link to one, found a symbolic link that leads back to itself"
            )
        return file

    @property
    def lock(self) -> Path:
        """Return where the writer's lock lies."""
        file = self.file
        return file.with_name(f"{file.name}.lock")

    @property
    def log(self) -> Path:
        """Return where DuckDB writes what is not in the file yet."""
        return log_path(self.file)

    @property
    def has_names(self) -> bool:
        """Whether the file exists under several names."""
        try:
            return self.file.stat().st_nlink > 1
        except FileNotFoundError:
            return False

    @property
    def published(self) -> Path:
        """Return where the published copy lies: `x.duckdb` is published as `x.published.duckdb`."""
        file = self.file
        return file.with_name(f"{file.stem}.published{file.suffix or '.duckdb'}")

    @property
    def files(self) -> tuple[Path, ...]:
        names = (self.file, self.published)
        return tuple(path.with_name(path.name + suffix) for path in names for suffix in ("", *BESIDE))

    @property
    def size_bytes(self) -> int | None:
        return self.path.stat().st_size if self.path.exists() else None

    @property
    def key(self) -> str:
        return str(self.file.absolute())

    def with_data_path(self, data_path: str | None) -> "FileAddress":
        if data_path is not None:
            raise UsageError(f"--data-path: expected a lake, ducklake:…, as --warehouse, found the file {self}")
        return self

    def check_place(self) -> None:
        """Refuse what can be no warehouse, before anything waits for it or takes its place.

        Raises:
            UsageError: a folder, a device, a pipe or a socket is there.
        """
        if self.path.is_dir():
            raise UsageError(f"{self}: expected a file, found a folder; name one in it, such as warehouse.duckdb")
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self}: expected a file, found a device, a pipe or a socket")

    def check_writable(self) -> None:
        """Refuse a place that a writer cannot work with.

        Raises:
            UsageError: as `check_place`; or there is no folder, or none that log and copies can lie in; or this user
                may not write the file; or DuckDB would look for its log elsewhere.
        """
        self.check_place()
        place = self.file.absolute()
        if not place.parent.is_dir():
            raise UsageError(f"the folder of the warehouse does not exist: {place.parent}")
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise UsageError(f"the folder of the warehouse cannot be written, where its log goes: {place.parent}")
        if place.exists() and not os.access(place, os.R_OK | os.W_OK):  # a lock of this user would shut out its owner
            raise UsageError(f"{self}: this user may not write the warehouse; let it read and write there")
        # DuckDB takes what stands behind it for parameters of a URL, and puts `.wal` before it.
        if "?" in str(place):
            raise UsageError(
                f"{place}: expected a path without a question mark: DuckDB would put its log into another folder"
            )

    def check_file(self) -> None:
        self.check_place()
        if not self.path.exists():
            if self.published.exists():  # which an ingest that publishes would replace
                raise UsageError(
                    f"there is no warehouse at {self}, but its published copy, {self.published}; restore it "
                    "(docs/operations.md)"
                )
            raise UsageError(
                f"there is no warehouse at {self}; make one with: bufferhouse ingest SOURCE --warehouse {self}"
            )

    def check_not_emptied(self) -> None:
        """Refuse a file without a byte that has a published copy: it was whole once, and the copy is what is left.

        A writer would take it for a new warehouse, and publish that over the copy.

        Raises:
            WarehouseError: so it is.
        """
        with suppress(FileNotFoundError):
            if not self.file.stat().st_size and self.published.exists():
                raise WarehouseError(
                    f"{self} is damaged: it is empty, but has a published copy, {self.published}; restore a copy "
                    "(docs/operations.md), or remove both to begin anew"
                )

    def is_published(self) -> bool:
        """Return whether the published copy has exactly what was committed, to the file and to the log beside it.

        A log beside the copy is of somebody who opened it to write, with DuckDB itself.
        """
        try:
            is_newer = self.published.stat().st_mtime_ns > self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        return is_newer and not any(_has_bytes(log) for log in (self.log, log_path(self.published)))

    def is_beside(self, other: Address) -> bool:
        is_file = isinstance(other, FileAddress) and not self.path.is_symlink()
        return is_file and self.folder.resolve() == other.folder.resolve()

    def outdate_copy(self) -> None:
        """Make sure that the published copy is not taken for newer than what is written from now on.

        Its time says so, and lies ahead where the clock was set back since: readers would go on with the copy.
        """
        copy, now = self.published, time.time()
        if copy.exists() and copy.stat().st_mtime >= now:
            os.utime(copy, (now - 1, now - 1))


@dataclass(frozen=True, slots=True)
class LakeAddress(Address):
    """The catalog of a lake, and where its files go; `data_path` is needed only when the lake is made.

    `catalog` is `postgres:` and a connection string, or the path of a file. Passwords stand in neither. With
    `is_path_asked` it is a call that says where the files go, so a lake that has them elsewhere is not the one meant.
    With `must_exist` a writer makes none.
    """

    catalog: str
    data_path: str | None = None
    is_path_asked: bool = False
    must_exist: bool = False

    def __str__(self) -> str:
        return f"{PREFIX}{self.catalog}"

    @property
    def name(self) -> str:
        return str(self) if self.is_postgres else Path(self.catalog).name

    @property
    def folder(self) -> Path:
        return Path.cwd() if self.is_postgres else Path(self.catalog).absolute().parent

    @property
    def file(self) -> Path:
        """Return the file behind the name of a catalog that is one, be it there or not: its log lies beside it."""
        return Path(os.path.realpath(self.catalog))

    @property
    def target(self) -> str:
        """Return what DuckDB attaches: by a link the journal of a checkpoint would lie where nobody looks for it."""
        return str(self) if self.is_postgres else f"{PREFIX}{self.file}"

    @property
    def is_postgres(self) -> bool:
        """Whether several processes may write to it."""
        return self.catalog.startswith(_POSTGRES)

    @property
    def connection_string(self) -> str:
        """How libpq finds the catalog in PostgreSQL."""
        return self.catalog.partition(":")[2]

    @property
    def key(self) -> str:
        return self.target

    def existing(self) -> "LakeAddress":
        return replace(self, must_exist=True)

    def check_writable(self) -> None:
        """Refuse a catalog that is a file which a writer cannot work with; one that is not there yet may be made.

        Raises:
            UsageError: this user may not write the file, or the folder, where its log goes.
        """
        place = self.file
        if self.is_postgres or not place.parent.is_dir():
            return
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise UsageError(f"the folder of the lake's catalog cannot be written, where its log goes: {place.parent}")
        if place.exists() and not os.access(place, os.R_OK | os.W_OK):
            raise UsageError(f"{self}: this user may not write the catalog {place}; let it read and write there")

    def with_data_path(self, data_path: str | None) -> "LakeAddress":
        return self if data_path is None else replace(self, data_path=_place(data_path), is_path_asked=True)


def address_of(
    given: str | os.PathLike | Address | None, *, meant: Callable[[str], str] = str, data_path: str | None = None
) -> Address:
    """Return where a warehouse is: a lake where the text begins with `ducklake:`, else a file.

    Without one it is `$BUFFERHOUSE_WAREHOUSE`, else `warehouse.duckdb` in the working directory. `meant` makes of a
    path that stands in the text the one that is meant. A lake that is made has its files at `data_path`, else at
    `$BUFFERHOUSE_DATA_PATH`.

    Raises:
        UsageError: it is neither; or a lake has no catalog or a folder for one, or a password stands in its address.
    """
    if isinstance(given, Address):
        return given
    if given == "":  # a variable that was never set, most likely: another warehouse would be read, or written to
        raise UsageError("--warehouse: expected a file or a lake, found ''")
    given = given or os.environ.get("BUFFERHOUSE_WAREHOUSE") or "warehouse.duckdb"
    if not isinstance(given, str) or not given.startswith(PREFIX):
        if _ELSEWHERE.match(os.fspath(given)):
            raise UsageError(
                "--warehouse: expected a file (one of such a name by its absolute path), or a lake as "
                f"ducklake:postgres:… or ducklake:FILE, found {redacted(os.fspath(given))}"
            )
        return FileAddress(Path(meant(os.fspath(given))))
    catalog = given.removeprefix(PREFIX)
    is_postgres = catalog.startswith(_POSTGRES)
    if catalog in ("", _POSTGRES) or (_OTHER.match(catalog) and not is_postgres):
        found = catalog.split(":")[0] if catalog not in ("", _POSTGRES) else "no catalog"
        raise UsageError(f"--warehouse: expected ducklake:postgres:dbname=… host=… or ducklake:FILE, found {found}")
    if not is_postgres and os.path.isdir(meant(catalog)):
        raise UsageError(f"--warehouse: expected ducklake:FILE, found the folder {catalog}; name a file in it")
    if redacted(catalog) != catalog:
        raise UsageError(
            "--warehouse: expected a catalog without a password, which $PGPASSWORD or the file $PGPASSFILE holds"
        )
    files = (data_path and meant(data_path)) or os.environ.get("BUFFERHOUSE_DATA_PATH")
    return LakeAddress(catalog if is_postgres else meant(catalog), _place(files) if files else None)


def _has_bytes(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _place(data_path: str) -> str:
    """Return a data path as DuckLake keeps it: whole, with a slash behind it."""
    place = data_path if "://" in data_path else str(Path(data_path).absolute())
    return place.rstrip("/") + "/"
