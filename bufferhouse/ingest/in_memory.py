"""Dumps without a warehouse: read into memory, to be queried at once."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import duckdb

from bufferhouse.ingest.pipeline import ingest
from bufferhouse.ingest.source import Source
from bufferhouse.redaction import printable
from bufferhouse.warehouse.open import writing


@contextmanager
def in_memory(
    sources: Sequence[str], *, with_logs: bool = True, unread: list[str] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a warehouse in memory that holds the dumps of `sources`.

    Refused dumps are reported on standard error and are in raw.rejects, as in any warehouse; skipped archives,
    files without their dump and sources without a dump are named, too. Files, folders and archives that could not be
    opened have no row: `unread` gets a line for each, with the reason.

    Raises:
        UsageError, SourceUnavailable: a source cannot be read.
    """
    with writing(None) as warehouse:
        (summary,) = ingest([Source.named(sources, with_logs=with_logs)], nullcontext(warehouse)).values()
        if summary.error is not None:
            raise summary.error
        refused = [*summary.reject_lines, *summary.unreadable, *summary.unplaced]
        refused += [*summary.head_faults, *summary.log_notes]
        if unread is not None:
            unread += summary.unreadable
        for line in [*refused, *summary.orphan_lines(), *summary.archive_lines()]:
            print(f"bufferhouse: {printable(line)}", file=sys.stderr)
        if not summary.seen:
            # A sum over nothing has a row, and looks like an answer about the dumps.
            print(f"bufferhouse: {', '.join(sources)}: no dump was found there", file=sys.stderr)
        yield warehouse.con
