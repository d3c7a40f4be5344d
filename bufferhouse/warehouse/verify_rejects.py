"""The proof of the rejects: the bytes that are kept of each are those that were refused."""

from itertools import groupby

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.errors import WarehouseError
from bufferhouse.warehouse.load import unpacked

_BYTES_AT_ONCE = 16 << 20  # compressed


def faults(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Prove all rejects, in any state: each can be shown, and replayed, with the bytes that were refused."""
    sizes = con.execute("SELECT reject_id, octet_length(content) FROM raw.rejects ORDER BY reject_id").fetchall()
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
