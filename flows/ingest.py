"""The flow `ingest`: discover → parse and validate → load → publish, one task a batch.

A Prefect task costs about 20 ms of server time and a dump a fraction of a millisecond, so nothing here is done per
dump. Batches travel between tasks in memory, never through Prefect's storage.
"""

import argparse
import sys
import time
from concurrent.futures import Executor
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State
from pydantic import Field

from bufferhouse import ingest as steps
from bufferhouse import sources as finding
from bufferhouse.errors import ModelError, UsageError, WarehouseBusy, WarehouseError
from bufferhouse.load import Loaded
from bufferhouse.load import load as load_batch
from bufferhouse.report.summary import lines, markdown
from bufferhouse.warehouse import Warehouse, default_path
from bufferhouse.workers import executor, worker_count

_EXPECTED = (UsageError, WarehouseError, ModelError, WarehouseBusy)  # their messages say all there is to say
_PERMANENT = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)


class Held:
    """A large object on its way between tasks: Prefect looks for futures in arguments, but not inside this."""

    def __init__(self, value: Any) -> None:
        self.value = value


def is_transient(_task: Any, _run: Any, state: State) -> bool:
    """Say whether trying again can help: a lock or an I/O error may pass, a bad call or a bad dump never does."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, WarehouseBusy | OSError) and not isinstance(error, _PERMANENT)


_step = task(
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=3,
    retry_delay_seconds=[1, 5, 20],
    retry_jitter_factor=0.5,
    retry_condition_fn=is_transient,
    log_prints=False,
)


@_step(name="discover")
def discover(sources: list[str], run: str | None, labels: dict[str, str]) -> Held:
    """Find the dumps of all sources and the runs they belong to."""
    return Held(finding.discover(sources, run_name=run, labels=labels))


@_step(name="parse", task_run_name="parse batch {number}")
def parse(number: int, batch: Held, pool: Held) -> Held:
    """Parse and tabulate the new contents of one batch."""
    workers: Executor | None
    workers, count = pool.value
    return Held(steps.parse_batch(batch.value, executor=workers, workers=count))


@_step(name="load", task_run_name="load batch {number}")
def load(number: int, parsed: Held, warehouse: Held, runs: Held, started_at: datetime) -> Held:
    """Load one batch in one transaction, models and checks included."""
    return Held(load_batch(warehouse.value, parsed.value, runs.value, started_at))


@_step(name="publish")
def publish(warehouse: Held) -> str:
    """Publish a copy for readers."""
    return str(warehouse.value.publish())


@flow(name="ingest", log_prints=False, validate_parameters=True)
def ingest(
    sources: Annotated[list[str], Field(min_length=1)],
    warehouse: str | None = None,
    run: str | None = None,
    labels: dict[str, str] | None = None,
    workers: Annotated[int | None, Field(ge=1)] = None,
    publish_copy: bool = True,
    wait_seconds: Annotated[float, Field(ge=0)] = 300.0,
    failing_share: Annotated[float, Field(ge=0, le=1)] = 0.5,
) -> State:
    """Load the dumps of some sources into the warehouse, one transaction a batch, and publish it.

    Ends Completed, named `Completed with rejects` where dumps were refused, and Failed where too many were or the
    call cannot be carried out. The artifact `ingest-summary` says what was done.

    Args:
        sources: Files, globs or directories with dumps.
        warehouse: The warehouse file; else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb in the working directory.
        run: Name of the run all dumps belong to; else each directory is one.
        labels: Facts about the runs, such as track: nightly.
        workers: Processes that parse; else by the size of the input.
        publish_copy: Publish a copy for readers at the end.
        wait_seconds: How long to wait for another writer.
        failing_share: The flow fails when more than this share of the dumps is refused or cannot be read.
    """
    started = time.monotonic()
    summary = steps.Summary()
    path = Path(warehouse) if warehouse else default_path()
    try:
        found = discover(sources, run, labels or {}).value
        count = worker_count(workers, sum(dump.size_bytes for dump in found.dumps))
        with executor(count) as pool, Warehouse(path, wait=wait_seconds) as writer:
            _load_batches(writer, found, summary, Held((pool, count)))
            published = publish(Held(writer)) if publish_copy else None
    except _EXPECTED as error:
        # Were it raised, Prefect would log its traceback and pickle it into the storage of results.
        return Failed(message=str(error), data=error)
    summary.seconds = round(time.monotonic() - started, 3)
    for line in lines(summary):
        get_run_logger().info(line)
    create_markdown_artifact(markdown(summary, published), key="ingest-summary", description="What the ingest did.")
    return _final_state(summary, failing_share)


def _load_batches(writer: Warehouse, found: finding.Discovery, summary: steps.Summary, pool: Held) -> None:
    """Read, parse and load what is new, batch by batch, and count it in `summary`."""
    fresh = steps.unknown_files(writer, found, summary)
    for number, batch in enumerate(steps.read_batches(writer, fresh), 1):
        started_at = datetime.now(UTC)
        summary.unreadable += batch.unreadable
        parsed = parse(number, Held(batch), pool)
        loaded: Loaded = load(number, parsed, Held(writer), Held(found.runs), started_at).value
        summary.add(loaded)
        get_run_logger().info(
            "batch %d: %d new, %d known, %d rejected", number, summary.new, summary.known, summary.rejected
        )


def _final_state(summary: steps.Summary, failing_share: float) -> State:
    refused = summary.rejected + summary.known_rejected + len(summary.unreadable)
    if summary.seen and refused / summary.seen > failing_share:
        return Failed(
            message=f"{refused} of {summary.seen} dumps were refused or not readable, more than {failing_share:.0%}"
        )
    if summary.exit_code:
        return Completed(
            name="Completed with rejects",
            message=f"{summary.rejected} of {summary.seen} dumps were refused, {len(summary.unreadable)} not readable",
            data=summary.as_dict(),
        )
    return Completed(message=f"{summary.new} new, {summary.known} known", data=summary.as_dict())


def main() -> int:
    """Run the flow from the command line, with a temporary server where none is configured.

    Exits as `bufferhouse ingest` does: 0 good, 1 something was refused, 2 usage, 3 the warehouse is busy.
    """
    parser = argparse.ArgumentParser(
        prog="python -m flows.ingest", description="Load dumps into the warehouse as a Prefect flow."
    )
    parser.add_argument("sources", nargs="+", help="files, globs or directories with dumps")
    parser.add_argument("--warehouse", help="warehouse file; else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb here")
    parser.add_argument("--run", help="name of the run all dumps belong to")
    parser.add_argument("--wait", type=float, default=300.0, help="seconds to wait for another writer")
    call = parser.parse_args()
    try:
        state = ingest(call.sources, warehouse=call.warehouse, run=call.run, wait_seconds=call.wait, return_state=True)
    except KeyboardInterrupt:
        print("bufferhouse: interrupted; what was committed is kept", file=sys.stderr)
        return 130
    if state.is_completed():
        return 0 if state.name == "Completed" else 1
    print(f"bufferhouse: {state.message}", file=sys.stderr)
    error = state.result(raise_on_failure=False)
    return 3 if isinstance(error, WarehouseBusy) else 2 if isinstance(error, _EXPECTED) else 1


if __name__ == "__main__":
    sys.exit(main())
