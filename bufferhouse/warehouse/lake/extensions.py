"""The extensions of DuckDB that a lake needs: DuckLake, PostgreSQL, S3. They come as wheels, and nothing is fetched."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import quoted
from bufferhouse.errors import UsageError

# Whatever a statement names, DuckDB neither looks for an extension by itself nor fetches one.
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


def connect() -> duckdb.DuckDBPyConnection:
    """Return a connection to an empty database that `load` may be called with, until `end_loading`."""
    return duckdb.connect(config=_CONFIG | {"allow_unsigned_extensions": "true"})


def load(con: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Load extensions whose signatures DuckDB has verified in this process.

    To verify one DuckDB hashes its file, a seventh of a second each time it is loaded into another database. The code
    that runs stays what was loaded into the process first, so once is enough, unless there is another file.

    Raises:
        UsageError: one is not installed, or its wheel is for another version of DuckDB.
    """
    for name in names:
        file = _file(name)
        found = os.stat(file)
        _verify(file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        con.execute(_load(file))


def end_loading(con: duckdb.DuckDBPyConnection) -> None:
    """Take no extension without a signature from now on, whatever a statement says: DuckDB lets nobody take it back."""
    con.execute("SET allow_unsigned_extensions = false")


@cache
def _verify(file: Path, *_identity: int) -> None:
    with duckdb.connect(config=_CONFIG) as con:
        con.execute(_load(file))


def _load(file: Path) -> str:
    return f"LOAD {quoted(str(file))}"


@cache
def _file(name: str) -> Path:
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    if spec is None or spec.origin is None:
        raise UsageError(
            f"a lake needs the extension {name} of DuckDB, which is not installed; install bufferhouse with its extra: "
            "pip install -e '.[lake]'"
        )
    file = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    if not file.exists():
        raise UsageError(
            f"the wheel of the extension {name} is not for DuckDB {duckdb.__version__}; install the one of the same "
            "version: pip install -e '.[lake]'"
        )
    return file
