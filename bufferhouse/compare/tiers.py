"""By what two values of different compilations are taken for the same one, the surest way first."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from bufferhouse.compare.op_names import normalised, phase_and_primitive, without_layout
from bufferhouse.compare.values import Value


class Tier(NamedTuple):
    """A way to match, and what is equal then: a key, or None where the value has none.

    With `is_reshaped` the values of a key may differ in shape: a key counts only where the whole programs differ in the
    shape of exactly one of its values, and then for that one.
    """

    name: str
    key: Callable[[Value], Hashable | None]
    is_reshaped: bool = False


def _parameter(value: Value) -> Hashable | None:
    return value.parameter


def _op_name_and_shape(value: Value) -> Hashable | None:
    if not value.op_name or value.parameter:
        return None
    return normalised(value.op_name), without_layout(value.shape_text)


def _opcode_and_shape(value: Value) -> Hashable | None:
    return (value.opcode, without_layout(value.shape_text)) if value.opcode and not value.parameter else None


def _phase_and_primitive(value: Value) -> Hashable | None:
    if not value.op_name or value.parameter:
        return None
    return *phase_and_primitive(value.op_name), without_layout(value.shape_text)


def _opcode_and_dimensions(value: Value) -> Hashable | None:
    if not value.opcode or value.parameter or value.element_type is None:
        return None
    dimensions = without_layout(value.shape_text).removeprefix(value.element_type)
    return value.opcode, phase_and_primitive(value.op_name) if value.op_name else None, dimensions


def _op_name_and_opcode(value: Value) -> Hashable | None:
    if not value.opcode or value.parameter:
        return None
    return value.op_name and normalised(value.op_name), value.opcode, value.shape_index


def _shape(value: Value) -> Hashable | None:
    return without_layout(value.shape_text)


SUBSTITUTED = "substituted"

# Never the op_name alone: one operation of a framework becomes many instructions, and pairs of them would be invented.
# Never bytes alone: sizes repeat by the dozen.
TIERS = (
    Tier("parameter", _parameter),
    Tier("op_name and shape", _op_name_and_shape),
    Tier("opcode, shape and order", _opcode_and_shape),
    Tier("phase, primitive and shape", _phase_and_primitive),
    Tier("opcode, primitive and dimensions", _opcode_and_dimensions),
    Tier("op_name and opcode, the only other shape", _op_name_and_opcode, is_reshaped=True),
    Tier(SUBSTITUTED, _shape),
)
