"""Donations that were taken before and are lost after: outputs that have memory of their own now."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import duckdb

from bufferhouse.compare.pairing import Pair, Paths
from bufferhouse.query.statements import ask

NOT_REQUESTED = "the program does not offer it any more"


class LostDonation(NamedTuple):
    """A leaf of a parameter on which an output was placed before, and the pair of dumps that shows it.

    `reason` is None where no file tells it.
    """

    program_id: int
    parameter_number: int
    parameter_shape_index: str
    parameter_shape: str
    memory_space: int
    size_bytes: int
    reason: str | None
    before_dump_id: int
    after_dump_id: int


def lost_donations(
    con: duckdb.DuckDBPyConnection, after_run_id: int, pairs: Iterable[Pair], paths: Paths = None
) -> list[LostDonation]:
    """Return the donations that one side of each pair of dumps took and the other does not, the largest first.

    Parameters are matched by number and leaf, so only pairs of one signature are looked at. `paths` are the files of
    the run after that may tell the reasons.
    """
    # Once for all memory spaces, but for each program: those of other names may have equal dumps.
    matched = {
        (other.program_id, one.dump_id, other.dump_id): (one, other)
        for one, other, *_ in pairs
        if one and other and one.program_id == other.program_id and one.dump_id != other.dump_id
    }
    taken: dict[int, dict[tuple[int, str], tuple]] = {}
    ids = sorted({dump.dump_id for pair in matched.values() for dump in pair})
    for dump_id, number, index, *facts in ask(con, "compare_donations", dump_ids=ids).rows if ids else ():
        taken.setdefault(dump_id, {})[number, index] = tuple(facts)
    lost = [
        (before, after, leaf, facts)
        for before, after in matched.values()
        for leaf, facts in taken.get(after.dump_id, {}).items()
        if not facts[-1] and taken.get(before.dump_id, {}).get(leaf, (False,))[-1]
    ]
    after_ids = sorted({after.dump_id for _, after, _, _ in lost})
    reasons = _reasons(con, after_run_id, after_ids, paths) if lost else {}
    found = [
        LostDonation(
            after.program_id, *leaf, *facts[:-1], reasons.get((after.dump_id, *leaf)), before.dump_id, after.dump_id
        )
        for before, after, leaf, facts in lost
    ]
    return sorted(found, key=lambda one: (-one.size_bytes, one[:3]))


def _reasons(
    con: duckdb.DuckDBPyConnection, run_id: int, dump_ids: Sequence[int], paths: Paths
) -> dict[tuple[int, int, str], str | None]:
    """Return why donations are lost, by dump, parameter and leaf; of a dump that was seen more than once, the first."""
    asked: dict[tuple[int, int, str], list[tuple[bool, str | None]]] = {}
    for *place, path, is_requested, reason in ask(
        con, "compare_donation_reasons", run_id=run_id, dump_ids=dump_ids
    ).rows:
        if paths is None or path in paths:
            asked.setdefault(tuple(place), []).append((is_requested, reason))
    return {
        place: min((reason for _, reason in found if reason is not None), default=None)
        if any(is_requested for is_requested, _ in found)
        else NOT_REQUESTED
        for place, found in asked.items()
    }
