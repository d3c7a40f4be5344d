"""Where a lake is: the address that stands in the place of a warehouse's path."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from bufferhouse.errors import UsageError
from bufferhouse.redaction import redacted

PREFIX = "ducklake:"
ROOT = "lakefiles://data/"  # stands for the data path where a reader has it attached
_POSTGRES = "postgres:"
_OTHER = re.compile(r"[a-z]\w+:")


@dataclass(frozen=True, slots=True)
class LakeAddress:
    """The catalog of a lake, and where its files go; `data_path` is needed only when the lake is made.

    `catalog` is `postgres:` and a connection string, or the path of a file. Passwords stand in neither.
    """

    catalog: str
    data_path: str | None = None

    def __str__(self) -> str:
        return f"{PREFIX}{self.catalog}"

    @property
    def name(self) -> str:
        """Return what reports call the lake."""
        return str(self) if self.is_postgres else Path(self.catalog).name

    @property
    def is_postgres(self) -> bool:
        """Whether several processes may write to it."""
        return self.catalog.startswith(_POSTGRES)

    @property
    def connection_string(self) -> str:
        """How libpq finds the catalog in PostgreSQL."""
        return self.catalog.partition(":")[2]

    def with_data_path(self, data_path: str | None) -> "LakeAddress":
        """Return the same lake with the place of its files, a folder or a URL; None leaves it as it is."""
        return self if data_path is None else replace(self, data_path=_place(data_path))


def address_of(text: str | os.PathLike) -> Path | LakeAddress:
    """Return where a warehouse is: a lake where the text begins with `ducklake:`, else a file.

    Raises:
        UsageError: a lake has no catalog, or a password stands in its address.
    """
    if not isinstance(text, str) or not text.startswith(PREFIX):
        return Path(text)
    catalog = text.removeprefix(PREFIX)
    if catalog in ("", _POSTGRES) or (_OTHER.match(catalog) and not catalog.startswith(_POSTGRES)):
        found = catalog.split(":")[0] if catalog not in ("", _POSTGRES) else "no catalog"
        raise UsageError(f"--warehouse: expected ducklake:postgres:dbname=… host=… or ducklake:FILE, found {found}")
    if redacted(catalog) != catalog:
        raise UsageError(
            "--warehouse: expected a catalog without a password, which $PGPASSWORD or the file $PGPASSFILE holds"
        )
    given = os.environ.get("BUFFERHOUSE_DATA_PATH")
    return LakeAddress(catalog, _place(given) if given else None)


def folder_of(warehouse: Path | LakeAddress) -> Path:
    """Return the folder for what lies beside a warehouse; for a lake whose catalog is a server it is this one."""
    if isinstance(warehouse, LakeAddress):
        return Path.cwd() if warehouse.is_postgres else Path(warehouse.catalog).absolute().parent
    return warehouse.absolute().parent


def _place(data_path: str) -> str:
    """Return a data path as DuckLake keeps it: whole, with a slash behind it."""
    place = data_path if "://" in data_path else str(Path(data_path).absolute())
    return place.rstrip("/") + "/"
