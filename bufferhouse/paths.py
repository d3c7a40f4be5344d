"""The folders of an installed checkout, and the folder of the cache."""

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MODELS = CHECKOUT / "dbt_like_models"
MIGRATIONS = CHECKOUT / "sql" / "migrations"
QUERIES = CHECKOUT / "sql" / "queries"
REPORTS = CHECKOUT / "sql" / "reports"


def cache_folder() -> Path:
    """Return the folder of the user's cache.

    Raises:
        RuntimeError: the user has no home directory.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bufferhouse"
