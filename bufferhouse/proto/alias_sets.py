"""Alias sets of a proto (`BufferAssignmentProto.buffer_aliases`): values that must have the same bytes (HloBuffer)."""

from array import array

from bufferhouse.proto.assignment import Assignment


def alias_sets(assignment: Assignment) -> tuple[array, ...]:
    """Return the values of all sets that have more than one: the smallest of its set, and the value; sorted by both.

    There are no columns without any set. An alias is told by the place where the other value is defined. A place where
    none is defined is passed by.
    """
    aliases = assignment.message.buffer_aliases
    if not aliases:
        return ()
    buffers = assignment.buffers
    defined = {place: value for value, (_, _, place) in buffers.items()}
    others = [defined.get(alias.location) for alias in aliases]
    above: dict[int, int] = {}  # of the values that have an alias; a set is led by its smallest

    def root(value: int) -> int:
        while (leader := above.setdefault(value, value)) != value:
            above[value] = value = above[leader]
        return value

    for one, other in zip([alias.source_buffer_id for alias in aliases], others, strict=True):
        if other is not None and one != other and one in buffers:
            first, second = root(one), root(other)
            if first != second:
                above[max(first, second)] = min(first, second)
    if not above:
        return ()
    first, value = zip(*sorted([(root(value), value) for value in list(above)]), strict=True)
    return array("q", first), array("q", value)
