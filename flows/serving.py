"""All flows on their schedules, in one process: what `bufferhouse serve` runs."""

import asyncio
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID
from weakref import WeakSet

import httpx
from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterTags,
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_logger
from prefect.runner import Runner
from prefect.schedules import Cron, Interval, Schedule
from prefect.states import Cancelled

from bufferhouse.compare.groups import by
from bufferhouse.config.load import Config, is_secret
from flows import callers
from flows.backfill import backfill
from flows.fleet_report import fleet_report
from flows.forked import flow_runs_forked
from flows.ingest import ingest
from flows.maintain import maintain
from flows.regressions import regressions
from flows.site import site

NAME = "bufferhouse"
_ANCHOR = datetime(2020, 1, 6, tzinfo=UTC)  # a fixed Monday: intervals from the start of `serve` would restart with it
SERVED = "bufferhouse-serve"  # a tag: `serve` schedules the flow runs of these deployments


def deployments(conf: Config, settings: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return a deployment of each flow, and one of `ingest` for each source that has a schedule of its own.

    Each has the arguments of `Runner.add_flow`. Secrets among the settings reach flow runs only by their environment,
    because everybody who sees the server sees parameters.
    """
    parameters: dict[str, Any] = {"config": conf.path and str(Path(conf.path).absolute())}
    if shown := [one for one in settings if not is_secret(one)]:
        parameters["settings"] = shown
    when, zone = conf["schedule"], conf["schedule"]["timezone"]
    own = [source for source in conf.sources if source["schedule"] is not None]
    others = [source["name"] for source in conf.sources if source["schedule"] is None]
    made = []
    if others:
        # If no sources are named, a source that is added to the file needs no new deployment.
        chosen = {**parameters, "sources": others} if own else parameters
        made.append(_deployment(ingest, NAME, _schedule(when["ingest"], zone), chosen, others))
    for source in own:
        chosen = {**parameters, "sources": [source["name"]]}
        made.append(_deployment(ingest, source["name"], _schedule(source["schedule"], zone), chosen, [source["name"]]))
    made.append(_deployment(site, NAME, _schedule(when["site"], zone), parameters))
    made.append(_deployment(fleet_report, NAME, None, parameters))  # by its former name, for one release
    made.append(_deployment(regressions, NAME, _schedule(when["regressions"], zone), parameters))
    made.append(_deployment(maintain, NAME, _schedule(when["maintain"], zone), parameters))
    made.append(_deployment(backfill, NAME, None, parameters))
    return made


def _deployment(
    flow: Flow, name: str, schedule: Schedule | None, parameters: dict[str, Any], sources: Sequence[str] = ()
) -> dict[str, Any]:
    tags = [NAME, SERVED, flow.name, *(f"source:{source}" for source in sources)]
    return {"flow": flow, "name": name, "schedule": schedule, "parameters": parameters, "tags": tags}


def _schedule(when: float | str | None, zone: str) -> Schedule | None:
    if when in (None, "off"):
        return None
    return (
        Cron(when, timezone=zone) if isinstance(when, str) else Interval(timedelta(seconds=when), anchor_date=_ANCHOR)
    )


class _Served(Runner):
    def handle_sigterm(self, *args: Any, **kwargs: Any) -> None:
        """End as Ctrl-C does; Prefect's own handler makes a coroutine that is never awaited.

        It ends between two steps of the loop: in the middle of a step a flow run may be half begun, and would not be
        ended.
        """
        _between_steps(partial(sys.exit, 0))


_ending: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def _between_steps(end: Callable[[], object]) -> None:
    """End the loop once: a second Ctrl-C while it ends would leave a thread that is never stopped."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # the loop is over
        end()
        return
    if loop not in _ending:
        _ending.add(loop)
        loop.call_soon_threadsafe(end)


@contextmanager
def _signals_between_steps() -> Iterator[None]:
    """Let Ctrl-C end the loop: asyncio would end only the runner, which waits for the current flow run.

    SIGTERM also ends the loop while deployments are made, before the runner handles it.
    """
    interrupt = partial(signal.default_int_handler, signal.SIGINT, None)
    ends = {signal.SIGINT: interrupt, signal.SIGTERM: partial(sys.exit, 0)}
    before = {number: signal.signal(number, lambda *_, end=end: _between_steps(end)) for number, end in ends.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def serve(conf: Config, settings: Sequence[str] = (), *, poll_seconds: float = 10.0) -> None:
    """Run all flows on their schedules until SIGTERM or Ctrl-C; one flow run at a time uses the warehouse.

    Every `poll_seconds` the server is asked what is due. Deployments of an earlier configuration that are no longer
    configured are paused at the start, all others at the end.
    """
    os.environ[callers.SERVED] = callers.served(conf, settings)  # flow runs are processes of their own
    with flow_runs_forked(), _own_temporary_folder(), _signals_between_steps():
        # Several flow runs at once would only wait for one another, each with a batch in memory. The runner itself
        # cannot pause deployments during a flow run: the end of the loop cancels its requests, too.
        runner = _Served(name=NAME, query_seconds=poll_seconds, limit=1, pause_on_shutdown=False)
        wanted = deployments(conf, settings)
        try:
            asyncio.run(_started(runner, wanted, poll_seconds))
        finally:
            _pause(wanted)


async def _started(runner: Runner, wanted: Sequence[dict[str, Any]], poll_seconds: float) -> None:
    asyncio.get_running_loop().set_exception_handler(_pass_over_cancelled)
    made = [await runner.aadd_flow(**deployment) for deployment in wanted]
    with get_client(sync_client=True) as client:
        _pause_forgotten(client, made)
        _cancel_overtaken(client, made, is_served=False)
    # Prefect's settings are in the context, and a new thread has an empty one.
    watch = partial(copy_context().run, _pass_over_overtaken, made, poll_seconds)
    threading.Thread(target=watch, daemon=True).start()
    await runner.start()


def _pass_over_cancelled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report faults, except a connection that the end of the loop cancels: Python 3.11 reports it as a fault."""
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)


def _pause(wanted: Sequence[dict[str, Any]]) -> None:
    """Pause deployments by name, as one may just have been made; warn if the server is away, and they stay active."""
    log = get_logger("runner")
    log.info("Pausing all deployments...")
    try:
        with get_client(sync_client=True) as client:
            for one in wanted:
                with suppress(ObjectNotFound):  # it was removed, or not made yet
                    client.pause_deployment(client.read_deployment_by_name(f"{one['flow'].name}/{one['name']}").id)
    except httpx.HTTPError as error:
        log.warning("Prefect's server is away, so its deployments are not paused: %s", error)
        return
    log.info("All deployments have been paused!")


def _pause_forgotten(client: SyncPrefectClient, made: Sequence[UUID]) -> None:
    """Pause our deployments that are no longer configured, which a killed process could not pause.

    Prefect would continue to schedule flow runs for them, which no process carries out.
    """
    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[SERVED]))
    for found in client.read_deployments(deployment_filter=ours):
        if found.id not in made and not found.paused:
            client.pause_deployment(found.id)
            get_logger("runner").info("Paused deployment %r, which is not configured any more", found.name)


@contextmanager
def _own_temporary_folder() -> Iterator[None]:
    """Let this process put temporary files into a folder of its own.

    Prefect's runner makes `runner_storage` there, so no other user of the machine can write to it.
    """
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="bufferhouse-serve-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _pass_over_overtaken(made: Sequence[UUID], poll_seconds: float) -> None:
    while True:
        try:
            with get_client(sync_client=True) as client:
                while True:
                    _cancel_overtaken(client, made, is_served=True)
                    time.sleep(poll_seconds)
        except Exception as error:  # the server is away, or busy: a later attempt is enough
            get_logger("bufferhouse").debug("overtaken flow runs are left as they are: %s", error)
            time.sleep(poll_seconds)


def _cancel_overtaken(client: SyncPrefectClient, made: Sequence[UUID], *, is_served: bool) -> None:
    """Cancel scheduled flow runs that are due if a later one of the same deployment is due, too.

    They pile up while a pass takes longer than its schedule, or while no process serves. The oldest run first, find
    nothing new, and make all other flows wait. While these deployments are served, the oldest of each stays: the runner
    may be starting it at this moment, and if it is canceled then, its crash is not recorded.
    """
    newest_first = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(
            deployment_id=FlowRunFilterDeploymentId(any_=list(made)),
            tags=FlowRunFilterTags(all_=["auto-scheduled"]),
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
            expected_start_time=FlowRunFilterExpectedStartTime(before_=datetime.now(UTC)),
        ),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
    )
    due = by(lambda run: run.deployment_id, reversed(newest_first))
    for oldest, *overtaken, _ in (runs for runs in due.values() if len(runs) > 1):
        for run in overtaken if is_served else [oldest, *overtaken]:
            client.set_flow_run_state(run.id, Cancelled(message="overtaken by a later one"))
