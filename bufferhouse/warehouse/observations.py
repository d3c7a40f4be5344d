"""Store what was seen of dumps besides their contents: the files of runs, and the facts of the files beside each."""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain

import duckdb
import polars as pl
import pyarrow as pa

from bufferhouse.dump.identity import SUFFIXES, dump_of_proto, facts_of_name, is_proto
from bufferhouse.engine.sql import registered, streamed
from bufferhouse.sources.compression import plain_name
from bufferhouse.tabulate.batch import Batch, Sighting, frame_of
from bufferhouse.warehouse.runs import run_ids
from bufferhouse.warehouse.stored_sets import SETS, Columns
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import OBSERVATIONS

# Soft rules about the files of a dump and those beside it, by their names in marts.warnings.
UNREADABLE = "stack_frames_readable"
INCOMPLETE = "split_files_complete"

_COMPARED = (
    "run_id", "relative_path", "dump_id", "source_size_bytes", "source_mtime_ns", "did_not_fit",
    "module_text_size_bytes", "module_text_mtime_ns", "stack_frames_id", "stack_frames_fault",
    "compile_flags_ids", "compile_flags_size_bytes", "compile_flags_mtime_ns", "compile_flags_fault",
    "proto_size_bytes", "proto_mtime_ns",
)  # fmt: skip


def faults_of(sightings: Iterable[Sighting]) -> list[str]:
    """Return a line for each file beside a dump that cannot be read: heads of module texts, options of compilations."""
    sightings = list(sightings)
    texts = [s.module_text for s in sightings if s.module_text is not None]
    heads = [f"{text.source_uri}:{'' if text.fault[:1].isdigit() else ' '}{text.fault}" for text in texts if text.fault]
    options = [s.compile_flags.fault for s in sightings if s.compile_flags and s.compile_flags.fault]
    protos = [s.proto for s in sightings if s.proto]
    return [
        *(f"{fault}; the dump is loaded without its source lines" for fault in heads),
        *(f"{fault}; the dump is loaded without the options in that file" for fault in options),
        *(f"{p.source_uri}: {p.fault}; the dump is loaded without it" for p in protos if p.fault),
        *(f"{p.source_uri}: {p.difference}; the proto is not used" for p in protos if p.difference),
    ]


def incomplete(sightings: Iterable[Sighting]) -> list[str]:
    """Return a line for each dump in several files that lacks its values or its live ranges: XLA writes both."""
    lines = []
    for one in sightings:
        roles = one.content.file_sha256
        if ("values" in roles) == ("live_range" in roles):
            continue
        absent, lost = "values", "values, so nothing says which operations they are of"
        if "values" in roles:
            absent, lost = "live_range", "live ranges, so it has no peak"
        lines.append(
            f"{one.source_uri}: expected …{SUFFIXES[absent]} beside it, found none; the dump is loaded without {lost}; "
            "put that file there, and run the command again"
        )
    return lines


def allocations_alone(new: Batch, sightings: Iterable[Sighting]) -> list[str]:
    """Return the files of the new dumps that have neither values nor live ranges.

    XLA writes such a dump where it leaves out its analysis. One that is cut within its allocations looks the same.
    """
    dumps = new.frames["dumps"]
    alone = dumps["dump_id"].filter((dumps["used_values_state"] == "absent") & (dumps["live_range_state"] == "absent"))
    dump_ids = set(alone)
    return [one.source_uri for one in sightings if one.content.dump_id in dump_ids]


def unseen(warehouse: Warehouse, sightings: list[Sighting]) -> tuple[list[Sighting], int]:
    """Return the sightings that are not stored as observations yet, and the number of those that are.

    Equal are sightings of the same file with the same time and content. A file that was refused in between, and is back
    unchanged, counts as new: that closes its reject. So does a dump whose module text has arrived or changed (but not
    if it is gone), and a dump beside which files now say that it did not fit.
    """
    con = warehouse.con
    told = run_ids(warehouse, {s.run_name for s in sightings})
    if not told:
        return sightings, 0
    of_these_runs = _condition(told.values())
    of_known_runs = [(i, s) for i, s in enumerate(sightings) if s.run_name in told]
    run_of, paths = [told[s.run_name] for _, s in of_known_runs], [s.relative_path for _, s in of_known_runs]
    with streamed(con, "files", pl.DataFrame({"run_id": run_of, "relative_path": paths})):
        if not _are_told(con, of_these_runs):
            return sightings, 0
    rows = [
        (
            i, told[s.run_name], s.relative_path, s.content.dump_id, s.size_bytes, s.mtime_ns, s.did_not_fit,
            *_of_module_text(s), *_of_compile_flags(s), *_of_proto(s)[:2],
        )
        for i, s in of_known_runs
    ]  # fmt: skip
    types = {"number": pl.Int64, **{name: OBSERVATIONS.types[name] for name in _COMPARED}}
    with streamed(con, "sightings", pl.DataFrame(rows, schema=types, orient="row")):
        again = con.execute(
            "SELECT s.number FROM sightings AS s SEMI JOIN ("
            f" SELECT o.* FROM staging.observations AS o WHERE {of_these_runs}"
            " AND (o.run_id, o.relative_path) NOT IN (SELECT (run_id, relative_path) FROM raw.rejects"
            " WHERE state = 'open')) AS o"
            " ON s.run_id = o.run_id AND s.relative_path = o.relative_path AND s.dump_id = o.dump_id"
            " AND s.source_size_bytes = o.source_size_bytes"
            " AND s.source_mtime_ns IS NOT DISTINCT FROM o.source_mtime_ns"
            " AND (s.module_text_size_bytes IS NULL OR (s.module_text_size_bytes = o.module_text_size_bytes"
            " AND s.module_text_mtime_ns IS NOT DISTINCT FROM o.module_text_mtime_ns"
            " AND s.stack_frames_id IS NOT DISTINCT FROM o.stack_frames_id"
            " AND s.stack_frames_fault IS NOT DISTINCT FROM o.stack_frames_fault))"
            " AND (s.did_not_fit IS NULL OR o.did_not_fit)"
            " AND (s.compile_flags_size_bytes IS NULL OR (s.compile_flags_size_bytes = o.compile_flags_size_bytes"
            " AND s.compile_flags_ids IS NOT DISTINCT FROM o.compile_flags_ids"
            " AND s.compile_flags_mtime_ns IS NOT DISTINCT FROM o.compile_flags_mtime_ns"
            " AND s.compile_flags_fault IS NOT DISTINCT FROM o.compile_flags_fault))"
            " AND (s.proto_size_bytes IS NULL OR (s.proto_size_bytes = o.proto_size_bytes"
            " AND s.proto_mtime_ns IS NOT DISTINCT FROM o.proto_mtime_ns))"
        ).fetchall()
    are_told = {number for (number,) in again}
    return [s for i, s in enumerate(sightings) if i not in are_told], len(are_told)


# Of most dumps nothing lies beside them.
_NO_MODULE_TEXT = _NO_COMPILE_FLAGS = (None,) * 4
_NO_PROTO = (None,) * 6
_NO_STAND_IN = (None, None)


def _of_module_text(s: Sighting) -> tuple:
    text = s.module_text
    return _NO_MODULE_TEXT if text is None else (text.size_bytes, text.mtime_ns, text.stack_frames_id, text.fault)


def _of_compile_flags(s: Sighting) -> tuple:
    one = s.compile_flags
    return _NO_COMPILE_FLAGS if one is None else (list(one.sets) or None, one.size_bytes, one.mtime_ns, one.fault)


def _of_proto(s: Sighting) -> tuple:
    p = s.proto
    if p is None:
        return _NO_PROTO
    ids = (None, None) if p.difference else (p.heap_events_id, p.alias_sets_id)
    return p.size_bytes, p.mtime_ns, *ids, p.fault, p.difference


def observe(
    warehouse: Warehouse,
    sightings: list[Sighting],
    run_ids: Mapping[str, int],
    known_runs: Collection[str],
    load_id: int,
    signature_ids: Mapping[int, int],
) -> dict[str, int]:
    """Write an observation for each sighting, and new facts of files beside dumps; return the number of rows by table.

    `known_runs` are the runs that existed before this load: no file of any other run has been seen yet.
    """
    texts = [s.module_text for s in sightings if s.module_text is not None]
    rows = _observations(warehouse, sightings, run_ids, {run_ids[name] for name in known_runs}, load_id, signature_ids)
    flags = [s.compile_flags for s in sightings if s.compile_flags is not None]
    agreed = [s.proto for s in sightings if s.proto is not None and not s.proto.difference]
    sets = {
        "stack_frames": {t.stack_frames_id: t.stack_frames for t in texts if t.stack_frames},
        "donations": {t.donations_id: t.donations for t in texts if t.donations},
        "compile_flags": {key: found for one in flags for key, found in one.sets.items()},
        "heap_events": {p.heap_events_id: p.heap_events for p in agreed if p.heap_events},
        "alias_sets": {p.alias_sets_id: p.alias_sets for p in agreed if p.alias_sets},
    }
    return {
        "observations": _insert(warehouse, "observations", rows),
        **{table: _add_unseen(warehouse, table, found) for table, found in sets.items()},
    }


def _observations(
    warehouse: Warehouse,
    sightings: list[Sighting],
    run_ids: Mapping[str, int],
    known_runs: Set[int],
    load_id: int,
    signature_ids: Mapping[int, int],
) -> pl.DataFrame:
    if not sightings:
        return pl.DataFrame(schema=OBSERVATIONS.types)
    files = pl.DataFrame(
        {"run_id": [run_ids[s.run_name] for s in sightings], "relative_path": [s.relative_path for s in sightings]}
    )
    facts = zip(*(facts_of_name(s.file_name, signature_ids[s.content.dump_id]) for s in sightings), strict=True)
    program_ids, *others = facts
    columns = (
        *files, [s.content.dump_id for s in sightings], [load_id] * len(sightings), program_ids,
        [s.source_uri for s in sightings], *others, [s.size_bytes for s in sightings], [s.mtime_ns for s in sightings],
        *_columns(map(_of_module_text, sightings), _NO_MODULE_TEXT), _newest_loads(warehouse.con, files, known_runs),
        [s.did_not_fit for s in sightings], *_columns(map(_of_compile_flags, sightings), _NO_COMPILE_FLAGS),
        [s.module_text.donations_id if s.module_text else None for s in sightings],
        *_columns(map(_of_proto, sightings), _NO_PROTO),
        *_columns(_stand_ins(warehouse, files, known_runs), _NO_STAND_IN),
    )  # fmt: skip
    types = OBSERVATIONS.types
    return pl.DataFrame(dict(zip(types, columns, strict=True)), schema=types)


def _columns(rows: Iterable[tuple], nothing: tuple) -> Iterable[Sequence | None]:
    """Return rows as columns, None for each where they all are `nothing`."""
    rows = list(rows)
    return nothing if rows.count(nothing) == len(rows) else zip(*rows, strict=True)


def _newest_loads(con: duckdb.DuckDBPyConnection, files: pl.DataFrame, known_runs: Set[int]) -> list[int | None]:
    """Return the load that saw each file last, given by run_id and path; None for those that were not seen before."""
    if not known_runs:
        return [None] * len(files)
    of_these_runs = _condition(known_runs)
    with registered(con, "files", files):
        if not _are_told(con, of_these_runs):
            return [None] * len(files)
        seen = con.execute(
            "SELECT o.run_id, o.relative_path, o.load_id FROM staging.observations AS o"
            f" SEMI JOIN files USING (run_id, relative_path) WHERE {of_these_runs}"
        ).fetchall()
    newest = {(run_id, path): load_id for run_id, path, load_id in seen}
    return [newest.get(file) for file in files.iter_rows()]


def _stand_ins(warehouse: Warehouse, files: pl.DataFrame, known_runs: Set[int]) -> list[tuple[str | None, int | None]]:
    """Return the path and the load of the proto that was taken for each dump, or refused, before its text came.

    XLA writes the proto first: an ingest of a directory that is being written may find it without the text.
    """
    nothing = [_NO_STAND_IN] * len(files)
    if not known_runs:
        return nothing
    # Nearly always there is neither, and to plan the statement below takes longer.
    con = warehouse.con
    refused = f"FROM {warehouse.stored('rejects')} WHERE role = 'proto'"
    [(is_there_any,)] = con.execute(f"SELECT EXISTS (FROM raw.protos) OR EXISTS ({refused})").fetchall()
    if not is_there_any:
        return nothing
    of_these_runs = _condition(known_runs)
    alone = con.execute(
        "SELECT o.run_id, o.relative_path, o.load_id FROM staging.observations AS o SEMI JOIN raw.protos AS p"
        f" ON o.dump_id = p.dump_id WHERE {of_these_runs} UNION ALL SELECT o.run_id, o.relative_path, MAX(o.load_id)"
        f" FROM raw.rejects AS o WHERE o.role = 'proto' AND o.state = 'open' AND {of_these_runs} GROUP BY ALL"
    ).fetchall()
    if not alone:
        return nothing
    taken = {
        (run_id, dump_of_proto(plain_name(path))): (path, load_id)
        for run_id, path, load_id in alone
        if is_proto(plain_name(path))
    }
    return [taken.get((run_id, plain_name(path)), _NO_STAND_IN) for run_id, path in files.iter_rows()]


def _condition(runs: Iterable[int]) -> str:
    """Return the condition that observations `o` are of some runs.

    With the runs named in the statement DuckDB reads only their rows; a join would scan all observations.
    """
    return f"o.run_id IN ({', '.join(map(str, runs))})"


def _are_told(con: duckdb.DuckDBPyConnection, of_these_runs: str) -> bool:
    """Return whether any of the `files` was seen in some runs: mostly none was, and the other questions cost more."""
    return bool(
        con.execute(
            "SELECT 1 FROM raw.observations AS o SEMI JOIN files USING (run_id, relative_path)"
            f" WHERE {of_these_runs} LIMIT 1"
        ).fetchall()
    )


def _add_unseen(warehouse: Warehouse, table: str, sets: dict[int, Sequence[tuple] | Columns]) -> int:
    """Add sets of rows that have a key, given by it, where it is not in the table yet; return the rows added."""
    if not sets:
        return 0
    # Named in the statement: of each element of a list that is given DuckDB asks anew what libraries there are.
    known = warehouse.con.execute(
        f"SELECT DISTINCT {table}_id FROM raw.{table} WHERE {table}_id IN ({', '.join(map(str, sets))})"
    ).fetchall()
    for (key,) in known:
        del sets[key]
    if not SETS[table].is_by_columns:
        return insert(warehouse, table, [(key, *row) for key, rows in sets.items() for row in rows])
    if not sets:
        return 0
    keys = [array("q", [key]) * len(columns[0]) for key, columns in sets.items()]
    return _insert(warehouse, table, frame_of(table, map(_joined, (keys, *zip(*sets.values(), strict=True)))))


def _joined(parts: Sequence[array | list]) -> pl.Series | list:
    if not isinstance(parts[0], array):
        return list(chain.from_iterable(parts))
    cells = b"".join(parts)
    return pl.Series(pa.Array.from_buffers(pa.int64(), len(cells) // 8, [None, pa.py_buffer(cells)]))


def insert(warehouse: Warehouse, table: str, rows: Sequence[tuple]) -> int:
    """Add rows to a table of raw, cells in the order of its contract; return how many."""
    return _insert(warehouse, table, frame_of(table, zip(*rows, strict=True))) if rows else 0


def _insert(warehouse: Warehouse, table: str, frame: pl.DataFrame) -> int:
    if len(frame):
        with streamed(warehouse.con, "rows_to_add", frame):
            warehouse.con.execute(
                f"INSERT INTO {warehouse.stored(table)} BY NAME SELECT *{warehouse.besides(table)} FROM rows_to_add"
            )
    return len(frame)
