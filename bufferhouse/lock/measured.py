"""The entries that dumps make: of all runs of a connection, or of some."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from bufferhouse.compare.flags import effective_options
from bufferhouse.compare.groups import by, gathered
from bufferhouse.compare.tiers import normalized
from bufferhouse.engine.sql import execute
from bufferhouse.errors import counted
from bufferhouse.lock.entry import PADDING_SITES, Entry, Lock, Site, Space, grouped
from bufferhouse.lock.places import Checkout
from bufferhouse.query.statements import Record, ask
from bufferhouse.sources.flags import effective_flags
from bufferhouse.tabulate.signature import read_signature

# `params[3]['w']`: the leaves of all layers are one site. `args[3]` is an argument, and stays.
_LAYER = re.compile(r"\[\d+\](?=[\[.])")
_MOST_NAMED = 5  # programs in a note
_REFUSED = """
SELECT source_uri FROM raw.rejects
WHERE state = 'open' AND role <> 'log' AND run_id IN (SELECT unnest(CAST($run_ids AS BIGINT[])))
ORDER BY source_uri
"""


def measured(
    con: duckdb.DuckDBPyConnection, checkout: Checkout, *, run_ids: Sequence[int] | None = None, chip: str | None = None
) -> Lock:
    """Return the entries of the dumps of some runs of a warehouse; None for all dumps that were read into memory.

    If a program has several dumps, the largest represents it, and a note says so if runs differ. Other notes say for
    how many programs the compiler is not known, which programs are known not to fit, and whose dumps have allocations
    alone. `chip` is what the dumps are compiled for; if it is None, their run decides, else the name of the dump (cpu,
    tpu, sm_9.0).
    """
    is_in_memory = run_ids is None
    if run_ids is None:
        run_ids = [run_id for (run_id,) in con.execute("SELECT run_id FROM raw.runs").fetchall()]
    programs = ask(con, "lock_programs", run_ids=run_ids).records
    spaces = _spaces(con, sorted({row["dump_id"] for row in programs}), checkout)
    options = _options(con, run_ids, programs)
    entries = [
        (row, _entry(row, spaces.get(row["dump_id"], []), options.get((row["run_id"], row["relative_path"])), chip))
        for row in programs
    ]
    found = by(lambda one: one[1].key, entries).values()
    lock = Lock.of(min((entry for _, entry in same), key=Entry.size_order) for same in found)
    lock.notes = _differing(found, is_in_memory=is_in_memory)
    if unnamed := sum(not entry.compiler for entry in lock.entries.values()):
        lock.notes.append(
            f"nothing says which compiler made the dumps of {counted(unnamed, 'program')}, so no check can tell that "
            f"another one did; say it {_where('compiler', is_in_memory=is_in_memory)}"
        )
    if refused := [entry for row, entry in entries if row["did_not_fit"]]:
        count, names = _named(refused)
        lock.notes.append(
            f"{count} did not fit, as files beside dumps or messages say: {names}; a check says what grew, and not "
            "what fits"
        )
    if alone := [entry for entry in lock.entries.values() if entry.has_allocations_alone]:
        count, names = _named(alone)
        lock.notes.append(
            f"{count} with allocations alone, no values and no live ranges: {names}; if its file was cut short, its "
            "bytes are too few"
        )
    lock.refused = [uri for (uri,) in execute(con, _REFUSED, run_ids=run_ids).fetchall()]
    return lock


def _named(entries: Sequence[Entry]) -> tuple[str, str]:
    """Return how many programs these are, and the names of some."""
    names = sorted({f"{entry.function} ({entry.chip})" for entry in entries})
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return counted(len(names), "program"), f"{', '.join(names[:_MOST_NAMED])}{more}"


def _entry(row: Mapping[str, Any], spaces: Sequence[Space], options: str | None, chip: str | None) -> Entry:
    signature = read_signature(row["entry_signature"])
    compiler = " ".join(filter(None, (row["compiler"], row["compiler_version"]))) or row["compiler_revision"] or ""
    flags = options if options is not None else effective_flags(row["xla_flags"]) or ""
    return Entry(
        row["program_name"],
        chip or row["chip"],
        row["program_id"],
        grouped(signature.parameters),
        grouped(signature.output),
        spaces,
        compiler,
        flags,
        row["platform"],
        row["dump_id"],
        has_allocations_alone=row["has_allocations_alone"],
    )


def _where(fact: str, *, is_in_memory: bool) -> str:
    """Return where a fact of a run is to be said: a folder has no run in a warehouse."""
    if is_in_memory:
        return f'in a run.json beside them, as in {{"{fact}": "…"}}'
    return f"with: bufferhouse runs set RUN {fact}=…"


def _differing(found: Iterable[Sequence[tuple[Record, Entry]]], *, is_in_memory: bool) -> list[str]:
    """Return a note for each set of runs that have a program with different bytes; a run may have several dumps."""
    differing: dict[tuple, list[Entry]] = {}
    for same in found:
        largest: dict[str, Entry] = {}
        for row, entry in same:
            other = largest.get(row["run_name"])
            largest[row["run_name"]] = min((entry, other), key=Entry.size_order) if other else entry
        if len({tuple(space.figures for space in entry.spaces) for entry in largest.values()}) > 1:
            compilers = sorted({entry.compiler for entry in largest.values() if entry.compiler})
            differing.setdefault((tuple(sorted(largest)), tuple(compilers)), []).append(same[0][1])
    way = _where("device_kind", is_in_memory=is_in_memory)
    notes = []
    for (names, compilers), entries in differing.items():
        count, said = _named(entries)
        takes = f"{said} takes" if len(entries) == 1 else f"{count} take"
        which = "the largest stands" if len(entries) == 1 else f"the largest of each stands: {said}"
        built = f", compiled by {' and '.join(compilers)}" if len(compilers) > 1 else ""
        lead = "Lock the dumps of one compiler; if" if built else "If"  # two releases need no second chip to differ
        notes.append(
            f"{takes} other bytes in {', '.join(names)}{built}; {which}. {lead} they are of several chips, say that of "
            f"each {way}; or lock them one by one with --chip"
        )
    return notes


def _spaces(con: duckdb.DuckDBPyConnection, dump_ids: Sequence[int], checkout: Checkout) -> dict[int, list[Space]]:
    sites: dict[tuple[int, int], dict[tuple, Site]] = {}
    for dump_id, memory_space, *facts, op_name, source, padding in ask(con, "lock_sites", dump_ids=dump_ids).rows:
        site = Site(*facts, _LAYER.sub("[*]", normalized(op_name)), checkout.told(source), padding or 0)
        held = sites.setdefault((dump_id, memory_space), {})
        # Two paths of one file on two machines are one place.
        key = site.kind, site.op_name or site.shape, site.source
        held[key] = held[key].plus(site) if key in held else site
    found: dict[int, list[Space]] = {}
    for dump_id, memory_space, *figures in ask(con, "lock_spaces", dump_ids=dump_ids).rows:
        if not any(figures):
            continue
        own = sorted(sites.get((dump_id, memory_space), {}).values(), key=lambda one: (-one.owned_bytes, one[1:]))
        padded = sorted(own, key=lambda one: (-one.layout_padding_bytes, one[1:]))[:PADDING_SITES]
        padding = [one for one in padded if one.layout_padding_bytes > 0]
        found.setdefault(dump_id, []).append(Space(memory_space, *figures, own, padding))
    return found


def _options(
    con: duckdb.DuckDBPyConnection, run_ids: Sequence[int], programs: Sequence[Record]
) -> dict[tuple[int, str], str]:
    """Return the effective options of the compilations, from the files beside the dumps, each as one text."""
    wanted = {(row["run_id"], row["relative_path"]) for row in programs}
    files = gathered(((run_id, path), key) for run_id, path, key in ask(con, "lock_flags", run_ids=run_ids).rows)
    sets = {place: tuple(keys) for place, keys in files.items() if place in wanted}
    said = effective_options(con, set(sets.values())) if sets else {}
    return {place: said[keys] for place, keys in sets.items()}


def output_sites(con: duckdb.DuckDBPyConnection, entries: Sequence[Entry], checkout: Checkout) -> dict[int, list[Site]]:
    """Return for some entries of dumps the operations whose results are in outputs of their own, the largest first."""
    ids = sorted({entry.dump_id for entry in entries if entry.dump_id is not None})
    # The one that lost a donation is among these: a lock does not say how many did.
    return gathered(
        (dump_id, Site(size, "output", 0, "", normalized(op_name or ""), checkout.told(source)))
        for dump_id, _, size, op_name, source in (ask(con, "lock_outputs", dump_ids=ids).rows if ids else ())
    )
