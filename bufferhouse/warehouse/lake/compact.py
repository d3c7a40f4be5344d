"""Compact a lake: merge small files, and remove old snapshots and files that no snapshot needs."""

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import duckdb

from bufferhouse.warehouse.lake.attach import LAKE

KEPT_SECONDS = 86400.0  # by default, how long a snapshot can be read, and how long a load may take


def compact(con: duckdb.DuckDBPyConnection, alone: AbstractContextManager[bool], *, keep_seconds: float) -> None:
    """Merge small files, drop deleted rows, and remove what no snapshot of the last `keep_seconds` needs.

    Loads continue meanwhile: each step is a transaction of its own, and the next call completes a stopped one. A load
    that is being written has files that are in no snapshot yet. So such files stay for at least a day, unless `alone`
    yields that no other worker is there.
    """
    begun = _limit(keep_seconds)
    _call(con, f"ducklake_flush_inlined_data('{LAKE}')")
    _call(con, f"ducklake_merge_adjacent_files('{LAKE}')")
    # By default a file stays until 95 % of its rows are deleted.
    _call(con, f"ducklake_rewrite_data_files('{LAKE}', delete_threshold => 0)")
    # If nothing is to be kept, files that were merged just now are old already.
    _call(con, f"ducklake_expire_snapshots('{LAKE}', {_limit(keep_seconds)})")
    _call(con, f"ducklake_cleanup_old_files('{LAKE}', {_limit(keep_seconds)})")
    with alone as is_alone:
        old = begun if is_alone else _limit(max(keep_seconds, KEPT_SECONDS))
        _call(con, f"ducklake_delete_orphaned_files('{LAKE}', {old})")


def _limit(seconds: float) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=seconds)
    return f"older_than => TIMESTAMPTZ '{moment:%Y-%m-%d %H:%M:%S.%f}+00'"


def _call(con: duckdb.DuckDBPyConnection, function: str) -> None:
    con.execute(f"CALL {function}").fetchall()  # a call whose rows nobody fetches may not run to its end
