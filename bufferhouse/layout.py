"""Where the parts of an installed checkout lie."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MODELS = CHECKOUT / "dbt_like_models"
MIGRATIONS = CHECKOUT / "sql" / "migrations"
QUERIES = CHECKOUT / "sql" / "queries"
REPORTS = CHECKOUT / "sql" / "reports"
