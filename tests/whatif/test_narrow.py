"""Shapes with another element type, beside those that libtpu 0.0.40 gave the parameters of one program."""

import pytest

from bufferhouse.tabulate.shape import parse_shape
from bufferhouse.whatif.edits import Edit, in_order
from bufferhouse.whatif.narrow import element_bits, flat_bytes, with_fitting_tiles, with_type


@pytest.mark.parametrize(
    ("shape", "element_type", "compiled", "size_bytes"),
    [
        ("f32[1000,300]{0,1:T(8,128)}", "bf16", "bf16[1000,300]{0,1:T(8,128)(2,1)}", 622_592),
        ("f32[1000,300]{0,1:T(8,128)}", "s8", "s8[1000,300]{0,1:T(8,128)(4,1)}", 311_296),
        ("f32[1000,300]{0,1:T(8,128)}", "s4", "s4[1000,300]{0,1:T(8,128)(8,1)E(4)}", 155_648),
        ("f32[3,700]{1,0:T(4,128)}", "bf16", "bf16[3,700]{1,0:T(4,128)(2,1)}", 6144),
        ("f32[1,1000]{1,0:T(1,128)}", "bf16", "bf16[1,1000]{1,0:T(2,128)(2,1)}", 4096),
        ("f32[1,1000]{1,0:T(1,128)}", "s8", "s8[1,1000]{1,0:T(4,128)(4,1)}", 4096),
        ("f32[2,100]{1,0:T(2,128)}", "s8", "s8[2,100]{1,0:T(4,128)(4,1)}", 512),
        ("bf16[1024,1]{0,1:T(2,128)(2,1)}", "f8e4m3fn", "f8e4m3fn[1024,1]{0,1:T(4,128)(4,1)}", 4096),
        ("f32[5000]{0:T(1024)}", "bf16", "bf16[5000]{0:T(1024)(128)(2,1)}", 10_240),
        ("f32[129]{0:T(256)}", "s8", "s8[129]{0:T(512)(128)(4,1)}", 512),
        ("f32[7]{0:T(128)}", "pred", "pred[7]{0:T(512)(128)(4,1)}", 512),
        ("bf16[5000]{0:T(1024)(128)(2,1)}", "u4", "u4[5000]{0:T(1024)(128)(8,1)E(4)}", 2560),
        ("f32[]{:T(128)}", "bf16", "bf16[]{:T(256)}", 512),
        ("f32[100]{0}", "s4", "s4[100]{0:E(4)}", 50),  # on CPU
        ("s4[100]{0:E(4)}", "s8", "s8[100]{0}", 100),
        ("f32[1000,300]{0,1:T(8,128)S(1)}", "s4", "s4[1000,300]{0,1:T(8,128)(8,1)E(4)S(1)}", 155_648),
    ],
)
def test_a_shape_of_another_type_is_that_of_the_compiler(shape: str, element_type: str, compiled: str, size_bytes: int):
    """Tiles grow with what one place of them holds, and types of less than a byte are packed."""
    assert (compiled, size_bytes) == (with_type(shape, element_type), parse_shape(compiled).physical_bytes)


@pytest.mark.parametrize(
    ("halved", "compiled"),
    [
        ("f32[4,128]{1,0:T(8,128)}", "f32[4,128]{1,0:T(4,128)}"),
        ("f32[2,300]{1,0:T(4,128)}", "f32[2,300]{1,0:T(2,128)}"),
        ("f32[3,1000]{1,0:T(8,128)}", "f32[3,1000]{1,0:T(4,128)}"),
        ("f32[6,100]{1,0:T(8,128)}", "f32[6,100]{1,0:T(8,128)}"),
        ("f32[500,300]{0,1:T(8,128)}", "f32[500,300]{0,1:T(8,128)}"),
        ("f32[256]{0:T(512)}", "f32[256]{0:T(256)}"),
        ("f32[1024]{0:T(1024)}", "f32[1024]{0:T(1024)}"),
        ("bf16[1,1000]{1,0:T(4,128)(2,1)}", "bf16[1,1000]{1,0:T(2,128)(2,1)}"),
    ],
)
def test_a_dimension_that_became_small_has_smaller_tiles(halved: str, compiled: str):
    """As libtpu 0.0.40 gave them to parameters of half the size."""
    assert compiled == with_fitting_tiles(halved)


@pytest.mark.parametrize(
    ("shape", "flat", "size_bytes"),
    [
        ("f32[1001,130]{0,1:T(8,128)}", "f32[130130]{0:T(1024)}", 524_288),
        ("f32[100,9,70]{0,2,1:T(8,128)}", "f32[63000]{0:T(1024)}", 253_952),
        ("f32[3,5,7]{2,0,1:T(4,128)}", "f32[105]{0:T(128)}", 512),
        ("bf16[77,300]{1,0:T(8,128)(2,1)}", "bf16[23100]{0:T(1024)(128)(2,1)}", 47_104),
        ("s8[50,50]{1,0:T(8,128)(4,1)}", "s8[2500]{0:T(1024)(128)(4,1)}", 3072),
        ("f32[1500]{0:T(1024)}", "f32[1500]{0:T(1024)}", 8192),
        ("f32[]{:T(128)}", "f32[1]{0:T(128)}", 512),
        ("f32[10,3]{1,0}", "f32[30]{0}", 120),  # on CPU
    ],
)
def test_without_the_tiles_of_dimensions_it_is_a_vector(shape: str, flat: str, size_bytes: int):
    """As libtpu 0.0.52 gave them to parameters of as many elements: a scalar has a tile, too."""
    assert size_bytes == flat_bytes(parse_shape(shape)) == parse_shape(flat).physical_bytes


def test_a_packed_type_is_narrower_than_a_byte():
    """Of two types for one value the narrower comes last: each takes bytes off."""
    assert (4, 8, 16, None) == tuple(map(element_bits, ("s4", "s8", "bf16", "nothing")))
    given = [(Edit("shrink", "x", dtype=one), [0]) for one in ("s4", "s8")]
    assert ["s8", "s4"] == [edit.dtype for edit, _ in in_order(given, lambda row: (row,))]
