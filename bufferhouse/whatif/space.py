"""One memory space of one dump, in columns: values with slots and live ranges, their uses, and the allocations."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import duckdb

from bufferhouse.engine.sql import execute
from bufferhouse.tabulate.shape import parse_shape
from bufferhouse.tabulate.signature import read_signature
from bufferhouse.whatif.alignment import alignment_of, is_cpu

ARENA = "temp"  # the kind of the allocations that XLA fills by simulating a heap
HOST = 5  # the memory space for the memory of the host (`Layout::kHostMemorySpace`)
# Both ends of an asynchronous operation (`HloOpcode::kAsyncStart`, `kCopyStart`): the second defines no value.
_START, _DONE = re.compile(r"-start(?:[.]|$)"), re.compile(r"-done(?:[.]|$)")
_NUMBER = re.compile(r"[.][0-9.]*$")  # of an instruction, behind the opcode in its name
# The opcodes with which a TPU copies from one memory space to another.
_PREFETCHES = {"copy-start", "slice-start", "async-start"}
_MOST_BEFORE = 20_000  # instructions that are followed back from one; beyond that the answer is unknown
_MOST_KEPT = 2_000_000  # such instructions in memory, for all answers together

_VALUES = """
SELECT v.dump_id, v.value_id, a.kind, v.allocation_index, v.offset_bytes, v.size_bytes, v.start_position,
    v.end_position, v.instruction_name, v.shape_index, v.shape_text, v.is_tuple, v.is_phi, v.uses_state, t.opcode,
    t.op_name, t.source_file || COALESCE(':' || t.source_line, ''),
    a.parameter_number, v.layout_padding_bytes
FROM staging.hlo_values AS v
INNER JOIN staging.allocations AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
LEFT JOIN staging.instruction_texts AS t ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
WHERE v.dump_id IN ({dump_ids}) AND a.dump_id IN ({dump_ids})
    AND a.memory_space = $memory_space AND a.kind <> 'thread-local' AND v.start_position IS NOT NULL
ORDER BY v.dump_id, v.value_id
"""
_USES = """
SELECT v.dump_id, v.value_id, v.instruction_name, u.schedule_position, u.instruction_name, u.operand_number
FROM staging.hlo_values AS v
LEFT JOIN staging.uses AS u ON v.dump_id = u.dump_id AND v.value_id = u.value_id AND u.dump_id IN ({dump_ids})
WHERE v.dump_id IN ({dump_ids})
ORDER BY v.dump_id, v.value_id, u.ordinal
"""
_ALLOCATIONS = """
SELECT dump_id, allocation_index, kind, size_bytes, has_strict_overlap, is_maybe_live_out
FROM staging.allocations
WHERE dump_id IN ({dump_ids}) AND memory_space = $memory_space AND kind <> 'thread-local'
ORDER BY dump_id, allocation_index
"""
_ABOUT = """
SELECT d.dump_id, d.live_range_state, o.compile_target, d.entry_signature
FROM staging.contents AS d
LEFT JOIN (
    SELECT dump_id, MIN(compile_target) AS compile_target
    FROM staging.observations
    WHERE dump_id IN ({dump_ids})
    GROUP BY dump_id
) AS o ON d.dump_id = o.dump_id
WHERE d.dump_id IN ({dump_ids})
"""
COLUMNS = (
    *("value_id", "kind", "allocation", "offset_bytes", "size_bytes", "start", "end", "instruction", "shape_index"),
    *("shape", "is_tuple", "is_phi", "uses_state", "opcode", "op_name", "source", "parameter", "padding_bytes"),
)


@dataclass(slots=True)
class Space:
    """Values in columns of equal length; the row of a value is its place there. Sizes are bytes, positions as printed.

    `uses` are the positions of the schedule that read a value, ascending; None is a use outside the schedule.
    `operands` are the rows that the instruction of a value reads. `readers` are the instructions that read a value and
    define one, `sources` the instructions whose values an instruction reads, also in other memory spaces.
    `results` are the places of values among the results of a program that returns several: these are put together at
    `root`, and their addresses are the value of row `table`. `returned` are types and dimensions of all results, which
    may differ from those at the instruction that defines a value. `allocations` are those of the space by index, each
    with kind and size. `live_out` are allocations of parameters that hold an output already. `alignment` is the number
    of which offsets in the arena are multiples. The column `role` is parameter, output or constant for the value after
    which the allocation is named, else temp: an allocation of an output may hold temporaries before the output is
    defined. `is_on_host` is whether the memory is that of the host, on CPU.
    """

    memory_space: int
    columns: dict[str, list[Any]]
    uses: list[list[int | None]]
    operands: list[list[int]]
    allocations: dict[int, tuple[str, int]]
    alignment: int
    live_out: frozenset[int] = frozenset()
    has_live_ranges: bool = True
    strict: frozenset[int] = frozenset()  # allocations whose slots overlap for longer than an instant
    readers: list[list[str]] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)
    root: int | None = None
    table: int | None = None
    returned: Sequence[str] = ()
    is_on_host: bool = False
    rows: dict[int, int] = field(default_factory=dict)  # of the values, by value_id
    held: dict[int, list[int]] = field(default_factory=dict)  # the rows of each allocation
    made: dict[str, list[int]] = field(default_factory=dict)  # the rows of each instruction
    outputs: "list[Output]" = field(default_factory=list)  # those alone in an allocation and arrays, in result order
    fixed: dict[int, int] = field(default_factory=dict)  # the bytes of the allocations outside the arena
    copy_tables: list[int] = field(default_factory=list)  # rows of the tables with which TPUs prefetch and write back
    table_arity: int | None = None  # how many addresses the table of results has
    _readers_elsewhere: dict[str, list[str]] = field(default_factory=dict)
    _before: dict[str, frozenset[str] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = {value_id: row for row, value_id in enumerate(self.columns["value_id"])}
        for row, allocation in enumerate(self.columns["allocation"]):
            self.held.setdefault(allocation, []).append(row)
        for row, instruction in enumerate(self.columns["instruction"]):
            self.made.setdefault(instruction, []).append(row)
        kinds = zip(*(self.columns[name] for name in ("start", "kind", "is_tuple")), strict=True)
        is_table = [start == self.root and kind == "output" and is_tuple for start, kind, is_tuple in kinds]
        self.table = is_table.index(True) if self.results and any(is_table) else None
        self.columns["role"] = _roles(self)
        self.outputs = _outputs(self)
        self.fixed = {index: size for index, (kind, size) in self.allocations.items() if kind != ARENA}
        opcodes, roles = self.columns["opcode"], self.columns["role"]
        self.copy_tables = [row for row, one in enumerate(opcodes) if one in _PREFETCHES and roles[row] == ARENA]
        if self.table is not None:
            self.table_arity = parse_shape(self.columns["shape"][self.table]).tuple_arity

    def tables_of(self, row: int) -> set[int]:
        """Return the row of the table of results if it has the address of a value, which goes with the value."""
        return {self.table} if self.table is not None and row in self.results else set()

    def places_for(self, row: int) -> set[int]:
        """Return the rows in outputs of as many bytes as the allocation of a value: one of these may take its place."""
        _, size = self.allocations[self.columns["allocation"][row]]
        return {other for one in self.outputs if one.size_bytes == size for other in self.held[one.allocation]}

    def of_as_many_elements(self, row: int) -> "list[Output]":
        """Return the outputs of other dimensions that JAX, from 0.8 on, may have XLA place on a donated parameter."""
        shape, (_, size) = array_shape(self.columns["shape"][row]), self.allocations[self.columns["allocation"][row]]
        others = [one for one in self.outputs if one.size_bytes == size and one.array_shape != shape]
        count = _element_count(shape) if others else None
        return [one for one in others if count is not None and _element_count(one.array_shape) == count]

    def readers_elsewhere(self, instruction: str) -> list[str]:
        """Return the instructions that read an instruction without a value in this memory space."""
        if not self._readers_elsewhere:
            for reader, names in self.sources.items():
                for name in names:
                    if name not in self.made:
                        self._readers_elsewhere.setdefault(name, []).append(reader)
        return self._readers_elsewhere.get(instruction, [])

    def __len__(self) -> int:
        return len(self.columns["value_id"])

    def name(self, row: int) -> str:
        """Return the name of a value: its instruction, and the part of its result."""
        index = self.columns["shape_index"][row]
        return self.columns["instruction"][row] + (index if index not in (None, "{}") else "")

    def before(self, instruction: str) -> frozenset[str] | None:
        """Return the instructions from which one is computed, which precede it in any schedule; None if unknown."""
        if instruction not in self._before:
            found: set[str] = set()
            left = [instruction]
            while left and len(found) <= _MOST_BEFORE:
                new = set(self.sources.get(left.pop(), ())) - found
                found |= new
                left += new
            if sum(len(one or ()) for one in self._before.values()) > _MOST_KEPT:
                self._before.clear()
            self._before[instruction] = None if left else frozenset(found)
        return self._before[instruction]

    @property
    def arena_count(self) -> int:
        """How many values with bytes are in the arena."""
        return sum(
            kind == ARENA and size > 0
            for kind, size in zip(self.columns["kind"], self.columns["size_bytes"], strict=True)
        )

    @property
    def arena_bytes(self) -> int:
        """The bytes of the temporaries."""
        return sum(size for kind, size in self.allocations.values() if kind == ARENA)

    @property
    def reserved_bytes(self) -> int:
        """The bytes of all allocations."""
        return sum(size for _, size in self.allocations.values())


def read_space(con: duckdb.DuckDBPyConnection, dump_id: int, memory_space: int = 0) -> Space:
    """Return a memory space of a dump; without live ranges it has no values."""
    return read_spaces(con, [dump_id], memory_space)[dump_id]


def read_spaces(con: duckdb.DuckDBPyConnection, dump_ids: Sequence[int], memory_space: int = 0) -> dict[int, Space]:
    """Return the same memory space of some dumps, with one set of queries."""
    listed = ", ".join(map(str, dump_ids))  # as literals: DuckDB then skips the blocks that have none of them

    def asked(sql: str, **parameters: int) -> list[tuple]:
        return execute(con, sql.format(dump_ids=listed), **parameters).fetchall()

    values = _by_dump(asked(_VALUES, memory_space=memory_space))
    uses = _by_dump(asked(_USES))
    allocations = _by_dump(asked(_ALLOCATIONS, memory_space=memory_space))
    return {
        dump_id: _space(
            memory_space, state, target, signature, *(found.get(dump_id, []) for found in (values, uses, allocations))
        )
        for dump_id, state, target, signature in asked(_ABOUT)
    }


def _by_dump(rows: Iterable[tuple]) -> dict[int, list[tuple]]:
    """Return rows without their first cell, by that cell, in whose order they come."""
    return {dump_id: [row[1:] for row in found] for dump_id, found in groupby(rows, key=itemgetter(0))}


def _space(
    memory_space: int,
    state: str,
    target: str | None,
    signature: str,
    values: Sequence[tuple],
    uses: Sequence[tuple],
    allocations: Sequence[tuple],
) -> Space:
    columns = {name: list(column) for name, column in zip(COLUMNS, zip(*values, strict=True), strict=False)}
    columns = columns or {name: [] for name in COLUMNS}
    offsets = [offset for offset, kind in zip(columns["offset_bytes"], columns["kind"], strict=True) if kind == ARENA]
    return Space(
        memory_space,
        columns,
        allocations={index: (kind, size) for index, kind, size, *_ in allocations},
        alignment=alignment_of(target, memory_space, offsets),
        live_out=frozenset(index for index, *_, is_live_out in allocations if is_live_out),
        has_live_ranges=state in ("present", "unbounded"),
        strict=frozenset(index for index, _, _, is_strict, _ in allocations if is_strict),
        returned=read_signature(signature).output,
        is_on_host=is_cpu(target),
        **_uses(uses, columns),
    )


def _uses(rows: Sequence[tuple], columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Return which instructions read which values, as in `Space`, without those that only hand values on."""
    place = {value_id: row for row, value_id in enumerate(columns["value_id"])}
    # A conditional, loop or sort may be the root, too: its operands are not results, nor is what its branches return.
    given = zip(*(columns[name] for name in ("instruction", "kind", "is_tuple", "opcode", "end")), strict=True)
    last = max(columns["end"], default=0)
    returning = {
        name
        for name, kind, is_tuple, opcode, end in given
        if kind == "output" and is_tuple and end == last and (opcode or _NUMBER.sub("", name)) == "tuple"
    }
    defining = {name for _, name, *_ in rows}
    uses: list[list[int | None]] = [[] for _ in place]
    readers: list[list[str]] = [[] for _ in place]
    read_by: dict[str, list[int]] = {}
    sources: dict[str, list[str]] = {}
    results: dict[int, int] = {}
    root = None
    for value_id, name, position, reader, operand_number in rows:
        if reader is None:
            continue
        sources.setdefault(reader, []).append(name)
        row = place.get(value_id)
        if row is None:
            continue
        uses[row].append(position)
        read_by.setdefault(reader, []).append(row)
        if reader in defining:
            readers[row].append(reader)
        if reader in returning and operand_number is not None:
            results[row] = min(results.get(row, operand_number), operand_number)
            root = position
    for done in sources.keys() - defining:
        if _DONE.search(done):
            _join_async(sources, done)
    ascending = [sorted(set(found), key=lambda at: -1 if at is None else at) for found in uses]
    operands = [list(dict.fromkeys(read_by.get(name, ()))) for name in columns["instruction"]]
    return {"uses": ascending, "operands": operands, "readers": readers, "sources": sources, "results": results,
            "root": root}  # fmt: skip


def _join_async(sources: dict[str, list[str]], done: str) -> None:
    """Put what an asynchronous operation computes behind its start: other instructions have it only after its end."""
    ended = {*sources[done]}
    for start in ended:
        if _START.search(start):
            for inside in ended - {start, *sources.get(start, ())}:  # operands are read by the start, too
                sources.setdefault(inside, []).append(start)


class Output(NamedTuple):
    """An allocation of an output: element type and dimensions as they are returned, bytes, and first position.

    `row` is the value that lives longest; others may be there before it, and `birth` is the start of the first.
    """

    allocation: int
    array_shape: str
    size_bytes: int
    birth: int
    row: int


def _roles(space: Space) -> list[str]:
    c, found = space.columns, ["temp"] * len(space)
    for allocation, rows in space.held.items():
        kind = space.allocations[allocation][0]
        first, last = min((c["start"][row], c["value_id"][row]) for row in rows), max(c["end"][row] for row in rows)
        for row in rows:
            is_named = {
                "parameter": (c["start"][row], c["value_id"][row]) == first,
                "output": c["end"][row] == last,
            }.get(kind, kind == "constant")
            if is_named:
                found[row] = kind
    return found


def _outputs(space: Space) -> list[Output]:
    """Return the separate allocations of outputs that hold an array, as `intermediate.donatable_outputs`.

    Their shapes are those of the signature, if it has them.
    """
    c, found, returned = space.columns, [], dict(enumerate(space.returned))
    for allocation, (kind, size) in space.allocations.items():
        rows = [row for row in space.held.get(allocation, ()) if not c["is_tuple"][row]]
        if kind == "output" and rows:
            longest = max(rows, key=lambda row: (c["end"][row], not c["is_phi"][row], c["value_id"][row]))
            birth = min(c["start"][row] for row in rows)
            place = space.results.get(longest, 0 if len(returned) == 1 else None)
            shape = returned.get(place, array_shape(c["shape"][longest]))
            found.append(Output(allocation, shape, size, birth, longest))
    return sorted(found, key=lambda one: (space.results.get(one.row, 0), one.birth, one.allocation))


def _element_count(shape: str) -> int | None:
    """Return how many elements an array has; None if a size is not known."""
    dims = parse_shape(shape).dims
    return None if dims is None or None in dims else prod(dims)


def array_shape(shape: str) -> str:
    """Return element type and dimensions of an array: `f32[8,128]` of `f32[8,128]{1,0}`."""
    return shape.partition("{")[0]
