"""The options that differ between the compilations of two dumps, from the files that XLA wrote beside them."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import duckdb

from bufferhouse.compare.groups import gathered
from bufferhouse.compare.pairing import WHOLE, Pair, Paths
from bufferhouse.dump.compile_flags import ORIGINS
from bufferhouse.query.statements import ask

_MOST_SAID = 20  # options that are written out

Told = Mapping[str, Mapping[str, str]]
"""The options of one compilation: by kind of file, by name, the value."""


class FlagChange(NamedTuple):
    """An option that may change what is compiled; a value of None is the compiler's default, which no file tells."""

    flag_name: str
    before: str | None
    after: str | None
    program_ids: Sequence[int]


def changed_flags(
    con: duckdb.DuckDBPyConnection,
    before_run_id: int,
    after_run_id: int,
    pairs: Iterable[Pair],
    within: tuple[Paths, Paths] = WHOLE,
) -> list[FlagChange]:
    """Return the options that differ between the two dumps of some pairs: those of the most programs first.

    Only what the same kinds of file tell on both sides is compared. Options about dumping, logging and places do not
    count. `within` are the files of each run that are looked at.
    """
    files = _sets_of_files(con, before_run_id, after_run_id)
    before, after = (
        _sets_of_dumps(files, run_id, paths)
        for run_id, paths in zip((before_run_id, after_run_id), within, strict=True)
    )
    programs: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[int, None]] = {}
    for one, other, *_ in pairs:
        if one is None or other is None:
            continue
        old, new = before.get(one.dump_id, set()), after.get(other.dump_id, set())
        # A content that other flags leave as it is may be compiled with several: what both runs have is no change.
        for sets in product(old - new or old, new - old or new) if old != new else ():
            programs.setdefault(sets, {})[other.program_id] = None
    told = _told(con, {key for pair in programs for sets in pair for key in sets})
    found: dict[tuple[str, str | None, str | None], dict[int, None]] = {}
    for sets, program_ids in programs.items():
        for change in _between(*(_merged(told, one) for one in sets)):
            found.setdefault(change, {}).update(program_ids)
    changes = [FlagChange(*change, list(program_ids)) for change, program_ids in found.items()]
    return sorted(changes, key=lambda change: (-len(change.program_ids), change[:1]))


def flags_of_files(con: duckdb.DuckDBPyConnection, run_id: int) -> dict[str, Told]:
    """Return what is told of the options of the dumps of a run, by path; files with equal options share one object."""
    files = _sets_of_files(con, run_id, run_id)
    told = _told(con, {key for keys in files.values() for key in keys})
    merged = {keys: _merged(told, keys) for keys in map(tuple, files.values())}
    return {path: merged[tuple(keys)] for (*_, path), keys in files.items()}


def told_value(told: Told, name: str) -> str | None:
    """Return the value of an option by the kind of file that tells it best; None where none tells it."""
    return _value(told, ORIGINS.values(), name)


def _sets_of_files(
    con: duckdb.DuckDBPyConnection, before_run_id: int, after_run_id: int
) -> dict[tuple[int, int, str], list[int]]:
    """Return the sets of options beside each file of two runs: by run, dump and path."""
    rows = ask(con, "compare_flag_sets", before_run_id=before_run_id, after_run_id=after_run_id).rows
    return gathered((tuple(place), key) for *place, key in rows)


def _sets_of_dumps(
    files: Mapping[tuple[int, int, str], Sequence[int]], run_id: int, paths: Paths
) -> dict[int, set[tuple[int, ...]]]:
    seen: dict[int, set[tuple[int, ...]]] = {}
    for (of_run, dump_id, path), keys in files.items():
        if of_run == run_id and (paths is None or path in paths):
            seen.setdefault(dump_id, set()).add(tuple(keys))
    return seen


def effective_options(con: duckdb.DuckDBPyConnection, sets: Collection[tuple[int, ...]]) -> dict[tuple[int, ...], str]:
    """Return the options that may change what is compiled as one text, for the files of each compilation.

    Equal texts are equal options. Where they are many, the text has their number and a hash of them.
    """
    told = _told(con, {key for keys in sets for key in keys})
    return {keys: _said(_merged(told, keys)) for keys in sets}


def _said(told: Told) -> str:
    words = [f"{kind}:{name}={value}" for kind, values in told.items() for name, value in sorted(values.items())]
    if len(words) <= _MOST_SAID:
        return " ".join(word.partition(":")[2] for word in words)
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()
    return f"{len(words):,} options, {digest[:12]}"


def _told(con: duckdb.DuckDBPyConnection, keys: Iterable[int]) -> dict[int, Told]:
    told: dict[int, dict[str, dict[str, str]]] = {}
    for key, origin, name, value, is_effective in ask(con, "compare_flags", compile_flags_ids=sorted(keys)).rows:
        of_kind = told.setdefault(key, {}).setdefault(origin, {})  # a file without any that counts tells the defaults
        if is_effective:
            of_kind[name] = value
    return told


def _merged(told: Mapping[int, Told], keys: Iterable[int]) -> Told:
    return {origin: values for key in keys for origin, values in told.get(key, {}).items()}


def _between(before: Told, after: Told) -> list[tuple[str, str | None, str | None]]:
    """Return name, value before and value after of the options that differ."""
    kinds = [kind for kind in ORIGINS.values() if kind in before and kind in after]
    names = sorted({name for side in (before, after) for kind in kinds for name in side[kind]})
    values = [(name, _value(before, kinds, name), _value(after, kinds, name)) for name in names]
    return [one for one in values if one[1] != one[2]]


def _value(side: Told, kinds: Iterable[str], name: str) -> str | None:
    return next((side[kind][name] for kind in kinds if name in side.get(kind, ())), None)
