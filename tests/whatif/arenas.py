"""Random memory spaces, and what edits do to them by brute force: every byte at every position of the schedule."""

import random
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress

from bufferhouse.whatif.edits import Edit
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.space import COLUMNS, Space

ALIGNMENT = 4
LAST = 12  # position of the schedule
# Each shape with its bytes, those of padding, and what its slot is as bf16, halved along dimension 0, and unpadded.
SHAPES = {
    "f32[2]{0}": (8, 0, 4, 4, None),
    "f32[3]{0}": (12, 0, 6, 8, None),
    "u8[5]{0}": (5, 0, None, 3, None),
    "f32[4,2]{1,0}": (32, 0, 16, 16, None),
    "f32[1,3]{1,0:T(2,4)}": (32, 20, 16, None, 12),
    "f32[5]{0:T(4)}": (32, 12, 16, 16, 20),
    "u8[16]{0}": (16, 0, None, 8, None),
}

Bytes = dict[int, set[tuple]]  # at each position what is alive: an address, or a byte of a copy


def random_space(random_: random.Random, *, most: int = 9) -> Space:
    """A space with parameters, outputs, constants and an arena, in which some slots lie in the place of others."""
    columns = {name: [] for name in COLUMNS}
    uses, operands = [], []
    allocations: dict[int, tuple[str, int]] = {}
    kinds = [
        random_.choice(("parameter", "output", "constant", *("temp",) * 5)) for _ in range(random_.randint(2, most))
    ]
    arena = len(kinds)
    for number, kind in enumerate(kinds):
        shape = random_.choice(list(SHAPES))
        size, padding = SHAPES[shape][:2]
        start = 0 if kind in ("parameter", "constant") else random_.randint(0, LAST - 2)
        end = LAST if kind != "temp" else random_.randint(start, LAST - 1)
        allocation, offset = number, 0
        if kind == "temp":
            allocation = arena
            start, end, offset = _placed(random_, columns, arena, size, start, end)
        else:
            allocations[number] = kind, size
        read = sorted({random_.randint(start, min(end, LAST - 1)) for _ in range(random_.randint(0, 3))})
        uses.append(read)
        operands.append(random_.sample(range(number), min(number, random_.randint(0, 2))))
        row = (
            *(number, kind, allocation, offset, size, start, end, f"v{number}", None, shape, False, False, "listed"),
            *("parameter" if kind == "parameter" else "fusion", f"jit(f)/{number % 3}", f"f.py:{number % 4}"),
            *(number if kind == "parameter" else None, padding),
        )
        for name, found in zip(COLUMNS, row, strict=True):
            columns[name].append(found)
    ends = [columns["offset_bytes"][r] + columns["size_bytes"][r] for r, kind in enumerate(kinds) if kind == "temp"]
    if ends:
        allocations[arena] = "temp", max(ends)
    return made_space(columns, uses, operands, allocations)


def made_space(columns: dict, uses: list, operands: list, allocations: dict, **more: object) -> Space:
    """A space in which nothing but operands says who reads what."""
    names, readers, sources = columns["instruction"], [[] for _ in operands], {}
    for reader, read in zip(names, operands, strict=True):
        for row in read:
            readers[row].append(reader)
            sources.setdefault(reader, []).append(names[row])
    return Space(0, columns, uses, operands, allocations, ALIGNMENT, readers=readers, sources=sources, **more)


def space_without_arena(
    *values: tuple[str, int, int, str],
    operands: dict[int, list[int]] | None = None,
    results: Sequence[int] = (),
    returned: Sequence[str] = (),
) -> Space:
    """A space of parameters and outputs, each a kind, bytes, when it starts and a shape; the first is read once.

    `operands` are the values that a value is computed from, `results` those that are returned, in their order,
    and `returned` the shapes in which they are.
    """
    columns = {name: [] for name in COLUMNS}
    for number, (kind, size, start, shape) in enumerate(values):
        row = (number, kind, number, 0, size, start, LAST, f"v{number}", None, shape, False, False,
               "listed", "fusion", None, None, number, 0)  # fmt: skip
        for name, found in zip(COLUMNS, row, strict=True):
            columns[name].append(found)
    uses = [[2], *([] for _ in values[1:])]
    allocations = {number: (kind, size) for number, (kind, size, *_) in enumerate(values)}
    read = [(operands or {}).get(number, []) for number in range(len(values))]
    places = {number: place for place, number in enumerate(results)}
    return made_space(columns, uses, read, allocations, results=places, returned=returned)


def crowded_space(random_: random.Random) -> Space:
    """A space of temporaries in two allocations, in which slots share bytes at any time."""
    space = random_space(random_)
    columns = space.columns | {
        "kind": ["temp"] * len(space),
        "allocation": [random_.randrange(2) for _ in range(len(space))],
        "offset_bytes": [random_.randrange(20) for _ in range(len(space))],
    }
    allocations = {0: ("temp", 64), 1: ("temp", 64)}
    return made_space(columns, space.uses, space.operands, allocations, strict=frozenset(allocations))


def _placed(random_, columns, arena, size, start, end) -> tuple[int, int, int]:
    """Where a temporary lives and stands: in the place of one that ends when it starts, or where nothing else is."""
    own = [row for row, one in enumerate(columns["allocation"]) if one == arena]
    ending = [row for row in own if columns["end"][row] <= LAST - 2]
    if ending and random_.random() < 0.4:
        before = random_.choice(ending)
        start = columns["end"][before]
        end, offset = max(end, start), columns["offset_bytes"][before]
        if _free(columns, own, offset, size, start, end, but=before):
            return start, end, offset
    offset = random_.choice((0, 0, ALIGNMENT, 4 * ALIGNMENT))
    while not _free(columns, own, offset, size, start, end):
        offset += ALIGNMENT
    return start, end, offset


def _free(columns, own, offset, size, start, end, but=None) -> bool:
    return not any(
        row != but
        and columns["start"][row] <= end
        and start <= columns["end"][row]
        and columns["offset_bytes"][row] < offset + size
        and offset < columns["offset_bytes"][row] + columns["size_bytes"][row]
        for row in own
    )


def possible_edits(space: Space, random_: random.Random) -> list[Edit]:
    """One edit of each kind for each value, whether it can be or not."""
    edits = []
    for row in range(len(space)):
        name = space.name(row)
        edits += [Edit(kind, name) for kind in ("free", "remove", "donate", "unpad", "remat")]
        edits.append(Edit("shrink", name, dtype="bf16"))
        edits.append(Edit("shard", name, parts=2, dimension=0))
        edits.append(Edit("offload", name, window=random_.randint(0, 3)))
    return edits


def taken_edits(
    space: Space, random_: random.Random, *, kinds: Container[str] | None = None
) -> Iterator[tuple[Edit, Plan]]:
    """Yield those of the possible edits, or of some kinds of them, that a space takes, each with a plan of it alone."""
    for edit in possible_edits(space, random_):
        if kinds is None or edit.kind in kinds:
            with suppress(NoCandidate):
                yield edit, Plan(space).apply([edit])


def alive(space: Space, edits: list[Edit]) -> Bytes:
    """By position the bytes alive with edits, each of another value; (allocation, address) is one byte."""
    c, found = space.columns, {at: set() for at in range(-1, LAST + 2)}
    by_row = {int(edit.value[1:]): edit for edit in edits}
    uses = [set(read) for read in space.uses]
    for row in sorted(by_row, key=lambda row: (c["start"][row], row), reverse=True):
        if by_row[row].kind == "remat":
            for operand in space.operands[row]:
                again = _again(c["start"][row], c["end"][row], uses[row])
                uses[operand] |= {max(at, c["start"][operand]) for at in again}
    outputs = {}  # the allocation of an output in the place of a parameter
    for row, edit in by_row.items():
        if edit.kind == "donate":
            outputs[_output(space, row, uses[row], outputs)] = row
    lives: dict[int, list[tuple[int, int]]] = {row: [(c["start"][row], c["end"][row])] for row in range(len(space))}
    sizes, extended = list(c["size_bytes"]), {}
    for row, edit in by_row.items():
        start, read = c["start"][row], sorted(uses[row])
        if edit.kind == "remove" or (edit.kind == "free" and c["kind"][row] == "output" and not read):
            lives[row] = []
        elif edit.kind in ("free", "donate"):
            lives[row] = [(start, min(max([start, *read]), c["end"][row]))]
        elif edit.kind in ("shrink", "shard", "unpad"):
            sizes[row] = SHAPES[c["shape"][row]][{"shrink": 2, "shard": 3, "unpad": 4}[edit.kind]]
        elif edit.kind == "offload":
            again = uses[row] - set(space.uses[row])
            ends = [use if use in again else min(use, c["end"][row]) for use in read]
            extended[row] = [(max(use - edit.window, start), use) for use in ends]
            if c["kind"][row] == "temp":
                extended[row].append((start, min(start + edit.window, c["end"][row])))
            lives[row] = []
        elif edit.kind == "remat":
            again = _again(start, c["end"][row], read)
            lives[row] = [(start, read[0])] if len(again) < len(read) > 1 else ([] if again else [(start, start)])
            extended[row] = [(at, at) for at in again]
    for row in range(len(space)):
        kind = by_row[row].kind if row in by_row else None
        last = max(uses[row] - set(space.uses[row]), default=0)
        if c["kind"][row] == "temp" and kind not in ("remove", "remat", "offload") and last > c["end"][row]:
            extended.setdefault(row, []).append((c["end"][row] + 1, last))
    for row in range(len(space)):
        allocation = c["allocation"][row]
        place = c["allocation"][outputs[allocation]] if allocation in outputs else allocation
        for begin, end in lives[row]:
            for at in range(begin, end + 1):
                found[at] |= {(place, c["offset_bytes"][row] + byte) for byte in range(sizes[row])}
        for begin, end in extended.get(row, ()):
            for at in range(begin, end + 1):
                stays = end <= c["end"][row]  # in the bytes that another takes over from it
                where = (place, c["offset_bytes"][row]) if stays else (("copy", row), 0)
                found[at] |= {(where[0], where[1] + byte) for byte in range(sizes[row])}
    return found


def _again(start: int, end: int, read) -> set[int]:
    """Where a value that dies behind its first use is computed again."""
    first = min(read) if len(read) > 1 and min(read) <= end else None
    return {at for at in read if at > start and at != first}


def _output(space: Space, row: int, uses, taken) -> int:
    c = space.columns
    last = max([c["start"][row], *uses])
    fitting = [
        other
        for other in range(len(space))
        if c["kind"][other] == "output" and c["shape"][other] == c["shape"][row] and c["allocation"][other] not in taken
    ]
    return c["allocation"][min(fitting, key=lambda other: (c["start"][other] <= last, c["start"][other], other))]


def smallest_arena(bodies, alignment: int) -> int:
    """The height of the best placement, by trying all orders and letting each body fall as low as it can.

    Every best placement can be written so: sort its bodies by where they begin.
    """
    meeting = {(one.number, other.number): _meeting(one, other) for one in bodies for other in bodies}

    def clashes(body, offset: int, other, at: int) -> bool:
        pairs = meeting[body.number, other.number]
        return any(offset + one.begin < at + two.end and at + two.begin < offset + one.end for one, two in pairs)

    def best_of(placed, high: int, best: int | None) -> int | None:
        """The height of the best placement that begins so, or what is known already where none is better."""
        if best is not None and high >= best:
            return best
        waiting = [body for body in bodies if all(body is not other for other, _ in placed)]
        if not waiting:
            return high
        for body in waiting:
            offset = 0
            while any(clashes(body, offset, other, at) for other, at in placed):
                offset += alignment
            best = best_of([*placed, (body, offset)], max(high, offset + body.end), best)
        return best

    return best_of([], 0, None) or 0


def _meeting(one, other) -> list[tuple]:
    """The pieces of two bodies that are alive at the same moment."""
    return [(a, b) for a in one.pieces for b in other.pieces if a.start < b.stop and b.start < a.stop]
