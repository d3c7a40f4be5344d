"""What each edit alone is worth at the peak, and the next highest moment, which limits it."""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bufferhouse.whatif.edits import SIZES, Edit, narrower
from bufferhouse.whatif.moments import Moments
from bufferhouse.whatif.outcome import check_live_ranges
from bufferhouse.whatif.plan import ADDRESS, Applied, NoCandidate
from bufferhouse.whatif.space import ARENA, Space

KINDS = ("donate", "free", "unpad", "shrink", "remat", "offload", "remove")  # of equally good ones the first is shown
MOST = 100  # edits of a ranking


class Worth(NamedTuple):
    """An edit, and the bytes by which it lowers the occupied peak; the new peak is at `position`."""

    applied: Applied
    worth_bytes: int
    position: int | None


class Group(NamedTuple):
    """Values of one op_name or source line that are alive at the peak, and how far the peak falls without them all.

    `by` is op_name or line; `slot_bytes` is the sum of their slots.
    """

    by: str
    name: str
    rows: Sequence[int]
    slot_bytes: int
    worth_bytes: int
    position: int | None


class Ranking(NamedTuple):
    """The edits of a memory space that lower its peak, the best first, and groups of values to edit together."""

    peak_bytes: int
    position: int | None
    worths: Sequence[Worth]
    groups: Sequence[Group]


def rank(space: Space, *, kinds: Sequence[str] = KINDS, most: int = MOST) -> Ranking:
    """Return the `most` edits that lower the occupied peak most, and as many groups.

    Raises:
        UsageError: the dump has no live ranges.
    """
    check_live_ranges(space)
    moments = Moments(space)
    peak, position = moments.line.peak, moments.line.position
    at_peak = moments.at(position) if position is not None else []
    found: list[tuple[int, int, Worth]] = []  # those of equal worth in their order
    for limit, place, edit, row in _candidates(space, at_peak, kinds):
        if len(found) >= most and limit <= found[-1][2].worth_bytes:
            break  # no edit left is worth more
        try:
            plan = moments.plan([row], edit.kind)
            plan.apply([edit])
        except NoCandidate:
            continue
        new, where = moments.peak(plan)
        if new < peak:
            insort(found, (new - peak, place, Worth(plan.applied[0], peak - new, where)))
            del found[most:]
    return Ranking(peak, position, [one for *_, one in found], _groups(space, moments, at_peak, most))


def _beyond(space: Space, rows: Iterable[int]) -> int:
    """Return by how much more than their slots values can be worth: an address each in the table of results.

    If at most one result is left, the whole table goes.
    """
    dropped = sum(bool(space.tables_of(row)) for row in rows)
    if not dropped:
        return 0
    is_left = (space.table_arity or 0) - dropped > 1
    return dropped * ADDRESS if is_left else space.columns["size_bytes"][space.table]


def _candidates(space: Space, rows: Iterable[int], kinds: Sequence[str]) -> list[tuple[int, int, Edit, int]]:
    """Return edits with the most bytes that each can be worth, the best first; and its order by slot, row and kind."""
    c, found = space.columns, []
    for row in rows:
        if c["is_tuple"][row]:
            continue  # a table of addresses goes with its values
        size, name, kind = c["size_bytes"][row], f"#{c['value_id'][row]}", c["role"][row]
        padding = min(max(c["padding_bytes"][row] or 0, 0), size)
        narrow = narrower(c["shape"][row])
        limits = {"donate": size * (kind == "parameter"), "free": size * (kind in (ARENA, "output")),
                  "unpad": padding, "shrink": size * (narrow is not None), "remat": size * (kind == ARENA),
                  "offload": size * (kind in (ARENA, "parameter") and not space.is_on_host),
                  "remove": size * (kind != "parameter")}  # fmt: skip
        more = _beyond(space, [row])
        for one in kinds:
            if limits[one]:
                most = limits[one] + (0 if one in SIZES else more)
                edit = Edit(one, name, dtype=narrow if one == "shrink" else None)
                found.append((-limits[one], row, KINDS.index(one), most, edit))
    found.sort(key=lambda one: one[:3])
    placed = [(most, place, edit, row) for place, (_, row, _, most, edit) in enumerate(found)]
    return sorted(placed, key=lambda one: -one[0])


def _groups(space: Space, moments: Moments, at_peak: Sequence[int], most: int) -> list[Group]:
    """Return the groups of values at the peak by op_name and by line, with what removing all of each is worth."""
    c = space.columns
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in at_peak:
        for by, column in (("op_name", "op_name"), ("line", "source")):
            if c[column][row] and c["role"][row] != "parameter":
                members[by, c[column][row]].append(row)
    sized = sorted(
        ((sum(c["size_bytes"][row] for row in rows), key, rows) for key, rows in members.items()),
        key=lambda one: (-one[0], one[1]),
    )
    found: list[Group] = []
    beyond = max((_beyond(space, rows) for rows in members.values()), default=0)
    for size, (by, name), rows in sized:
        if len(found) >= most and size + beyond <= found[most - 1].worth_bytes:
            break
        plan = moments.plan(rows, "remove")
        plan.apply([Edit("remove", f"#{c['value_id'][row]}") for row in rows])
        new, where = moments.peak(plan)
        if new < moments.line.peak:
            insort(found, Group(by, name, rows, size, moments.line.peak - new, where), key=lambda one: -one.worth_bytes)
            del found[most:]
    return found
