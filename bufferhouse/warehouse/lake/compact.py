"""Keep a lake: few large files instead of many small ones, no snapshot that nobody reads, no file that is in none."""

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import duckdb

from bufferhouse.warehouse.lake.attach import LAKE

KEPT_SECONDS = 86400.0  # how long a snapshot can be read at least, and how long a writer may take for a load


def compact(
    con: duckdb.DuckDBPyConnection, alone: AbstractContextManager[bool], *, keep_seconds: float = KEPT_SECONDS
) -> None:
    """Merge small files, drop deleted rows, and remove what no snapshot of the last `keep_seconds` needs.

    Loads go on meanwhile: each step is a transaction of its own, and one that is stopped is done by the next. A load
    that is being written has files that are in no snapshot: unless no other worker is there, as `alone` says, such
    files stay for a day at least.
    """
    begun = _limit(keep_seconds)
    _call(con, f"ducklake_flush_inlined_data('{LAKE}')")
    _call(con, f"ducklake_merge_adjacent_files('{LAKE}')")
    # Where no threshold is given, a file stays until 95 % of its rows are deleted.
    _call(con, f"ducklake_rewrite_data_files('{LAKE}', delete_threshold => 0)")
    # What was merged just now is old at once where nothing is to be kept.
    _call(con, f"ducklake_expire_snapshots('{LAKE}', {_limit(keep_seconds)})")
    _call(con, f"ducklake_cleanup_old_files('{LAKE}', {_limit(keep_seconds)})")
    with alone as is_alone:
        old = begun if is_alone else _limit(max(keep_seconds, KEPT_SECONDS))
        _call(con, f"ducklake_delete_orphaned_files('{LAKE}', {old})")


def _limit(seconds: float) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=seconds)
    return f"older_than => TIMESTAMPTZ '{moment:%Y-%m-%d %H:%M:%S.%f}+00'"


def _call(con: duckdb.DuckDBPyConnection, function: str) -> None:
    con.execute(f"CALL {function}").fetchall()  # what nobody fetches may not be carried out to its end
