"""What offsets in an arena are multiples of, by platform and memory space."""

import pytest

from bufferhouse.whatif.alignment import alignment_of


@pytest.mark.parametrize(
    ("target", "memory_space", "offsets", "expected"),
    [
        ("tpu", 0, [0, 1 << 20, 1 << 23], 16384),
        ("tpu", 1, [0, 1 << 16], 4096),
        ("tpu", 3, [0, 1 << 18, 1 << 24], 4096),
        ("tpu", 7, [0, 1 << 18], 512),
        ("tpu", 0, [0, 3 * 512], 512),
        ("cpu", 0, [0, 1 << 12], 64),
        ("cpu", 0, [0, 48], 16),
        ("sm_90", 0, [0, 1 << 12], 256),
        ("gfx942", 0, [0], 256),
        (None, 0, [0, 1 << 14], 16384),
        (None, 0, [0, 1 << 10], 64),
    ],
)
def test_offsets_are_aligned_as_their_platform_does(target, memory_space, offsets, expected):
    """At most so far as the platform aligns, less where an offset says so; without a name, a TPU by its offsets."""
    assert expected == alignment_of(target, memory_space, offsets)
