"""A new warehouse, made once for each version of bufferhouse and copied from then on.

A hundred views over views take DuckDB seconds to create and a moment to copy, tables alone a tenth of a second. There
is a blank warehouse with models and one without, both kept in a cache (`$XDG_CACHE_HOME/bufferhouse`); where none can
be written, every new warehouse is made from nothing. The name of a blank one ends with a hash of its bytes: opening a
file to see whether it is whole takes DuckDB fifty times as long.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import quoted
from bufferhouse.errors import WarehouseBusy, WarehouseError, is_full
from bufferhouse.models.build import fingerprint
from bufferhouse.paths import MODELS, PACKAGE, cache_folder
from bufferhouse.warehouse.migrate import migrations

_PREFIX = "blank-"
_KEPT_SECONDS = 30 * 86400
_MAKERS = ("models", "warehouse")  # the rooms whose code decides what a new warehouse is


@dataclass(frozen=True, slots=True)
class Blank:
    """A kind of blank warehouse: its name, and what makes one from nothing at a path."""

    kind: str
    make: Callable[[Path], None]


def copy_of_blank(blank: Blank, target: Path) -> bool:
    """Put a copy of a blank warehouse at `target`, to `stamp` when it is opened; return whether that was possible.

    Raises:
        OSError: there is no space for it.
    """
    is_copied = _use(blank, lambda path: shutil.copyfile(path, target))
    if not is_copied:
        target.unlink(missing_ok=True)
    return is_copied


def fill_from_blank(blank: Blank, con: duckdb.DuckDBPyConnection) -> None:
    """Fill the empty database in use, in memory, from a blank warehouse, where that is possible."""
    (database,) = con.execute("SELECT current_database()").fetchone()

    def fill(path: Path) -> None:
        con.execute(f"ATTACH {quoted(str(path))} AS bufferhouse_blank (READ_ONLY)")
        try:
            con.execute(f"COPY FROM DATABASE bufferhouse_blank TO {database}")
        finally:
            con.execute("DETACH bufferhouse_blank")
        stamp(con)

    _use(blank, fill)


def stamp(con: duckdb.DuckDBPyConnection) -> None:
    """Make a copy of the blank warehouse look as if it had been made now."""
    con.execute("UPDATE meta.models SET built_at = now(); UPDATE meta.migrations SET applied_at = now()")


def _use(blank: Blank, use: Callable[[Path], object]) -> bool:
    try:
        path = _made(blank)
    except (OSError, RuntimeError, WarehouseBusy, WarehouseError):  # no cache or space there, no home directory
        return False
    try:
        if _hash(path.read_bytes()) != path.stem.rsplit("-", 1)[1]:
            path.unlink(missing_ok=True)  # it is damaged: whoever comes next makes it anew
            return False
        use(path)
    except (OSError, duckdb.IOException) as error:
        if isinstance(error, OSError) and is_full(error):
            raise  # one that is made from nothing needs as much space
        return False
    return True


def _made(blank: Blank) -> Path:
    """Return where a blank warehouse lies, made if need be.

    Raises:
        OSError: the cache cannot be written to.
    """
    folder, name = cache_folder(), f"{_PREFIX}{blank.kind}-{_fingerprint()}"
    for path in folder.glob(f"{name}-*.duckdb"):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=_PREFIX) as making:
        made = Path(making) / "blank.duckdb"
        blank.make(made)
        path = folder / f"{name}-{_hash(made.read_bytes())}.duckdb"
        os.replace(made, path)
    _forget_old(folder)
    return path


def _forget_old(folder: Path) -> None:
    """Remove old templates that other versions made, and files that killed processes left."""
    for old in folder.glob(f"{_PREFIX}*"):
        if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(old) if old.is_dir() else old.unlink()


@cache
def _fingerprint() -> str:
    """Return a hash of all that decides what a new warehouse is."""
    parts = [duckdb.__version__, fingerprint(MODELS)]
    parts += [path.read_text(encoding="utf-8") for path in migrations().values()]
    for room in _MAKERS:
        parts += [path.read_text(encoding="utf-8") for path in sorted((PACKAGE / room).rglob("*.py"))]
    return _hash("\0".join(parts).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
