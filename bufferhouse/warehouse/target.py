"""What an answer or a page may not be written over: folders, databases, and the files of lakes."""

import re
from pathlib import Path

from bufferhouse.errors import UsageError
from bufferhouse.warehouse.address import BESIDE

_MARK, _MARK_AT = b"DUCK", 8  # where DuckDB marks its files
_OF_A_LAKE = re.compile(r"ducklake-[0-9a-f-]{36}(-delete)?\.parquet")


def check_target(option: str, path: Path) -> None:
    """Refuse to write over a warehouse, its published copy, the catalog of a lake, or what belongs to one of these.

    It is known by what is in the file, so that neither a link to it nor another name helps.

    Raises:
        UsageError: such a file is there, or a folder.
    """
    if path.is_dir():
        raise UsageError(f"{option} {path}: expected a file, found a folder")
    if _is_database(path):
        raise UsageError(
            f"{option} {path}: that is a database, a warehouse or the catalog of a lake; name another file"
        )
    if path.suffix in BESIDE and _is_database(path.with_suffix("")):
        raise UsageError(f"{option} {path}: that belongs to the database {path.with_suffix('')}; name another file")
    if _OF_A_LAKE.fullmatch(path.name) or _OF_A_LAKE.fullmatch(path.resolve().name):
        raise UsageError(f"{option} {path}: that is a file of a lake; name another file")


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            file.seek(_MARK_AT)
            return file.read(len(_MARK)) == _MARK
    except OSError:
        return False  # who may not read it learns from writing to it
