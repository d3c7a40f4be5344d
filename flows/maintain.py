"""The flow `maintain`: remove old runs, free space, prove a sample, publish."""

import time
from datetime import UTC, datetime
from typing import Annotated

from prefect import flow
from prefect.states import Completed, Failed, State
from pydantic import Field

from bufferhouse.errors import counted
from bufferhouse.messages.rows import faults as message_faults
from bufferhouse.models.checks import run_checks
from bufferhouse.redaction import printable
from bufferhouse.report.flow_summary import bullets, figures
from bufferhouse.warehouse import retention, verify, verify_models, verify_rejects
from bufferhouse.warehouse.warehouse import Compacted
from flows import callers, events
from flows.steps import Held, Progress, ended_by, leave_summary, publish, step, writing

_DAY_SECONDS = 86400


@step(name="prune")
def prune(writer: Held, keep_runs: int | None, older_than_days: float | None) -> Held:
    """Remove the runs beyond a limit, and the contents that no other run holds."""
    if keep_runs is None and older_than_days is None:
        return Held(retention.Pruned([], 0, 0))
    return Held(retention.prune(writer.value, keep_runs=keep_runs, older_than_days=older_than_days))


@step(name="compact")
def compact(writer: Held, keep_seconds: float) -> Held:
    """Write the warehouse again without free space; in a lake remove old snapshots and second copies of contents."""
    return Held(writer.value.compact(keep_seconds=keep_seconds))


@step(name="verify")
def prove(writer: Held, sample: int) -> Held:
    """Prove some dumps, chosen at random, all rejects, messages of logs and views; return the dumps, and all faults."""
    con = writer.value.con
    ids = verify.chosen_dumps(con, sample=sample)
    faults = verify.verify(con, ids)
    faults += verify_models.model_faults(writer.value, ids, faults)
    return Held((ids, faults, verify_rejects.faults(con), message_faults(con), verify_models.view_faults(con)))


@step(name="check")
def check(writer: Held) -> Held:
    """Run all checks over the whole warehouse: loads run them only on their batches."""
    return Held(run_checks(writer.value.con))


@flow(name="maintain", flow_run_name=lambda: f"maintain {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", **events.TOLD)
def maintain(
    warehouse: str | None = None,
    keep_runs: Annotated[int | None, Field(ge=1)] = None,
    older_than_days: Annotated[float | None, Field(gt=0)] = None,
    compact_file: bool | None = None,
    verify_sample: Annotated[int | None, Field(ge=1)] = None,
    publish_copy: bool | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Remove old runs, compact the warehouse, prove a sample of it, run all checks, and publish it.

    Fails, and publishes nothing, if a dump, a reject or a message of a log cannot be proved, a view is not as it was
    built, or a check of severity error finds offenders. The artifact `maintain-summary` says what was done.

    Args:
        warehouse: The warehouse, file or lake; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        keep_runs: Keep this many of the newest runs of each platform, track and device; else as configured, else all.
        older_than_days: Remove runs older than this; else as configured, else none.
        compact_file: Free unused space; else as configured, else yes.
        verify_sample: How many dumps to prove; else as configured, else 100.
        publish_copy: Publish a copy for readers at the end; else as configured, else yes.
        wait_seconds: How long to wait for another writer; else as configured, else 300.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that replace configured ones, such as retention.verify_sample=1000.
    """
    started = time.monotonic()
    try:
        conf, found_at, wait = callers.chosen(config, settings, warehouse, wait_seconds)
        path = found_at.existing()
        keep = conf["retention"]
        if keep_runs is None and older_than_days is None:
            keep_runs = keep["keep_runs"]
            older_than_days = keep["older_than"] and keep["older_than"] / _DAY_SECONDS
        progress = Progress("maintain-progress", "Prune, compact, verify, check, publish.")
        with writing(path, wait) as opened:
            writer = Held(opened)
            pruned = prune(writer, keep_runs, older_than_days).value
            progress.reach(1, 4)
            is_wanted = keep["compact"] if compact_file is None else compact_file
            if is_wanted:
                compacted = compact(writer, keep["snapshots"]).value
            else:
                compacted = Compacted(size := opened.size(), size)
            progress.reach(2, 4)
            proven = prove(writer, verify_sample or keep["verify_sample"]).value
            proved, faults, of_rejects, of_messages, of_views = proven
            faulty = {fault.dump_id for fault in faults}  # one dump may have several
            progress.reach(3, 4)
            results = check(writer).value
            events.tell_checks(conf, results)
            failed = [one for one in results if one.offender_count and one.severity == "error"]
            should_publish = conf["warehouse"]["publish"] if publish_copy is None else publish_copy
            is_sound = not (faulty or of_rejects or of_messages or of_views or failed)
            published = publish(writer.value) if should_publish and is_sound else "no"
    except Exception as error:
        return ended_by(error)
    progress.reach(4, 4)
    rows = {
        "runs removed": len(pruned.runs),
        "observations removed": pruned.observation_count,
        "dumps removed": pruned.dump_count,
        "rejects removed": pruned.reject_count,
        "messages of logs removed": pruned.message_count,
        "warehouse bytes before": compacted.before,
        "warehouse bytes after": compacted.after,
        "dumps that were stored twice": compacted.mended_count,
        "dumps proved": len({*proved} - faulty),
        "dumps with faults": len(faulty),
        "rejects with faults": len(of_rejects),
        "messages with faults": len(of_messages),
        "views with faults": len(of_views),
        "checks failed": len(failed),
        "published": published,
        "seconds": f"{time.monotonic() - started:.1f}",
    }
    not_proved = [f"dump {fault.dump_id}: {fault.what}" for fault in faults]
    not_proved += map(printable, [*of_rejects, *of_messages, *of_views])
    offending = [
        f"{one.name}: {counted(one.offender_count, 'offender')}, {printable(one.first or '')}" for one in failed
    ]
    parts = [figures(rows), *bullets("Removed", pruned.runs), *bullets("Not proved", not_proved)]
    parts += bullets("Checks failed", offending)
    leave_summary("maintain-summary", "\n\n".join(parts), "What the maintenance did.")
    if faulty or of_rejects or of_messages or of_views:
        said = [counted(len(faulty), "dump")] if faulty else []
        said += [counted(len(of_rejects), "reject")] if of_rejects else []
        said += [f"{counted(len(of_messages), 'message')} of logs"] if of_messages else []
        said += [counted(len(of_views), "view")] if of_views else []
        return Failed(message=f"{', '.join(said)} not proved; nothing was published")
    if failed:
        return Failed(
            message=f"{counted(len(failed), 'check')} failed: {'; '.join(offending[:3])}; nothing was published"
        )
    message = f"{counted(len(pruned.runs), 'run')} removed, {counted(len(proved), 'dump')} proved"
    return Completed(message=message, data=rows)
