"""Try again what met a fault that passes: a catalog that was started anew, a bucket that is too busy to answer."""

import re
from collections.abc import Callable
from typing import TypeVar

import duckdb

from bufferhouse.engine import interrupts
from bufferhouse.engine.connection import tries
from bufferhouse.errors import WarehouseBusy, first_line

T = TypeVar("T")

_PATIENCE_SECONDS = 120
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 5.0
_FAULTS = (duckdb.IOException, duckdb.HTTPException, duckdb.TransactionException, duckdb.ConnectionException)
# A connection that ended may be told as any kind of error, by whatever met it.
_AWAY = re.compile(
    r"closed the connection|onnection refused|terminating connection|no connection to the server|Unable to connect"
    r"|starting up|shutting down|in recovery mode|could not receive data|could not send data|connection not open"
    r"|Current transaction is aborted"
)
# What will not be answered otherwise the next time.
_REFUSED = re.compile(r"HTTP (?:code )?4(?!08|29)\d\d|AccessDenied|NoSuchBucket|InvalidAccessKeyId|authentication")


def passes(error: Exception) -> bool:
    """Say whether trying again can help."""
    if isinstance(error, WarehouseBusy):
        return True
    text = str(error)
    is_fault = isinstance(error, _FAULTS) or (isinstance(error, duckdb.Error) and _AWAY.search(text) is not None)
    return is_fault and _REFUSED.search(text) is None


def patiently(
    what: Callable[[], T], failed: Callable[[], None] = lambda: None, is_cut_off: Callable[[], bool] = lambda: False
) -> T:
    """Do what may meet a catalog or a bucket that does not answer; after each fault call `failed`, and do it anew.

    An error of DuckDB's that looks like no fault is one where `is_cut_off` says so.

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
            if is_last:
                raise away(error) from error
        failed()
    raise AssertionError("the last try returns or raises")


def away(error: Exception) -> WarehouseBusy:
    """Return what is said of a fault that did not pass."""
    reason = first_line(error)
    return WarehouseBusy(f"the lake does not answer: {reason}; what was committed is kept, try again later")
