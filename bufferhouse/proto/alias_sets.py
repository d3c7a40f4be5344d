"""Alias sets of a proto (`BufferAssignmentProto.buffer_aliases`): values that must have the same bytes (HloBuffer)."""

from typing import NamedTuple

from bufferhouse.proto.assignment import Assignment


class AliasedValue(NamedTuple):
    """A value of an alias set; the set is called by its smallest value."""

    alias_set: int
    value_id: int


def alias_sets(assignment: Assignment) -> list[AliasedValue]:
    """Return the values of all sets that have more than one, by set and value.

    An alias is told by the place where the other value is defined. A place where none is defined is passed by.
    """
    defined = {(instruction, index): value for value, (_, _, instruction, index) in assignment.buffers.items()}
    above = {value: value for value in assignment.buffers}

    def root(value: int) -> int:
        while above[value] != value:
            above[value] = value = above[above[value]]
        return value

    for alias in assignment.message.buffer_aliases:
        other = defined.get((alias.location.instruction_id, tuple(alias.location.shape_index)))
        if other is not None and alias.source_buffer_id in above:
            one, two = root(alias.source_buffer_id), root(other)
            above[max(one, two)] = min(one, two)
    found = sorted((root(value), value) for value in above)
    shared = {first for first, value in found if first != value}
    return [AliasedValue(*row) for row in found if row[0] in shared]
