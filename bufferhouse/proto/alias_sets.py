"""Alias sets of a proto (`BufferAssignmentProto.buffer_aliases`): values that must have the same bytes (HloBuffer)."""

from bufferhouse.proto.assignment import Assignment


def alias_sets(assignment: Assignment) -> list[tuple[int, int]]:
    """Return the values of all sets that have more than one, each behind the smallest of its set, by set and value.

    An alias is told by the place where the other value is defined. A place where none is defined is passed by.
    """
    defined = {place: value for value, (_, _, place) in assignment.buffers.items()}
    above = {value: value for value in assignment.buffers}

    def root(value: int) -> int:
        while above[value] != value:
            above[value] = value = above[above[value]]
        return value

    for alias in assignment.message.buffer_aliases:
        one, other = alias.source_buffer_id, defined.get(alias.location)
        if other is not None and one in above and above[one] != above[other]:
            first, second = root(one), root(other)
            above[max(first, second)] = min(first, second)
    found = sorted([(root(value), value) for value in above])
    shared = {first for first, value in found if first != value}
    return [row for row in found if row[0] in shared]
