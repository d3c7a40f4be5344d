"""The flow `fleet_report`: the former name of the flow `site`, for one release."""

from datetime import UTC, datetime
from typing import Annotated

from prefect import flow
from prefect.states import State
from pydantic import Field

from flows import events
from flows.site import TRENDS, brought_up_to_date


@flow(name="fleet_report", flow_run_name=lambda: f"fleet report {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", **events.TOLD)
def fleet_report(
    warehouse: str | None = None,
    target: str | None = None,
    history: bool | None = None,
    url: str | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Bring the site up to date as the flow `site` does, and leave a link to its page fleet.html.

    With history the fleet report stays under its date as well. The artifacts `fleet-report` and
    `fleet-report-summary` say where it is and what was written. It has no schedule of its own any more.

    Args:
        warehouse: The warehouse, file or lake; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        target: A folder or an s3:// URL; else as configured, else the folder reports beside the warehouse.
        history: Keep each report under its date; else as configured, else yes.
        url: Where people see the target, for links; else as configured.
        wait_seconds: How long to wait for a writer, where there is no published copy; else as configured, else 300.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that replace configured ones, such as report.history=false.
    """
    chosen = (warehouse, target, history, url, wait_seconds, config, settings)
    return brought_up_to_date(*chosen, key="fleet-report", shown=TRENDS)
