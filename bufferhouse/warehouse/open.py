"""Open a warehouse, to write or to read. This is the only place that chooses between a file and a lake."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from bufferhouse.engine.connection import close
from bufferhouse.errors import outdated
from bufferhouse.models import build
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.address import Address, LakeAddress, address_of
from bufferhouse.warehouse.file import File
from bufferhouse.warehouse.warehouse import Warehouse

Place = str | os.PathLike | Address
# What DuckDB holds of an answer before somebody fetches it. Its own 1 MB is too little: where a UNION ALL of joins
# fills it before its last branch began, 1.5.5 waits for ever, and hears no interrupt (duckdb issue 22215).
_ANSWER = "64MB"


def writing(place: Place | None, **options: Any) -> Warehouse:
    """Return a warehouse that `with` opens for writing, in memory for None; the options are those of `Warehouse`."""
    if place is None:
        return File(None, **options)
    address = address_of(place)
    if isinstance(address, LakeAddress):
        from bufferhouse.warehouse.lake.lake import Lake  # what a lake needs takes a while

        return Lake(address, **options)
    return File(address, **options)


def open_reader(place: Place | None, *, wait: float = 0.0, is_long: bool = False) -> Warehouse:
    """Return a warehouse that is open for reading, the one of this folder for None; its `con` is to be closed.

    Who reads for long says so, and keeps no writer out.

    Raises:
        UsageError: there is no warehouse.
        WarehouseBusy: it is being written, there is no published copy, and `wait` is over.
        WarehouseError: it is one of another version.
    """
    warehouse = writing(address_of(place), wait=wait)
    warehouse.open_to_read(is_long=is_long)
    warehouse.con.execute(f"SET streaming_buffer_size = '{_ANSWER}'")
    return warehouse


@contextmanager
def reading(place: Place, *, wait: float = 0.0, is_long: bool = False) -> Iterator[Warehouse]:
    """Yield what `open_reader` returns, and close it.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `open_reader`.
        WarehouseBusy: while it is read, the disk fills, or a lake does not answer or has the snapshot no more.
        WarehouseError: it lacks a model of this version: what brought it along was stopped.
    """
    warehouse = open_reader(place, wait=wait, is_long=is_long)
    try:
        yield warehouse
    except duckdb.Error as error:
        if told := warehouse.told(error):
            raise told from error
        is_lacking = isinstance(error, duckdb.CatalogException | duckdb.BinderException)
        if is_lacking and not build.is_current(warehouse.con, MODELS):
            raise outdated(error) from error
        raise
    finally:
        close(warehouse.con)


def exists(place: Place) -> bool:
    """Return whether there is a warehouse.

    Raises:
        WarehouseBusy, WarehouseError: a lake does not answer.
    """
    return writing(place).exists()
