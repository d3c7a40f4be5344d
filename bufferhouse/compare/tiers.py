"""The ways in which two values of different compilations count as the same one, the surest first."""

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from bufferhouse.compare.values import Value

# `reshape[new_sizes=(4, 32) dimensions=None]`: older JAX printed the parameters of a primitive behind its name.
_ATTRIBUTES = re.compile(r"\[[^/]*=[^/]*\](?=/|$)")
_BACKWARD = re.compile(r"(?:^|/)(?:transpose\(|gradients?(?:_tape)?(?:/|$))")
_AGAIN = re.compile(r"(?:^|/)rematted_computation(?:/|$)")


@lru_cache(maxsize=100_000)
def normalized(op_name: str) -> str:
    """Return an op_name without `jit(main)/` and without the attributes of primitives, which depend on the release.

    JAX writes the name stack of its tracing: `jit(f)/jit(main)/transpose(jvp(layer))/dot_general[…]` until 0.4,
    `jit(f)/transpose(jvp(layer))/dot_general` since.
    """
    return _ATTRIBUTES.sub("", op_name).replace("jit(main)/", "")


@lru_cache(maxsize=100_000)
def phase_and_primitive(op_name: str) -> tuple[str, str]:
    """Return forward, backward or remat, and the primitive: the last part of the name stack.

    JAX wraps the backward pass in `transpose(…)` and recomputation in `rematted_computation`; TensorFlow names
    gradients `gradient_tape/…` or `gradients/…`.
    """
    name = normalized(op_name)
    phase = "remat" if _AGAIN.search(name) else "backward" if _BACKWARD.search(name) else "forward"
    return phase, name.rpartition("/")[2]


_LAYOUT = re.compile(r"\{[^}]*\}")


@lru_cache(maxsize=100_000)
def without_layout(shape_text: str) -> str:
    """Return element type and dimensions, also of the elements of a tuple: `f32[8,128]` of `f32[8,128]{1,0:T(8)}`."""
    return _LAYOUT.sub("", shape_text)


_TILES = re.compile(r":((?:T(?:\([^)]*\))+)?)")


@lru_cache(maxsize=100_000)
def tiles(shape_text: str) -> str:
    """Return the tiles of a shape as printed, such as `T(8,128)(2,1)`; empty without tiles and for a tuple."""
    found = None if shape_text.startswith("(") else _TILES.search(shape_text)
    return found[1] if found else ""


class Tier(NamedTuple):
    """A way to match: values with equal keys match; a value whose key is None does not take part.

    With `is_reshaped` values with one key may differ in shape. Such a key counts only if the whole programs differ in
    the shape of exactly one of its values, and only for this value.
    """

    name: str
    key: Callable[[Value], Hashable | None]
    is_reshaped: bool = False


def _op_name_and_shape(value: Value) -> Hashable | None:
    if not value.op_name or value.parameter:
        return None
    return normalized(value.op_name), without_layout(value.shape_text)


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
    return value.op_name and normalized(value.op_name), value.opcode, value.shape_index


SUBSTITUTED = "substituted"

# Never the op_name alone: one operation of a framework becomes many instructions, and pairs of them would be invented.
# Never bytes alone: sizes repeat by the dozen.
TIERS = (
    Tier("parameter", attrgetter("parameter")),
    Tier("op_name and shape", _op_name_and_shape),
    Tier("opcode, shape and order", _opcode_and_shape),
    Tier("phase, primitive and shape", _phase_and_primitive),
    Tier("opcode, primitive and dimensions", _opcode_and_dimensions),
    Tier("op_name and opcode, the only other shape", _op_name_and_opcode, is_reshaped=True),
    Tier(SUBSTITUTED, lambda value: without_layout(value.shape_text)),
)
# Between two signatures of a function values of one key match if they differ in shape as the signatures do: surer than
# the tiers that leave the op_name out.
SCALED = Tier("op_name, opcode and dimensions of the signature", _op_name_and_opcode)
WITH_SCALED = (*TIERS[:2], SCALED, *TIERS[2:])
