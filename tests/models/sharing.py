"""Slots that share bytes in every way there is, for the tests that compare the marts with brute force."""

from hypothesis import strategies as st

from tests.synthetic import Slot

SHARING = {
    "a slot inside another for several positions": [Slot(0, 4, 0, 100), Slot(2, 3, 20, 30), Slot(4, 6, 90, 50)],
    "two that start together": [Slot(1, 3, 0, 64), Slot(1, 2, 32, 64), Slot(3, 3, 16, 16)],
    "one instant inside another's range": [Slot(0, 5, 0, 64), Slot(3, 3, 32, 64)],
    "two at the same instant alone": [Slot(2, 2, 0, 64), Slot(2, 2, 32, 64), Slot(0, 2, 60, 8)],
    "an instant between two that touch it": [Slot(0, 2, 0, 64), Slot(2, 2, 32, 64), Slot(2, 4, 96, 64)],
    "a chain in place": [Slot(0, 1, 0, 64), Slot(1, 2, 0, 64), Slot(2, 3, 0, 64)],
    "nothing in it ends in the middle": [Slot(0, 6, 0, 64), Slot(1, 5, 32, 64), Slot(3, 3, 0, 0)],
    "its peak elsewhere": [Slot(0, 2, 0, 64), Slot(1, 2, 32, 64), Slot(4, 9, 0, 8, 1), Slot(5, 8, 8, 800, 1)],
    "tuple tables and padding": [
        Slot(0, 3, 0, 8192, shape="f32[16,32]{1,0:T(8,128)}"),
        Slot(2, 4, 4096, 8192, shape="(f32[2]{0}, f32[2]{0})"),
        Slot(3, 5, 8000, 4096, shape="s32[]"),
    ],
}
# Two allocations share a memory space, so that the peak of the space lies between instants of either.
MEMORY_SPACES = [", preallocated-temp", ", maybe-live-out", ", color 1, preallocated-temp"]


@st.composite
def slots(draw) -> list[Slot]:
    """Up to eight values in up to three allocations, crowded enough that they share bytes in every way there is.

    Their shapes need any part of their slots, so that it shows in the parts which value owns a shared byte.
    """
    positions, offsets = st.integers(0, 6), st.integers(0, 10)
    drawn = draw(
        st.lists(
            st.tuples(positions, st.integers(0, 4), offsets, offsets, st.integers(0, 2), offsets),
            min_size=1,
            max_size=8,
        )
    )
    return [
        Slot(start, start + length, offset, size, allocation, f"u8[{min(size, logical)}]{{0}}")
        for start, length, offset, size, allocation, logical in drawn
    ]
