"""What was seen beside what a dump holds: the files of runs, and what the files beside each say of its compilation."""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from itertools import chain

import duckdb
import polars as pl
import pyarrow as pa

from bufferhouse.dump import DumpError
from bufferhouse.dump.compile_flags import read_compile_flags
from bufferhouse.dump.identity import SUFFIXES, dump_of_proto, facts_of_name, is_proto
from bufferhouse.dump.module_header import read_donations
from bufferhouse.dump.stack_frames import FIRST_TABLE, StackFrame, read_stack_frames
from bufferhouse.engine.sql import registered, streamed
from bufferhouse.errors import told
from bufferhouse.proto import ProtoError
from bufferhouse.sources.compression import plain_name
from bufferhouse.sources.found import Found
from bufferhouse.sources.module_text import HeadError
from bufferhouse.tabulate.batch import CompileFlags, ModuleText, Proto, Sighting
from bufferhouse.warehouse.runs import run_ids
from bufferhouse.warehouse.stored_sets import SETS, Columns, key_of_columns, key_of_rows
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import OBSERVATIONS, TABLES

_KEPT, _KEPT_BYTES = 64, 64 << 10  # so much that was just read keeps its rows: most of a fleet repeats
# Soft rules about the files of a dump and those beside it, by their names in marts.warnings.
UNREADABLE = "stack_frames_readable"
INCOMPLETE = "split_files_complete"

_SIGHTINGS = {
    "number": pl.Int64, "run_id": pl.Int64, "relative_path": pl.String, "dump_id": pl.Int64, "size_bytes": pl.Int64,
    "mtime_ns": pl.Int64, "has_module_text": pl.Boolean, "module_text_size_bytes": pl.Int64,
    "module_text_mtime_ns": pl.Int64, "stack_frames_id": pl.Int64, "stack_frames_fault": pl.String,
    "did_not_fit": pl.Boolean, "has_compile_flags": pl.Boolean, "compile_flags_ids": pl.List(pl.Int64),
    "compile_flags_size_bytes": pl.Int64, "compile_flags_mtime_ns": pl.Int64, "compile_flags_fault": pl.String,
    "has_proto": pl.Boolean, "proto_size_bytes": pl.Int64, "proto_mtime_ns": pl.Int64,
}  # fmt: skip


def module_text_of(dump: Found, files: Mapping[str, bytes]) -> ModuleText | None:
    """Read the head of the module text beside a dump, which the source has fetched; None where there is none.

    A head that is damaged or cut is a `fault`; the dump is loaded all the same, without source lines. Of a dump that is
    its proto the same stands there.
    """
    if "proto" in dump.parts:
        return _head_of_proto(dump, files)
    entry, head = dump.module_text, dump.head
    if entry is None or head is None:
        return None
    dump.head = None
    found = ModuleText(entry.path, entry.size_bytes, entry.mtime_ns)
    if isinstance(head, HeadError):
        found.fault = str(head)
    elif isinstance(head, Exception):
        reason = getattr(head, "strerror", None) or str(head)
        return ModuleText(entry.path, fault=f"expected a file that can be read, found: {reason}")
    else:
        try:
            found.donations = read_donations(head)
            found.stack_frames, found.stack_frames_id = _frames_of(head)
        except DumpError as error:
            found.fault = str(error)
        except Exception as error:
            found.fault = f"expected tables of stack frames, found: {told(error)}"
    if found.donations is not None:
        found.donations_id = key_of_rows(found.donations)
    if found.stack_frames:
        found.held_bytes = 4 * len(head) + 8 * sum([len(frame.call_stack) for frame in found.stack_frames])
    return found


def _frames_of(head: bytes) -> tuple[list[StackFrame] | None, int | None]:
    """Return the stack frames at a head with their key; those of tables that were just read are kept.

    A program that is compiled anew, with other flags say, has the same tables.
    """
    tables = head[head.find(b"\n" + FIRST_TABLE) + 1 :]
    # Where a head is no UTF-8, its tables are read otherwise, too.
    if head.startswith(b"HloModule ") and head.isascii() and 0 < len(tables) < min(len(head), _KEPT_BYTES):
        with suppress(DumpError):  # which is about a line of the tables, and is told again about one of the head
            return _frames_of_tables(tables)
    return _with_key(read_stack_frames(head))


@lru_cache(_KEPT)
def _frames_of_tables(tables: bytes) -> tuple[list[StackFrame] | None, int | None]:
    return _with_key(read_stack_frames(b"HloModule \n" + tables))


def _with_key(frames: list[StackFrame] | None) -> tuple[list[StackFrame] | None, int | None]:
    return frames, key_of_rows(frames) if frames else None


def _head_of_proto(dump: Found, files: Mapping[str, bytes]) -> ModuleText | None:
    from bufferhouse.proto.dump import read_proto_dump

    try:
        found = read_proto_dump(files["proto"])
    except Exception:  # the dump is refused, and the reject says why
        return None
    head = ModuleText(dump.uri, donations=found.donations, donations_id=key_of_rows(found.donations))
    if found.stack_frames:
        head.stack_frames, head.stack_frames_id = found.stack_frames, key_of_rows(found.stack_frames)
        head.held_bytes = sum([400 + 8 * len(frame.call_stack) for frame in found.stack_frames])
    return head


def proto_of(dump: Found, files: Mapping[str, bytes]) -> Proto | None:
    """Read the proto beside a dump, which the source has fetched, or the proto that it is; None where there is none.

    One that is damaged is a `fault`; the dump is loaded all the same, without heap events and alias sets.
    """
    if "proto" in dump.parts:
        return _read_proto(Proto(dump.uri), files["proto"])
    entry, data = dump.proto, dump.proto_bytes
    if entry is None or data is None:
        return None
    dump.proto_bytes = None
    if isinstance(data, Exception):
        return Proto(entry.path, fault=f"expected a file that can be read, found: {told(data)}")
    return _read_proto(Proto(entry.path, entry.size_bytes, entry.mtime_ns), data)


def _read_proto(proto: Proto, data: bytes) -> Proto:
    from bufferhouse.proto.assignment import opened_proto

    try:
        assignment = opened_proto(data).buffer_assignment
        read = (_kept_assignment if len(assignment) <= _KEPT_BYTES else _read_assignment)(assignment)
    except ProtoError as error:
        proto.fault = str(error)
    except Exception as error:
        proto.fault = f"expected a buffer assignment, found: {told(error)}"
    else:
        proto.assignment, proto.heap_events, proto.alias_sets, proto.heap_events_id, proto.alias_sets_id = read
    return proto


def _read_assignment(data: bytes) -> tuple:
    """Return what a buffer assignment says, its events and its sets with their keys."""
    from bufferhouse.proto.alias_sets import alias_sets
    from bufferhouse.proto.assignment import read_assignment
    from bufferhouse.proto.heap import heap_events

    assignment = read_assignment(data)
    events, sets = heap_events(assignment), alias_sets(assignment)
    assignment.message, assignment.buffers = None, {}
    return assignment, events, sets, key_of_columns(events), key_of_columns(sets)


_kept_assignment = lru_cache(_KEPT)(_read_assignment)


def compile_flags_of(dump: Found) -> CompileFlags | None:
    """Read the options of the compilation from the files beside a dump, which the source has fetched; None for none."""
    if not dump.flags:
        return None
    texts, dump.flag_texts = dump.flag_texts, {}
    sets, faults = {}, []
    for origin, entry in dump.flags.items():
        text = texts[origin]
        if isinstance(text, Exception):
            return CompileFlags(None, None, fault=f"{entry.path}: {told(text)}")
        found = _set_of_file(origin, text)
        if isinstance(found, str):
            faults.append(f"{entry.path}:{found}")
        elif found[1]:
            sets[found[0]] = found[1]
    entries = dump.flags.values()
    size_bytes, mtime_ns = sum(entry.size_bytes for entry in entries), max(entry.mtime_ns for entry in entries)
    return CompileFlags(size_bytes, mtime_ns, sets, "; ".join(faults) or None)


@lru_cache(256)  # the files of a run are most often alike
def _set_of_file(origin: str, text: bytes) -> tuple[int, list[tuple[str, str, str]]] | str:
    """Return the options of a file with their key, or what is wrong with it and where."""
    try:
        rows = [(origin, *flag) for flag in read_compile_flags(origin, text)]
    except DumpError as error:
        return str(error)
    except Exception as error:
        return f" expected options, found: {told(error)}"
    return key_of_rows(rows), rows


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
        *(f"{p.source_uri}: {p.difference}; it is left aside" for p in protos if p.difference),
    ]


def incomplete(sightings: Iterable[Sighting]) -> list[str]:
    """Return a line for each dump in several files that lacks its values or its live ranges: XLA writes both."""
    lines = []
    for one in sightings:
        roles = one.content.file_sha256
        if ("values" in roles) == ("live_range" in roles):
            continue
        absent, lost = ("live_range", "live ranges") if "values" in roles else ("values", "values")
        lines.append(
            f"{one.source_uri}: expected …{SUFFIXES[absent]} beside it, found none; the dump is loaded without {lost}, "
            "so it has no peak; put that file there, and ingest again"
        )
    return lines


def unseen(warehouse: Warehouse, sightings: list[Sighting]) -> tuple[list[Sighting], int]:
    """Return the sightings that no observation tells already, and how many it does: same file, time and content.

    A file that was refused since it was seen, and is back as it was, is seen anew: that closes its reject. A module
    text that has come, or is another, makes a new sighting of its dump; one that is gone does not. So do
    files that say that it did not fit.
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
            i, told[s.run_name], s.relative_path, s.content.dump_id, s.size_bytes, s.mtime_ns,
            s.module_text is not None and s.module_text.size_bytes is not None, *_of_module_text(s), s.did_not_fit,
            s.compile_flags is not None and s.compile_flags.size_bytes is not None, *_of_compile_flags(s),
            s.proto is not None and s.proto.size_bytes is not None, *_of_proto(s)[:2],
        )
        for i, s in of_known_runs
    ]  # fmt: skip
    with streamed(con, "sightings", pl.DataFrame(rows, schema=_SIGHTINGS, orient="row")):
        again = con.execute(
            "SELECT s.number FROM sightings AS s SEMI JOIN ("
            f" SELECT o.* FROM staging.observations AS o WHERE {of_these_runs}"
            " AND (o.run_id, o.relative_path) NOT IN (SELECT (run_id, relative_path) FROM raw.rejects"
            " WHERE state = 'open')) AS o"
            " ON s.run_id = o.run_id AND s.relative_path = o.relative_path AND s.dump_id = o.dump_id"
            " AND s.size_bytes = o.source_size_bytes AND s.mtime_ns IS NOT DISTINCT FROM o.source_mtime_ns"
            " AND (NOT s.has_module_text OR (s.module_text_size_bytes IS NOT DISTINCT FROM o.module_text_size_bytes"
            " AND s.module_text_mtime_ns IS NOT DISTINCT FROM o.module_text_mtime_ns"
            " AND s.stack_frames_id IS NOT DISTINCT FROM o.stack_frames_id"
            " AND s.stack_frames_fault IS NOT DISTINCT FROM o.stack_frames_fault))"
            " AND (s.did_not_fit IS NULL OR o.did_not_fit)"
            " AND (NOT s.has_compile_flags OR (s.compile_flags_ids IS NOT DISTINCT FROM o.compile_flags_ids"
            " AND s.compile_flags_size_bytes IS NOT DISTINCT FROM o.compile_flags_size_bytes"
            " AND s.compile_flags_mtime_ns IS NOT DISTINCT FROM o.compile_flags_mtime_ns"
            " AND s.compile_flags_fault IS NOT DISTINCT FROM o.compile_flags_fault))"
            " AND (NOT s.has_proto OR (s.proto_size_bytes IS NOT DISTINCT FROM o.proto_size_bytes"
            " AND s.proto_mtime_ns IS NOT DISTINCT FROM o.proto_mtime_ns))"
        ).fetchall()
    are_told = {number for (number,) in again}
    return [s for i, s in enumerate(sightings) if i not in are_told], len(are_told)


_NO_MODULE_TEXT = (None, None, None, None)


def _of_module_text(s: Sighting) -> tuple:
    text = s.module_text
    return _NO_MODULE_TEXT if text is None else (text.size_bytes, text.mtime_ns, text.stack_frames_id, text.fault)


_NO_COMPILE_FLAGS = (None, None, None, None)


def _of_compile_flags(s: Sighting) -> tuple:
    one = s.compile_flags
    return _NO_COMPILE_FLAGS if one is None else (list(one.sets) or None, one.size_bytes, one.mtime_ns, one.fault)


_NO_PROTO = (None, None, None, None, None, None)


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
    """Write an observation per sighting, and what nobody has seen before beside a dump; return the rows by table.

    `known_runs` are the runs that were there before this load: of the files of all others nothing was seen.
    """
    texts = [s.module_text for s in sightings if s.module_text is not None]
    rows = _observations(warehouse, sightings, run_ids, {run_ids[name] for name in known_runs}, load_id, signature_ids)
    frames = {t.stack_frames_id: t.stack_frames for t in texts if t.stack_frames}
    donations = {t.donations_id: t.donations for t in texts if t.donations}
    flags = {key: rows for s in sightings if s.compile_flags for key, rows in s.compile_flags.sets.items()}
    agreed = [s.proto for s in sightings if s.proto is not None and not s.proto.difference]
    events = {p.heap_events_id: p.heap_events for p in agreed if p.heap_events}
    aliases = {p.alias_sets_id: p.alias_sets for p in agreed if p.alias_sets}
    sets = {
        "stack_frames": frames, "donations": donations, "compile_flags": flags, "heap_events": events,
        "alias_sets": aliases,
    }  # fmt: skip
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
    """Return rows as columns, None for each where they all are `nothing`: of most dumps nothing lies beside them."""
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


_NO_STAND_IN = (None, None)


def _stand_ins(warehouse: Warehouse, files: pl.DataFrame, known_runs: Set[int]) -> list[tuple[str | None, int | None]]:
    """Return the path and the load of the proto that was taken for each dump, or refused, before its text came.

    XLA writes the proto first: who ingests a directory that is being written may find it alone.
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

    Named in the statement, the runs are looked for where they lie; a join would go through all that was ever seen.
    """
    return f"o.run_id IN ({', '.join(map(str, runs))})"


def _are_told(con: duckdb.DuckDBPyConnection, of_these_runs: str) -> bool:
    """Say whether any of the `files` was seen in some runs: most often none was, and what tells more is dear."""
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
    return _insert(warehouse, table, _frame(table, map(_joined, (keys, *zip(*sets.values(), strict=True)))))


def _joined(parts: Sequence[array | list]) -> pa.Array | list:
    if not isinstance(parts[0], array):
        return list(chain.from_iterable(parts))
    cells = b"".join(parts)
    return pa.Array.from_buffers(pa.int64(), len(cells) // 8, [None, pa.py_buffer(cells)])


def insert(warehouse: Warehouse, table: str, rows: Sequence[tuple]) -> int:
    """Add rows to a table of raw, cells in the order of its contract; return how many."""
    return _insert(warehouse, table, _frame(table, map(list, zip(*rows, strict=True)))) if rows else 0


def _frame(table: str, columns: Iterable[list | pa.Array]) -> pl.DataFrame:
    types = TABLES[table].types.items()
    return pl.DataFrame([pl.Series(name, cells, dtype) for (name, dtype), cells in zip(types, columns, strict=True)])


def _insert(warehouse: Warehouse, table: str, frame: pl.DataFrame) -> int:
    if len(frame):
        with streamed(warehouse.con, "rows_to_add", frame):
            warehouse.con.execute(
                f"INSERT INTO {warehouse.stored(table)} BY NAME SELECT *{warehouse.besides(table)} FROM rows_to_add"
            )
    return len(frame)
