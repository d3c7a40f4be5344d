"""What a change of one program is worth: the ranking of edits, and the map of the memory space after the best ones.

Rows of a map are slots: a value that an edit computes twice has several, one that is gone none.
"""

from collections.abc import Sequence

from bufferhouse.query.statements import Answer
from bufferhouse.whatif.outcome import Outcome, compute
from bufferhouse.whatif.packing import MANY
from bufferhouse.whatif.plan import Plan
from bufferhouse.whatif.ranking import Worth, rank
from bufferhouse.whatif.slots import rows_by_body
from bufferhouse.whatif.space import Space

SAVINGS = 20  # edits, in the ranking of what each is worth
MAPPED = 3  # of these, with a map
_WORK = 1_000_000  # pairs of slots compared for one map: a page does not wait longer for a tighter placement
_SAVINGS = ["memory_space", "worth_bytes", "edit", "value_name", "label", "why", "shape_text", "size_bytes",
            "peak_position", "op_name", "source_place"]  # fmt: skip
_EDITS = ["edit_number", "memory_space", "edit_text", "arena_low_bytes", "arena_high_bytes", "reserved_high_bytes",
          "occupied_peak_bytes", "occupied_peak_position"]  # fmt: skip
_ALLOCATIONS = ["edit_number", "memory_space", "allocation_index", "kind", "size_bytes"]
_SLOTS = ["edit_number", "value_id", "allocation_index", "offset_bytes", "size_bytes", "start_position", "end_position"]


def savings_of(space: Space | None, *, most: int = SAVINGS, mapped: int, many: int = MANY) -> dict[str, Answer]:
    """Return the `most` edits of one value that lower the occupied peak most, and maps of the first `mapped`.

    Of an arena of more than `many` bodies there is one map: to pack it takes seconds, for which a page waits once.
    Without a space, or without live ranges, there are none.
    """
    if space is None or not space.has_live_ranges:
        return {"program_savings": Answer(_SAVINGS, [])}
    ranking = rank(space, most=most)
    found = {"program_savings": Answer(_SAVINGS, [_row(space, worth) for worth in ranking.worths])}
    if mapped > 1 and len(rows_by_body(Plan(space).slots, only_arena=True)) > many:
        mapped = 1
    shown = [(_said(space, one), compute(space, [one.applied.edit], work=_WORK)) for one in ranking.worths[:mapped]]
    return found | maps_of(space, shown) if shown else found


def maps_of(space: Space, shown: Sequence[tuple[str, Outcome]]) -> dict[str, Answer]:
    """Return the maps after edits, each by the name that people read: what they are, allocations, and slots."""
    edits, allocations, slots = [], [], []
    for number, (said, outcome) in enumerate(shown, 1):
        after, place = outcome.after, outcome.placement
        edits.append((number, space.memory_space, said, after.arena_low_bytes, after.arena_high_bytes,
                      after.reserved_high_bytes, after.occupied_bytes, after.peak_position))  # fmt: skip
        allocations += [(number, space.memory_space, *one) for one in place.allocations]
        ids = space.columns["value_id"]
        slots += [
            (number, ids[row], *rest)
            for row, *rest in zip(place.value, place.allocation, place.offset_bytes, place.size_bytes, place.start,
                                  place.end, strict=True)
        ]  # fmt: skip
    return {
        "program_edits": Answer(_EDITS, edits),
        "program_edited_allocations": Answer(_ALLOCATIONS, allocations),
        "program_edited_map": Answer(_SLOTS, slots),
    }


def with_drawn_slots(answers: dict[str, Answer]) -> dict[str, Answer]:
    """Return the answers of a page: of the slots after edits those of values that its map draws."""
    slots = answers.get("program_edited_map")
    if slots is None:
        return answers
    drawn = {row[0] for row in answers["program_map"].rows}
    return answers | {"program_edited_map": Answer(slots.columns, [row for row in slots.rows if row[1] in drawn])}


def _row(space: Space, worth: Worth) -> tuple:
    c, one, row = space.columns, worth.applied, worth.applied.row
    return (space.memory_space, worth.worth_bytes, one.edit.kind, space.name(row), one.label, one.why, c["shape"][row],
            c["size_bytes"][row], worth.position, c["op_name"][row], c["source"][row])  # fmt: skip


def _said(space: Space, worth: Worth) -> str:
    return f"{worth.applied.edit.kind} {space.name(worth.applied.row)}"
