"""The extensions of DuckDB a lake needs, each from its wheel: nothing is fetched from the network."""

import importlib.util
from functools import cache
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import quoted
from bufferhouse.errors import UsageError

# Whatever a statement names, DuckDB neither looks for an extension by itself nor fetches one.
CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


def load(con: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Load extensions: ducklake, postgres_scanner, httpfs.

    Raises:
        UsageError: one is not installed, or its wheel is for another version of DuckDB.
    """
    for name in names:
        con.execute(f"LOAD {quoted(str(_file(name)))}")


def are_installed() -> bool:
    """Say whether the extra `lake` is installed."""
    return all(
        importlib.util.find_spec(f"duckdb_extension_{name}") for name in ("ducklake", "postgres_scanner", "httpfs")
    )


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
