"""The native reader beside the one in Python: the same contents read by both, and where their tables differ."""

import os
from collections.abc import Sequence
from contextlib import contextmanager

import polars as pl

from bufferhouse.dump.identity import content_of
from bufferhouse.dump.native.library import SWITCH
from bufferhouse.tabulate.batch import SHAPE_COLUMNS
from bufferhouse.tabulate.contents import ParsedContents, Work, parse_contents


@contextmanager
def switched(value: str):
    """Switch the native reader with `0` off."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = value
    try:
        yield
    finally:
        del os.environ[SWITCH]
        if before is not None:
            os.environ[SWITCH] = before


def in_python(work: Work) -> ParsedContents:
    """Parse contents without the native reader."""
    with switched("0"):
        return parse_contents(work)


def work_of(dumps: Sequence[dict[str, bytes]]) -> Work:
    """Return the distinct contents of dumps, given by their files."""
    found = {content.dump_id: (content, files) for files in dumps for content in [content_of(files)]}
    return list(found.values())


def spelled(frames: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return frames with the texts of shapes in place of their numbers, which depend on the order of the batch."""
    texts = frames["shapes"]["shape_text"]
    found = {}
    for table, frame in frames.items():
        if table == "shapes":
            found[table] = frame.drop("shape_id").sort("shape_text")
        else:
            found[table] = frame.with_columns(
                texts.gather(frame[name]).alias(name) for name in SHAPE_COLUMNS.get(table, ())
            )
    return found


def differences(mine: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> list[str]:
    """Return the tables, with the columns, in which two batches differ."""
    one, two = spelled(mine), spelled(other)
    found = []
    for table in one.keys() | two.keys():
        a, b = one[table], two[table]
        if a.schema != b.schema or a.shape != b.shape:
            found.append(f"{table}: {a.shape} {b.shape}")
        elif not a.equals(b):
            found.append(f"{table}: {[name for name in a.columns if not a[name].equals(b[name])]}")
    return found
