"""Rejects: list them, show them, try them again with the current parser."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb

from bufferhouse.dump.identity import content_of, file_of, read_file_name
from bufferhouse.engine.sql import execute
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.ingest.pipeline import parse_batch
from bufferhouse.ingest.read import Limits, ReadBatch
from bufferhouse.messages.rows import ROLE
from bufferhouse.redaction import printable
from bufferhouse.sources.compression import CompressionError, decompressed
from bufferhouse.tabulate.batch import Sighting
from bufferhouse.version import __version__
from bufferhouse.warehouse.load import load, unpacked
from bufferhouse.warehouse.retention import days_ago
from bufferhouse.warehouse.run_names import find
from bufferhouse.warehouse.warehouse import Warehouse

COLUMNS = ("reject_id", "run_name", "relative_path", "rule", "line_number", "column_number", "expected", "found",
           "state", "parser_version", "rejected_at")  # fmt: skip


def listed(con: duckdb.DuckDBPyConnection, *, every: bool = False) -> list[tuple]:
    """Return the open rejects, or all of them, as rows of COLUMNS."""
    return execute(
        con,
        f"SELECT {', '.join(COLUMNS)} FROM raw.rejects JOIN raw.runs USING (run_id)"
        " WHERE $every OR state = 'open' ORDER BY reject_id",
        every=every,
    ).fetchall()


def chosen(
    con: duckdb.DuckDBPyConnection,
    reject_ids: Sequence[int] = (),
    *,
    rule: str | None = None,
    run: str | None = None,
    older_than_days: float | None = None,
    every: bool = False,
) -> list[tuple]:
    """Return the rejects, in any state, that match all given conditions, as rows of COLUMNS. A rule may be a glob.

    Raises:
        UsageError: no condition is given, there is no such run, or an id belongs to no reject.
    """
    if not (reject_ids or rule or run or older_than_days is not None or every):
        raise UsageError("expected ids of rejects, --rule, --run, --older-than or --all")
    rows = execute(
        con,
        f"SELECT {', '.join(COLUMNS)} FROM raw.rejects JOIN raw.runs USING (run_id)"
        " WHERE (len($ids) = 0 OR list_contains(CAST($ids AS BIGINT[]), reject_id))"
        " AND ($rule IS NULL OR rule GLOB $rule) AND ($run IS NULL OR run_name = $run)"
        " AND ($before IS NULL OR rejected_at < CAST($before AS TIMESTAMPTZ)) ORDER BY reject_id",
        ids=list(reject_ids),
        rule=rule,
        run=None if run is None else find(con, run).run_name,
        before=None if older_than_days is None else days_ago(older_than_days),
    ).fetchall()
    if missing := set(reject_ids) - {row[0] for row in rows}:
        kind = " of that kind" if rule or run or older_than_days is not None else ""
        raise UsageError(f"there is no reject {min(missing)}{kind}; see: bufferhouse rejects ls --all")
    return rows


def remove(warehouse: Warehouse, reject_ids: Sequence[int]) -> int:
    """Remove rejects with the bytes they keep; return how many. Their files are read again by the next ingest."""
    with warehouse.alone(), warehouse.transaction():
        return execute(
            warehouse.con,
            f"DELETE FROM {warehouse.stored('rejects')} WHERE list_contains(CAST($ids AS BIGINT[]), reject_id)",
            ids=list(reject_ids),
        ).fetchone()[0]


def content(con: duckdb.DuckDBPyConnection, reject_id: int) -> dict[str, bytes]:
    """Return the bytes of a reject by role, as they were read.

    Raises:
        UsageError: there is no such reject.
        WarehouseError: its bytes are not those that were refused.
    """
    row = execute(con, "SELECT content, sha256, role FROM raw.rejects WHERE reject_id = $id", id=reject_id).fetchone()
    if row is None:
        raise UsageError(f"there is no reject {reject_id}; see: bufferhouse rejects ls --all")
    return unpacked(*row)


def explained(con: duckdb.DuckDBPyConnection, reject_id: int, files: Mapping[str, bytes]) -> str:
    """Return why a reject was refused, with the lines around the place."""
    uri, role, rule, line, column, expected, found, state, version, moment = execute(
        con,
        "SELECT source_uri, role, rule, line_number, column_number, expected, found, state, parser_version, rejected_at"
        " FROM raw.rejects WHERE reject_id = $id",
        id=reject_id,
    ).fetchone()
    place = f"{file_of(uri, role)}:{line}:{column}" if line else file_of(uri, role)
    text = [
        printable(f"{place}: expected {expected}, found {found}"),
        f"rule {rule}, file {role}, {state}, refused by bufferhouse {version} on {moment:%Y-%m-%d %H:%M:%S} UTC",
    ]
    data = files.get(role) or next(iter(files.values()), b"")
    if line:
        lines = data.decode("utf-8", "replace").split("\n")
        first = max(line - 4, 0)
        for number, content in enumerate(lines[first : line + 3], first + 1):
            shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in content[:160])
            text.append(f"{'>' if number == line else ' '} {number:>6}  {shown}")
    return "\n".join(text)


@dataclass(slots=True)
class Replayed:
    """The result of a replay: the ids of rejects that are dumps now, and the reasons of those still refused.

    `lines` counts the rejects that were not tried: lines of logs, if all rejects were asked for.
    """

    accepted: list[int] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    lines: int = 0


def replay(warehouse: Warehouse, reject_ids: list[int] | None, *, progress: Callable[[int, int], None]) -> Replayed:
    """Try open rejects again with the current parser; those that are dumps now are loaded, and the rejects are closed.

    `reject_ids` None means all open rejects except lines of logs, which are read again with their logs.

    Raises:
        UsageError: one of the ids is no open reject.
    """
    opened = dict(
        warehouse.con.execute(
            "SELECT reject_id, role FROM raw.rejects WHERE state = 'open' ORDER BY reject_id"
        ).fetchall()
    )
    if missing := set(reject_ids or ()) - opened.keys():
        raise UsageError(f"not an open reject: {', '.join(map(str, sorted(missing)))}; see: bufferhouse rejects ls")
    chosen = [
        number for number, role in opened.items() if (role != ROLE if reject_ids is None else number in reject_ids)
    ]
    result, limits = Replayed(lines=len(opened) - len(chosen) if reject_ids is None else 0), Limits.of_environment()
    batch = ReadBatch()
    replayed: dict[int, Sighting] = {}
    places: set[tuple[str, str]] = set()
    for done, reject_id in enumerate(chosen, 1):
        sighting = _sighting(warehouse.con, reject_id)
        if isinstance(sighting, str):
            result.refused.append((reject_id, sighting))
        else:
            place = (sighting.run_name, sighting.relative_path)
            if place in places:
                # Of a file that was refused twice the later content is the newest, so it belongs into a later load.
                _load(warehouse, batch, replayed, result)
                batch, replayed, places = ReadBatch(), {}, set()
            places.add(place)
            batch.known.update(warehouse.known_contents([sighting.content.dump_id]))
            batch.take(sighting)
            replayed[reject_id] = sighting
        if replayed and (batch.is_full(limits) or done == len(chosen)):
            _load(warehouse, batch, replayed, result)
            batch, replayed, places = ReadBatch(), {}, set()
        progress(done, len(chosen))
    return result


def _sighting(con: duckdb.DuckDBPyConnection, reject_id: int) -> Sighting | str:
    """Return a reject as the file it was read from, or why it still cannot be read."""
    run_name, path, uri, size, mtime, rule, *kept, role = execute(
        con,
        "SELECT u.run_name, j.relative_path, j.source_uri, j.source_size_bytes, j.source_mtime_ns, j.rule, j.content,"
        " j.sha256, j.role FROM raw.rejects AS j JOIN raw.runs AS u USING (run_id) WHERE j.reject_id = $id",
        id=reject_id,
    ).fetchone()
    if role == ROLE:
        return "it is a line of a log: an ingest of the log by a newer bufferhouse reads it again"
    try:
        files = unpacked(*kept, role)
    except WarehouseError as error:
        return str(error)
    if rule == "compression":
        if role not in ("combined", "proto"):
            return f"only its {role} file was kept, which is damaged; repair it and ingest it again"
        try:
            files = {role: decompressed(uri, data) for role, data in files.items()}
        except CompressionError as error:
            return str(error)
    return Sighting(
        run_name, path, uri, size, mtime, content_of(files), read_file_name(path), sum(map(len, files.values())), files
    )


def _load(warehouse: Warehouse, batch: ReadBatch, replayed: Mapping[int, Sighting], result: Replayed) -> None:
    # The run of a reject is in the warehouse, so none has to be described.
    runs = dict.fromkeys(sighting.run_name for sighting in batch.sightings)
    parsed = parse_batch(batch)
    loaded = load(warehouse, parsed, runs, datetime.now(UTC), replayed=replayed)
    reasons = {id(sighting): str(refusal) for sighting, refusal in loaded.rejects}
    taken = warehouse.known_contents({sighting.content.dump_id for sighting in replayed.values()})
    for reject_id, sighting in replayed.items():
        if sighting.content.dump_id in taken:
            result.accepted.append(reject_id)
        else:
            # What this version has refused before is no new reject.
            refusal = parsed.refusals.get(sighting.content.dump_id)
            again = f"still refused by bufferhouse {__version__}" + (f": {refusal}" if refusal else "")
            result.refused.append((reject_id, reasons.get(id(sighting), again)))
