"""The flow `regressions`: compare the two newest runs of each platform, track and device.

A program that is not in the run before is compared with the newest earlier run that has it, because one refused dump
would hide its growth. If the run before lacks its function, too, the program is also compared with the newest earlier
run that has the function. Growth is an event, and so is a donation that was taken before and is lost after.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import duckdb
from prefect import flow
from prefect.states import Completed, State
from pydantic import Field

from bufferhouse.compare.compare import Compared
from bufferhouse.compare.gate import Accepted, Verdict, accepted_by, judge, read_accepted
from bufferhouse.compare.pairing import RESHAPED
from bufferhouse.compare.parts import Part
from bufferhouse.config.threshold import METRICS, RESHAPED_MODES, Threshold, parse_threshold
from bufferhouse.engine.sql import execute
from bufferhouse.errors import UsageError, check_known, counted
from bufferhouse.query.statements import Record, ask
from bufferhouse.report.compare.data import Comparison, comparison_of
from bufferhouse.report.compare.gate import gate_sections, gone_programs, grown, programs_of, stale_line
from bufferhouse.report.compare.sections import compare_sections, title
from bufferhouse.report.flow_summary import figures
from bufferhouse.report.opening import opened
from bufferhouse.report.text.figures import human_bytes, printable, sentence, some_of
from bufferhouse.report.text.sections import markdown_text
from bufferhouse.sources.run import AHEAD
from bufferhouse.warehouse.address import address_of
from bufferhouse.warehouse.open import reading
from flows import callers
from flows.events import TOLD, emit_lost_donations, emit_regression
from flows.steps import Held, ended_by, leave_summary, step

_SHOWN = 3, 80  # of names, and characters of each
_TOLD = (
    "program_label", "program_id", "memory_space", "before_bytes", "after_bytes", "delta_bytes", "main_cause",
    "main_cause_label", "main_cause_bytes", "status", "change_said", "is_ambiguous",
)  # fmt: skip
Found = list[tuple[Comparison, Verdict]]


class Chosen(NamedTuple):
    """The runs to compare, and those that cannot be."""

    pairs: Sequence[Record]  # the two newest runs of each platform, track and device
    why_none: str  # why there are none, else an empty text
    refused: Sequence[str]  # newer runs of which all dumps were refused
    first: Sequence[str]  # newer runs without a run before them
    ahead: Sequence[str]  # runs that start in the future, and are the newest until then
    note: str | None  # the note of the warehouse about itself


@step(name="choose runs")
def choose(warehouse: str, wait_seconds: float, keep_runs: int | None) -> Held:
    """Return the runs that are `Chosen`; `keep_runs` are those that retention keeps."""
    with reading(address_of(warehouse), wait=wait_seconds) as opened:
        con = opened.con
        pairs = ask(con, "newest_runs").records
        why_none = "" if pairs else _why_none(con, keep_runs)
        others = _refused_runs(con, pairs), _first_runs(con, pairs), _runs_ahead(con, pairs)
        return Held(Chosen(pairs, why_none, *others, opened.note))


def _first_runs(con: duckdb.DuckDBPyConnection, newest: Sequence[Record]) -> list[str]:
    """Return the runs that are the first of their platform, track and device, and newer than the newest of their track.

    If no runs of their track are compared, they must be newer than the newest run of all: a track that had one run long
    ago is not reported again and again.
    """
    rows = execute(
        con,
        "WITH runs AS (SELECT *, COUNT(*) OVER (PARTITION BY platform, track, device_kind) AS series_count"
        " FROM marts.runs_v2 WHERE dump_count > 0)"
        " SELECT r.run_name FROM runs AS r JOIN runs AS n ON list_contains(CAST($newest AS BIGINT[]), n.run_id)"
        " WHERE r.series_count = 1 GROUP BY r.run_name, r.run_order HAVING r.run_order > COALESCE("
        "MAX(n.run_order) FILTER (WHERE r.track IS NOT DISTINCT FROM n.track), MAX(n.run_order)) ORDER BY r.run_order",
        newest=[one["after_run_id"] for one in newest],
    ).fetchall()
    return [name for (name,) in rows]


def _refused_runs(con: duckdb.DuckDBPyConnection, newest: Sequence[Record]) -> list[str]:
    """Return the runs whose dumps were all refused, if they are newer than the newest runs with dumps.

    Such a run has no dumps that could say its platform or device, so it may belong to any series that it does not
    contradict. If it contradicts all of them, it must be newer than the newest run of all.
    """
    rows = execute(
        con,
        "SELECT r.run_name FROM marts.runs_v2 AS r JOIN marts.runs_v2 AS n"
        " ON list_contains(CAST($newest AS BIGINT[]), n.run_id) WHERE r.dump_count = 0 AND r.refused_dump_count > 0"
        " GROUP BY r.run_name, r.run_order HAVING r.run_order > COALESCE(MIN(n.run_order) FILTER (WHERE"
        " (r.platform IS NULL OR r.platform = n.platform) AND (r.track IS NULL OR r.track = n.track)"
        " AND (r.device_kind IS NULL OR r.device_kind = n.device_kind)), MAX(n.run_order)) ORDER BY r.run_order",
        newest=[one["after_run_id"] for one in newest],
    ).fetchall()
    return [name for (name,) in rows]


def _runs_ahead(con: duckdb.DuckDBPyConnection, newest: Sequence[Record]) -> list[str]:
    """Return those of the newest runs that start in the future: until then no other run of their track is compared."""
    rows = execute(
        con,
        "SELECT run_name FROM marts.runs_v2 WHERE list_contains(CAST($newest AS BIGINT[]), run_id)"
        " AND started_at > CAST($latest AS TIMESTAMPTZ) ORDER BY run_order",
        newest=[one["after_run_id"] for one in newest],
        latest=datetime.now(UTC) + AHEAD,
    ).fetchall()
    return [name for (name,) in rows]


def _why_none(con: duckdb.DuckDBPyConnection, keep_runs: int | None) -> str:
    """Return why no two runs can be compared."""
    runs, read, rejects = con.execute(
        "SELECT COUNT(*), COUNT(*) FILTER (WHERE dump_count > 0),"
        " (SELECT COUNT(*) FROM raw.rejects WHERE state = 'open') FROM marts.runs_v2"
    ).fetchone()
    if not runs:
        return "nothing was compared: the warehouse has no runs"
    way_out = f"; {counted(rejects, 'open reject')}: bufferhouse rejects ls" if rejects else ""
    if keep_runs == 1:
        way_out += "; retention.keep_runs = 1 removes the run to compare with, 2 keeps it"
    return (
        "nothing was compared: no platform, track and device has two runs with dumps; of "
        f"{counted(runs, 'run')} {read:,} {'has' if read == 1 else 'have'} dumps{way_out}"
    )


@step(name="compare", task_run_name="compare {before} {after}")
def compare(
    warehouse: str, before: str, after: str, run_ids: tuple[int, int], metric: str, wait_seconds: float
) -> Held:
    """Return the comparison of two runs, and those with earlier runs for programs that the run before lacks.

    Runs are given by their ids, because a folder may call its run `latest`, a word that means another run.

    Raises:
        UsageError: one of the runs was removed meanwhile.
    """
    with opened(address_of(warehouse), wait_seconds) as (con, name, note):
        before_id, after_id = run_ids
        (found,) = execute(
            con, "SELECT COUNT(*) FROM raw.runs WHERE run_id IN ($before, $after)", before=before_id, after=after_id
        ).fetchone()
        if found < len(run_ids):
            raise UsageError(f"run {printable(before)} or {printable(after)} was removed before it was compared")
        told = {"warehouse": name, "note": note, "metric": metric}
        comparison = comparison_of(con, Part(before_id), Part(after_id), **told)
        earlier = ask(con, "earlier_runs", before_run_id=before_id, after_run_id=after_id).records
        returned = [
            comparison_of(con, Part(one["run_id"]), Part(after_id), program_ids=one["program_ids"], **told)
            for one in earlier
        ]
    return Held([comparison, *returned])


@flow(name="regressions", flow_run_name=lambda: f"regressions {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", **TOLD)
def regressions(
    warehouse: str | None = None,
    limit: str | None = None,
    metric: str | None = None,
    accept: str | None = None,
    reshaped: str | None = None,
    wait_seconds: Annotated[float | None, Field(ge=0)] = None,
    config: str | None = None,
    settings: list[str] | None = None,
) -> State:
    """Compare the newest run of each platform, track and device with the one before it.

    A program that the run before lacks is compared with the newest earlier run that has it; if the run before lacks its
    function, too, also with the newest earlier run that has the function. For each pair of runs, programs that grew
    over the limit and were not accepted are an event `bufferhouse.regression`, and lost donations, however small, an
    event `bufferhouse.lost-donation`. The artifact `regressions` shows the comparisons with their causes,
    `regressions-summary` the counts.

    Args:
        warehouse: The warehouse, file or lake; else as configured, else $BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb.
        limit: The growth that counts as a regression, such as 5%,16MiB; else as configured, else 5%,16MiB.
        metric: reserved, occupied, temp or footprint; else as configured, else reserved.
        accept: A TOML file of growth that was accepted; else as configured.
        reshaped: How growth of a program with another signature counts: fail, warn or ignore; else as configured,
            else fail.
        wait_seconds: How long to wait for a writer if there is no published copy; else as configured, else 300.
        config: The configuration; else $BUFFERHOUSE_CONFIG, else bufferhouse.toml in the working directory, if any.
        settings: Values that replace configured ones, such as regressions.limit=1%.
    """
    started = time.monotonic()
    try:
        conf, found_at, wait = callers.chosen(config, settings, warehouse, wait_seconds, accept=accept)
        path = str(found_at)
        wanted = conf["regressions"]
        threshold = parse_threshold(limit or wanted["limit"])
        mode = reshaped or wanted["reshaped"]
        check_known("reshaped", mode, RESHAPED_MODES)
        metric = metric or wanted["metric"]
        check_known("metric", metric, METRICS)
        accepted = read_accepted(Path(callers.place(conf, accept))) if accept else accepted_by(conf)
        found: Found = []
        chosen = choose(path, wait, conf["retention"]["keep_runs"]).value
        for runs in chosen.pairs:
            names = runs["before_run_name"], runs["after_run_name"]
            run_ids = runs["before_run_id"], runs["after_run_id"]
            for comparison in compare(path, *names, run_ids, metric, wait).value:
                verdict = judge(comparison.rows, threshold, accepted, mode, is_partial=comparison.is_partial)
                found.append((comparison, verdict))
    except Exception as error:
        return ended_by(error)
    for comparison, verdict in found:
        _tell(comparison, verdict, str(threshold))
        _tell_lost_donations(comparison)
    none = sentence(chosen.why_none) if chosen.why_none else ""
    leave_summary("regressions", _shown(found, threshold) or none, "The newest runs, compared.")
    stale = _stale(found, accepted)
    left = _left(found)
    rows = {**_counts(found, chosen, left, stale), "seconds": f"{time.monotonic() - started:.1f}"}
    # A note says that a published copy was read because the warehouse is being written: it may lack the newest runs.
    noted = list(dict.fromkeys(filter(None, [chosen.note, *(comparison.note for comparison, _ in found)])))
    said = "\n\n".join(
        [figures(rows), *filter(None, [none]), *noted, *(sentence(stale_line(entry)) for entry in stale)]
    )
    leave_summary("regressions-summary", said, "How many programs grew.")
    return Completed(message="; ".join([*_said(found, chosen, left, rows["regressions"]), *noted]), data=rows)


def _stale(found: Found, accepted: Iterable[Accepted]) -> list[Accepted]:
    """Return the entries of the accept file that no comparison needs; none if a comparison could compare nothing."""
    could_judge = bool(found) and all(verdict.compared_count for _, verdict in found)
    return [entry for entry in accepted if could_judge and all(entry in verdict.stale for _, verdict in found)]


def _shown(found: Found, threshold: Threshold) -> str:
    """Return the comparisons as Markdown, without those with earlier runs in which nothing changed."""
    parts = []
    for comparison, verdict in found:
        if comparison.is_part and not _has_changed(comparison):
            continue
        gate = gate_sections(comparison, verdict._replace(stale=[]), threshold)
        explain = comparison.records(verdict.offenders) or None
        parts.append(markdown_text(title(comparison), [*gate, *compare_sections(comparison, explain=explain)]))
    return "\n\n".join(parts)


class Left(NamedTuple):
    """What the comparisons could not compare."""

    gone: Sequence[str]  # programs that the newer run of a pair lacks
    refused: Mapping[str, int]  # refused dumps of each compared run that has some
    copies: Sequence[Comparison]  # of one run under two names
    unknown_count: int  # programs without known bytes
    cut_count: int  # programs whose dumps may have been cut short


def _left(found: Found) -> Left:
    comparisons = [comparison for comparison, _ in found]
    whole = [one for one in comparisons if not one.is_part]
    sides = [side for one in whole for side in (one.before, one.after)]
    return Left(
        [label for one in whole for label in gone_programs(one)],
        {side["run_name"]: side["refused_dump_count"] for side in sides if side["refused_dump_count"]},
        [one for one in comparisons if _is_copy(one)],
        sum(_programs(one, (row for row in one.rows if row.is_unknown)) for one in comparisons),
        sum(_programs(one, (row for row in verdict.maybe_cut if not row.is_unknown)) for one, verdict in found),
    )


def _is_copy(comparison: Comparison) -> bool:
    """Return whether two runs have the same start and the same dumps: then they are no two nights."""
    starts = {side["started_at"] for side in (comparison.before, comparison.after)}
    return len(starts) == 1 and bool(comparison.rows) and all(row["has_same_content"] for row in comparison.programs)


def _counts(found: Found, chosen: Chosen, left: Left, stale: Sized) -> dict[str, int]:
    """Return the figures of the summary."""
    return {
        "comparisons": len(found),
        "programs compared": sum(_programs(one, _compared(one, verdict)) for one, verdict in found),
        "not compared, without known bytes": left.unknown_count,
        "not judged, maybe cut short": left.cut_count,
        "gone since the run before": len(left.gone),
        "dumps refused in these runs": sum(left.refused.values()),
        "newer runs, all dumps refused": len(chosen.refused),
        "newer runs, none before them": len(chosen.first),
        "newest by a start in the future": len(chosen.ahead),
        "one run under two names": len(left.copies),
        "regressions": sum(_programs(one, verdict.offenders) for one, verdict in found),
        "accepted": sum(_programs(one, (row for row, _ in verdict.accepted)) for one, verdict in found),
        "reshaped": sum(_programs(one, (row for row in one.rows if row.status == RESHAPED)) for one, _ in found),
        "stale in the accept file": len(stale),
        "donations lost": sum(len(comparison.lost_donations) for comparison, _ in found),
    }


def _said(found: Found, chosen: Chosen, left: Left, regression_count: int) -> Iterator[str]:
    """Yield the parts of the message of the flow run: what was found, and all that was not compared."""
    yield f"{counted(regression_count, 'regression')} in {counted(len(found), 'comparison')}"
    if chosen.why_none:
        yield chosen.why_none
    if empty := [comparison for comparison, verdict in found if not verdict.compared_count]:
        yield f"nothing could be compared: {', '.join(map(title, empty))}"
    if left.unknown_count:
        yield f"not compared, without known bytes: {counted(left.unknown_count, 'program')}"
    if left.cut_count:
        said = counted(left.cut_count, "program")
        yield f"not judged, as their dumps have allocations alone and may be cut short: {said}"
    if left.copies:
        yield f"one run under two names, and not compared with one before: {', '.join(map(title, left.copies))}"
    if left.gone:
        yield f"{counted(len(left.gone), 'program')} gone since the run before: {some_of(left.gone, *_SHOWN)}"
    if left.refused:
        dumps = counted(sum(left.refused.values()), "dump")
        yield f"not compared, as they were refused: {dumps} of {some_of(left.refused, *_SHOWN)}"
    if chosen.refused:
        yield f"not compared, as all dumps were refused: {some_of(chosen.refused, *_SHOWN)}"
    if chosen.first:
        why = "as no run before has their platform, track and device"
        yield f"not compared, {why}: {some_of(chosen.first, *_SHOWN)}"
    if chosen.ahead:
        yield f"the newest until they start, in the future: {some_of(chosen.ahead, *_SHOWN)}"


def _programs(comparison: Comparison, rows: Iterable[Compared]) -> int:
    """Return the number of programs of some rows: a program has a row for each of its memory spaces."""
    return programs_of(comparison.records(rows))


def _has_changed(comparison: Comparison) -> bool:
    return bool(comparison.lost_donations) or any(row.delta_bytes or row.is_unknown for row in comparison.rows)


def _compared(comparison: Comparison, verdict: Verdict) -> Iterable[Compared]:
    left_out = (*verdict.ignored, *verdict.maybe_cut)
    return (row for row in comparison.rows if row.delta_bytes is not None and row not in left_out)


def _tell(comparison: Comparison, verdict: Verdict, limit: str) -> None:
    records = comparison.records(verdict.offenders)
    if records:
        before, after = comparison.before["run_name"], comparison.after["run_name"]
        first = max(records, key=lambda row: row["delta_bytes"] or 0)
        cause = f", main cause {first['main_cause_said']}" if first["main_cause_said"] else ""
        message = (
            f"run {printable(after)}: {grown(records, limit)} since {printable(before)}, most of all "
            f"{printable(first['program_label'], 80)} by {human_bytes(first['delta_bytes'] or 0)}{cause}"
        )
        emit_regression(after, before, message, [{name: row[name] for name in _TOLD} for row in records])


def _tell_lost_donations(comparison: Comparison) -> None:
    lost = comparison.lost_donations
    if not lost:
        return
    before, after, first = comparison.before["run_name"], comparison.after["run_name"], lost[0]
    reason = first["reason"] or "no file beside the dump tells why"
    message = (
        f"run {printable(after)}: {counted(len(lost), 'donation')} of {human_bytes(sum(one['bytes'] for one in lost))} "
        f"that {printable(before)} took {'is' if len(lost) == 1 else 'are'} lost, first parameter "
        f"{first['parameter']} of {printable(first['program'], 80)}, {human_bytes(first['bytes'])}: {reason}"
    )
    emit_lost_donations(after, before, message, lost)
