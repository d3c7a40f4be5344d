"""What of an op_name and a shape survives another release of the framework."""

import pytest

from bufferhouse.compare.tiers import normalized, phase_and_primitive, tiles, without_layout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jit(f)/jit(main)/add", "jit(f)/add"),
        ("jit(f)/jit(main)/reshape[new_sizes=(4, 32) dimensions=None]", "jit(f)/reshape"),
        ("jit(f)/jit(main)/scan[a=1]/body/mul[b=2]", "jit(f)/scan/body/mul"),
        ("jit(f)/x[0]/y", "jit(f)/x[0]/y"),
        ("", ""),
    ],
)
def test_what_comes_and_goes_is_left_out(old: str, new: str):
    """`jit(main)/` and the attributes of primitives are no part of a name; an index is."""
    assert new == normalized(old)


@pytest.mark.parametrize(
    ("op_name", "phase", "primitive"),
    [
        ("jit(f)/jit(main)/jvp(layer)/dot_general[a=1]", "forward", "dot_general"),
        ("jit(f)/transpose(jvp(layer))/dot_general", "backward", "dot_general"),
        ("jit(f)/transpose(jvp(layer))/rematted_computation/tanh", "remat", "tanh"),
        ("jit(f)/transpose", "forward", "transpose"),
        ("gradient_tape/model/MatMul", "backward", "MatMul"),
        ("gradients/x/MatMul", "backward", "MatMul"),
        ("add", "forward", "add"),
    ],
)
def test_phase_and_primitive(op_name: str, phase: str, primitive: str):
    """Forward, backward or remat, whichever framework wrote it; the primitive `transpose` is not a backward pass."""
    assert (phase, primitive) == phase_and_primitive(op_name)


@pytest.mark.parametrize(
    ("shape", "plain", "tiled"),
    [
        ("f32[8,128]{1,0:T(8,128)(2,1)S(1)}", "f32[8,128]", "T(8,128)(2,1)"),
        ("f32[8,128]{1,0}", "f32[8,128]", ""),
        ("f32[]", "f32[]", ""),
        ("(f32[2]{0:T(8)}, s8[3]{0})", "(f32[2], s8[3])", ""),
        ("f32[2]{0:S(1)}", "f32[2]", ""),
    ],
)
def test_shapes(shape: str, plain: str, tiled: str):
    """Element type and dimensions without the layout; tiles as printed, which a tuple does not have."""
    assert (plain, tiled) == (without_layout(shape), tiles(shape))
