"""Alerts as Prefect events, one function for each event; no flow run fails because of one, or waits for it.

Each says in `payload.message` what happened, in a sentence. Its resource is the event with the source, check or run.
Its label MATTER says what it is about, so that an automation can be quiet for hours about one matter of a deployment
(docs/operations.md).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
from prefect import Flow
from prefect.client.schemas.objects import FlowRun
from prefect.events import emit_event
from prefect.states import State

from bufferhouse.config.load import Config
from bufferhouse.errors import counted
from bufferhouse.ingest.freshness import freshness, is_stale, stale_after
from bufferhouse.ingest.summary import Summary
from bufferhouse.models.checks import CheckResult
from bufferhouse.redaction import printable, redacted
from bufferhouse.report.text.figures import human_seconds
from bufferhouse.warehouse.stats import moment_text

REJECTS = "bufferhouse.rejects"
STALE_SOURCE = "bufferhouse.stale-source"
FAILED_CHECK = "bufferhouse.failed-check"
REGRESSION = "bufferhouse.regression"
LOST_DONATION = "bufferhouse.lost-donation"
FAILED_RUN = "bufferhouse.failed-run"
MATTER = "bufferhouse-matter"  # a label of an event's resource
_SHOWN = 20  # items of a list: the warehouse has the others


def emit_regression(run: str, before: str, message: str, regressions: Sequence[Mapping[str, Any]]) -> None:
    """Emit that programs of a run take more memory than in the run before; a mapping for each program and memory space.

    Each has `program_id` and `memory_space`; values must be of types that JSON has.
    """
    shown = [dict(one) for one in regressions[:_SHOWN]]
    matter = _matter(REGRESSION, run, before, sorted((one["program_id"], one["memory_space"]) for one in regressions))
    _emit(REGRESSION, run, message, matter=matter, run=run, before=before, count=len(regressions), regressions=shown)


def emit_lost_donations(run: str, before: str, message: str, donations: Sequence[Mapping[str, Any]]) -> None:
    """Emit that donations which the run before took are lost in a run; a mapping for each parameter, the largest first.

    Each has `program`, `program_id`, `parameter`, `shape`, `bytes`, `memory_space` and `reason`, which is None if no
    file beside the dump gives one.
    """
    shown = [dict(one) for one in donations[:_SHOWN]]
    lost_bytes = sum(one["bytes"] for one in donations)
    matter = _matter(LOST_DONATION, run, before, sorted((one["program_id"], one["parameter"]) for one in donations))
    facts = {"run": run, "before": before, "count": len(donations), "lost_bytes": lost_bytes, "donations": shown}
    _emit(LOST_DONATION, run, message, matter=matter, **facts)


def tell_rejects(conf: Config, by_source: Mapping[str, Summary]) -> None:
    """Emit an event for each source of a pass that refused more than `thresholds.rejects`."""
    threshold = conf["thresholds"]["rejects"]
    for name, one in by_source.items():
        refused = [*one.reject_lines, *one.unreadable, *one.unplaced]
        if threshold is not None and len(refused) > threshold:
            parts = [f"{one.rejected + one.left_out} of {counted(one.seen, 'dump')}"]
            if one.refused_messages:
                parts.append(f"{counted(one.refused_messages, 'message')} of logs")
            if others := len(one.unreadable) - one.left_out:  # links, folders, logs
                parts.append(counted(others, "other path"))
            if one.unplaced:
                parts.append(f"{counted(len(one.unplaced), 'log')} of no known run")
            message = f"source {name}: {', '.join(parts)} refused, more than {threshold}"
            facts = {"source": name, "rejected": len(refused), "seen": one.seen, "threshold": threshold}
            _emit(REJECTS, name, message, **facts, rejects=refused[:_SHOWN])


def tell_stale(con: duckdb.DuckDBPyConnection, conf: Config, names: Iterable[str]) -> None:
    """Emit an event for each of these sources that is configured and stale."""
    wanted = {name for name in names if stale_after(conf, name) != float("inf")}
    now = datetime.now(UTC)
    for name, fresh in (freshness(con, conf) if wanted else {}).items():
        seconds, threshold = fresh.quiet_seconds(now), stale_after(conf, name)
        if name in wanted and is_stale(seconds, threshold):
            newest = moment_text(fresh.last_load_at)
            since = (
                "has nothing in the warehouse"  # retention may have removed what it brought
                if seconds is None
                else f"brought nothing new for {human_seconds(seconds)}, since {newest}"
            )
            message = f"source {name} {since}; expected every {human_seconds(threshold)}"
            facts = {"source": name, "quiet_seconds": seconds, "threshold": threshold, "newest": newest}
            _emit(STALE_SOURCE, name, message, **facts)


def tell_checks(conf: Config, results: Iterable[CheckResult]) -> None:
    """Emit an event for each check that found offenders and is at least as severe as `thresholds.failed_check`."""
    wanted = {"error": ("error",), "warn": ("error", "warn"), None: ()}[conf["thresholds"]["failed_check"]]
    for one in results:
        if not (one.offender_count and one.severity in wanted):
            continue
        first = one.first or ""
        found = counted(one.offender_count, "offender")
        message = f"check {one.name} ({one.severity}) found {found}: {printable(first)}"
        facts = {"check": one.name, "severity": one.severity, "offenders": one.offender_count, "first": first}
        _emit(FAILED_CHECK, one.name, message, **facts)


def tell_failed(flow: Flow, flow_run: FlowRun, state: State) -> None:
    """Emit that a flow run failed or crashed; Prefect calls this, with arguments of these names.

    Prefect emits its own event, too, but handles it only after the event of the state before, for which it waits up to
    15 minutes. Scheduled states have no event, and Prefect waits for it if the state is less than five minutes old:
    that concerns all flow runs of the first minutes after a start.
    """
    reason = redacted(state.message or "no reason is known")
    # Without a matter a crash counts as Prefect's own event of it, which also comes if no process could call this.
    verb, matter = "crashed", ""
    if not state.is_crashed():
        verb, matter = "failed", _matter(FAILED_RUN, flow.name, reason)
    # If a process was killed, its parent reports that, and the parent's context has no flow run.
    related = [{"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"} for tag in flow_run.tags]
    known = {"flow-run": flow_run.id, "flow": flow_run.flow_id, "deployment": flow_run.deployment_id}
    related += [
        {"prefect.resource.id": f"prefect.{role}.{number}", "prefect.resource.role": role}
        for role, number in known.items()
        if number
    ]
    message = f"flow run {flow_run.name} {verb}: {reason}"
    facts = {"flow": flow.name, "flow_run": flow_run.name, "reason": reason}
    _emit(FAILED_RUN, flow.name, message, matter=matter, related=related, **facts)


def _matter(event: str, name: str, *said: object) -> str:
    """Return the matter of an event, which also depends on what it says: another fact of the same name is sent, too.

    For example, a run may be compared with two runs before it, or its dumps may come in two passes.
    """
    return f"{event}.{name}.{hashlib.sha256(' '.join(map(str, said)).encode()).hexdigest()[:16]}"


# The options of a flow that make it report its failures.
TOLD = {"on_failure": [tell_failed], "on_crashed": [tell_failed]}


def _emit(
    event: str,
    name: str,
    message: str,
    *,
    matter: str | None = None,
    related: list[dict[str, str]] | None = None,
    **payload: Any,
) -> None:
    """Hand an event to Prefect's own thread, which sends it with flow run, deployment and tags as related resources."""
    # The resource names the event, too: an automation that is quiet about a stale source still reports its rejects.
    number = f"{event}.{name}"
    about = number if matter is None else matter
    labels = {"prefect.resource.id": number, "prefect.resource.name": name, MATTER: about}
    emit_event(event, _redacted(labels), related=related, payload=_redacted({"message": message, **payload}))


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_redacted(one) for one in value]
    return {key: _redacted(one) for key, one in value.items()} if isinstance(value, dict) else value
