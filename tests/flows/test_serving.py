"""How the loop of `bufferhouse serve` ends, and which flow runs it passes over, on a real Prefect server."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import Scheduled

from flows import serving

pytest_plugins = ["tests.flows.prefect_server"]


def test_a_loop_is_ended_once():
    """A second Ctrl-C while it ends does nothing: Prefect's threads would wait for good. Afterwards each ends."""
    ended: list[int] = []

    async def run() -> None:
        for number in range(3):
            serving._between_steps(lambda number=number: ended.append(number))
        await asyncio.sleep(0)

    for _ in range(2):
        asyncio.run(run())
    assert [0, 0] == ended
    serving._between_steps(lambda: ended.append(3))
    assert [0, 0, 3] == ended


@pytest.mark.parametrize(
    ("is_served", "expected"),
    [(True, ["oldest", "asked", "newest", "later"]), (False, ["asked", "newest", "later"])],
)
def test_overtaken_flow_runs_are_passed_over(is_served: bool, expected: list[str], prefect_server):
    """While they are served all but the oldest, which the runner may be taking: a crash of it would be lost.

    One that is not due yet, one that somebody asked for, and those of deployments of others stay.
    """
    with get_client(sync_client=True) as client:
        ours, others = (_deployment(client, name) for name in ("ours", "others"))
        for deployment in (ours, others):
            for name, minutes in {"newest": -1, "oldest": -9, "older": -8, "old": -2, "later": 5}.items():
                _schedule(client, deployment, name, minutes, "auto-scheduled")
        _schedule(client, ours, "asked", -5)
        serving._cancel_overtaken(client, [ours], is_served=is_served)
        assert expected == _scheduled(client, ours)
        assert ["oldest", "older", "old", "newest", "later"] == _scheduled(client, others)
        for deployment in (ours, others):
            client.delete_deployment(deployment)


def _deployment(client: SyncPrefectClient, name: str) -> UUID:
    @flow(name="overtaken")
    def nothing() -> None:
        pass

    return client.create_deployment(client.create_flow(nothing), name)


def _schedule(client: SyncPrefectClient, deployment: UUID, name: str, minutes: int, *tags: str) -> None:
    when = datetime.now(UTC) + timedelta(minutes=minutes)
    client.create_flow_run_from_deployment(deployment, name=name, state=Scheduled(scheduled_time=when), tags=tags)


def _scheduled(client: SyncPrefectClient, deployment: UUID) -> list[str]:
    wanted = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[deployment]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
    )
    found = client.read_flow_runs(flow_run_filter=wanted, sort=FlowRunSort.EXPECTED_START_TIME_ASC)
    return [run.name for run in found]
