"""The module of a proto (`HloModuleProto`): instructions by id, donations, stack frames.

Ids tell instructions; names are what a dump calls them. A text is rebuilt as far as the proto tells it: name, shape,
opcode, operands and metadata, in the form of HloInstruction::ToString.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bufferhouse.dump import DumpError, grammar
from bufferhouse.dump.module_header import Donation
from bufferhouse.dump.stack_frames import StackFrame, call_stacks
from bufferhouse.proto.assignment import index_text
from bufferhouse.proto.errors import MOST_MODULE_BYTES, ProtoError, opened
from bufferhouse.proto.shape_text import shape_text

_NAME = re.compile(grammar.NAME)
_OPCODE = re.compile(r"[a-z][a-z0-9\-]*")
_CALLERS = ("while", "conditional", "call", "async-start")
_MERGERS = ("while", "conditional")
_ESCAPES = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}
_UNKNOWN_LINE = 1 << 30


@dataclass(slots=True)
class Instruction:
    """An instruction that defines a value; `shape` is a message of the proto, `merges` says that the value is a phi."""

    name: str
    shape: Any
    text: str
    merges: bool


@dataclass(slots=True)
class Module:
    """What a module tells of its values; `root` is the id of the entry's root, None where there is none."""

    instructions: dict[int, Instruction] = field(default_factory=dict)
    root: int | None = None
    parameters: list[Any] = field(default_factory=list)
    result: Any = None
    donations: list[Donation] = field(default_factory=list)
    stack_frames: list[StackFrame] = field(default_factory=list)


def read_module(data: bytes, wanted: Collection[int]) -> Module:
    """Return a module by its bytes, with the instructions of the ids that are wanted.

    Raises:
        ProtoError: it is damaged, or lacks one of them.
    """
    from bufferhouse.proto import hlo_pb2

    message = opened(hlo_pb2.HloModule, data, MOST_MODULE_BYTES)
    found = Module()
    names: dict[int, str] = {}
    kept: dict[int, tuple[Any, int]] = {}
    callers: dict[int, set[str]] = {}
    for one in _each(hlo_pb2.Computation, message.computations):
        if one.id == message.entry_computation_id:
            found.root = one.root_id
        for instruction in _each(hlo_pb2.Instruction, one.instructions):
            if instruction.id in names:
                raise ProtoError("each instruction once", f"instruction {instruction.id} twice")
            names[instruction.id] = _name(instruction.name)
            if instruction.id in wanted:
                kept[instruction.id] = instruction, one.id
            opcode = instruction.opcode.decode("ascii", "replace")
            if opcode in _CALLERS:
                for called in instruction.called_computation_ids:
                    callers.setdefault(called, set()).add(opcode)
    if len(set(names.values())) < len(names):
        raise ProtoError("each name of an instruction once", "one of them twice")
    if missing := set(wanted) - kept.keys():
        raise ProtoError("the instructions of all values in the module", f"none with the id {min(missing)}")
    for key, (instruction, computation) in kept.items():
        found.instructions[key] = _instruction(instruction, names, callers.get(computation, set()))
    found.parameters = list(message.host_program_shape.parameters)
    found.result = message.host_program_shape.result if message.host_program_shape.HasField("result") else None
    found.donations = _donations(message)
    found.stack_frames = _stack_frames(message.stack_frame_index)
    return found


def _each(kind: Any, parts: Iterable[bytes]) -> Iterator[Any]:
    return (opened(kind, data, MOST_MODULE_BYTES) for data in parts)


def _name(data: bytes) -> str:
    name = data.decode("utf-8", "replace")
    if not _NAME.fullmatch(name):
        raise ProtoError("the name of an instruction", repr(name[:80]))
    return name


def _instruction(one: Any, names: dict[int, str], callers: set[str]) -> Instruction:
    opcode = one.opcode.decode("ascii", "replace")
    if not _OPCODE.fullmatch(opcode):
        raise ProtoError("an opcode", repr(opcode[:80]))
    if unknown := [operand for operand in one.operand_ids if operand not in names]:
        raise ProtoError("operands that are instructions of the module", f"none with the id {unknown[0]}")
    name = _name(one.name)
    operands = ", ".join(
        f"{f'/*index={place}*/' if place and place % 5 == 0 else ''}%{names[operand]}"
        for place, operand in enumerate(one.operand_ids)
    )
    if opcode == "parameter":
        operands = str(one.parameter_number)
    target = f', custom_call_target="{escaped(one.custom_call_target)}"' if one.custom_call_target else ""
    text = f"%{name} = {shape_text(one.shape, with_layout=True)} {opcode}({operands}){target}{_metadata(one.metadata)}"
    merges = opcode in _MERGERS or (opcode == "parameter" and bool(callers))
    return Instruction(name, one.shape, text, merges)


def _metadata(one: Any) -> str:
    """Return the attribute in the form of OpMetadataToString (xla/hlo/ir/hlo_op_metadata.cc)."""
    items = [
        f'op_name="{escaped(one.op_name)}"' if one.op_name else "",
        f'source_file="{escaped(one.source_file)}"' if one.source_file else "",
        f"source_line={one.source_line}" if 0 < one.source_line < _UNKNOWN_LINE else "",
        f"stack_frame_id={one.stack_frame_id}" if 0 < one.stack_frame_id < _UNKNOWN_LINE else "",
    ]
    inside = " ".join(filter(None, items))
    return f", metadata={{{inside}}}" if inside else ""


def escaped(data: bytes) -> str:
    """Return bytes as absl::CEscape writes them."""
    if data.isascii() and data.isalnum():
        return data.decode()
    return "".join(_ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in data)


def _donations(message: Any) -> list[Donation]:
    """Return what `dump.module_header.read_donations` reads in the text of the module."""
    found = {
        (one.parameter_number, index_text(one.parameter_shape_index)): Donation(
            one.parameter_number,
            index_text(one.parameter_shape_index),
            index_text(one.output_shape_index),
            "must-alias" if one.kind == 2 else "may-alias",
        )
        for one in message.input_output_alias.entries
    }
    for one in message.buffer_donor.entries:
        key = one.parameter_number, index_text(one.parameter_shape_index)
        found.setdefault(key, Donation(*key, None, "buffer-donor"))
    if found and not 0 <= min(found)[0] <= max(found)[0] < _UNKNOWN_LINE:
        raise ProtoError("the number of a parameter", str(min(found)[0]))
    return [found[key] for key in sorted(found)]


def _stack_frames(index: Any) -> list[StackFrame]:
    """Return what `dump.stack_frames.read_stack_frames` reads in the text of the module."""
    files, functions = ([name.decode("utf-8", "replace") for name in names]
                        for names in (index.file_names, index.function_names))  # fmt: skip
    locations = []
    for one in index.file_locations:
        if not (1 <= one.file_name_id <= len(files) and 1 <= one.function_name_id <= len(functions)):
            raise ProtoError("a stack frame with a file and a function", f"{one.file_name_id}, {one.function_name_id}")
        numbers = (one.line, one.end_line, one.column, one.end_column)
        locations.append((functions[one.function_name_id - 1], files[one.file_name_id - 1], *map(_number, numbers)))
    parents = [one.parent_frame_id for one in index.stack_frames]
    if any(not 0 <= parent <= len(parents) for parent in parents):
        raise ProtoError("callers that are stack frames", "another number")
    if any(not 1 <= one.file_location_id <= len(locations) for one in index.stack_frames):
        raise ProtoError("stack frames with a place", "another number")
    try:
        stacks = call_stacks(parents, 0)
    except DumpError as error:
        raise ProtoError(error.expected, error.found) from None
    return [
        StackFrame(number, stacks[number], *locations[one.file_location_id - 1])
        for number, one in enumerate(index.stack_frames, 1)
    ]


def _number(number: int) -> int | None:
    return number if 0 <= number < _UNKNOWN_LINE else None
