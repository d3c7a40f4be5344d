"""The flow `site`: the whole site into a folder or bucket, with a link to it."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any

from prefect import flow
from prefect.states import Completed, State
from pydantic import Field

from bufferhouse.errors import UsageError
from bufferhouse.report.fleet.data import Fleet, read_fleet
from bufferhouse.report.flow_summary import figures
from bufferhouse.report.site.manifest import Built
from bufferhouse.report.site.site import build_site
from bufferhouse.report.site.target import target_of
from bufferhouse.report.writing import link_to
from bufferhouse.warehouse.address import address_of
from flows import callers, events
from flows.steps import Held, ended_by, leave_link, leave_summary, step

INDEX, TRENDS = "index.html", "fleet.html"


@step(name="build", task_run_name="build {target}")
def build(warehouse: str, target: str, conf: Held, wait_seconds: float) -> Built:
    """Write the pages that changed."""
    return build_site(address_of(warehouse), target_of(target), conf.value, wait=wait_seconds)


@step(name="keep", task_run_name="keep {name}")
def keep(warehouse: str, target: str, name: str, wait_seconds: float) -> Held:
    """Keep the fleet report under its date, as one page that needs no other file; return its figures and its place."""
    from bufferhouse.report.fleet.page import fleet_page  # Altair takes half a second to import

    fleet, there = read_fleet(address_of(warehouse), wait=wait_seconds), target_of(target)
    there.write([(name, fleet_page(fleet).encode("utf-8"))])
    return Held((fleet, f"{there}/{name}"))


@flow(name="site", flow_run_name=lambda: f"site {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", **events.TOLD)
def site(
    warehouse: str | None = None,
    target: str | None = None,
    history: bool | None = None,
    url: str | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Bring the site up to date, and leave a link to it.

    Unchanged pages are not written. With history the fleet report is also kept under its date. The artifacts `site` and
    `site-summary` say where the site is and what was written.

    Args:
        warehouse: The warehouse, file or lake; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        target: A folder or an s3:// URL; else as configured, else the folder reports beside the warehouse.
        history: Keep the fleet report under its date; else as configured, else yes.
        url: Where people see the target, for links; else as configured.
        wait_seconds: How long to wait for a writer if there is no published copy; else as configured, else 300.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that replace configured ones, such as report.history=false.
    """
    chosen = (warehouse, target, history, url, wait_seconds, config, settings)
    return brought_up_to_date(*chosen, key="site", shown=INDEX)


def brought_up_to_date(
    warehouse: str | None,
    target: str | None,
    history: bool | None,
    url: str | None,
    wait_seconds: float | None,
    config: str | None,
    settings: list[str] | None,
    *,
    key: str,
    shown: str,
) -> State:
    """Run the flow; `key` begins the names of its artifacts, and the link leads to the page `shown`."""
    started, moment, place = time.monotonic(), datetime.now(UTC), ""
    try:
        conf, path, wait = callers.chosen(config, settings, warehouse, wait_seconds, target=target, url=url)
        configured = conf["report"]["target"]
        given = callers.place(conf, target) if target else configured and conf.place(configured)
        place = given or str(path.folder / "reports")
        built = build(str(path), place, Held(conf), wait)
        names = {shown: f"{target_of(place)}/{shown}"}
        fleet = None
        if conf["report"]["history"] if history is None else history:
            dated = f"history/fleet-{moment:%Y%m%dT%H%M%SZ}.html"
            fleet, names[dated] = keep(str(path), place, dated, wait).value
    except OSError as error:
        return ended_by(UsageError(f"{place}: {error.strerror or error}"))
    except Exception as error:
        return ended_by(error)
    links = {name: link_to(where, name, url or conf["report"]["url"]) for name, where in names.items()}
    rows = {**_rows(built, fleet), "seconds": f"{time.monotonic() - started:.1f}"}
    rows |= {name: f"[{name}]({link})" for name, link in links.items()}
    note = f"\n\n{fleet.note}" if fleet and fleet.note else ""
    leave_summary(f"{key}-summary", figures(rows) + note, "The site.")
    # The former flow linked to a page that does not change: the report of the day.
    link = links[shown] if shown == INDEX else list(links.values())[-1]
    leave_link(key, link, key.replace("-", " "), "The site of this warehouse.")
    return Completed(message=links[shown], data=links)


def _rows(built: Built, fleet: Fleet | None) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    if fleet is not None:
        names = ("run", "dump", "content", "program", "reject")
        rows = {f"{name}s": fleet.overview[f"{name}_count"] for name in names}
    return rows | {"pages": built.page_count, "pages written": built.written_count, "bytes": built.written_bytes}
