"""Which parameter of one signature of a function is which parameter of another one."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from bufferhouse.compare.tiers import without_layout
from bufferhouse.compare.values import Value

_MOST_PAIRS = 10_000_000  # of parameters of one shape: an alignment looks at each, some seconds for so many


def by_path(*sides: Sequence[Value]) -> list[list[Value]]:
    """Return the values of two signatures of a function with their parameters known by path instead of number.

    One more layer moves the numbers of all parameters that follow. JAX prints the path of a parameter, such as
    `params['layers'][0]['out']`, as its op_name. Where a side has a parameter without one, the numbers stay.

    TensorFlow and PyTorch/XLA give one op_name to all parameters, `XLA_Args` and `xla__device_data`. There the numbers
    stay if both sides have the same ones, or too many of one shape; else the parameters are aligned by their shapes, in
    their order.
    """
    op_names = [{value.op_name for value in side if value.parameter} for side in sides]
    if any(None in found or not found for found in op_names):
        return [list(side) for side in sides]
    before, after = map(_entry_parameters, sides)
    if all(len({_path(one) for one in side.values()}) == len(side) for side in (before, after)):
        return [_renamed(side, _path) for side in sides]
    shapes = [[without_layout(one.shape_text) for one in side.values()] for side in (before, after)]
    counts = [Counter(side) for side in shapes]
    if before.keys() == after.keys() or sum(count * counts[1][one] for one, count in counts[0].items()) > _MOST_PAIRS:
        return [list(side) for side in sides]
    aligned = _aligned(list(before), list(after), *shapes)
    return [
        list(sides[0]),
        _renamed(sides[1], lambda value: aligned.get(value.parameter, f"{value.parameter}, new")),
    ]


def _path(value: Value) -> str:
    return f"{value.op_name} {value.shape_index}"


def _renamed(values: Iterable[Value], name: Callable[[Value], str]) -> list[Value]:
    return [value._replace(parameter=name(value)) if value.parameter else value for value in values]


def _entry_parameters(values: Iterable[Value]) -> dict[str, Value]:
    """Return the entry parameters by number and shape index, in the order of the signature.

    The memory of a donated one holds parameters of loops, too; these start later.
    """
    found: dict[str, Value] = {}
    for value in sorted((one for one in values if one.parameter), key=lambda one: (one.start_position, one.value_id)):
        found.setdefault(value.parameter, value)
    return dict(sorted(found.items(), key=lambda item: [int(number) for number in re.findall(r"[0-9]+", item[0])]))


def _aligned(
    before: Sequence[str], after: Sequence[str], old_shapes: Sequence[str], new_shapes: Sequence[str]
) -> dict[str, str]:
    """Return which parameter before each parameter after is; those that are new are left out."""
    found: dict[str, str] = {}
    for _, i, i_end, j, j_end in SequenceMatcher(None, old_shapes, new_shapes, autojunk=False).get_opcodes():
        if i_end - i == j_end - j:  # the same shapes, or as many others in their place
            found.update(zip(after[j:j_end], before[i:i_end], strict=True))
    return found
