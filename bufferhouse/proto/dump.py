"""A proto as a dump: what a dump without a text has of allocations, values and instructions.

Positions, uses, live ranges and the printed peak stand in no proto. A value at the end of a loop or of a conditional is
taken for one that merges others (a phi), as the proto does not say it.
"""

from dataclasses import dataclass

from bufferhouse.dump import Dump
from bufferhouse.dump.columns import LARGEST_SIZE
from bufferhouse.dump.module_header import Donation
from bufferhouse.dump.stack_frames import StackFrame
from bufferhouse.proto.assignment import Assignment, index_text, opened_proto, place_of, read_assignment
from bufferhouse.proto.errors import ProtoError
from bufferhouse.proto.module import Module, read_module
from bufferhouse.proto.shape_text import is_tuple, part_of, shape_text

ROLE = "proto"
Places = dict[int, tuple[int, tuple[int, ...]]]
"""The id of the instruction that defines a value and the index in its result, by value id."""


@dataclass(slots=True)
class ProtoDump:
    """A dump that was read from a proto, and what stands in the head of a module text."""

    dump: Dump
    donations: list[Donation]
    stack_frames: list[StackFrame]


def read_proto_dump(data: bytes) -> ProtoDump:
    """Return the dump that a proto holds.

    Raises:
        ProtoError: it is damaged, or has no buffer assignment or no module.
    """
    hlo = opened_proto(data)
    if not hlo.hlo_module:
        raise ProtoError("a module beside the buffer assignment", "none")
    assignment = read_assignment(hlo.buffer_assignment)
    places = {value: place_of(place) for value, (_, _, place) in assignment.buffers.items()}
    module = read_module(hlo.hlo_module, {instruction for instruction, _ in places.values()})
    dump = Dump(file_layout="proto", trailing_newlines={ROLE: 0}, has_instruction_texts=True)
    dump.allocations, dump.values = assignment.allocations, assignment.slots
    _add_allocations(dump, assignment, module, places)
    _add_values(dump, module, places)
    return ProtoDump(dump, module.donations, module.stack_frames)


def _add_allocations(dump: Dump, assignment: Assignment, module: Module, places: Places) -> None:
    a = dump.allocations
    count = len(a.size_bytes)
    dump.total_bytes = sum(a.size_bytes)
    if dump.total_bytes > LARGEST_SIZE:
        raise ProtoError(f"at most {LARGEST_SIZE} bytes in all", str(dump.total_bytes))
    a.page, a.pointer = [None] * count, [None] * count
    a.parameter_shape = [
        None if number is None else _parameter_shape(module, number, index)
        for number, index in zip(a.parameter_number, a.parameter_shape_index, strict=True)
    ]
    a.output_shape = [None] * count
    place = _output_allocation(assignment, module, places)
    if place is not None and module.result is not None:
        a.output_shape[place] = shape_text(module.result, with_layout=False)


def _parameter_shape(module: Module, number: int, index: str) -> str:
    if number >= len(module.parameters):
        raise ProtoError(f"one of {len(module.parameters)} parameters", f"parameter {number}")
    numbers = [int(part) for part in index[1:-1].split(",") if part]
    return shape_text(part_of(module.parameters[number], numbers), with_layout=False)


def _output_allocation(assignment: Assignment, module: Module, places: Places) -> int | None:
    """Return the allocation that holds the root: that of the value which stands there, by definition or as an alias."""
    held = dict(zip(assignment.slots.value_id, assignment.slots.allocation_index, strict=True))
    root = (module.root, ())
    for value, place in places.items():
        if place == root:
            return held[value]
    for alias in assignment.message.buffer_aliases:
        if alias.source_buffer_id in held and place_of(alias.location) == root:
            return held[alias.source_buffer_id]
    live = [place for place, is_so in enumerate(assignment.allocations.is_maybe_live_out) if is_so]
    return live[0] if len(live) == 1 else None


def _add_values(dump: Dump, module: Module, places: Places) -> None:
    v = dump.values
    for value in v.value_id:
        key, index = places[value]
        one = module.instructions[key]
        v.instruction.append(one.name)
        v.shape_index.append(index_text(index) if is_tuple(one.shape) else None)
        v.is_phi.append(one.merges)
        v.shape.append(shape_text(part_of(one.shape, index), with_layout=True))
        v.instruction_text.append(one.text)
