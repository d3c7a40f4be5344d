"""Parts of a run: its dumps that were compiled with some flags, or that lie in one of its folders.

One directory may hold several compilations of a program with other flags, as a sweep leaves them. `RUN@NAME=VALUE`
means those dumps of it for which the files beside them tell this option, `RUN@folder=PATH` those below a folder of it.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import duckdb

from bufferhouse.compare.flags import Told, flags_of_files, told_value
from bufferhouse.compare.pairing import Paths
from bufferhouse.errors import UsageError, counted, did_you_mean
from bufferhouse.query.statements import ask
from bufferhouse.redaction import printable, shell_word

FOLDER = "folder"
_ROOT = "."  # the folder of the files that lie in none
_DEFAULT = "default"  # the value of an option that no file tells: None in a `FlagChange`
_CONDITIONS = re.compile(r"@(?=[\w.]+=)")
_NEXT = re.compile(r",(?=([\w.]+)=)")
_SHOWN = 12  # flag sets, folders
_LONGEST = 300  # characters of a word that is shown


class File(NamedTuple):
    """A file of a run, its program and its content."""

    path: str
    program_id: int
    dump_id: int


@dataclass(frozen=True, slots=True)
class Part:
    """A run, or some of its `files`; None for all. `conditions` are the words that chose them."""

    run_id: int
    conditions: str | None = None
    files: Sequence[File] | None = None

    @property
    def paths(self) -> Paths:
        """The paths of its files; None for all of the run."""
        return None if self.files is None else frozenset(file.path for file in self.files)


class FlagSet(NamedTuple):
    """Dumps of a run that were compiled with equal flags, as far as flags differ between the dumps of one program.

    `conditions` choose it, the fewest of `values`; a value of None is the compiler's default.
    """

    conditions: str
    values: Mapping[str, str | None]
    paths: frozenset[str]


def split(word: str) -> tuple[str, str | None]:
    """Return what names a run, and the conditions behind it, as in `sweep@xla_x=1,xla_y=2`; None without any."""
    found = _CONDITIONS.search(word)
    return (word, None) if found is None else (word[: found.start()], word[found.end() :])


def part_of(con: duckdb.DuckDBPyConnection, run_id: int, run: str, conditions: str | None) -> Part:
    """Return the part of a run for which all conditions hold; `run` is what named the run.

    Raises:
        UsageError: they hold for no dump. The message names flags, flag sets and folders of the run.
    """
    return Part(run_id) if conditions is None else _Compilations(con, run_id, run).part(conditions)


def both_flag_sets(
    con: duckdb.DuckDBPyConnection, run_id: int, run: str, program_ids: Collection[int] | None
) -> tuple[Part, Part]:
    """Return the two flag sets of a run, or of some programs of it; `run` is what named the run.

    Raises:
        UsageError: there are not two. The message names those that there are, or the folders of the run.
    """
    compilations = _Compilations(con, run_id, run)
    found = compilations.flag_sets(program_ids)
    if len(found) == 2:
        before, after = (compilations.chosen(one.conditions, one.paths) for one in found)
        return before, after
    if found:
        raise UsageError(
            f"the run {_said(run)} has {len(found):,} flag sets, and two can be compared; give two of them:"
            f"{compilations.listed(found)}"
        )
    known = f"{len(compilations.told):,} of its {counted(len(compilations.files), 'dump')} have files that tell flags"
    raise UsageError(
        f"the run {_said(run)} has one flag set: no flag differs between the dumps of one program; {known}"
        f"{compilations.folders_said()}"
    )


class _Compilations:
    """The files of a run, and what is told of the flags they were compiled with."""

    def __init__(self, con: duckdb.DuckDBPyConnection, run_id: int, run: str) -> None:
        self.run_id, self.run = run_id, run
        rows = ask(con, "compare_files", run_id=run_id).rows
        self.files = sorted((File(*row[:3]) for row in rows), key=lambda file: _natural(file.path))
        self.told = flags_of_files(con, run_id)

    @cached_property
    def kinds(self) -> dict[str, set[str]]:
        """The kinds of file that tell each flag."""
        return _tellers(_unlike(self.told.values()))

    def part(self, conditions: str) -> Part:
        """As `part_of`."""
        word = f"{self.run}@{conditions}"
        paths = [file.path for file in self.files]
        for name, value in _parsed(conditions, {*self.kinds, FOLDER}):
            if name != FOLDER and name not in self.kinds:
                hint = did_you_mean(name, sorted(self.kinds), 3)
                raise UsageError(
                    f"{_said(word)}: no file beside the dumps tells of a flag {_said(name)}{hint}{self.ways_out()}"
                )
            holds = self._is_below if name == FOLDER else self._has
            paths = [path for path in paths if holds(path, name, value)]
            if not paths:
                way_out = self.folders_said() if name == FOLDER else self.ways_out()
                raise UsageError(f"{_said(word)}: there is no dump with {_said(f'{name}={value}')}{way_out}")
        return self.chosen(conditions, frozenset(paths))

    def chosen(self, conditions: str, paths: Collection[str]) -> Part:
        """Return the part of the run that some of its files are."""
        return Part(self.run_id, conditions, [file for file in self.files if file.path in paths])

    def _has(self, path: str, name: str, value: str) -> bool:
        told = self.told.get(path, {})
        if not self.kinds[name] & told.keys():
            return False  # no file beside it would tell of the flag
        found = told_value(told, name)
        return value == (_DEFAULT if found is None else found)

    def _is_below(self, path: str, _: str, folder: str) -> bool:
        return "/" not in path if folder == _ROOT else path.startswith(f"{folder.rstrip('/')}/")

    def flag_sets(self, program_ids: Collection[int] | None = None) -> list[FlagSet]:
        """Return the flag sets of the run, or of some programs of it, in the natural order of their first files.

        Flags count that differ between two dumps of one program, told by one kind of file on both sides: what differs
        from program to program only makes no set. A dump without such a file is in no set. There is none where no flag
        differs.
        """
        of_program: dict[int, list[str]] = {}
        for path, program_id, _ in self.files:
            if path in self.told and (program_ids is None or program_id in program_ids):
                of_program.setdefault(program_id, []).append(path)
        kinds: dict[str, set[str]] = {}
        for paths in of_program.values():
            for name, tells in _differing([self.told[path] for path in paths]).items():
                kinds.setdefault(name, set()).update(tells)
        names = sorted(kinds)
        groups: dict[tuple[str | None, ...], list[str]] = {}
        for path in sorted((path for paths in of_program.values() for path in paths), key=_natural):
            told = self.told[path]
            if names and all(kinds[name] & told.keys() for name in names):
                groups.setdefault(tuple(told_value(told, name) for name in names), []).append(path)
        values = [dict(zip(names, group, strict=True)) for group in groups]
        return [
            FlagSet(_fewest(own, [other for other in values if other is not own]), own, frozenset(paths))
            for own, paths in zip(values, groups.values(), strict=True)
        ]

    def ways_out(self) -> str:
        """Return the flag sets of the run, else its folders, as the end of a message."""
        found = self.flag_sets()
        return f"\nflag sets of the run:{self.listed(found)}" if len(found) > 1 else self.folders_said()

    def listed(self, found: Sequence[FlagSet]) -> str:
        """Return a line for each flag set: the word that means it, and its dumps."""
        return self._lines([(one.conditions, len(one.paths)) for one in found])

    def folders_said(self) -> str:
        """Return a line for each folder of the run, as the end of a message; nothing where there is one only."""
        folders = Counter(file.path.rpartition("/")[0] or _ROOT for file in self.files)
        if len(folders) < 2:
            return ""
        return f"\nfolders of the run:{self._lines([(f'{FOLDER}={name}', count) for name, count in folders.items()])}"

    def _lines(self, parts: Sequence[tuple[str, int]]) -> str:
        lines = [
            f"\n  {shell_word(f'{self.run}@{conditions}')}  ({counted(count, 'dump')})"
            for conditions, count in parts[:_SHOWN]
        ]
        more = len(parts) - _SHOWN
        return "".join(lines) + (f"\n  … and {more:,} more" if more > 0 else "")


def _differing(told: Sequence[Told]) -> dict[str, set[str]]:
    """Return the flags that differ between compilations of one program, each with the kinds of file that tell it."""
    unlike = _unlike(told)
    kinds = set.intersection(*(set(one) for one in unlike))
    shared = [{kind: one[kind] for kind in kinds} for one in unlike]
    tellers = _tellers(shared)
    return {name: own for name, own in tellers.items() if len({told_value(one, name) for one in shared}) > 1}


def _tellers(told: Iterable[Told]) -> dict[str, set[str]]:
    """Return the kinds of file that tell each flag."""
    kinds: dict[str, set[str]] = {}
    for one in told:
        for kind, values in one.items():
            for name in values:
                kinds.setdefault(name, set()).add(kind)
    return kinds


def _unlike(told: Collection[Told]) -> list[Told]:
    """Return each once: compilations with equal files share one."""
    return list({id(one): one for one in told}.values())


def _fewest(values: Mapping[str, str | None], others: Sequence[Mapping[str, str | None]]) -> str:
    """Return conditions that hold for one set and no other: the flag that the most others lack, and so on."""
    names: set[str] = set()
    while others:
        name = max(values, key=lambda name: sum(other[name] != values[name] for other in others))
        others = [other for other in others if other[name] == values[name]]
        names.add(name)
    return ",".join(f"{name}={_DEFAULT if value is None else value}" for name, value in values.items() if name in names)


def _parsed(conditions: str, names: Collection[str]) -> list[tuple[str, str]]:
    """Return names and values. A comma belongs to the value where neither a known name nor one of XLA follows it."""
    cuts = [one.start() for one in _NEXT.finditer(conditions) if one[1] in names or one[1].startswith("xla_")]
    places = zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(conditions)], strict=True)
    return [(name, value) for name, _, value in (conditions[begin:end].partition("=") for begin, end in places)]


def _natural(path: str) -> list[str | int]:
    """Return the key that sorts 2 before 10."""
    return [int(word) if number % 2 else word for number, word in enumerate(re.split(r"([0-9]+)", path))]


def _said(word: str) -> str:
    return repr(printable(word)[:_LONGEST])
