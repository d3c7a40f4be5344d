"""Retry after temporary faults: a catalog that was restarted, a bucket that is too busy to answer."""

from collections.abc import Callable
from typing import TypeVar

import duckdb

from bufferhouse.engine import faults, interrupts
from bufferhouse.engine.connection import tries
from bufferhouse.errors import WarehouseBusy

T = TypeVar("T")

_PATIENCE_SECONDS = 120
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 5.0


def passes(error: Exception) -> bool:
    """Return whether trying again can help."""
    return isinstance(error, WarehouseBusy) or faults.passes(error)


def patiently(
    what: Callable[[], T], failed: Callable[[], None] = lambda: None, is_cut_off: Callable[[], bool] = lambda: False
) -> T:
    """Run an action that needs a catalog or a bucket; if one does not answer, call `failed` and run it again.

    If `is_cut_off` returns True, any error of DuckDB counts as such a fault.

    Raises:
        WarehouseBusy: it did not succeed for two minutes.
    """
    for is_last in tries(_PATIENCE_SECONDS, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS):
        interrupts.check()
        try:
            return what()
        except (duckdb.Error, WarehouseBusy) as error:
            if not passes(error) and not is_cut_off():
                raise
            if is_last and isinstance(error, WarehouseBusy):
                raise  # it says so itself
            if is_last:
                raise faults.away(error) from error
        failed()
    raise AssertionError("the last try returns or raises")
