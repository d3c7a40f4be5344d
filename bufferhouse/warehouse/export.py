"""Give back what was ingested: the original files, names included, made from the tables."""

import hashlib
import os
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import polars as pl

from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.engine.sql import execute, streamed
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.paths import replacing
from bufferhouse.redaction import printable
from bufferhouse.sources.compression import plain_name
from bufferhouse.warehouse.restore import chunks, rendered
from bufferhouse.warehouse.run_names import find, without_dumps

_NAME_BYTES = 255  # of one name, and of a whole path below the folder: what file systems take
_PATH_BYTES = 2000
_DEPTH = 100
_ENDING_BYTES = 48  # of a long name: the suffix says which file of a dump it is
_MAIN = ("combined", "allocations", "proto")  # the role of the file that a dump is named after
Hashes = dict[int, dict[str, str]]
"""The SHA-256 of each file, by dump and role."""
Places = dict[int, list[dict[str, str]]]
"""The paths to write by dump: for each observation one path for each role."""


@dataclass(slots=True)
class Exported:
    """How many files were written, and those that could not have their own name: `<run>/<path>` and the name given."""

    file_count: int = 0
    renamed: list[tuple[str, str]] = field(default_factory=list)


def choose(con: duckdb.DuckDBPyConnection, *, dump_id: int | None = None, run: str | None = None) -> list[tuple]:
    """Return (dump_id, run name, relative path) of the observations to write: one dump's, one run's, or all.

    Raises:
        UsageError: there is no such dump or run, or the word for the run means several.
    """
    run = None if run is None else find(con, run).run_name
    # A file that was modified in place has several contents: its newest is written, or the one that is asked for.
    newest = "staging.observations" if dump_id is None else "raw.observations"
    rows = execute(
        con,
        f"SELECT DISTINCT o.dump_id, r.run_name, o.relative_path FROM {newest} AS o"
        " JOIN staging.runs AS r USING (run_id)"
        " WHERE ($dump_id IS NULL OR o.dump_id = $dump_id) AND ($run IS NULL OR r.run_name = $run)"
        " ORDER BY o.dump_id, r.run_name, o.relative_path",
        dump_id=dump_id,
        run=run,
    ).fetchall()
    if not rows and dump_id is not None:
        raise UsageError(f"there is no dump {dump_id} in the warehouse")
    if not rows and run is not None:
        raise without_dumps(con, run)
    return rows


def left_out(con: duckdb.DuckDBPyConnection, run: str | None = None) -> int:
    """Return how many refused files of a run, None for all, the warehouse keeps: they are no dumps, and not written."""
    name = None if run is None else find(con, run).run_name
    [(count,)] = execute(
        con,
        "SELECT COUNT(*) FROM raw.rejects JOIN raw.runs USING (run_id)"
        " WHERE state = 'open' AND role <> 'log' AND ($run IS NULL OR run_name = $run)",
        run=name,
    ).fetchall()
    return count


def export(
    con: duckdb.DuckDBPyConnection,
    chosen: list[tuple],
    directory: Path,
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Exported:
    """Write `directory/<run>/<relative path>` for every chosen observation.

    Compressed sources come back uncompressed, without the suffix of their compression. Names that no file system takes,
    or that would leave the folder, become safe ones; where names meet, also on a file system that does not tell case,
    a number is put behind one. Every file is checked against the hash it was ingested under.

    Raises:
        WarehouseError: a dump no longer renders to the bytes it was ingested from.
        UsageError: a file with other bytes is there already, unless `force`, or a link in `directory` leads out;
            nothing was written.
    """
    done = Exported()
    hashes = _hashes(con, chosen)
    places = _places(chosen, hashes, done)
    _check(directory, places, hashes, force=force)
    proved = 0
    for frames in chunks(con, list(places)):
        for one in rendered(frames):
            if one.content is None:
                raise WarehouseError(f"dump {one.dump_id} {one.fault}; see: bufferhouse verify")
            for named in places[one.dump_id]:
                for role, data in one.files.items():
                    _write(directory / named[role], data)
                    done.file_count += 1
            proved += 1
            if progress:
                progress(proved, len(places))
    return done


def _hashes(con: duckdb.DuckDBPyConnection, chosen: list[tuple]) -> Hashes:
    with streamed(con, "exported", pl.DataFrame({"dump_id": [row[0] for row in chosen]})):
        rows = con.execute(
            "SELECT dump_id, role, sha256 FROM raw.dump_files SEMI JOIN exported USING (dump_id)"
        ).fetchall()
    hashes: Hashes = {}
    for dump_id, role, sha256 in rows:
        hashes.setdefault(dump_id, {})[role] = sha256
    return hashes


def _places(chosen: list[tuple], hashes: Hashes, done: Exported) -> Places:
    """Return where each file is written, all at different paths."""
    places: Places = {}
    taken = _Taken()
    for dump_id, run_name, relative_path in sorted(chosen, key=_first_come):
        wanted, number = f"{run_name}/{plain_name(relative_path)}", 1
        path = taken.beside(safe_path(wanted))
        while not taken.take(named := _by_role(path, number, hashes[dump_id])):
            number += 1
        main = next(path for role, path in named.items() if role in _MAIN)
        if main != wanted:
            done.renamed.append((wanted, main))
        places.setdefault(dump_id, []).append(named)
    return places


def _first_come(row: tuple) -> tuple[bool, str]:
    """Return what observations are sorted by: those that can have their own name come before those that cannot."""
    path = f"{row[1]}/{row[2]}"
    return plain_name(path) != path or safe_path(path) != path, path


def _by_role(path: str, number: int, roles: Iterable[str]) -> dict[str, str]:
    folder, _, name = path.rpartition("/")
    mark = SUFFIXES["allocations"]
    ending = "" if number == 1 else f".{number}"
    named = {}
    for role in roles:
        other = name if role in _MAIN else name.replace(mark, SUFFIXES[role]) if mark in name else name + SUFFIXES[role]
        named[role] = safe_path(f"{folder}/{other}{ending}")
    return named


def safe_path(path: str) -> str:
    """Return a relative path that file systems take and that leads nowhere else; another only where it must be."""
    names = [_safe_name(name) for name in path.split("/")]
    safe = "/".join(names)
    if len(_bytes(safe)) > _PATH_BYTES or len(names) > _DEPTH:
        return "/".join([names[0], f"~{_hash(path)}", names[-1]])
    return safe


def _safe_name(name: str) -> str:
    if name in ("", ".", ".."):
        return "_" * max(len(name), 1)
    safe = name.replace("\0", "_")
    if len(_bytes(safe)) <= _NAME_BYTES:
        return safe
    end = _bytes(safe)[-_ENDING_BYTES:].decode("utf-8", "ignore")
    middle = f"~{_hash(name)}~"
    begin = _bytes(safe)[: _NAME_BYTES - _ENDING_BYTES - len(middle)].decode("utf-8", "ignore")
    return begin + middle + end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _hash(text: str) -> str:
    return hashlib.sha256(_bytes(text)).hexdigest()[:12]


class _Taken:
    """Paths that are given away, as a file system sees them that tells neither case nor forms of Unicode."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def beside(self, path: str) -> str:
        """Return a path with a number behind each of its folders whose name a file has."""
        names = path.split("/")
        for place, name in enumerate(names[:-1]):
            number = 1
            while _folded("/".join(names[: place + 1])) in self._files:
                number += 1
                names[place] = _safe_name(f"{name}.{number}")
        return "/".join(names)

    def take(self, named: dict[str, str]) -> bool:
        """Take all paths, or none where one is taken, or is a folder of one that is, or the other way round."""
        keys = [_folded(path) for path in named.values()]
        folders = {key[:place] for key in keys for place, letter in enumerate(key) if letter == "/"}
        if self._files & {*keys, *folders} or self._folders & set(keys):
            return False
        self._files.update(keys)
        self._folders |= folders
        return True


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def check_inside(directory: Path, folders: Iterable[str]) -> None:
    """Refuse to write into folders of a directory of which one is elsewhere.

    Raises:
        UsageError: a link in the directory leads out of it.
    """
    root = directory.resolve()
    for folder in folders:
        if not (root / folder).resolve().is_relative_to(root):
            raise UsageError(f"{printable(folder)} would be written outside {directory}: a link in it leads there")


def _check(directory: Path, places: Places, hashes: Hashes, *, force: bool) -> None:
    targets = [path for of_dump in places.values() for named in of_dump for path in named.values()]
    check_inside(directory, {os.path.dirname(path) for path in targets})
    others = [] if force else _others(directory.resolve(), places, hashes)
    if others:
        raise UsageError(
            f"{len(others)} of {len(targets)} files are in {directory} already with other bytes, {min(others)!r} among "
            "them; export to another folder, or replace them with --force"
        )


def _others(root: Path, places: Places, hashes: Hashes) -> list[str]:
    """Return the existing files with other bytes than those to write; equal ones let a stopped export continue."""
    return [
        path
        for dump_id, of_dump in places.items()
        for named in of_dump
        for role, path in named.items()
        if os.path.lexists(root / path) and _sha256_of(root / path) != hashes[dump_id][role]
    ]


def _sha256_of(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(target: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as new:
            new.write_bytes(data)
    except OSError as error:
        error.filename = str(target)  # where a disk is full, it names no file
        raise
