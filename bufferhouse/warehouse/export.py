"""Give back what was ingested: the original files, names included, made from the tables."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb

from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.paths import replacing
from bufferhouse.sources.compression import plain_name
from bufferhouse.warehouse.restore import chunks, rendered


def choose(con: duckdb.DuckDBPyConnection, *, dump_id: int | None = None, run: str | None = None) -> list[tuple]:
    """Return (dump_id, run name, relative path) of the observations to write: one dump's, one run's, or all.

    Raises:
        UsageError: there is no such dump or run.
    """
    # A file that was modified in place has several contents: its newest is written, or the one that is asked for.
    newest = "staging.observations" if dump_id is None else "raw.observations"
    rows = con.execute(
        f"SELECT DISTINCT o.dump_id, r.run_name, o.relative_path FROM {newest} AS o"
        " JOIN staging.runs AS r USING (run_id)"
        " WHERE ($dump_id IS NULL OR o.dump_id = $dump_id) AND ($run IS NULL OR r.run_name = $run)"
        " ORDER BY o.dump_id, r.run_name, o.relative_path",
        {"dump_id": dump_id, "run": run},
    ).fetchall()
    if not rows and dump_id is not None:
        raise UsageError(f"there is no dump {dump_id} in the warehouse")
    if not rows and run is not None:
        raise UsageError(f"there is no run {run!r} in the warehouse, or it has no dumps; see: bufferhouse runs ls")
    return rows


def export(
    con: duckdb.DuckDBPyConnection,
    chosen: list[tuple],
    directory: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write `directory/<run>/<relative path>` for every chosen observation; return the number of files written.

    Compressed sources come back uncompressed, without the suffix of their compression; where another file has that
    name already, a number is put behind it. Every file is checked against the hash it was ingested under.

    Raises:
        WarehouseError: a dump no longer renders to the bytes it was ingested from.
        UsageError: a path would leave `directory`; nothing was written.
    """
    root = directory.resolve()
    places: dict[int, list[str]] = {}
    taken: set[str] = set()
    for dump_id, run_name, relative_path in sorted(chosen, key=lambda row: plain_name(row[2]) != row[2]):
        path = f"{run_name}/{plain_name(relative_path)}"
        if not (root / path).resolve().is_relative_to(root):
            raise UsageError(f"{path} would be written outside {directory}")
        number = 1
        while path in taken:
            number += 1
            path = f"{run_name}/{plain_name(relative_path)}.{number}"
        taken.add(path)
        places.setdefault(dump_id, []).append(path)
    written = done = 0
    for frames in chunks(con, list(places)):
        for one in rendered(frames):
            if one.content is None:
                raise WarehouseError(f"dump {one.dump_id} {one.fault}; see: bufferhouse verify")
            for path in places[one.dump_id]:
                for target, data in _named(one.files, root / path):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with replacing(target) as new:
                        new.write_bytes(data)
                    written += 1
            done += 1
            if progress:
                progress(done, len(places))
    return written


def _named(files: dict[str, bytes], path: Path) -> Iterator[tuple[Path, bytes]]:
    for role, data in files.items():
        is_main = role in ("combined", "allocations")
        yield (path if is_main else path.with_name(path.name.replace(SUFFIXES["allocations"], SUFFIXES[role]))), data
