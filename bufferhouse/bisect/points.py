"""The points of a bisection: compiled now, each into a run of its own, or known from runs of the warehouse."""

import hashlib
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from bufferhouse.bisect.compile import LOG, compile_into
from bufferhouse.bisect.environments import CannotInstall, Environments
from bufferhouse.bisect.modules import own_modules
from bufferhouse.bisect.search import BAD, GOOD, SKIPPED
from bufferhouse.engine.sql import execute
from bufferhouse.errors import UsageError, counted, did_you_mean
from bufferhouse.query.statements import Connection, Record, ask
from bufferhouse.redaction import printable
from bufferhouse.sources.flags import effective_flags

_SIGNED = "~bisect-"  # in the name of a run of a bisection, before what was compiled
_FAILED = "~failed-"  # the same if the compilation failed: its dump is of no program that ran
# The first letters of variables that may change what a command compiles: XLA_FLAGS, LIBTPU_INIT_ARGS, JAX_ENABLE_X64, …
_SIGNED_VARIABLES = ("JAX_", "LIBTPU_", "TF_", "XLA_")
_SHOWN = 12  # programs of a run, in a message
_FEW = 3  # program_ids, in a note
_PIECE_BYTES = 1 << 20  # of a file, in memory at once
_RUN_ID = "SELECT run_id FROM raw.runs WHERE run_name = $name"


@dataclass(frozen=True, slots=True)
class Point:
    """The result of one point: the bytes of the program and the run they come from, or the fault of the compilation."""

    name: str
    verdict: str
    size_bytes: int | None
    run_name: str | None = None
    program_id: int | None = None
    is_compiled: bool = False
    seconds: float = 0.0
    fault: str | None = None
    log: bytes | None = None


@dataclass(slots=True)
class Asked:
    """What a bisection was asked for. `axis` is a package, or `flags`; `names` are its points, the good one first."""

    program: str
    axis: str
    names: Sequence[str]
    words: Sequence[str]
    metric: str = "reserved"
    memory_space: int = 0
    flags: Sequence[str] = ()
    flags_variable: str = "XLA_FLAGS"
    fail_is_bad: bool = False
    use_known: bool = True
    timeout: float | None = None
    installed: Sequence[str] = ()  # requirements beside each release, and the Python


def signature(asked: Asked) -> str:
    """Return a text that identifies what is compiled: the words of the call, the files they name, flags, packages.

    It also covers the modules that these files import, and the variables from which a compiler takes flags and JAX its
    configuration: for example, JAX_ENABLE_X64 makes another program of the same script.
    """
    variables = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(_SIGNED_VARIABLES) or name == asked.flags_variable
    )
    told = [list(asked.words), variables, list(asked.flags), asked.flags_variable, list(asked.installed)]
    digest = hashlib.sha256(repr(told).encode())
    words = list(_spoken(asked.words))
    named = [Path(part) for word in words for part in dict.fromkeys((word, word.partition("=")[2]))]
    search_path = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    for path in [*named, *own_modules(words, list(search_path))]:
        with suppress(OSError, ValueError):
            if path.is_file():  # a pipe or a device may have no end
                with path.open("rb") as file:
                    while piece := file.read(_PIECE_BYTES):
                        digest.update(piece)
    return digest.hexdigest()[:12]


def _spoken(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command, those of shell code within one (`sh -c`), and these as paths below its `cd`."""
    yield from words
    for word in words:
        inner = shlex.shlex(word, posix=True, punctuation_chars=True)
        inner.whitespace_split, inner.commenters = True, ""
        with suppress(ValueError):  # an open quotation: code of another language
            found = list(inner)
            yield from found
            folder = ""
            for before, part in pairwise(found):
                if before == "cd":
                    folder = os.path.join(folder, part)
                elif folder:
                    yield os.path.join(folder, part)


Load = Callable[[Path, str], Any]
"""Loads a folder of dumps as a run of a name into the warehouse."""
Open = Callable[[], Any]
"""Opens the warehouse for reading: a context manager that yields a connection."""


class Points:
    """The points of a bisection, each measured once."""

    def __init__(
        self, asked: Asked, load: Load, reading: Open, environments: Environments | None, tell: Callable[[str], None]
    ) -> None:
        self.asked, self._load, self._reading = asked, load, reading
        self._environments, self._tell = environments, tell
        self.found: dict[int, Point] = {}
        self.notes: list[str] = []
        self._signature = signature(asked)
        self._runs = self._known_runs() if asked.use_known else {}
        self._is_trusted = False
        self._good: Point | None = None
        self._namesakes: set[int] = set()  # other programs of the function at the good end
        self._known = cache(self._of_runs)  # a search asks for the same points again and again

    def first(self) -> None:
        """Measure the good end. If a run that no bisection made agrees with it, other such runs count as known points.

        Raises:
            UsageError: it cannot be measured, or has no such program.
        """
        own = self._from_run(0, own=True)
        foreign = self._from_run(0, own=False)
        good = own or self._compiled(0)
        if good.size_bytes is None:
            # With flags the good end is the command without any, for which there is no option.
            option = "" if self.asked.axis == "flags" else "--good "
            raise UsageError(f"{option}{good.name}: expected a compilation to compare with, found: {good.fault}")
        self._good = good = replace(good, verdict=GOOD)
        self.found[0] = good
        self._note_namesakes(good)
        if foreign is not None:
            self._is_trusted = foreign.size_bytes == good.size_bytes and foreign.program_id == good.program_id
            if not self._is_trusted:
                self.notes.append(f"run {foreign.run_name} has other bytes of {good.name}: runs of others are not used")

    def _note_namesakes(self, good: Point) -> None:
        """Note the other programs of the function at the good end, whose changes a bisection does not look at."""
        with self._reading() as con:
            (run_id,) = execute(con, _RUN_ID, name=good.run_name).fetchone()
            rows = ask(con, "bisect_points", run_ids=[run_id], memory_space=self.asked.memory_space).records
        mine = {row["program_id"] for row in rows if row["program_name"] == self.asked.program}
        self._namesakes = mine - {good.program_id}
        if others := [str(one) for one in sorted(self._namesakes)]:
            named = ", ".join(others[:_FEW]) + (", …" if len(others) > _FEW else "")
            self.notes.append(
                f"{counted(len(mine), 'program')} are called {printable(self.asked.program)} at the good end: the "
                f"largest, {good.program_id}, was followed, and not {named}"
            )

    def check_space(self) -> None:
        """Refuse a memory space in which the program takes no bytes at any measured point.

        Raises:
            UsageError: it does not have this memory space; the message says which it has.
        """
        measured = [point for point in self.found.values() if point.program_id is not None]
        with self._reading() as con:
            spaces = execute(
                con,
                "SELECT DISTINCT p.memory_space FROM marts.peak_memory_v1 AS p"
                " JOIN marts.compiled_programs_v1 AS c USING (dump_id) JOIN raw.runs AS r ON c.run_id = r.run_id"
                " WHERE list_contains(CAST($names AS VARCHAR[]), r.run_name)"
                " AND list_contains(CAST($ids AS BIGINT[]), c.program_id) ORDER BY p.memory_space",
                names=[point.run_name for point in measured],
                ids=[point.program_id for point in measured],
            ).fetchall()
        if spaces and (self.asked.memory_space,) not in spaces:
            raise UsageError(
                f"{printable(self.asked.program)} has nothing in memory space {self.asked.memory_space}; its memory "
                f"spaces: {', '.join(str(space) for (space,) in spaces)}"
            )

    def is_known(self, at: int) -> bool:
        """Return whether a point needs no compilation."""
        return self._known(at) is not None

    def verdict(self, at: int) -> str:
        """Measure a point."""
        if at not in self.found:
            point = self._known(at) or self._compiled(at)
            if point.size_bytes is not None:
                point = replace(point, verdict=GOOD if point.size_bytes == self._good.size_bytes else BAD)
            self.found[at] = point
        return self.found[at].verdict

    def _of_runs(self, at: int) -> Point | None:
        return self._from_run(at, own=True) or (self._from_run(at, own=False) if self._is_trusted else None)

    def _known_runs(self) -> dict[tuple[str, bool], list[tuple[int, str]]]:
        """Return the runs of each release, by whether a bisection of the same command made them."""
        found: dict[tuple[str, bool], list[tuple[int, str]]] = {}
        flags = effective_flags(os.environ.get("XLA_FLAGS", "")) or ""
        with self._reading() as con:
            if con is None:
                return found
            for row in ask(con, "bisect_runs").records:
                name = row["run_name"]
                if _SIGNED in name:
                    point, _, signed = name.partition(_SIGNED)
                    if signed.partition("-")[0] == self._signature:
                        found.setdefault((point, True), []).append((row["run_id"], name))
                elif _FAILED not in name and row["compiler"] == self.asked.axis and row["compiler_version"]:
                    known = effective_flags(row["xla_flags"])
                    if known is None or known == flags:
                        point = f"{self.asked.axis}-{row['compiler_version']}"
                        found.setdefault((point, False), []).append((row["run_id"], name))
        return found

    def _from_run(self, at: int, *, own: bool) -> Point | None:
        runs = self._runs.get((self._run_stem(at), own), [])
        if not runs:
            return None
        with self._reading() as con:
            for run_id, name in runs:
                if row := self._row(con, run_id):
                    return self._told(at, name, row)
            # The same command gives the same programs: it is not compiled again for a program that it does not give.
            return self._lacking(at, con, *runs[0]) if own else None

    def _told(self, at: int, run_name: str, row: Record) -> Point:
        """Return the point that a row of a run gives."""
        size = row[self.asked.metric]
        fault = None if size is not None else f"{self.asked.metric} bytes are not known: its dump has no live ranges"
        return Point(self.asked.names[at], SKIPPED, size, run_name, row["program_id"], fault=fault)

    def _lacking(self, at: int, con: Connection, run_id: int, run_name: str) -> Point:
        """Return the point of a run that has no dump of the program; its fault names the programs that the run has."""
        rows = ask(con, "bisect_points", run_ids=[run_id], memory_space=0).records
        names = list(dict.fromkeys(row["program_name"] for row in rows))
        there = ", ".join(map(printable, names[:_SHOWN])) or "none that could be read"
        there += ", …" if len(names) > _SHOWN else ""
        # If the run has the function, another program of the function is missing.
        which = f" ({self._good.program_id})" if self._good and self.asked.program in names else ""
        fault = f"no dump of {printable(self.asked.program)}{which}; there are: {there}"
        fault += did_you_mean(self.asked.program, names) if not which else ""
        return Point(self.asked.names[at], SKIPPED, None, run_name, fault=fault)

    def _row(self, con: Connection, run_id: int) -> Record | None:
        """Return the row of the program in a run: its largest dump, of the good end's program_id if it has that."""
        rows = ask(con, "bisect_points", run_ids=[run_id], memory_space=self.asked.memory_space).records
        word = self.asked.program
        mine = [row for row in rows if word in (row["program_name"], str(row["program_id"]))]
        if self._good is not None:
            # Else the program that it became: with another signature, which no other program of the good end has.
            mine = [row for row in mine if row["program_id"] == self._good.program_id] or [
                row for row in mine if row["program_id"] not in self._namesakes
            ]
        return mine[0] if mine else None

    def _run_stem(self, at: int) -> str:
        name = self.asked.names[at]
        return f"{self.asked.axis}-{name}" if self.asked.axis != "flags" else f"flags-{at}"

    def _compiled(self, at: int) -> Point:
        started = time.monotonic()
        name = self.asked.names[at]
        self._tell(f"{self.asked.axis} {name}: compiling")
        programs = None
        if self._environments is not None:
            try:
                programs = self._environments.make(name)
            except CannotInstall as error:
                self._environments.remove(name)
                return Point(name, SKIPPED, None, fault=f"cannot be installed: {error}",
                             seconds=time.monotonic() - started)  # fmt: skip
        try:
            with tempfile.TemporaryDirectory(prefix="bufferhouse-bisect-") as folder:
                point = self._measured(at, Path(folder) / "dumps", programs)
        finally:
            if self._environments is not None:
                self._environments.remove(name)
        return replace(point, is_compiled=True, seconds=time.monotonic() - started)

    def _measured(self, at: int, folder: Path, programs: Path | None) -> Point:
        asked, name = self.asked, self.asked.names[at]
        moment = datetime.now(UTC)
        run_name = f"{self._run_stem(at)}{_SIGNED}{self._signature}-{moment:%Y%m%dT%H%M%S}"
        flags = list(asked.flags[:at]) if asked.axis == "flags" else []
        given = " ".join(filter(None, [os.environ.get(asked.flags_variable, ""), *flags]))
        facts: dict[str, object] = {"run_name": run_name, "started_at": moment.isoformat(), "xla_flags": given,
                                    "labels": {"bisect": asked.program}}  # fmt: skip
        if asked.axis != "flags":
            facts |= {"compiler": asked.axis, "compiler_version": name}
        words = [word.replace("{release}", name).replace("{dump}", str(folder)) for word in asked.words]
        fault = compile_into(
            folder, words, facts, programs=programs, flags=flags, flags_variable=asked.flags_variable,
            timeout=asked.timeout,
        )  # fmt: skip
        return self._read(at, folder, fault, run_name)

    def _read(self, at: int, folder: Path, fault: str | None, run_name: str) -> Point:
        name, log = self.asked.names[at], folder / LOG
        if fault is not None and not self.asked.fail_is_bad:
            return Point(name, SKIPPED, None, fault=fault)
        has_dumps = any(path.name.endswith("buffer-assignment.txt") for path in folder.rglob("*.txt"))
        if fault is not None:
            run_name = run_name.replace(_SIGNED, _FAILED)
        if has_dumps:
            self._load(folder, run_name)
        if fault is not None:
            return Point(name, BAD, None, run_name if has_dumps else None, fault=fault, log=log.read_bytes())
        if not has_dumps:
            last = log.read_text(errors="replace")[-100:].strip() or "nothing, not even an error"
            return Point(name, SKIPPED, None, fault=f"left no dump; it wrote: {last}")
        with self._reading() as con:
            (run_id,) = execute(con, _RUN_ID, name=run_name).fetchone()
            row = self._row(con, run_id)
            if row is None:
                return self._lacking(at, con, run_id, run_name)
        return self._told(at, run_name, row)
