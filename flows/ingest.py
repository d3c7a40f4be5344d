"""The flow `ingest`: each source into its runs. Discover → parse and validate → load → publish.

A source has a task to discover its files, a batch one to parse and one to load. A task of Prefect costs 10 to 30 ms of
processor time and a dump a fraction of a millisecond, so there is no task per dump. Batches travel between tasks in
memory, never through Prefect's storage.
"""

import argparse
import logging
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

from prefect import flow, runtime, tags
from prefect.states import Completed, Failed, State
from pydantic import Field

from bufferhouse import redaction
from bufferhouse.config.load import Config
from bufferhouse.errors import (
    EXPECTED,
    SourceUnavailable,
    UsageError,
    WarehouseBusy,
    WarehouseInUse,
    counted,
    first_line,
    or_wait,
)
from bufferhouse.ingest import pipeline
from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.source import chosen_sources
from bufferhouse.ingest.summary import Summary, total_of
from bufferhouse.models.checks import found_by_checks
from bufferhouse.paths import FLOWS
from bufferhouse.report.flow_summary import pass_summary
from bufferhouse.report.summary import lines
from bufferhouse.tabulate.batch import Refusal
from bufferhouse.warehouse.address import Address
from bufferhouse.warehouse.run_names import check_new_name
from bufferhouse.warehouse.warehouse import Warehouse
from flows import callers, events
from flows.parsers import chosen_workers
from flows.server import own_authentication, records_said
from flows.steps import Progress, ended_by, leave_summary, log, run_step, writing


def _name() -> str:
    sources = runtime.flow_run.parameters.get("sources") or ["all sources"]
    return f"ingest {', '.join(map(str, sources))[:80]} {datetime.now(UTC):%Y-%m-%d %H:%M:%S}"


@flow(name="ingest", flow_run_name=_name, log_prints=False, validate_parameters=True, **events.TOLD)
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
    """Load the new dumps of some sources into the warehouse, one transaction for each batch, and publish it.

    Ends as Completed, called `Completed with rejects` if dumps were refused. Ends as Failed if too many were refused,
    if the files and directories of the call have no dump, or if the flow cannot be carried out. The artifact
    `ingest-summary` says what was done.

    Args:
        sources: Names of configured sources, or files, directories, globs and URLs; else all configured sources.
        warehouse: The warehouse, file or lake; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        run: Name of the run that all dumps belong to; else the source or each directory decides.
        labels: Facts about the runs, such as track: nightly.
        workers: Processes of a local Dask cluster, if one is used; else one for each core.
        publish_copy: Publish a copy for readers at the end; else as configured, else yes.
        wait_seconds: How long to wait for another writer; else as configured, else 300.
        failing_share: The flow fails when more than this share of its new dumps is refused or cannot be read; else 0.5.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that replace configured ones, such as thresholds.failing_share=0.2.
    """
    started = time.monotonic()
    by_source: dict[str, Summary] = {}
    try:
        conf, path, wait = callers.chosen(
            config, settings, warehouse, wait_seconds, sources=sources or (), workers=workers
        )
        if run is not None:
            check_new_name(run)
        observer = _Observer()
        pipeline.ingest(
            chosen_sources(conf, sources, run, labels),
            _writing(path, wait, conf, by_source),
            run=run_step,
            tell=observer.tell,
            workers=chosen_workers(conf, workers),
            listings=Listings.beside(path),
            publish=conf["warehouse"]["publish"] if publish_copy is None else publish_copy,
            by_source=by_source,
        )
    except Exception as error:
        return ended_by(error)
    observer.progress.reach(1, 1)
    total = total_of(by_source)
    total.seconds = round(time.monotonic() - started, 3)
    events.tell_checks(conf, found_by_checks(observer.refusals, total.warnings))
    events.tell_rejects(conf, by_source)
    for name, one in by_source.items():
        if one.fault:
            log(one.fault, source=name, level=logging.ERROR)
        for line in one.archive_lines():
            log(line, source=name, level=logging.WARNING)
    for line in lines(total):
        log(line)
    copy = path.published
    published = str(copy) if copy is not None and copy.exists() else None
    markdown = pass_summary(total, by_source, published=published, warehouse_bytes=path.size_bytes)
    leave_summary("ingest-summary", markdown, "What the ingest did.")
    share = conf["thresholds"]["failing_share"] if failing_share is None else failing_share
    return _final_state(total, share, by_source)


@contextmanager
def _writing(address: Address, wait: float, conf: Config, by_source: Mapping[str, Summary]) -> Iterator[Warehouse]:
    """Yield the warehouse, open for writing; emit events about stale sources when all is loaded."""
    with writing(address, wait) as writer:
        yield writer
        events.tell_stale(writer.con, conf, by_source)


class _Observer:
    """Is told of each loaded batch: updates a progress artifact, writes a line of the log, keeps refusals of checks."""

    def __init__(self) -> None:
        self.progress = Progress("ingest-progress", "Share of the new dumps that is loaded.")
        self.refusals: list[Refusal] = []

    def tell(self, batch: pipeline.Progress) -> None:
        """Note a loaded batch."""
        loaded = batch.loaded
        self.refusals += [refusal for _, refusal in loaded.rejects]
        log(
            f"{loaded.new_count} new, {loaded.known_count} known, {len(loaded.rejects)} rejected",
            source=batch.source,
            runs=sorted({sighting.run_name for sighting in batch.batch.sightings}),
            batch=batch.number,
        )
        self.progress.reach(batch.done, batch.total)


def _final_state(summary: Summary, failing_share: float, by_source: Mapping[str, Summary]) -> State:
    faults = [one for one in by_source.values() if one.fault]
    if faults:
        return Failed(message="; ".join(one.fault for one in faults), data=faults[0].error)
    for name, one in by_source.items():
        if one.endings is not None:
            return Failed(message=f"{name}: {lines(one)[0]}")
    # Logs are left out: one that cannot be read would make each pass fail that finds nothing new.
    refused = summary.rejected + len(summary.unreadable) - summary.unreadable_logs
    # Dumps that were seen before, loaded or refused, were judged then. A single refusal among the new dumps is judged
    # with the known dumps: it alone would be a share of 100 %.
    judged = summary.rows["observations"] + refused if refused > 1 else summary.seen - summary.known_rejected
    if judged and refused / judged > failing_share:
        said = f"{refused} of {counted(judged, 'dump')} refused or not readable"
        return Failed(message=f"{said}, more than {failing_share:.0%}")
    if summary.exit_code:
        said = f"{summary.rejected} of {counted(summary.seen, 'dump')} refused"
        if summary.refused_messages:
            said += f", {counted(summary.refused_messages, 'message')} of logs refused"
        said += f", {len(summary.unreadable)} not readable"
        if summary.unplaced:
            said += f", {counted(len(summary.unplaced), 'log')} of no known run"
        return Completed(name="Completed with rejects", message=said, data=summary.told())
    others = f", {summary.known_rejected} rejected before" if summary.known_rejected else ""
    others += f", {len(summary.waiting)} waiting" if summary.waiting else ""
    others += f", {counted(len(summary.archives), 'file')} not opened" if summary.archives else ""
    return Completed(message=f"{summary.new} new, {summary.known} known{others}", data=summary.told())


def main() -> int:
    """Run the flow from the command line, with a temporary server if none is configured.

    The exit code is that of `bufferhouse ingest`: 0 good, 1 something was refused, 2 usage, 3 the warehouse is busy.
    """
    redaction.guard()
    parser = argparse.ArgumentParser(
        prog=f"python -m {FLOWS}.ingest", description="Load dumps into the warehouse as a Prefect flow."
    )
    parser.add_argument("sources", nargs="*", help="configured sources, files, globs or directories; else all sources")
    parser.add_argument("--warehouse", help="file or lake; else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb here")
    parser.add_argument("--run", help="name of the run all dumps belong to")
    parser.add_argument("--wait", type=float, help="seconds to wait for another writer; else 300")
    parser.add_argument("--config", help="the configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml here")
    call = parser.parse_args()
    if call.wait is not None and call.wait < 0:
        parser.error(f"argument --wait: expected seconds, 0 or more, found {call.wait:g}")
    # Prefect's temporary server ends only if Python exits normally.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
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
    except UsageError as error:
        print(f"bufferhouse: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:  # of Prefect's temporary server: what the flow raises is in its state
        print(f"bufferhouse: {first_line(error).rstrip('.')}, for the reason above; {records_said()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bufferhouse: interrupted; what was committed is kept", file=sys.stderr)
        return 130
    if state.is_completed():
        return 0 if state.name == "Completed" else 1
    error = state.result(raise_on_failure=False)
    said = or_wait(error, "--wait SECONDS") if isinstance(error, WarehouseInUse) else state.message
    print(f"bufferhouse: {said}", file=sys.stderr)
    return 3 if isinstance(error, WarehouseBusy | SourceUnavailable) else 2 if isinstance(error, EXPECTED) else 1


if __name__ == "__main__":
    sys.exit(main())
