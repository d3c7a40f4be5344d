"""Where the parts of an installed checkout lie, and what is kept for next time."""

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MODELS = CHECKOUT / "dbt_like_models"
MIGRATIONS = CHECKOUT / "sql" / "migrations"
QUERIES = CHECKOUT / "sql" / "queries"
REPORTS = CHECKOUT / "sql" / "reports"


def cache_folder() -> Path:
    """Return where one user keeps what can be made anew.

    Raises:
        RuntimeError: the user has no home directory.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bufferhouse"
