"""Flow runs of a deployment, in this process."""

from uuid import uuid4

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow
from prefect.states import State


def run_deployed(flow: Flow, **parameters: object) -> State:
    """Run a flow as whoever serves it does, as a flow run of a deployment, here of one of its own."""
    with get_client(sync_client=True) as client:
        deployment_id = client.create_deployment(client.create_flow(flow), uuid4().hex)
        flow_run = client.create_flow_run_from_deployment(deployment_id, parameters=parameters)
    return run_flow(flow, flow_run=flow_run, parameters=parameters, return_type="state")
