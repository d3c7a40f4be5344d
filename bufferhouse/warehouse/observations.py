"""What was seen beside what a dump holds: the files of runs, and the stack frames of the module texts beside them."""

import json
from collections.abc import Iterable, Mapping

import duckdb
import polars as pl

from bufferhouse.dump import DumpError
from bufferhouse.dump.identity import facts_of_name, key_of
from bufferhouse.dump.stack_frames import StackFrame, read_stack_frames
from bufferhouse.engine.sql import registered
from bufferhouse.errors import told
from bufferhouse.sources.directory import Found
from bufferhouse.sources.module_text import HeadError
from bufferhouse.tabulate.collecting import collector_paused
from bufferhouse.tabulate.tables import ModuleText, Sighting
from bufferhouse.warehouse.rows import stored
from bufferhouse.warehouse.runs import run_ids

UNREADABLE = "stack_frames_readable"  # the soft rule that a damaged head breaks, by its name in marts.warnings

OBSERVATIONS = {
    "run_id": pl.Int64, "relative_path": pl.String, "dump_id": pl.Int64, "load_id": pl.Int64,
    "program_id": pl.Int64, "source_uri": pl.String, "module_id": pl.Int64, "module_name": pl.String,
    "program_name": pl.String, "stage": pl.String, "compile_target": pl.String, "compiler_revision": pl.String,
    "dumped_at": pl.Datetime("us", "UTC"), "source_size_bytes": pl.Int64, "source_mtime_ns": pl.Int64,
    "module_text_size_bytes": pl.Int64, "module_text_mtime_ns": pl.Int64, "stack_frames_id": pl.Int64,
    "stack_frames_fault": pl.String, "replaced_load_id": pl.Int64,
}  # fmt: skip
STACK_FRAMES = {
    "stack_frames_id": pl.Int64, "stack_frame_id": pl.Int64, "call_stack_ids": pl.List(pl.Int64),
    "function_name": pl.String, "source_file": pl.String, "source_line": pl.Int64, "source_end_line": pl.Int64,
    "source_column": pl.Int64, "source_end_column": pl.Int64,
}  # fmt: skip
_SIGHTINGS = {
    "number": pl.Int64, "run_name": pl.String, "relative_path": pl.String, "dump_id": pl.Int64, "size_bytes": pl.Int64,
    "mtime_ns": pl.Int64, "has_module_text": pl.Boolean, "module_text_size_bytes": pl.Int64,
    "module_text_mtime_ns": pl.Int64, "stack_frames_id": pl.Int64, "stack_frames_fault": pl.String,
}  # fmt: skip


def module_text_of(dump: Found) -> ModuleText | None:
    """Read the head of the module text beside a dump, which the source has fetched; None where there is none.

    A head that is damaged or cut is a `fault`; the dump is loaded all the same, without source lines.
    """
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
            found.stack_frames = read_stack_frames(head)
        except DumpError as error:
            found.fault = str(error)
        except Exception as error:
            found.fault = f"expected tables of stack frames, found: {told(error)}"
    if found.stack_frames:
        found.stack_frames_id = stack_frames_id(found.stack_frames)
        found.held_bytes = 4 * len(head) + 8 * sum([len(frame.call_stack) for frame in found.stack_frames])
    return found


def stack_frames_id(frames: Iterable[StackFrame | tuple]) -> int:
    """Return the key of the tables of a module text: the first 63 bits of a SHA-256 of all that is stored of them."""
    return key_of(json.dumps([list(frame) for frame in frames]))


def faults_of(sightings: Iterable[Sighting]) -> list[str]:
    """Return a line for each module text whose head cannot be read."""
    texts = [s.module_text for s in sightings if s.module_text is not None]
    return [f"{text.source_uri}:{'' if text.fault[:1].isdigit() else ' '}{text.fault}" for text in texts if text.fault]


def unseen(con: duckdb.DuckDBPyConnection, sightings: list[Sighting]) -> tuple[list[Sighting], int]:
    """Return the sightings that no observation tells already, and how many it does: same file, time and content.

    A file that was refused since it was seen, and is back as it was, is seen anew: that closes its reject. A module
    text that has come, or is another, makes a new sighting of its dump; one that is gone does not.
    """
    told = run_ids(con, {s.run_name for s in sightings})
    if not told:
        return sightings, 0
    of_these_runs = _condition(told.values())
    rows = [
        (
            i, s.run_name, s.relative_path, s.content.dump_id, s.size_bytes, s.mtime_ns,
            s.module_text is not None and s.module_text.size_bytes is not None, *_of_module_text(s),
        )
        for i, s in enumerate(sightings)
    ]  # fmt: skip
    with registered(con, "sightings", pl.DataFrame(rows, schema=_SIGHTINGS, orient="row").to_arrow()):
        if not _are_told(con, "sightings", of_these_runs):
            return sightings, 0
        fresh = con.execute(
            "SELECT s.number FROM sightings AS s ANTI JOIN ("
            " SELECT r.run_name, o.* FROM staging.observations AS o JOIN raw.runs AS r USING (run_id)"
            f" WHERE {of_these_runs}"
            " AND (o.run_id, o.relative_path) NOT IN (SELECT (run_id, relative_path) FROM raw.rejects"
            " WHERE state = 'open')) AS o"
            " ON s.run_name = o.run_name AND s.relative_path = o.relative_path AND s.dump_id = o.dump_id"
            " AND s.size_bytes = o.source_size_bytes AND s.mtime_ns IS NOT DISTINCT FROM o.source_mtime_ns"
            " AND (NOT s.has_module_text OR (s.module_text_size_bytes IS NOT DISTINCT FROM o.module_text_size_bytes"
            " AND s.module_text_mtime_ns IS NOT DISTINCT FROM o.module_text_mtime_ns"
            " AND s.stack_frames_id IS NOT DISTINCT FROM o.stack_frames_id"
            " AND s.stack_frames_fault IS NOT DISTINCT FROM o.stack_frames_fault))"
            " ORDER BY s.number"
        ).fetchall()
    return [sightings[number] for (number,) in fresh], len(sightings) - len(fresh)


_NO_MODULE_TEXT = (None, None, None, None)


def _of_module_text(s: Sighting) -> tuple:
    text = s.module_text
    return _NO_MODULE_TEXT if text is None else (text.size_bytes, text.mtime_ns, text.stack_frames_id, text.fault)


def observe(
    con: duckdb.DuckDBPyConnection,
    sightings: list[Sighting],
    run_ids: Mapping[str, int],
    load_id: int,
    signature_ids: Mapping[int, int],
) -> dict[str, int]:
    """Write an observation per sighting, and the stack frames nobody has seen before; return the rows by table."""
    texts = [s.module_text for s in sightings if s.module_text is not None]
    return {
        "observations": _insert(con, "observations", _observations(con, sightings, run_ids, load_id, signature_ids)),
        "stack_frames": _add_stack_frames(con, {t.stack_frames_id: t.stack_frames for t in texts if t.stack_frames}),
    }


@collector_paused()
def _observations(
    con: duckdb.DuckDBPyConnection,
    sightings: list[Sighting],
    run_ids: Mapping[str, int],
    load_id: int,
    signature_ids: Mapping[int, int],
) -> pl.DataFrame:
    if not sightings:
        return pl.DataFrame(schema=OBSERVATIONS)
    files = pl.DataFrame(
        {"run_id": [run_ids[s.run_name] for s in sightings], "relative_path": [s.relative_path for s in sightings]}
    )
    facts = zip(*(facts_of_name(s.file_name, signature_ids[s.content.dump_id]) for s in sightings), strict=True)
    program_ids, *others = facts
    columns = (
        *files, [s.content.dump_id for s in sightings], [load_id] * len(sightings), program_ids,
        [s.source_uri for s in sightings], *others, [s.size_bytes for s in sightings], [s.mtime_ns for s in sightings],
        *zip(*map(_of_module_text, sightings), strict=True), _newest_loads(con, files),
    )  # fmt: skip
    return pl.DataFrame(dict(zip(OBSERVATIONS, columns, strict=True)), schema=OBSERVATIONS)


def _newest_loads(con: duckdb.DuckDBPyConnection, files: pl.DataFrame) -> list[int | None]:
    """Return the load that saw each file last, given by run_id and path; None for those that were not seen before."""
    of_these_runs = _condition(files["run_id"].unique())
    with registered(con, "files", files.to_arrow()):
        if not _are_told(con, "files", of_these_runs):
            return [None] * len(files)
        seen = con.execute(
            "SELECT o.run_id, o.relative_path, o.load_id FROM staging.observations AS o"
            f" SEMI JOIN files USING (run_id, relative_path) WHERE {of_these_runs}"
        ).fetchall()
    newest = {(run_id, path): load_id for run_id, path, load_id in seen}
    return [newest.get(file) for file in files.iter_rows()]


def _condition(runs: Iterable[int]) -> str:
    """Return the condition that observations `o` are of some runs.

    Named in the statement, the runs are looked for where they lie; a join would go through all that was ever seen.
    """
    return f"o.run_id IN ({', '.join(map(str, runs))})"


def _are_told(con: duckdb.DuckDBPyConnection, table: str, of_these_runs: str) -> bool:
    """Say whether any path of a table was seen in some runs: most often none was, and what tells more is dear."""
    return bool(
        con.execute(
            f"SELECT 1 FROM raw.observations AS o SEMI JOIN {table} USING (relative_path) WHERE {of_these_runs} LIMIT 1"
        ).fetchall()
    )


def _add_stack_frames(con: duckdb.DuckDBPyConnection, tables: dict[int, list[StackFrame]]) -> int:
    if not tables:
        return 0
    known = con.execute(
        "SELECT DISTINCT stack_frames_id FROM raw.stack_frames"
        " WHERE stack_frames_id IN (SELECT unnest(CAST(? AS BIGINT[])))",
        [list(tables)],
    ).fetchall()
    for (key,) in known:
        del tables[key]
    rows = [(key, *frame) for key, frames in tables.items() for frame in frames]
    return insert(con, "stack_frames", STACK_FRAMES, rows)


def insert(con: duckdb.DuckDBPyConnection, table: str, schema: Mapping[str, pl.DataType], rows: list[tuple]) -> int:
    """Add rows to a table of raw, cells in the order of `schema`; return how many."""
    return _insert(con, table, pl.DataFrame(rows, schema=schema, orient="row"))


def _insert(con: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> int:
    if len(frame):
        names = ", ".join(frame.columns)
        with registered(con, "rows_to_add", frame.to_arrow()):
            con.execute(f"INSERT INTO {stored(con, table)} ({names}) SELECT {names} FROM rows_to_add")
    return len(frame)
