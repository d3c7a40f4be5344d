"""What edits do to one memory space of one program of one run, and which edits are worth most."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from bufferhouse.compare.sizes import SizesOfDumps
from bufferhouse.engine.sql import execute
from bufferhouse.errors import UsageError, counted
from bufferhouse.messages.figures import printed
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.opening import Origin, opened
from bufferhouse.report.program.data import asked_of, find_dump
from bufferhouse.report.program.savings import maps_of
from bufferhouse.report.text.figures import printable
from bufferhouse.whatif.edits import Edit
from bufferhouse.whatif.fitting import MEANS, Fit, fit
from bufferhouse.whatif.outcome import Outcome, check_live_ranges, compute
from bufferhouse.whatif.ranking import KINDS, Ranking, rank
from bufferhouse.whatif.space import Space, read_space


@dataclass(frozen=True, slots=True)
class Subject:
    """One memory space of one program of one run: `dump` is its record of `program_dumps`."""

    warehouse: str
    dump: Record
    space: Space
    note: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """Edits of a subject with their outcome; `fit` is the answer to a capacity, where one was given.

    `answers` are those of the map before and after, if they were asked for. Of `capacity_bytes`, the memory that was
    given, other memory spaces of the program take `other_bytes`: the fit is one into the rest, by the kinds of edit in
    `means`. `is_refused` is whether all allocations fit as they are, and the program did not fit into as much or more,
    or into nobody knows how much.
    """

    subject: Subject
    outcome: Outcome
    fit: Fit | None
    answers: dict[str, Answer]
    capacity_bytes: int | None
    other_bytes: int
    means: Sequence[str]
    is_refused: bool = False

    @property
    def fits(self) -> bool:
        """Whether nothing that is known speaks against the fit."""
        return self.fit is not None and self.fit.fits and not self.is_refused


@dataclass(frozen=True, slots=True)
class Savings:
    """The ranking of single edits of a subject; `kinds` are those that were asked for, none for all."""

    subject: Subject
    ranking: Ranking
    kinds: tuple[str, ...]

    def outcome(self) -> Outcome:
        """Return the outcome of the best edit, as `read_change` computes it; of no edit where none helps.

        The packer may take a second or two: who shows the ranking alone does not ask.
        """
        return compute(self.subject.space, [one.applied.edit for one in self.ranking.worths[:1]])


def read_change(
    origin: Origin,
    word: str,
    edits: Sequence[Edit],
    *,
    capacity_bytes: int | None = None,
    means: Sequence[str] = (),
    memory_space: int = 0,
    run: str | None = None,
    wait: float = 0.0,
    is_mapped: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Change:
    """Return what edits do to a program, or the least set of edits with which it fits a capacity.

    `word`, `run` and `wait` are as in `report.program.data.read_program`; with `is_mapped` the answer has the map
    before and after. `progress` hears how far the search for a set is.

    Raises:
        UsageError: there is no such program or memory space, the dump has no live ranges, an edit names nothing or no
            candidate, or edits and a capacity are both given, or neither.
        NothingToShow, WarehouseBusy, WarehouseError: as `read_program`.
    """
    if bool(edits) == (capacity_bytes is not None):
        raise UsageError(
            "expected either edits (--edit, --edits) or a capacity to find edits for (--fit), found "
            + ("both" if edits else "neither")
        )
    with _subject(origin, word, memory_space, run, wait) as (con, subject):
        found, others, means = None, 0, means or MEANS
        if capacity_bytes is not None:
            check_live_ranges(subject.space)
            others = _beside(con, subject)
            found = fit(subject.space, max(capacity_bytes - others, 0), means=means, progress=progress)
        outcome = compute(subject.space, edits if found is None else found.edits)
        maps = _maps(con, subject, outcome) if is_mapped else {}
        fits_as_it_is = found is not None and found.fits and not found.edits
        is_refused = fits_as_it_is and _is_refused(con, subject, capacity_bytes)
        return Change(subject, outcome, found, maps, capacity_bytes, others, means, is_refused)


def read_savings(
    origin: Origin,
    word: str,
    *,
    kinds: Sequence[str] = (),
    memory_space: int = 0,
    run: str | None = None,
    wait: float = 0.0,
) -> Savings:
    """Return which edits of a program lower its peak most.

    Raises:
        UsageError, NothingToShow, WarehouseBusy, WarehouseError: as `read_change`.
    """
    with _subject(origin, word, memory_space, run, wait) as (_, subject):
        check_live_ranges(subject.space)
        return Savings(subject, rank(subject.space, kinds=tuple(kinds) or KINDS), tuple(kinds))


@contextmanager
def _subject(
    origin: Origin, word: str, memory_space: int, run: str | None, wait: float
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Subject]]:
    with opened(origin, wait) as (con, name, note):
        _, _, dump = find_dump(con, word, run)
        space = read_space(con, dump["dump_id"], memory_space)
        if not space.allocations:
            known = execute(
                con,
                "SELECT DISTINCT memory_space FROM staging.allocations WHERE dump_id = $dump_id ORDER BY 1",
                dump_id=dump["dump_id"],
            ).fetchall()
            has = "only thread-local allocations, which no edit is about," if (memory_space,) in known else "nothing"
            raise UsageError(
                f"{printable(dump['program_name'], 120)} has {has} in memory space {memory_space}; its memory spaces: "
                + (", ".join(str(one) for (one,) in known) or "none")
            )
        yield con, Subject(name, dump, space, note)


def _is_refused(con: duckdb.DuckDBPyConnection, subject: Subject, capacity_bytes: int) -> bool:
    """Return whether a program did not fit where it was compiled, unless there is known to have been less memory.

    Whoever asks for what a message prints, 15.75G, means those bytes, although 15.75 GiB are more.
    """
    # Files beside a dump are of the default memory space; how much of it there was, the device of the run may say.
    sql = """
    SELECT
        COALESCE(BOOL_OR(o.did_not_fit), FALSE),
        MAX(COALESCE(o.capacity_bytes, CASE WHEN f.did_not_fit THEN c.capacity_bytes END))
    FROM marts.observations_v2 AS o
    INNER JOIN staging.observations AS f ON o.run_id = f.run_id AND o.relative_path = f.relative_path
    LEFT JOIN marts.capacities_v1 AS c ON o.run_id = c.run_id
    WHERE o.run_id = $run_id AND o.dump_id = $dump_id
    """
    about = {"run_id": subject.dump["run_id"], "dump_id": subject.dump["dump_id"]}
    [(did_not_fit, most)] = execute(con, sql, **about).fetchall()
    if not did_not_fit or most is None:
        return did_not_fit
    # How much there was is said of the default memory space alone, and so is that it was not enough.
    return not subject.space.memory_space and (capacity_bytes <= most or printed(capacity_bytes) == printed(most))


def _beside(con: duckdb.DuckDBPyConnection, subject: Subject) -> int:
    """Return what other memory spaces of the program reserve of the memory that space 0 lies in; 0 for other spaces."""
    if subject.space.memory_space:
        return 0
    dump_id = subject.dump["dump_id"]
    sizes = SizesOfDumps(con, [dump_id])
    return sizes.on_device(dump_id, subject.dump["platform"]) - sizes.of(dump_id, 0).reserved


def _maps(con: duckdb.DuckDBPyConnection, subject: Subject, outcome: Outcome) -> dict[str, Answer]:
    dump_id = subject.dump["dump_id"]
    asked = asked_of(con, [dump_id])[dump_id]
    before = {name: asked[name] for name in ("program_spaces", "program_allocations", "program_map")}
    count = len(outcome.applied)
    return before | maps_of(subject.space, [(counted(count, "edit"), outcome)] if count else [])
