"""What a collector of metrics asks a warehouse, in one answer that JSON knows."""

from datetime import UTC, datetime
from typing import Any

import duckdb

from bufferhouse.config.load import Config
from bufferhouse.ingest.freshness import freshness, is_stale, stale_after
from bufferhouse.models.checks import run_checks
from bufferhouse.warehouse import Address
from bufferhouse.warehouse.open import reading
from bufferhouse.warehouse.stats import moment_text, stats


def metrics(address: Address, conf: Config | None, *, wait: float, checks: bool) -> dict[str, Any]:
    """Return what `stats` does, sizes of the files, who writes, and the freshness of each source.

    `failing_checks` is null where no checks were run: they take as long as `bufferhouse check`. `note` says where this
    is the published copy, and from when. Of a lake the sizes are those of all files, nobody has it alone, and
    `snapshot` says what was read.

    Raises:
        UsageError, WarehouseBusy, WarehouseError: as `open_reader`.
    """
    with reading(address, wait=wait) as warehouse:
        holder = warehouse.writer()
        found = stats(warehouse)
        found["sources"] = _sources(warehouse.con, conf) if conf else {}
        found["failing_checks"] = _failing(warehouse.con) if checks else None
        found |= warehouse.state()
    copy = address.published
    found["published_bytes"] = copy.stat().st_size if copy is not None and copy.exists() else None
    found["published_at"] = (
        moment_text(datetime.fromtimestamp(copy.stat().st_mtime, UTC)) if found["published_bytes"] else None
    )
    return {**found, "writer": holder, "note": warehouse.note}


def _sources(con: duckdb.DuckDBPyConnection, conf: Config) -> dict[str, dict]:
    now = datetime.now(UTC)
    rows = {}
    for name, fresh in freshness(con, conf).items():
        seconds = fresh.quiet_seconds(now)
        rows[name] = {
            "observations": fresh.observation_count,
            "last_load_at": moment_text(fresh.last_load_at),
            "newest_file_at": moment_text(fresh.newest_file_at),
            "quiet_seconds": None if seconds is None else round(seconds),
            "is_stale": is_stale(seconds, stale_after(conf, name)),
        }
    return rows


def _failing(con: duckdb.DuckDBPyConnection) -> dict[str, dict]:
    failing = [result for result in run_checks(con) if result.offender_count]
    return {
        one.name: {"severity": one.severity, "offenders": one.offender_count, "first": one.first} for one in failing
    }
