"""The flow `fleet_report`: the fleet report into a folder or bucket, with a link to it."""

import time
from datetime import UTC, datetime
from typing import Annotated

from prefect import flow
from prefect.states import Completed, Failed, State
from pydantic import Field

from bufferhouse.errors import UsageError
from bufferhouse.redaction import cleaned
from bufferhouse.report.fleet.data import read_fleet
from bufferhouse.report.flow_summary import figures
from bufferhouse.report.writing import deliver, link_to
from bufferhouse.warehouse.address import address_of
from flows import callers
from flows.steps import EXPECTED, Held, leave_link, leave_summary, step

NEWEST = "fleet.html"


@step(name="render")
def render(warehouse: str, wait_seconds: float) -> Held:
    """Read the warehouse and make the page."""
    from bufferhouse.report.fleet.page import fleet_page  # Altair takes half a second to import

    fleet = read_fleet(address_of(warehouse), wait=wait_seconds)
    return Held((fleet_page(fleet), fleet))


@step(name="deliver", task_run_name="deliver {name}")
def write(page: Held, target: str, name: str) -> str:
    """Write the page to its target."""
    return deliver(page.value, target, name)


@flow(name="fleet_report", flow_run_name=lambda: f"fleet report {datetime.now(UTC):%Y-%m-%d %H:%M:%S}")
def fleet_report(
    warehouse: str | None = None,
    target: str | None = None,
    history: bool | None = None,
    url: str | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Write the fleet report, and leave a link to it.

    The newest is always fleet.html; with history each one stays under its date as well. The artifacts
    `fleet-report` and `fleet-report-summary` say where it is and what it shows.

    Args:
        warehouse: The warehouse file; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        target: A folder or an s3:// URL; else as configured, else the folder reports beside the warehouse.
        history: Keep each report under its date; else as configured, else yes.
        url: Where people see the target, for links; else as configured.
        wait_seconds: How long to wait for a writer, where there is no published copy; else as configured, else 300.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that take the place of configured ones, such as report.history=false.
    """
    started, moment = time.monotonic(), datetime.now(UTC)
    try:
        conf, path = callers.chosen(config, settings, warehouse, target=target, url=url)
        given = target or (conf["report"]["target"] and conf.place(conf["report"]["target"]))
        place = given or str(path.folder / "reports")
        wait = conf["warehouse"]["wait"] if wait_seconds is None else wait_seconds
        page, fleet = render(str(path), wait).value
        names = [f"history/fleet-{moment:%Y%m%dT%H%M%SZ}.html"] if _or(history, conf["report"]["history"]) else []
        places = {name: write(Held(page), place, name) for name in [NEWEST, *names]}
    except EXPECTED as error:
        return Failed(message=str(error), data=error)
    except OSError as error:
        fault = UsageError(f"{place}: {error.strerror or error}")
        return Failed(message=str(fault), data=fault)
    except Exception as error:
        raise cleaned(error)  # noqa: B904  most often it is the same
    seen_at = url or conf["report"]["url"]
    links = {name: link_to(where, name, seen_at) for name, where in places.items()}
    facts = fleet.overview
    rows = {
        "runs": facts["run_count"],
        "dumps": facts["dump_count"],
        "contents": facts["content_count"],
        "programs": facts["program_count"],
        "rejects": facts["reject_count"],
        "bytes": len(page.encode("utf-8")),
        "seconds": f"{time.monotonic() - started:.1f}",
        **{name: f"[{name}]({link})" for name, link in links.items()},
    }
    leave_summary("fleet-report-summary", figures(rows) + (f"\n\n{fleet.note}" if fleet.note else ""), "The report.")
    leave_link("fleet-report", links[names[0] if names else NEWEST], "fleet report", "The fleet report of this run.")
    return Completed(message=links[NEWEST], data=links)


def _or(given: bool | None, configured: bool) -> bool:
    return configured if given is None else given
