"""The flow `backfill`: parse or build again the dumps in the warehouse, by run or by date."""

import time
from datetime import UTC, datetime
from typing import Annotated, Literal

from prefect import flow
from prefect.states import Completed, State
from pydantic import Field

from bufferhouse.errors import counted
from bufferhouse.report.flow_summary import bullets, figures
from bufferhouse.warehouse import reparse as again
from flows import callers, events
from flows.steps import Held, Progress, ended_by, leave_summary, publish, step, writing

_PARSED = "; no dump that was chosen was parsed by another version, and only `every` parses the others again"
_NO_DUMPS = "; no run that was chosen has dumps"


@step(name="reparse")
def reparse(writer: Held, dump_ids: Held, progress: Held) -> Held:
    """Parse dumps again, from their rows, in batches of a transaction each."""
    return Held(again.reparse(writer.value, dump_ids.value, progress=progress.value.reach))


@step(name="rebuild")
def rebuild(writer: Held, dump_ids: Held, progress: Held) -> Held:
    """Compute the rows of the incremental models again for some dumps; changed models were built on opening."""
    return Held(again.Reparsed(again.rebuild(writer.value, dump_ids.value, progress=progress.value.reach)))


@flow(name="backfill", flow_run_name=lambda: f"backfill {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", **events.TOLD)
def backfill(
    work: Literal["reparse", "rebuild"] = "reparse",
    runs: list[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    every: bool = False,
    warehouse: str | None = None,
    publish_copy: bool | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Parse dumps again with the current parser, or compute the rows of the incremental models again.

    The bytes come from the warehouse itself; the sources need not be there. The artifact `backfill-summary` says what
    was done.

    Args:
        work: Parse again, which includes the models, or only build the models again.
        runs: Only dumps that these runs have seen; else of all runs.
        since: Only dumps of runs that started at this moment or later.
        until: Only dumps of runs that started before this moment.
        every: Also parse again the dumps that this version of the parser has parsed.
        warehouse: The warehouse, file or lake; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        publish_copy: Publish a copy for readers at the end; else as configured, else yes.
        wait_seconds: How long to wait for another writer; else as configured, else 300.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that replace configured ones, such as warehouse.wait=1h.
    """
    started = time.monotonic()
    try:
        conf, found_at, wait = callers.chosen(config, settings, warehouse, wait_seconds)
        path = found_at.existing()
        progress = Progress("backfill-progress", "Share of the chosen dumps that is done.")
        with writing(path, wait) as writer:
            is_outdated_only = work == "reparse" and not every
            ids = again.dumps_of(writer.con, runs=runs or (), since=since, until=until, outdated_only=is_outdated_only)
            carry_out = reparse if work == "reparse" else rebuild
            done: again.Reparsed = carry_out(Held(writer), Held(ids), Held(progress)).value
            should_publish = conf["warehouse"]["publish"] if publish_copy is None else publish_copy
            published = publish(writer) if should_publish else "no"
    except Exception as error:
        return ended_by(error)
    progress.reach(1, 1)
    rows = {
        "work": work,
        "dumps chosen": len(ids),
        "dumps done": done.count,
        "refused": len(done.refused),
        "published": published,
        "seconds": f"{time.monotonic() - started:.1f}",
    }
    parts = [figures(rows), *bullets("Kept as they were", done.refused)]
    leave_summary("backfill-summary", "\n\n".join(parts), "What the backfill did.")
    if done.refused:
        return Completed(name="Completed with rejects", message=f"{len(done.refused)} of {len(ids)} kept their rows")
    why_none = "" if ids else _PARSED if is_outdated_only else _NO_DUMPS
    return Completed(message=f"{counted(done.count, 'dump')}: {work}{why_none}", data=rows)
