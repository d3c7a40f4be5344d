"""Which parameter of one signature is which of another: by path, by number, or by shapes in their order."""

import pytest

from bufferhouse.compare.parameters import by_path
from tests.compare.values import value

WEIGHTS = {"emb": "f32[500,64]", "in": "f32[64,256]", "out": "f32[256,64]", "head": "f32[64,500]"}
WIDER = {"emb": "f32[500,128]", "in": "f32[128,512]", "out": "f32[512,128]", "head": "f32[128,500]"}
DEEPER = {"emb": "f32[500,64]", "in": "f32[64,256]", "out": "f32[256,64]", "mid": "f32[64,64]", "head": "f32[64,500]"}
BATCH_AND_DEEPER = {"x": "s32[32]", **DEEPER}


def parameters(shapes: dict[str, str], op_name: str | None) -> list:
    """The parameters of a program; JAX names each by its path, the others name all alike."""
    return [
        value(opcode="parameter", parameter=f"{number} {{}}", shape_text=shape, op_name=op_name or f"params['{name}']")
        for number, (name, shape) in enumerate(shapes.items())
    ]


@pytest.mark.parametrize("op_name", [None, "XLA_Args", "xla__device_data"])
@pytest.mark.parametrize(
    ("before", "after"),
    [(WEIGHTS, WIDER), (WEIGHTS, DEEPER), (DEEPER, WEIGHTS), ({"x": "s32[16]", **WEIGHTS}, BATCH_AND_DEEPER)],
)
def test_parameters_keep_their_partners(op_name, before, after):
    """With another width, a new layer and another batch: whether paths tell the parameters apart, or nothing does."""
    sides = by_path(parameters(before, op_name), parameters(after, op_name))
    keys = [
        {one.parameter: name for one, name in zip(*both, strict=True)}
        for both in zip(sides, (before, after), strict=True)
    ]
    assert [len(before), len(after)] == [len(side) for side in keys]
    shared = {(keys[0][key], keys[1][key]) for key in keys[0].keys() & keys[1].keys()}
    assert {(name, name) for name in before.keys() & after.keys()} == shared


def test_parameters_of_loops_in_the_memory_of_a_donated_one_are_none_of_the_signature():
    """They start later, under the number of the donated parameter, and have op_names of their own."""
    loop = value(opcode="parameter", parameter="1 {}", op_name="while", start=5)
    paths = by_path([*parameters(WEIGHTS, None), loop], parameters(WEIGHTS, None))
    assert ["params['emb'] None", "params['in'] None"] == [one.parameter for one in paths[0][:2]]
    numbers = by_path([*parameters(WEIGHTS, "XLA_Args"), loop], parameters(DEEPER, "XLA_Args"))
    assert ["0 {}", "1 {}", "2 {}", "3 {}", "1 {}"] == [one.parameter for one in numbers[0]]
    assert ["0 {}", "1 {}", "2 {}", "3 {}, new", "3 {}"] == [one.parameter for one in numbers[1]]


def test_too_many_parameters_of_one_shape_keep_their_numbers():
    """Each is like each: to align them would take minutes."""
    many = [parameters({str(number): "f32[]" for number in range(count)}, "XLA_Args") for count in (4000, 4001)]
    assert many == by_path(*many)
