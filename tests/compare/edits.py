"""Known edits of real dumps: what a compiler might have done otherwise, so that the causes of a difference are known.

Every edit takes a `Subject`, a dump with one value that stands alone in an allocation of its own, and changes it in
place. `text` writes a dump; all of them pass the checks of severity error.
"""

import copy
import re
from dataclasses import dataclass

from bufferhouse.dump import Dump, render
from bufferhouse.dump.columns import PeakBuffers
from bufferhouse.tabulate.shape import parse_shape

SPIKE_BYTES = 2**24
"""More than any of the dumps has alive otherwise: it pins the peak to a position."""


@dataclass
class Subject:
    """A dump, the row of its value that is edited, and the position of its peak."""

    dump: Dump
    row: int
    peak: int

    def copy(self) -> "Subject":
        """The same, to be edited apart."""
        return Subject(copy.deepcopy(self.dump), self.row, self.peak)

    @property
    def size(self) -> int:
        """The bytes of its slot."""
        return self.dump.values.size_bytes[self.row]


def range_rows(dump: Dump) -> dict[int, int]:
    """By row of a value, the row of its live range; without those that have none."""
    ranges = {key: row for row, key in enumerate(zip(dump.live_ranges.instruction, dump.live_ranges.shape_index,
                                                     strict=True))}  # fmt: skip
    v = dump.values
    keys = ((name, index or "{}") for name, index in zip(v.instruction, v.shape_index, strict=True))
    return {row: ranges[key] for row, key in enumerate(keys) if key in ranges}


def subject(dump: Dump, *, is_alive: bool = True) -> Subject:
    """A copy of a dump whose peak is pinned to the middle, and a matrix of it that is, or is not, alive there.

    No other value has the shape of the matrix, nor its op_name and opcode.
    """
    found = Subject(copy.deepcopy(dump), -1, dump.max_position // 2)
    add_value(found.dump, "spike", SPIKE_BYTES, found.peak, found.peak)
    v, ranges = found.dump.values, range_rows(found.dump)
    for row, at in ranges.items():
        text = v.instruction_text[row]
        begin, end = found.dump.live_ranges.start_position[at], found.dump.live_ranges.end_position[at]
        thread_local = found.dump.allocations.is_thread_local[v.allocation_index[row]]
        if (
            (begin <= found.peak <= end) == is_alive and re.fullmatch(r"\w+\[\d+,\d+\]\{[^}]*\}", v.shape[row])
            and " parameter(" not in text and 'op_name="' in text and not thread_local
        ):  # fmt: skip
            found.row = row
            v.instruction_text[row] = re.sub('op_name="[^"]*"', 'op_name="jit(f)/jit(main)/edited/mul"', text)
            reshape(found, "f32[40,24]{1,0}")
            move_apart(found)
            return found
    raise LookupError("no value of the dump can be edited")


def add_value(
    dump: Dump, name: str, size: int, start: int, end: int, *, shape: str | None = None, memory_space: int = 0
) -> None:
    """Add a value in an allocation of its own; by default bytes of its size."""
    v, r = dump.values, dump.live_ranges
    allocation = add_allocation(dump, size, memory_space)
    shape = shape or f"u8[{size}]{{0}}"
    v.value_id.append(max(v.value_id) + 1)
    v.instruction.append(name)
    v.shape_index.append(None)
    v.is_phi.append(False)
    v.memory_space.append(None if v.memory_space[0] is None else memory_space)
    v.allocation_index.append(allocation)
    v.size_bytes.append(size)
    v.offset_bytes.append(0)
    v.shape.append(shape)
    v.uses_state.append("empty")
    v.instruction_text.append(f"%{name} = {shape} custom-call()")
    dump.positions.count.append(1)
    dump.positions.instruction.append(name)
    dump.positions.shape_index.append(None)
    dump.uses.count.append(0)
    dump.schedule.append(name)
    dump.max_position += 1
    r.instruction.append(name)
    r.shape_index.append("{}")
    r.start_position.append(start)
    r.end_position.append(end)


def add_allocation(dump: Dump, size: int, memory_space: int = 0) -> int:
    """Add a temporary allocation and return its index."""
    a = dump.allocations
    a.size_bytes.append(size)
    a.memory_space.append(memory_space)
    a.pointer.append(a.pointer[0])
    a.page.append(a.page[0])
    for column in (a.parameter_number, a.parameter_shape_index, a.parameter_shape, a.output_shape):
        column.append(None)
    for column in (a.is_constant, a.is_thread_local, a.is_maybe_live_out):
        column.append(False)
    return len(a.size_bytes) - 1


def move_apart(one: Subject) -> None:
    """Give the value an allocation of its own, in the default memory space."""
    v = one.dump.values
    v.allocation_index[one.row], v.offset_bytes[one.row] = add_allocation(one.dump, one.size), 0
    move(one, 0)


def move(one: Subject, memory_space: int) -> None:
    """Put the allocation of the value into another memory space."""
    v = one.dump.values
    one.dump.allocations.memory_space[v.allocation_index[one.row]] = memory_space
    if v.memory_space[one.row] is not None:
        v.memory_space[one.row] = memory_space


def reshape(one: Subject, shape: str) -> None:
    """Give the value another shape, and the bytes that it takes in memory; its allocation grows by as much."""
    v, a = one.dump.values, one.dump.allocations
    v.instruction_text[one.row] = v.instruction_text[one.row].replace(v.shape[one.row], shape, 1)
    v.shape[one.row] = shape
    _resize(one, parse_shape(shape).physical_bytes)
    assert a.size_bytes[v.allocation_index[one.row]] >= one.size


def _resize(one: Subject, size: int) -> None:
    v, a = one.dump.values, one.dump.allocations
    a.size_bytes[v.allocation_index[one.row]] += max(size - one.size, 0)
    v.size_bytes[one.row] = size


def slacken(one: Subject, count: int) -> None:
    """Make the slot of the value, and its allocation, larger than its shape needs."""
    _resize(one, one.size + count)


def loosen(one: Subject, count: int) -> None:
    """Make the allocation of the value larger than its slot."""
    one.dump.allocations.size_bytes[one.dump.values.allocation_index[one.row]] += count


def live(one: Subject, start: int, end: int) -> None:
    """Give the value another live range."""
    at = range_rows(one.dump)[one.row]
    one.dump.live_ranges.start_position[at] = start
    one.dump.live_ranges.end_position[at] = end


def share(one: Subject) -> None:
    """Put the value on top of the spike, in the middle of which both are alive; its own allocation is left empty."""
    v, a = one.dump.values, one.dump.allocations
    a.size_bytes[v.allocation_index[one.row]] -= one.size
    spike = v.instruction.index("spike")
    v.allocation_index[one.row], v.offset_bytes[one.row] = v.allocation_index[spike], 512


def remove(one: Subject) -> None:
    """Take the value out of the dump, with all that speaks of it; its allocation is left empty."""
    d, v = one.dump, one.dump.values
    _cut(d.live_ranges, range_rows(d)[one.row], 1)
    d.allocations.size_bytes[v.allocation_index[one.row]] -= one.size
    for table in (d.positions, d.uses):
        first, count = sum(table.count[: one.row]), table.count.pop(one.row)
        _cut(table, first, count)
    _cut(v, one.row, 1)
    assert not d.cross_color_values.value_row


def _cut(table: object, first: int, count: int) -> None:
    for name in table.__slots__:
        if name != "count":
            del getattr(table, name)[first : first + count]


def output(one: Subject) -> None:
    """Make the allocation of the value one that may hold an output."""
    one.dump.allocations.is_maybe_live_out[one.dump.values.allocation_index[one.row]] = True


def rename(dump: Dump) -> Dump:
    """A copy of a dump in which every instruction has another name, in another order of names."""
    found = copy.deepcopy(dump)
    tables = (found.values, found.positions, found.uses, found.live_ranges, found.peak_buffers)
    names = sorted({name for table in tables for name in table.instruction} | set(found.schedule), reverse=True)
    new = {name: f"renamed.{number}" for number, name in enumerate(names)}
    for table in tables:
        table.instruction = [new[name] for name in table.instruction]
    found.schedule = [new[name] for name in found.schedule]
    found.values.instruction_text = [
        re.sub(r"%([\w.\-]+)", lambda match: f"%{new.get(match[1], match[1])}", text)
        for text in found.values.instruction_text
    ]
    return found


def text(dump: Dump) -> dict[str, bytes]:
    """The files of a dump, whose total is made to be that of its allocations; who fills the peak is left out."""
    closed = copy.copy(dump)
    closed.total_bytes, closed.total_human = sum(dump.allocations.size_bytes), None
    closed.live_range_state, closed.reported_peak_position = "unbounded", None
    closed.peak_buffers, closed.peak_form, closed.stack_trace = PeakBuffers(), None, None
    return render(closed)
