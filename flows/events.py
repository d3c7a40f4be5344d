"""Alerts as Prefect events, one function an event; no flow run fails or waits for one.

Each says in `payload.message` what happened, in a sentence. Its resource is event and source, check or run together,
so that an automation can be quiet for hours about one of them (docs/operations.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
from prefect.events import emit_event

from bufferhouse.config.load import Config
from bufferhouse.errors import counted
from bufferhouse.ingest.freshness import freshness, is_stale, stale_after
from bufferhouse.ingest.summary import Summary
from bufferhouse.models.checks import CheckResult
from bufferhouse.redaction import redacted
from bufferhouse.warehouse.stats import moment_text

REJECTS = "bufferhouse.rejects"
STALE_SOURCE = "bufferhouse.stale-source"
FAILED_CHECK = "bufferhouse.failed-check"
REGRESSION = "bufferhouse.regression"
LOST_DONATION = "bufferhouse.lost-donation"
_SHOWN = 20  # of a list: an event is news, the warehouse has the rest


def emit_regression(run: str, before: str, message: str, regressions: Sequence[Mapping[str, Any]]) -> None:
    """Emit that programs of a run take more memory than in the run before; one mapping a program and memory space.

    The values of the mappings must be what JSON knows.
    """
    _emit(
        REGRESSION,
        run,
        message,
        run=run,
        before=before,
        count=len(regressions),
        regressions=[dict(one) for one in regressions[:_SHOWN]],
    )


def emit_lost_donations(run: str, before: str, message: str, donations: Sequence[Mapping[str, Any]]) -> None:
    """Emit that donations which the run before took are lost in a run; one mapping a parameter, the largest first.

    Each has `program`, `program_id`, `parameter`, `shape`, `bytes`, `memory_space` and `reason`, None where no file
    beside the dump tells why.
    """
    _emit(
        LOST_DONATION,
        run,
        message,
        run=run,
        before=before,
        count=len(donations),
        lost_bytes=sum(one["bytes"] for one in donations),
        donations=[dict(one) for one in donations[:_SHOWN]],
    )


def tell_rejects(conf: Config, by_source: Mapping[str, Summary]) -> None:
    """Emit an event for each source of a pass that refused more than `thresholds.rejects`."""
    threshold = conf["thresholds"]["rejects"]
    for name, one in by_source.items():
        refused = [*one.reject_lines, *one.unreadable]
        if threshold is not None and len(refused) > threshold:
            _emit(
                REJECTS,
                name,
                f"source {name}: {len(refused)} of {counted(one.seen, 'dump')} refused, more than {threshold}",
                source=name,
                rejected=len(refused),
                seen=one.seen,
                threshold=threshold,
                rejects=refused[:_SHOWN],
            )


def tell_stale(con: duckdb.DuckDBPyConnection, conf: Config, names: Iterable[str]) -> None:
    """Emit an event for each of these sources that is configured and stale."""
    wanted = {name for name in names if stale_after(conf, name) != float("inf")}
    now = datetime.now(UTC)
    for name, fresh in (freshness(con, conf) if wanted else {}).items():
        seconds, threshold = fresh.quiet_seconds(now), stale_after(conf, name)
        if name in wanted and is_stale(seconds, threshold):
            newest = moment_text(max(filter(None, (fresh.last_load_at, fresh.newest_file_at)), default=None))
            since = (
                "never brought anything"
                if seconds is None
                else f"brought nothing new for {seconds / 3600:.1f} hours, since {newest}"
            )
            _emit(
                STALE_SOURCE,
                name,
                f"source {name} {since}; expected every {threshold / 3600:g} hours",
                source=name,
                quiet_seconds=seconds,
                threshold=threshold,
                newest=newest,
            )


def tell_checks(conf: Config, results: Iterable[CheckResult]) -> list[CheckResult]:
    """Emit an event for each check that found offenders and is as severe as `thresholds.failed_check`; return them."""
    wanted = {"error": ("error",), "warn": ("error", "warn"), None: ()}[conf["thresholds"]["failed_check"]]
    failed = [one for one in results if one.offender_count and one.severity in wanted]
    for one in failed:
        first = one.first or ""
        _emit(
            FAILED_CHECK,
            one.name,
            f"check {one.name} ({one.severity}) found {counted(one.offender_count, 'offender')}: {first}",
            check=one.name,
            severity=one.severity,
            offenders=one.offender_count,
            first=first,
        )
    return failed


def _emit(event: str, name: str, message: str, **payload: Any) -> None:
    """Hand an event to Prefect's own thread, which sends it with flow run, deployment and tags as related resources."""
    # The resource names the event, too: an automation that is quiet about a stale source still hears of its rejects.
    labels = {"prefect.resource.id": f"{event}.{name}", "prefect.resource.name": name}
    told = {key: _redacted(value) for key, value in {"message": message, **payload}.items()}
    emit_event(event, {key: redacted(label) for key, label in labels.items()}, payload=told)


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_redacted(one) for one in value]
    return {key: _redacted(one) for key, one in value.items()} if isinstance(value, dict) else value
