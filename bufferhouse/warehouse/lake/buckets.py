"""Who one is at the bucket of a lake: a secret of the connection alone, never in the catalog or in a message."""

import duckdb

from bufferhouse.engine.sql import quoted
from bufferhouse.errors import UsageError
from bufferhouse.sources.s3 import configuration
from bufferhouse.warehouse.lake import extensions

_TRIES = 9  # as bufferhouse.sources.s3 has it


def check_bucket(data_path: str) -> dict[str, str]:
    """Return endpoint, region and keys for an s3:// URL, in obstore's names.

    Raises:
        UsageError: there are no keys, or it is another kind of place.
    """
    if not data_path.startswith("s3://"):
        raise UsageError(f"--data-path: expected a folder or s3://BUCKET/PREFIX, found {data_path}")
    found = configuration()
    if "access_key_id" not in found or "secret_access_key" not in found:
        raise UsageError(
            f"{data_path}: expected keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the profile $AWS_PROFILE"
        )
    return found


def open_bucket(con: duckdb.DuckDBPyConnection, data_path: str) -> None:
    """Let a writer's connection read and write below an s3:// URL, with endpoint, region and keys of `sources.s3`.

    Raises:
        UsageError: as `check_bucket`.
    """
    if "://" not in data_path:
        return
    found = check_bucket(data_path)
    extensions.load(con, "httpfs")
    con.execute(f"SET http_retries = {_TRIES - 1}")
    values = {
        "KEY_ID": found["access_key_id"],
        "SECRET": found["secret_access_key"],
        "SESSION_TOKEN": found.get("session_token"),
        "REGION": found.get("region", "us-east-1"),
        "SCOPE": "s3://" + data_path.removeprefix("s3://").split("/", 1)[0],
    }
    if endpoint := found.get("endpoint"):
        scheme, _, host = endpoint.rpartition("://")
        values.update(ENDPOINT=host.rstrip("/"), URL_STYLE="path", USE_SSL=str(scheme != "http").lower())
    words = ", ".join(f"{name} {quoted(value)}" for name, value in values.items() if value is not None)
    try:
        con.execute(f"CREATE TEMPORARY SECRET bufferhouse_bucket (TYPE s3, {words})")
    except duckdb.Error as error:  # its message may quote the statement
        raise UsageError(f"{data_path}: the keys are not such as DuckDB takes ({type(error).__name__})") from None
