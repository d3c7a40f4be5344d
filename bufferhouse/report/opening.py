"""What a report reads: a warehouse, or dumps in memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bufferhouse.warehouse.open import Place, reading


@contextmanager
def opened(place: Place | None, sources: Sequence[str], wait: float) -> Iterator[tuple]:
    """Yield a connection, a name for the page, and a note: of the warehouse at `place`, else of dumps in memory.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    if place is not None:
        with reading(place, wait=wait) as warehouse:
            yield warehouse.con, warehouse.title, warehouse.note
        return
    from bufferhouse.ingest.in_memory import in_memory

    with in_memory(sources) as con:
        yield con, " ".join(os.path.basename(source.rstrip("/")) for source in sources), None
