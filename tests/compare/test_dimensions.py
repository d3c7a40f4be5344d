"""Which dimension of the parameters explains that two shapes differ."""

import pytest

from bufferhouse.compare.dimensions import changed_dimensions, explanation
from bufferhouse.compare.signature import Step

BATCH = Step(0, 2, 32, 64)
LENGTH = Step(1, 2, 65, 129)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("(f32[8], s32[32,65])->(f32[8])", "(f32[8], s32[64,65])->(f32[8])", [(0, 32, 64)]),
        ("(s32[32,65])->(f32[])", "(s32[64,129])->(f32[])", [(0, 32, 64), (1, 65, 129)]),
        ("(s32[32,65], f32[32])->(f32[])", "(s32[64,65], f32[64])->(f32[])", [(0, 32, 64)]),
        ("(f32[])->(f32[32,8])", "(f32[])->(f32[64,8])", [(0, 32, 64)]),
        ("(f32[8])->(f32[8])", "(f32[8], f32[8])->(f32[8])", []),
    ],
)
def test_each_change_of_a_dimension_is_told_once(before, after, expected):
    """Of the parameters; of the outputs only where no parameter has another shape."""
    assert expected == [(step.place, step.before, step.after) for step in changed_dimensions(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("f32[32,4,64]{2,1,0}", "f32[64,4,64]{2,1,0}", (BATCH,)),
        ("f32[2048,512]{1,0}", "f32[4096,512]{1,0:T(8,128)}", (BATCH,)),  # rows of 64 tokens in one dimension
        ("f32[32,65]", "f32[64,129]", (BATCH, LENGTH)),
        ("f32[32,65]{1,0}", "f32[32,65]{0,1}", ()),  # the layout is no dimension
        ("f32[32,4]", "f32[64,5]", None),
        ("f32[64,4]", "f32[32,4]", None),  # the other way round
        ("f32[32,4]", "bf16[64,4]", None),
        ("f32[32,4]", "f32[64,4,1]", None),
        ("(f32[32], f32[])", "(f32[64], f32[])", None),
    ],
)
def test_a_shape_is_explained_by_the_changes_of_all_its_dimensions_or_not_at_all(before, after, expected):
    """A dimension may be a multiple of the one that changed; nothing else is guessed."""
    assert expected == explanation(before, after, (BATCH, LENGTH))
