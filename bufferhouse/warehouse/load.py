"""Load a batch: run models and checks on the batch alone, then add it in one transaction.

The batch is in an attached in-memory catalog with the schemas of the warehouse, so the same statements run the models
on the new dumps only. Dumps that fail a check of severity `error` leave the batch as rejects.
"""

import io
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import sub

import polars as pl
import zstandard

from bufferhouse.dump.identity import content_of
from bufferhouse.engine import interrupts
from bufferhouse.engine.sql import literals, streamed
from bufferhouse.errors import WarehouseError, first_line, told
from bufferhouse.sources.run import Run
from bufferhouse.tabulate.batch import Batch, ParsedBatch, Refusal, Sighting, breaches, fault_of, without
from bufferhouse.version import __version__
from bufferhouse.warehouse.agreement import note_differences
from bufferhouse.warehouse.batch_catalog import Checked, batch_catalog, copy_in, run_checks
from bufferhouse.warehouse.observations import (
    INCOMPLETE,
    UNREADABLE,
    allocations_alone,
    faults_of,
    incomplete,
    insert,
    observe,
    unseen,
)
from bufferhouse.warehouse.poison import REFUSING, is_of_content, poison
from bufferhouse.warehouse.runs import complete_runs
from bufferhouse.warehouse.warehouse import Warehouse


@dataclass(slots=True)
class Loaded:
    """What one load did. `rejects` are the new rejects with their sightings, `rows` the number of rows added by table.

    `known_rejects` are files that had been refused before with these bytes. `head_faults` names files beside dumps that
    cannot be read, and dumps that lack a file; `allocations_alone` are the files of new dumps that have neither values
    nor live ranges. If others write to the warehouse, too, `conflicts` counts commits that collided with another one
    and were tried again, and `retries` counts loads that were repeated. `unreadable` has files that could not be stored
    as observations, and why.
    """

    new_count: int = 0
    known_count: int = 0
    rejects: list[tuple[Sighting, Refusal]] = field(default_factory=list)
    known_rejects: list[str] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    head_faults: list[str] = field(default_factory=list)
    allocations_alone: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    text_bytes: int = 0
    conflicts: int | None = None
    retries: int | None = None


def load(
    warehouse: Warehouse,
    parsed: ParsedBatch,
    runs: Mapping[str, Run],
    started_at: datetime,
    *,
    replayed: Mapping[int, Sighting] | None = None,
) -> Loaded:
    """Load one batch into the warehouse: all of it in one transaction, or nothing.

    `runs` gives the run for every name that a sighting mentions; runs that the warehouse does not have are added.
    `replayed` gives the sightings that come from rejects, by reject_id: if one is loaded now, its reject is closed,
    and no other.

    Raises:
        WarehouseBusy: a lake does not answer, even after several tries.
    """
    before = warehouse.commit_faults()
    attempt = partial(_load_whole, warehouse, runs=runs, started_at=started_at, replayed=replayed)
    result = warehouse.load_persistently(parsed, lambda ours: _load(warehouse, ours, attempt))
    if before is not None:
        result.conflicts, result.retries = map(sub, warehouse.commit_faults(), before)
    return result


def _load(warehouse: Warehouse, parsed: ParsedBatch, attempt: Callable[..., Loaded]) -> Loaded:
    """Load a batch by `_load_whole`; leave out files that cannot be stored, if there are any."""

    def rehearse(sightings: Sequence[Sighting]) -> None:
        with suppress(_Tried):
            attempt(_only_of(parsed, sightings), is_trial=True)

    try:
        return attempt(parsed)
    except Exception as error:
        if not is_of_content(warehouse, error):
            raise
        found = poison(warehouse, parsed.sightings, rehearse)
        left_out = {id(sighting): f"{sighting.source_uri}: {told(reason)}" for sighting, reason in found}
        if not left_out or len(left_out) == len(parsed.sightings) > 1:  # if all files fail, the cause is not a file
            raise
    result = attempt(_only_of(parsed, [s for s in parsed.sightings if id(s) not in left_out]))
    result.unreadable += left_out.values()
    return result


class _Tried(Exception):
    """Raised in place of the commit of a trial, so that it is rolled back."""


def _only_of(parsed: ParsedBatch, sightings: Sequence[Sighting]) -> ParsedBatch:
    """Return a batch with only some of its sightings, and their contents."""
    seen = {sighting.content.dump_id for sighting in sightings}
    files = {sighting.content.sha256: sighting.files for sighting in parsed.sightings if sighting.files}
    for sighting in sightings:  # of a content that was seen twice the first sighting has the bytes, if any
        sighting.files = sighting.files or files.get(sighting.content.sha256)
    unseen = set(parsed.tables.frames["dumps"]["dump_id"]) - seen
    return replace(parsed, tables=without(parsed.tables, unseen), sightings=list(sightings))


def _load_whole(
    warehouse: Warehouse,
    parsed: ParsedBatch,
    *,
    runs: Mapping[str, Run],
    started_at: datetime,
    replayed: Mapping[int, Sighting] | None,
    is_trial: bool = False,
) -> Loaded:
    """Load a batch; a trial keeps nothing.

    Raises:
        _Tried: the trial would have been committed.
    """
    con = warehouse.con
    load_id = warehouse.next_number("loads", "load_id")
    refusals = dict(parsed.refusals)
    result = Loaded()
    # With several threads DuckDB splits every step of a statement. That takes up to half as much processor time again
    # and saves no time, even for a dump of 37 MB, since the models are built on two connections anyway.
    con.execute("SET threads = 1")
    with _new_dumps(warehouse, parsed, refusals, load_id) as new:
        refusals.update(new.offenders)
        taken = [s for s in parsed.sightings if s.content.dump_id not in refusals]
        note_differences(con, parsed.tables, taken)
        found = {UNREADABLE: faults_of(taken), INCOMPLETE: incomplete(taken)}
        result.allocations_alone = allocations_alone(parsed.tables, taken)
        result.head_faults = [line for lines in found.values() for line in lines]
        result.warnings = new.warnings | {rule: len(lines) for rule, lines in found.items() if lines}
        observed, again = unseen(warehouse, taken)
        refused = [s for s in parsed.sightings if s.content.dump_id in refusals]
        spoken = warehouse.known_refusals(s.content.sha256 for s in refused) if refused else {}
        for sighting in refused:
            if (sighting.run_name, sighting.relative_path, sighting.content.sha256) in spoken:
                result.known_rejects.append(sighting.source_uri)
            else:
                result.rejects.append((sighting, refusals[sighting.content.dump_id]))
        result.known_count = again
        closed = [number for number, s in (replayed or {}).items() if s.content.dump_id not in refusals]
        if not (observed or result.rejects or closed):
            return result  # Nothing would be added: that makes no load.
        interrupts.check()
        for sighting in taken:
            sighting.files = None  # only a reject keeps its bytes
        with warehouse.transaction():
            run_names = {s.run_name for s in parsed.sightings}
            known_runs = complete_runs(warehouse, {name: run for name, run in runs.items() if name in run_names})
            run_ids = known_runs | _add_runs(warehouse, runs, run_names - known_runs.keys())
            result.rows = {"dumps": 0}
            if new.frames:
                result.rows = copy_in(warehouse, new.frames, set(new.offenders), new.incremental)
            result.new_count = result.rows["dumps"]
            result.known_count = len(observed) + again - result.new_count
            result.text_bytes = sum(s.text_bytes for s in parsed.sightings)
            result.rows.update(observe(warehouse, observed, run_ids, known_runs, load_id, parsed.signature_ids))
            if replayed is None:
                _resolve(warehouse, load_id)
            elif closed:
                _close(warehouse, closed)
            # Of a content seen several times in the batch only one sighting keeps the bytes.
            kept = {s.content.sha256: s.files for s in refused if s.files}
            result.rows["rejects"] = _reject(warehouse, result.rejects, kept, run_ids, load_id)
            facts = [
                load_id, started_at, datetime.now(UTC), __version__, len(parsed.sightings), result.new_count,
                result.known_count, len(refused), result.text_bytes,
            ]  # fmt: skip
            con.execute(f"INSERT INTO raw.loads VALUES ({literals(facts)})")
            if is_trial:
                raise _Tried
    return result


@contextmanager
def _new_dumps(
    warehouse: Warehouse, parsed: ParsedBatch, refusals: dict[int, Refusal], load_id: int
) -> Iterator[Checked]:
    """Put the new dumps of a batch into their own catalog and check them there.

    Dumps that break a contract, or on which a model fails, are added to `refusals` instead.
    """
    new = parsed.tables
    while len(new.frames["dumps"]):
        is_checked = False
        try:
            if broken := breaches(new):
                refusals.update(broken)
                new = without(new, set(broken))
                continue
            with _checked(warehouse, new, load_id) as checked:
                is_checked = True
                yield checked
                return
        except Exception as error:
            if is_checked or not is_of_content(warehouse, error):
                raise
            bad = _bad_dumps(warehouse, new, load_id)
            is_of_all = len(bad) == len(new.frames["dumps"]) > 1
            if not bad or (is_of_all and all(refusal.rule.startswith("internal:") for refusal in bad.values())):
                raise  # if all dumps fail, the cause is not a dump
            refusals.update(bad)
            new = without(new, set(bad))
    yield Checked(None, {}, {}, {})  # without new dumps there is nothing to check


@contextmanager
def _checked(warehouse: Warehouse, new: Batch, load_id: int) -> Iterator[Checked]:
    frames = numbered(warehouse, new, load_id).frames
    with batch_catalog(warehouse, frames) as (incremental, checks):
        yield Checked(frames, incremental, *run_checks(warehouse.con, checks))


def _bad_dumps(warehouse: Warehouse, batch: Batch, load_id: int) -> dict[int, Refusal]:
    """Return the dumps of a batch on which a contract, a model or a check fails.

    A model may fail on dumps that keep the contracts, which do not limit sums: invented sizes may add up to more than a
    BIGINT holds.
    """
    dump_ids = batch.frames["dumps"]["dump_id"].to_list()

    def check(some: Sequence[int]) -> None:
        part = without(batch, set(dump_ids) - set(some))
        breaches(part)
        with _checked(warehouse, part, load_id):
            pass

    return {dump_id: _refusal_of(error) for dump_id, error in poison(warehouse, dump_ids, check)}


def _refusal_of(error: Exception) -> Refusal:
    if isinstance(error, REFUSING):
        return Refusal("model", "numbers that every model can compute with", first_line(error))
    return fault_of("model", error)


def numbered(warehouse: Warehouse, batch: Batch, load_id: int) -> Batch:
    """Return a batch with the warehouse's own numbers for its shapes, and the load in raw.dumps."""
    new = batch.with_shape_ids(_shape_ids(warehouse, batch.frames["shapes"]))
    new.frames["dumps"] = new.frames["dumps"].with_columns(load_id=pl.lit(load_id, pl.Int64))
    return new


def _shape_ids(warehouse: Warehouse, shapes: pl.DataFrame) -> pl.Series:
    """Return the warehouse's number for each shape of a batch: the one it has, or the next free one."""
    con = warehouse.con
    with streamed(con, "batch_shapes", shapes.select("shape_id", "shape_text")):
        known = dict(
            con.execute(
                "SELECT b.shape_id, s.shape_id FROM batch_shapes AS b"
                f" JOIN {warehouse.stored('shapes')} AS s USING (shape_text)"
            ).fetchall()
        )
    return pl.Series(warehouse.shape_numbers(shapes["shape_text"].to_list(), known), dtype=pl.Int64)


def _add_runs(warehouse: Warehouse, runs: Mapping[str, Run], names: set[str]) -> dict[str, int]:
    """Add the runs that the warehouse does not have; return the number of each."""
    if not names:
        return {}
    new = [name for name in runs if name in names]
    numbers = dict(zip(new, warehouse.run_numbers(new), strict=True))
    insert(warehouse, "runs", [tuple(runs[name].row(number).values()) for name, number in numbers.items()])
    return numbers


def _resolve(warehouse: Warehouse, load_id: int) -> None:
    """Close the open rejects of files that were repaired, and of protos whose text has arrived."""
    # Nearly always there are no rejects, or no open ones; planning the statement takes longer than these two questions.
    con = warehouse.con
    if not con.execute(f"SELECT 1 FROM {warehouse.stored('rejects')} LIMIT 1").fetchone():
        return
    if not con.execute("SELECT 1 FROM raw.rejects WHERE state = 'open' LIMIT 1").fetchone():
        return
    warehouse.change_rejects(
        "resolved", "r.state = 'open' AND (r.run_id, r.relative_path) IN"
        " (SELECT (run_id, relative_path) FROM raw.observations WHERE load_id = $load_id UNION ALL"
        " SELECT (run_id, stand_in_path) FROM raw.observations WHERE load_id = $load_id AND stand_in_path IS NOT NULL)",
        {"load_id": load_id},
    )  # fmt: skip


def _close(warehouse: Warehouse, reject_ids: list[int]) -> None:
    """Close rejects whose bytes are a dump now, and older open rejects of the same files."""
    closed = "(SELECT unnest(CAST($reject_ids AS BIGINT[])))"
    warehouse.change_rejects("replayed", f"r.reject_id IN {closed}", {"reject_ids": reject_ids})
    warehouse.change_rejects(
        "resolved", "r.state = 'open' AND EXISTS (SELECT 1 FROM raw.rejects AS new"
        f" WHERE new.reject_id IN {closed} AND r.run_id = new.run_id AND r.relative_path = new.relative_path"
        " AND r.reject_id < new.reject_id)", {"reject_ids": reject_ids},
    )  # fmt: skip


def _reject(
    warehouse: Warehouse,
    rejects: list[tuple[Sighting, Refusal]],
    kept: Mapping[str, Mapping[str, bytes]],
    run_ids: dict[str, int],
    load_id: int,
) -> int:
    if not rejects:
        return 0
    refused = [
        (
            run_ids[s.run_name], s.source_uri, s.relative_path, s.content.sha256, refusal, s.size_bytes, s.mtime_ns,
            kept[s.content.sha256],
        )
        for s, refusal in rejects
    ]  # fmt: skip
    added = add_rejects(warehouse, refused, load_id)
    # If an older parser refused the same bytes, the new row replaces its reject.
    warehouse.change_rejects(
        "resolved", "r.state = 'open' AND r.load_id < $load_id AND (r.run_id, r.relative_path, r.sha256) IN"
        " (SELECT (run_id, relative_path, sha256) FROM raw.rejects WHERE load_id = $load_id)", {"load_id": load_id},
    )  # fmt: skip
    return added


def add_rejects(warehouse: Warehouse, refused: Sequence[tuple], load_id: int) -> int:
    """Add files, or lines of files, that were refused; return how many.

    Each has its run, URI, path, SHA-256, refusal, size and time, and its bytes by role.
    """
    if not refused:
        return 0
    first = warehouse.next_number("rejects", "reject_id", len(refused))
    now = datetime.now(UTC)
    rows = [
        (
            first + i, run_id, load_id, uri, path, sha256, r.role, r.rule, r.line, r.column, r.expected, r.found,
            size_bytes, mtime_ns, packed(files), __version__, "open", now,
        )
        for i, (run_id, uri, path, sha256, r, size_bytes, mtime_ns, files) in enumerate(refused)
    ]  # fmt: skip
    return insert(warehouse, "rejects", rows)


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a refused dump, compressed; the files of a split dump are put into a tar, named by role."""
    if len(files) == 1:
        data = next(iter(files.values()))
    else:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for role, content in files.items():
                member = tarfile.TarInfo(role)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        data = buffer.getvalue()
    return zstandard.compress(data)


def unpacked(packed: bytes, sha256: str, role: str) -> dict[str, bytes]:
    """Return the files of a refused dump by role; the hash tells one file, a text or a proto, from a tar of several.

    Raises:
        WarehouseError: these are not the bytes that were refused.
    """
    try:
        data = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        files = {"proto" if role == "proto" else "combined": data}
        if content_of(files).sha256 != sha256:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                files = {member.name: archive.extractfile(member).read() for member in archive}
    except (zstandard.ZstdError, tarfile.TarError):
        files = {}
    if not files or content_of(files).sha256 != sha256:
        raise WarehouseError(
            "the bytes that are kept of it are not those that were refused; remove it with bufferhouse rejects rm, and "
            "ingest its file again"
        )
    return files
