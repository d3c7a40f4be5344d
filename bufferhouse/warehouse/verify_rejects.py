"""The proof of the rejects: the bytes that are kept of each are those that were refused."""

import io
import tarfile
from itertools import groupby

import duckdb
import zstandard

from bufferhouse.dump.identity import content_of
from bufferhouse.engine.sql import execute
from bufferhouse.errors import WarehouseError

_BYTES_AT_ONCE = 16 << 20  # compressed


def unpacked(packed: bytes, sha256: str, role: str) -> dict[str, bytes]:
    """Return the files of a refused dump by role; the hash tells one file, a text or a proto, from a tar of several.

    Raises:
        WarehouseError: these are not the bytes that were refused.
    """
    try:
        data = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        files = {"proto" if role == "proto" else "combined": data}
        if content_of(files).sha256 != sha256:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                files = {member.name: archive.extractfile(member).read() for member in archive}
    except (zstandard.ZstdError, tarfile.TarError):
        files = {}
    if not files or content_of(files).sha256 != sha256:
        raise WarehouseError("the bytes that are kept of it are not those that were refused: ingest its file again")
    return files


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
