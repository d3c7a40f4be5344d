"""Dumps without a warehouse: read into memory, to be queried at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.workers import own_parsers
from bufferhouse.sources.discover import discover
from bufferhouse.warehouse.warehouse import Warehouse


@contextmanager
def in_memory(sources: Sequence[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a warehouse in memory that holds the dumps of `sources`.

    What is refused is said on standard error and in raw.rejects, as in any warehouse.
    """
    import sys

    discovery = discover(sources)
    with own_parsers(None) as parsers, Warehouse(None) as warehouse:
        summary = ingest(warehouse, discovery, parsers=parsers)
        for line in [*summary.reject_lines, *summary.unreadable, *summary.head_faults]:
            print(f"bufferhouse: {line}", file=sys.stderr)
        yield warehouse.con
