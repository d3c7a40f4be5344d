"""What two values must have in common to be taken for the same one, and what means nothing."""

import pytest

from bufferhouse.compare.tiers import SUBSTITUTED, TIERS
from tests.compare.values import value

ADD = {"opcode": "add", "op_name": "jit(f)/jit(main)/layer/add", "shape_text": "f32[8,4]{1,0}", "element_type": "f32"}
PARAMETER = {"opcode": "parameter", "op_name": "x", "shape_text": "f32[8,4]{1,0}", "element_type": "f32"}


def shared(one: dict, other: dict) -> set[str]:
    """The tiers in which two values have the same key."""
    keys = [[tier.key(value(**about)) for tier in TIERS] for about in (one, other)]
    return {tier.name for tier, a, b in zip(TIERS, *keys, strict=True) if a is not None and a == b}


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        (PARAMETER | {"parameter": "1 {}"}, PARAMETER | {"parameter": "1 {}", "op_name": "y"}, "parameter"),
        (ADD, ADD | {"op_name": "jit(f)/layer/add", "shape_text": "f32[8,4]{0,1:T(8,128)}"}, "op_name and shape"),
        (ADD, ADD | {"opcode": "fusion"}, "op_name and shape"),
        (ADD, ADD | {"op_name": None}, "opcode, shape and order"),
        (ADD, ADD | {"op_name": "jit(f)/other/add", "opcode": "fusion"}, "phase, primitive and shape"),
        (ADD, ADD | {"op_name": "jit(f)/other/add", "shape_text": "bf16[8,4]{1,0}", "element_type": "bf16"},
         "opcode, primitive and dimensions"),
        (ADD, ADD | {"shape_text": "f32[9]{0}"}, "op_name and opcode, the only other shape"),
        (ADD, ADD | {"op_name": "jit(f)/mul", "opcode": "fusion"}, SUBSTITUTED),
        (ADD, {"shape_text": "f32[8,4]"}, SUBSTITUTED),
        (ADD, ADD | {"shape_text": "f32[9]{0}", "opcode": "fusion"}, None),
        (ADD, {"size": 64}, None),
        (PARAMETER | {"parameter": "1 {}"}, PARAMETER | {"parameter": "2 {}"}, SUBSTITUTED),
        (PARAMETER | {"parameter": "1 {}"}, ADD | {"op_name": "x"}, SUBSTITUTED),
    ],
)  # fmt: skip
def test_the_surest_tier_is_the_first(one: dict, other: dict, first: str | None):
    """Layout, the name of the jitted main and attributes mean nothing; op_name alone and bytes alone are no tier."""
    found = shared(one, other)
    assert first == next((tier.name for tier in TIERS if tier.name in found), None)


@pytest.mark.parametrize(
    ("phase", "is_same"),
    [("jvp(layer)/add", True), ("transpose(jvp(layer))/add", False), ("rematted_computation/add", False),
     ("gradient_tape/add", False), ("transposed/add", True)],
)  # fmt: skip
def test_the_backward_pass_is_another_phase(phase: str, is_same: bool):
    """A primitive of the forward pass is not taken for that of the backward pass, nor for one that is run again."""
    found = shared(ADD | {"opcode": "a"}, ADD | {"opcode": "b", "op_name": f"jit(f)/{phase}"})
    assert is_same == ("phase, primitive and shape" in found)


def test_every_value_has_a_key():
    """The last tier takes any value, so that nothing is left out of the sum of common bytes."""
    assert all(TIERS[-1].key(value(shape_text=shape)) for shape in ("f32[]", "()", "(f32[2]{0}, s8[])", "token[]"))
