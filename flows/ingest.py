"""The flow `ingest`: each source into its runs. Discover → parse and validate → load → publish, one task a batch.

A Prefect task costs about 20 ms of server time and a dump a fraction of a millisecond, so nothing here is done per
dump. Batches travel between tasks in memory, never through Prefect's storage.
"""

import argparse
import logging
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from prefect import flow, runtime, tags
from prefect.states import Completed, Failed, State
from pydantic import Field

from bufferhouse import redaction
from bufferhouse.errors import SourceUnavailable, WarehouseBusy, counted
from bufferhouse.ingest import source as passes
from bufferhouse.ingest.all_sources import chosen_sources, load_ready, total_of
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.source import Pass, Source
from bufferhouse.ingest.workers import OpenParsers
from bufferhouse.models.checks import CheckResult, found_by_checks
from bufferhouse.redaction import cleaned
from bufferhouse.report.flow_summary import pass_summary
from bufferhouse.report.summary import lines
from bufferhouse.tabulate.tables import ParsedBatch, Refusal
from bufferhouse.warehouse.files import is_published, published_path
from bufferhouse.warehouse.load import Loaded
from bufferhouse.warehouse.load import load as load_batch
from bufferhouse.warehouse.warehouse import Warehouse
from flows import callers, events
from flows.parsers import open_parsers
from flows.server import own_authentication
from flows.steps import EXPECTED, Held, Progress, leave_summary, log, step


@step(name="discover", task_run_name="discover {name}")
def discover(name: str, source: Held, listings: Held) -> Held:
    """List the files of one source; no dump is read."""
    return Held(passes.look(source.value, listings.value))


@step(name="load", task_run_name="load batch {number}")
def load(number: int, parsed: Held, warehouse: Held, runs: Held, started_at: datetime) -> Held:
    """Load one batch in one transaction, models and checks included."""
    return Held(load_batch(warehouse.value, parsed.value, runs.value, started_at))


@step(name="publish")
def publish(warehouse: Held) -> str:
    """Publish a copy for readers."""
    return str(warehouse.value.publish())


def _name() -> str:
    sources = runtime.flow_run.parameters.get("sources") or ["all sources"]
    return f"ingest {', '.join(map(str, sources))[:80]} {datetime.now(UTC):%Y-%m-%d %H:%M:%S}"


@flow(name="ingest", flow_run_name=_name, log_prints=False, validate_parameters=True)
def ingest(
    sources: Annotated[list[str], Field(min_length=1)] | None = None,
    warehouse: str | None = None,
    run: str | None = None,
    labels: dict[str, str] | None = None,
    workers: Annotated[int | None, Field(ge=1)] = None,
    publish_copy: bool | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    failing_share: Annotated[float | None, Field(ge=0, le=1)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Load the new dumps of some sources into the warehouse, one transaction a batch, and publish it.

    Ends Completed, named `Completed with rejects` where dumps were refused, and Failed where too many were or the
    call cannot be carried out. The artifact `ingest-summary` says what was done.

    Args:
        sources: Names of configured sources, or files, directories, globs and URLs; else all configured sources.
        warehouse: The warehouse file; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        run: Name of the run all dumps belong to; else the source or each directory says it.
        labels: Facts about the runs, such as track: nightly.
        workers: Processes that parse; else by the size of the input.
        publish_copy: Publish a copy for readers at the end; else as configured, else yes.
        wait_seconds: How long to wait for another writer; else as configured, else 300.
        failing_share: The flow fails when more than this share of the dumps is refused or cannot be read; else 0.5.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that take the place of configured ones, such as thresholds.failing_share=0.2.
    """
    started = time.monotonic()
    by_source: dict[str, Pass] = {}
    try:
        conf, path = callers.chosen(config, settings, warehouse, sources=sources or (), workers=workers)
        wait = conf["warehouse"]["wait"] if wait_seconds is None else wait_seconds
        chosen = chosen_sources(conf, sources, run, labels)
        by_source = {source.name: Pass() for source in chosen}
        seen = {source.name: _look(source, Listings.beside(path), by_source[source.name]) for source in chosen}
        if any(seen.values()):
            parsers = open_parsers(conf, workers)
            with Warehouse(path, wait=wait) as writer:
                number, refused = _load_all(writer, chosen, seen, by_source, parsers)
                events.tell_checks(conf, refused)
                events.tell_stale(writer.con, conf, by_source)
                should_publish = conf["warehouse"]["publish"] if publish_copy is None else publish_copy
                if should_publish and (number or not is_published(path)):
                    publish(Held(writer))
    except EXPECTED as error:
        # Were it raised, Prefect would log its traceback and pickle it into the storage of results.
        return Failed(message=str(error), data=error)
    except Exception as error:
        raise cleaned(error)  # noqa: B904  most often it is the same
    total = total_of(by_source)
    total.seconds = round(time.monotonic() - started, 3)
    events.tell_rejects(conf, by_source)
    for name, one in by_source.items():
        if one.fault:
            log(one.fault, source=name, level=logging.ERROR)
    for line in lines(total):
        log(line)
    size = path.stat().st_size if isinstance(path, Path) and path.exists() else None
    copy = published_path(path)
    published = str(copy) if copy is not None and copy.exists() else None
    markdown = pass_summary(total, by_source, published=published, warehouse_bytes=size)
    leave_summary("ingest-summary", markdown, "What the ingest did.")
    share = conf["thresholds"]["failing_share"] if failing_share is None else failing_share
    return _final_state(total, share, by_source)


def _look(source: Source, listings: Listings, result: Pass) -> passes.Seen | None:
    """List a source; None if that fails, which does not stop the other sources."""
    try:
        return discover(source.name[:80], Held(source), Held(listings)).value
    except EXPECTED as error:
        result.fault, result.error = str(error), error
        return None


def _load_all(
    writer: Warehouse,
    chosen: list[Source],
    seen: dict[str, passes.Seen | None],
    by_source: dict[str, Pass],
    parsers: OpenParsers,
) -> tuple[int, list[CheckResult]]:
    """Load the new and ready dumps of all sources; return the number of batches, and the findings of checks."""
    progress = Progress("ingest-progress", "Share of the new dumps that is loaded.")
    refusals: list[Refusal] = []
    names = {id(one): name for name, one in by_source.items()}
    load_one = partial(_load_one, writer, names, refusals)
    number = load_ready(writer, chosen, seen, by_source, parsers, load_one, progress.reach)
    progress.reach(1, 1)
    return number, found_by_checks(refusals, total_of(by_source).warnings)


def _load_one(
    writer: Warehouse,
    names: Mapping[int, str],
    refusals: list[Refusal],
    number: int,
    parsed: ParsedBatch,
    found: passes.Seen,
    result: Pass,
    started_at: datetime,
) -> None:
    loaded: Loaded = load(number, Held(parsed), Held(writer), Held(found.discovery.runs), started_at).value
    result.add(loaded)
    refusals += [refusal for _, refusal in loaded.rejects]
    log(
        f"{loaded.new_count} new, {loaded.known_count} known, {len(loaded.rejects)} rejected",
        source=names[id(result)],
        runs=sorted({sighting.run_name for sighting in parsed.sightings}),
        batch=number,
    )


def _final_state(summary: Pass, failing_share: float, by_source: Mapping[str, Pass]) -> State:
    faults = [one for one in by_source.values() if one.fault]
    if faults:
        return Failed(message="; ".join(one.fault for one in faults), data=faults[0].error)
    refused = summary.rejected + summary.known_rejected + len(summary.unreadable)
    if summary.seen and refused / summary.seen > failing_share:
        said = f"{refused} of {counted(summary.seen, 'dump')} refused or not readable"
        return Failed(message=f"{said}, more than {failing_share:.0%}")
    if summary.exit_code:
        said = f"{summary.rejected} of {counted(summary.seen, 'dump')} refused"
        return Completed(
            name="Completed with rejects",
            message=f"{said}, {len(summary.unreadable)} not readable",
            data=summary.told(),
        )
    waiting = f", {len(summary.waiting)} waiting" if summary.waiting else ""
    return Completed(message=f"{summary.new} new, {summary.known} known{waiting}", data=summary.told())


def main() -> int:
    """Run the flow from the command line, with a temporary server where none is configured.

    Exits as `bufferhouse ingest` does: 0 good, 1 something was refused, 2 usage, 3 the warehouse is busy.
    """
    redaction.guard()
    parser = argparse.ArgumentParser(
        prog="python -m flows.ingest", description="Load dumps into the warehouse as a Prefect flow."
    )
    parser.add_argument("sources", nargs="*", help="configured sources, files, globs or directories; else all sources")
    parser.add_argument("--warehouse", help="warehouse file; else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb here")
    parser.add_argument("--run", help="name of the run all dumps belong to")
    parser.add_argument("--wait", type=float, help="seconds to wait for another writer; else 300")
    parser.add_argument("--config", help="the configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml here")
    call = parser.parse_args()
    try:
        with own_authentication(), tags("bufferhouse", "ingest"):
            state = ingest(
                call.sources or None,
                warehouse=call.warehouse,
                run=call.run,
                wait_seconds=call.wait,
                config=call.config,
                return_state=True,
            )
    except KeyboardInterrupt:
        print("bufferhouse: interrupted; what was committed is kept", file=sys.stderr)
        return 130
    if state.is_completed():
        return 0 if state.name == "Completed" else 1
    print(f"bufferhouse: {state.message}", file=sys.stderr)
    error = state.result(raise_on_failure=False)
    return 3 if isinstance(error, WarehouseBusy | SourceUnavailable) else 2 if isinstance(error, EXPECTED) else 1


if __name__ == "__main__":
    sys.exit(main())
