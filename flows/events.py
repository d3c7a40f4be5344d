"""What somebody on call should hear of, as Prefect events: one function an event, which no flow run fails or waits for.

Each says in `payload.message` what happened, in a sentence. Its resource tells one source, check or run from another,
so that an automation can be quiet for hours about one of them (docs/operations.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from prefect.events import emit_event

REJECTS = "bufferhouse.rejects"
STALE_SOURCE = "bufferhouse.stale-source"
FAILED_CHECK = "bufferhouse.failed-check"
REGRESSION = "bufferhouse.regression"
_SHOWN = 20  # of a list: an event is news, the warehouse has the rest


def emit_rejects(source: str, rejects: Sequence[str], *, seen: int, threshold: int) -> None:
    """Say that a pass over a source refused more dumps than the threshold; each of `rejects` is one and why."""
    _emit(
        REJECTS,
        f"source.{source}",
        f"source {source}: {len(rejects)} of {seen} dumps were refused, more than {threshold}",
        source=source,
        rejected=len(rejects),
        seen=seen,
        threshold=threshold,
        rejects=list(rejects[:_SHOWN]),
    )


def emit_stale_source(source: str, *, quiet_seconds: float | None, threshold: float, newest: str | None) -> None:
    """Say that a source brought nothing new for longer than the threshold, in seconds; None: it never did."""
    since = "never" if quiet_seconds is None else f"not for {quiet_seconds / 3600:.1f} hours (last: {newest})"
    _emit(
        STALE_SOURCE,
        f"source.{source}",
        f"source {source} brought something new {since}; expected every {threshold / 3600:g} hours",
        source=source,
        quiet_seconds=quiet_seconds,
        threshold=threshold,
        newest=newest,
    )


def emit_failed_check(check: str, *, offenders: int, first: str, severity: str = "error") -> None:
    """Say that a check found offenders; `first` is one of them, with what was expected and found."""
    _emit(
        FAILED_CHECK,
        f"check.{check}",
        f"check {check} ({severity}) found {offenders} offenders: {first}",
        check=check,
        severity=severity,
        offenders=offenders,
        first=first,
    )


def emit_regression(run: str, before: str, message: str, regressions: Sequence[Mapping[str, Any]]) -> None:
    """Say that a run takes more memory than the one before it; a mapping for each program and memory space that does.

    The values of the mappings must be what JSON knows.
    """
    _emit(
        REGRESSION,
        f"run.{run}",
        message,
        run=run,
        before=before,
        count=len(regressions),
        regressions=[dict(one) for one in regressions[:_SHOWN]],
    )


def _emit(event: str, resource: str, message: str, **payload: Any) -> None:
    """Hand an event to Prefect's own thread, which tells the server with flow run, deployment and tags as related."""
    labels = {"prefect.resource.id": f"bufferhouse.{resource}", "prefect.resource.name": resource}
    emit_event(event, labels, payload={"message": message, **payload})
