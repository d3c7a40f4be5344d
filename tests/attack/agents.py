"""Hostile statements through the server of agents: none is answered, and the warehouse stays as it was."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bufferhouse.commands.ingest_run import run_ingest
from tests.agents.sessions import session
from tests.attack.counts import Count
from tests.attack.sql import KINDS, SEED

_SHORT = 4


def attack(is_short: bool) -> Iterator[Count]:
    """Ask every hostile statement by the tool `query`, in one session; yield what was let through."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        file = folder / "warehouse.duckdb"
        run_ingest([str(SEED)], file)
        before = hashlib.sha256(file.read_bytes()).hexdigest()
        texts = [text for kind in KINDS.values() for text in kind if "bufferhouse_lake" not in text]
        texts = [text.format(file=SEED, data=file, new=folder / "made") for text in texts]
        if is_short:
            texts = texts[:: len(texts) // _SHORT]

        async def script(client):
            return [(sql, (await client.call_tool("query", {"sql": sql})).is_error) for sql in texts]

        count = Count("statements by the tool query")
        for sql, is_refused in session(file, script):
            count.attempt(sql, is_refused)
        yield count
        unhurt = Count("the warehouse as it was")
        unhurt.attempt(
            "all of it", before == hashlib.sha256(file.read_bytes()).hexdigest() and not (folder / "made").exists()
        )
        yield unhurt
