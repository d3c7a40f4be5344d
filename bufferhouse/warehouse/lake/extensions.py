"""The extensions of DuckDB that a lake needs: DuckLake, PostgreSQL, S3. They come as wheels; DuckDB downloads none."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import quoted
from bufferhouse.errors import UsageError

# So no statement makes DuckDB look for an extension or download one.
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


def connect() -> duckdb.DuckDBPyConnection:
    """Return a connection to an empty database, for which `load` may be called until `end_loading`."""
    return duckdb.connect(config=_CONFIG | {"allow_unsigned_extensions": "true"})


def load(con: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Load extensions whose signatures DuckDB has verified in this process.

    DuckDB verifies an extension by hashing its file, which takes up to a seventh of a second for each database that it
    is loaded into. The code that runs is what the process loaded first, so one check is enough, unless the file
    changes.

    Raises:
        UsageError: one is not installed, or its wheel is for another version of DuckDB.
    """
    for name in names:
        file = _file(name)
        found = os.stat(file)
        _verify(file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        con.execute(_load(file))


def end_loading(con: duckdb.DuckDBPyConnection) -> None:
    """Load no extension without a signature from now on: DuckDB does not let a statement allow them again."""
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
