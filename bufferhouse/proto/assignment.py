"""Allocations and slots of a proto (`BufferAssignmentProto`), checked."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from bufferhouse.dump.columns import LARGEST_SIZE, Allocations, Values, repeated
from bufferhouse.dump.grammar import LARGEST_INT
from bufferhouse.proto.errors import MOST_ASSIGNMENT_BYTES, ProtoError, opened

_DEEPEST_INDEX = 64
_LARGEST_COLOR = 2**31


@dataclass(slots=True)
class Assignment:
    """What a proto says of memory. `buffers` gives size, memory space and place by value id.

    `allocations` and `slots` have the columns of a dump that a proto fills: those of `buffer_allocations`, of which a
    parameter's number and index are None without one, and those of `assigned`, by ascending id of the value. A place is
    a `Location` as bytes; `message` is the `BufferAssignment` itself, with aliases and traces.
    """

    allocations: Allocations
    slots: Values
    buffers: dict[int, tuple[int, int, bytes]]
    message: Any


def place_of(data: bytes) -> tuple[int, tuple[int, ...]]:
    """Return the id of the instruction and the shape index of a `Location`.

    Raises:
        ProtoError: it is damaged.
    """
    from bufferhouse.proto import hlo_pb2

    place = opened(hlo_pb2.Location, data, MOST_ASSIGNMENT_BYTES)
    index_text(place.shape_index)
    return place.instruction_id, tuple(place.shape_index)


def opened_proto(data: bytes) -> Any:
    """Return a message `Hlo`, whose parts are bytes; the module may be empty.

    Raises:
        ProtoError: it is no proto, or has no buffer assignment.
    """
    from bufferhouse.proto import hlo_pb2

    hlo = opened(hlo_pb2.Hlo, data, len(data))
    if not hlo.buffer_assignment:
        raise ProtoError("a buffer assignment in the proto", "none" if hlo.hlo_module else "neither it nor a module")
    return hlo


def read_assignment(data: bytes) -> Assignment:
    """Return allocations and slots by the bytes of a `BufferAssignmentProto`.

    Raises:
        ProtoError: it is damaged, or breaks a rule that XLA keeps: each value has one slot, sizes are sizes.
    """
    from bufferhouse.proto import hlo_pb2

    message = opened(hlo_pb2.BufferAssignment, data, MOST_ASSIGNMENT_BYTES)
    buffers = {one.id: (one.size, one.color, one.defined_at) for one in message.logical_buffers}
    if len(buffers) < len(message.logical_buffers):
        raise ProtoError("each logical buffer once", "one of them twice")
    if buffers:
        sizes, colors, _ = zip(*buffers.values(), strict=True)
        _check("id of a logical buffer", buffers, LARGEST_INT)
        _check("size of a logical buffer", sizes, LARGEST_SIZE)
        _check("color of a logical buffer", colors, _LARGEST_COLOR)
    return Assignment(_allocations(message), _slots(message, buffers), buffers, message)


def _allocations(message: Any) -> Allocations:
    found = Allocations()
    for place, one in enumerate(message.buffer_allocations):
        if one.index != place:
            raise ProtoError(f"allocation {place}", f"allocation {one.index}")
        found.size_bytes.append(one.size)
        found.memory_space.append(one.color)
        found.is_constant.append(one.is_constant)
        found.is_thread_local.append(one.is_thread_local)
        found.is_maybe_live_out.append(one.maybe_live_out)
        is_parameter = one.is_entry_computation_parameter
        found.parameter_number.append(one.parameter_number if is_parameter else None)
        found.parameter_shape_index.append(index_text(one.parameter_shape_index) if is_parameter else None)
    _check("size of an allocation", found.size_bytes, LARGEST_SIZE)
    _check("color of an allocation", found.memory_space, _LARGEST_COLOR)
    _check("number of a parameter", [number or 0 for number in found.parameter_number], _LARGEST_COLOR)
    return found


def _slots(message: Any, buffers: dict) -> Values:
    assigned = [one.assigned for one in message.buffer_allocations]
    slots = list(chain.from_iterable(assigned))
    if not slots:
        if buffers:
            raise ProtoError("a slot for each logical buffer", "none")
        return Values()
    ids = [slot.logical_buffer_id for slot in slots]
    known = set(ids)
    if len(known) < len(ids):
        raise ProtoError("one slot for each logical buffer", "two for one of them")
    if buffers.keys() != known:
        odd = min(buffers.keys() ^ known)
        raise ProtoError("a slot for each logical buffer", f"{'none' if odd in buffers else 'one without it'}: {odd}")
    offsets, sizes = [slot.offset for slot in slots], [slot.size for slot in slots]
    _check("offset of a slot", offsets, LARGEST_SIZE)
    _check("size of a slot", sizes, LARGEST_SIZE)
    places = repeated(range(len(assigned)), map(len, assigned))
    by_id = sorted(zip(ids, places, offsets, sizes, strict=True))
    ids, places, offsets, sizes = map(list, zip(*by_id, strict=True))
    return Values(
        value_id=ids, allocation_index=places, offset_bytes=offsets, size_bytes=sizes,
        memory_space=[buffers[one][1] for one in ids],
    )  # fmt: skip


def _check(what: str, numbers: Collection[int], most: int) -> None:
    if numbers and not (min(numbers) >= 0 and max(numbers) <= most):
        odd = min(numbers) if min(numbers) < 0 else max(numbers)
        raise ProtoError(f"a {what} from 0 to {most}", str(odd))


def index_text(index: Iterable[int]) -> str:
    """Return a shape index as a dump prints it: `{}`, `{0,1}`.

    Raises:
        ProtoError: it is none.
    """
    numbers = list(index)
    if len(numbers) > _DEEPEST_INDEX or any(not 0 <= number < _LARGEST_COLOR for number in numbers):
        raise ProtoError("a shape index such as {0,1}", str(numbers[:8]))
    return f"{{{','.join(map(str, numbers))}}}"
