"""Find the dumps or files that make the load of a batch fail, by trying halves of the batch."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import duckdb

from bufferhouse.errors import ModelError, SourceUnavailable, UsageError, WarehouseBusy, WarehouseError
from bufferhouse.warehouse.warehouse import Warehouse

T = TypeVar("T")
REFUSING = (duckdb.DataError, duckdb.InvalidInputException)  # how DuckDB says that the numbers are to blame


def poison(
    warehouse: Warehouse, parts: Sequence[T], attempt: Callable[[Sequence[T]], object]
) -> Iterator[tuple[T, Exception]]:
    """Yield the parts with which an attempt fails, each with the error that it alone causes.

    Raises:
        Exception: an attempt fails for something else than what was read.
    """
    try:
        attempt(parts)
    except Exception as error:
        if not is_of_content(warehouse, error):
            raise
        if len(parts) == 1:
            yield parts[0], error
            return
        middle = len(parts) // 2
        for half in (parts[:middle], parts[middle:]):
            yield from poison(warehouse, half, attempt)


def is_of_content(warehouse: Warehouse, error: Exception) -> bool:
    """Return whether what was read may be to blame for an error: warehouse, disk, memory and callers are not."""
    if isinstance(error, duckdb.Error):
        return isinstance(error, (*REFUSING, duckdb.IntegrityError)) and not warehouse.may_pass(error)
    from pandera.errors import SchemaErrors  # half a second, which only a fault pays for

    # A breach of a contract that no row shows is one of all rows.
    ours = (SchemaErrors, UsageError, WarehouseError, WarehouseBusy, ModelError, SourceUnavailable)
    return not isinstance(error, (*ours, OSError, MemoryError))
