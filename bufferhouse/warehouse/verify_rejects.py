"""The proof of the rejects: the bytes that are kept of each are those that were refused."""

from itertools import groupby

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.errors import WarehouseError
from bufferhouse.warehouse.load import unpacked
from bufferhouse.warehouse.run_names import find

_BYTES_AT_ONCE = 16 << 20  # compressed


def faults(con: duckdb.DuckDBPyConnection, run: str | None = None) -> list[str]:
    """Prove all rejects, or those of a run, in any state: each can be shown with the bytes that were refused.

    Raises:
        UsageError: there is no such run, or several.
    """
    sizes = execute(
        con,
        "SELECT reject_id, octet_length(content) FROM raw.rejects"
        " WHERE $run_id IS NULL OR run_id = $run_id ORDER BY reject_id",
        run_id=None if run is None else find(con, run).run_id,
    ).fetchall()
    ends, total = [], 0
    for _, size in sizes:
        total += size
        ends.append(total // _BYTES_AT_ONCE)
    found = []
    for _, group in groupby(zip(sizes, ends, strict=True), key=lambda one: one[1]):
        rows = execute(
            con,
            "SELECT reject_id, source_uri, content, sha256, role FROM raw.rejects"
            " WHERE list_contains(CAST($ids AS BIGINT[]), reject_id) ORDER BY reject_id",
            ids=[reject_id for (reject_id, _), _ in group],
        ).fetchall()
        for reject_id, uri, *kept in rows:
            try:
                unpacked(*kept)
            except WarehouseError as error:
                found.append(f"reject {reject_id} of {uri}: {error}")
    return found
