"""What a report reads: a warehouse, or dumps in memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.read import reading


@contextmanager
def opened(path: Path | LakeAddress | None, sources: Sequence[str], wait: float) -> Iterator[tuple]:
    """Yield a connection, a name for the page, and a note: of the warehouse at `path`, else of dumps in memory.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.read.reading`.
    """
    if path is not None:
        with reading(path, wait=wait) as (con, note):
            name = path.name
            if isinstance(path, LakeAddress):
                from bufferhouse.warehouse.lake.compact import name_with_snapshot

                name = name_with_snapshot(con, name)
            yield con, name, note
        return
    from bufferhouse.ingest.in_memory import in_memory

    with in_memory(sources) as con:
        yield con, " ".join(os.path.basename(source.rstrip("/")) for source in sources), None
