"""What changed in a signature is said in words that a reader of the model knows."""

import pytest

from bufferhouse.compare.signature import signature_words


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("(f32[8])->(f32[8])", "(f32[8])->(f32[8])", []),
        ("(f32[4,4], f32[4])->(f32[4])", "(f32[4,4], f32[4,4], f32[4], f32[4])->(f32[4])", ["parameters 2 → 4"]),
        (
            "(f32[32,512], f32[512,10])->(f32[32,10])",
            "(f32[64,512], f32[512,10])->(f32[64,10])",
            ["f32[32,512] → f32[64,512]", "leading dimension ×2"],
        ),
        (
            "(f32[4,4], s32[32,9])->(f32[])",
            "(f32[4,4], f32[4,4], s32[64,9])->(f32[])",
            ["parameters 2 → 3", "s32[32,9] → s32[64,9]", "leading dimension ×2"],
        ),
        ("(f32[8,128])->(f32[])", "(bf16[8,128])->(f32[])", ["f32[8,128] → bf16[8,128]"]),
        ("(f32[8,128])->(f32[])", "(f32[8,64])->(f32[])", ["f32[8,128] → f32[8,64]", "last dimension ÷2"]),
        ("(f32[8,32])->(f32[])", "(f32[8,48])->(f32[])", ["f32[8,32] → f32[8,48]", "last dimension 32 → 48"]),
        ("(f32[8])->(f32[8])", "(f32[1,8])->(f32[1,8])", ["f32[8] → f32[1,8]"]),
        ("(f32[8])->(f32[])", "(f32[8])->(f32[2])", ["output f32[] → f32[2]"]),
        (
            "(f32[2], f32[2], s32[3,3])->(f32[])",
            "(f32[2], f32[2,2,2], s32[3,3,3,3])->(f32[])",
            ["f32[2] → f32[2,2,2]", "s32[3,3] → s32[3,3,3,3]"],
        ),
        ("(f32[8], s32[2])->(f32[])", "(s32[2], f32[8])->(f32[])", ["the order of the parameters"]),
        ("(f32[8])->(f32[])", "(f32[8])->(f32[], f32[8])", ["outputs 1 → 2"]),
        (
            "(f32[2,5], f32[2,6], f32[2,7], f32[2,8], f32[2,8])->(f32[])",
            "(f32[6,5], f32[6,6], f32[6,7], f32[6,8], f32[6,8])->(f32[])",
            ["f32[2,8] → f32[6,8] (2 times)", "f32[2,5] → f32[6,5]", "f32[2,6] → f32[6,6]", "1 more shape",
             "leading dimension ×3"],
        ),
    ],
)  # fmt: skip
def test_a_reader_is_told_what_changed_in_the_model(before: str, after: str, said: list[str]):
    """More layers, another batch, another type: each in its own words, and nothing of an equal signature."""
    assert said == signature_words(before, after)
