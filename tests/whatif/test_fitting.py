"""The least set of edits that fits is the one that trying all sets finds."""

import random
from itertools import combinations

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.whatif.edits import Edit
from bufferhouse.whatif.fitting import MEANS, fit, read_size
from bufferhouse.whatif.outcome import after, before
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.slots import lower_bound, slots_of
from tests.whatif.arenas import ALIGNMENT, random_space


def edits_of(space, row: int, kind: str) -> list[Edit]:
    """The edit of a kind of a value, if it can take one: floats of 64 and 32 bits alone have a narrower type."""
    if kind != "shrink":
        return [Edit(kind, f"#{row}")]
    narrow = {"f64": "f32", "f32": "bf16"}.get(space.columns["shape"][row].split("[")[0])
    return [Edit(kind, f"#{row}", dtype=narrow)] if narrow else []


def least(space, capacity: int, means) -> tuple[int, int] | None:
    """Values and bytes of the least set of edits that fits, by trying all sets; None if there is none."""
    c = space.columns
    edits = [(row, one) for row in range(len(space)) for kind in means for one in edits_of(space, row, kind)]
    possible = []
    for row, edit in edits:
        try:
            Plan(space).apply([edit])
        except NoCandidate:
            continue
        possible.append((row, edit))
    for count in range(len(space) + 1):
        sizes = []
        for chosen in combinations(possible, count):
            rows = [row for row, _ in chosen]
            size = sum(c["size_bytes"][row] for row in rows)
            if len(set(rows)) < count or (sizes and size >= min(sizes)):
                continue
            try:
                plan = Plan(space).apply([edit for _, edit in chosen])
            except NoCandidate:
                continue
            if after(plan).reserved_high_bytes <= capacity:
                sizes.append(size)
        if sizes:
            return count, min(sizes)
    return None


def check(seed: int) -> bool:
    """Compare one program and capacity; return whether it can fit."""
    random_ = random.Random(seed)
    space = random_space(random_, most=7)
    now = before(space)
    capacity = random_.randint(now.reserved_high_bytes // 4, now.reserved_high_bytes)
    means = random_.choice(
        [
            *[MEANS, ("donate", "free"), ("donate", "remove"), ("donate", "offload", "remat"), ("shrink", "donate")],
            ("shrink", "unpad"),
        ]
    )
    found, expected = fit(space, capacity, means=means), least(space, capacity, means)
    assert (expected is not None) == found.fits, (seed, capacity, means)
    low, is_own = lower_bound(slots_of(space), ALIGNMENT), {"free", "remove"} <= {*means}
    assert found.is_minimal or (is_own and low < space.arena_bytes)  # what is freed has the arena packed anew
    if expected is None:
        return False
    bytes_ = sum(space.columns["size_bytes"][int(edit.value[1:])] for edit in found.edits)
    assert expected == (len(found.edits), bytes_), (seed, capacity, means, found.edits)
    assert found.bytes.reserved_high_bytes <= capacity
    assert found.bound_bytes <= capacity
    return True


def test_the_least_set_that_fits_is_found():
    """Against exhaustive search, on small programs and capacities of all kinds; some cannot fit."""
    assert {True, False} == set(map(check, range(30)))


@pytest.mark.soak
def test_the_least_set_that_fits_is_found_in_a_hundred_programs():
    """The same, at length."""
    assert {True, False} == set(map(check, range(1_000, 1_100)))


@pytest.mark.parametrize(
    ("seed", "capacity", "means"),
    [(840, 35, ("remat", "shrink")), (5052, 79, ("remat",)), (12975, 53, ("remat", "shrink"))],
)
def test_what_is_computed_again_lets_its_operands_live_on(seed: int, capacity: int, means):
    """Where they are alive then, edits of them help, too: the least set is not missed, and is called the least."""
    space = random_space(random.Random(seed), most=6)
    found = fit(space, capacity, means=means)
    size = sum(space.columns["size_bytes"][int(edit.value[1:])] for edit in found.edits)
    assert (True, least(space, capacity, means)) == (found.is_minimal, (len(found.edits), size))


def test_a_search_that_ends_early_says_so():
    """With too few tries a set that fits is still one, but not called the least."""
    space = random_space(random.Random(5), most=9)
    now = before(space)
    full = fit(space, fit(space, 0).bound_bytes)
    cut = fit(space, full.capacity_bytes, nodes=1)
    assert now.reserved_high_bytes > full.capacity_bytes
    assert (True, False) == (full.is_minimal, cut.is_minimal)
    assert not cut.fits or cut.bytes.reserved_high_bytes <= cut.capacity_bytes


def test_more_means_never_make_more_edits():
    """A search that is cut short is no worse than one that may use a single kind of edit."""
    tried = 0
    for seed in range(40):
        random_ = random.Random(seed)
        space = random_space(random_, most=12)
        capacity = random_.randint(fit(space, 0).bound_bytes, before(space).reserved_high_bytes)
        found = fit(space, capacity, nodes=3)
        alone = [one for kind in ("donate", "remove") if (one := fit(space, capacity, means=[kind], nodes=3)).fits]
        if alone:
            assert found.fits
            assert len(found.edits) <= min(len(one.edits) for one in alone)
            tried += 1
        assert not found.fits or found.bytes == after(Plan(space).apply(found.edits))
    assert tried > 10


def test_all_searches_together_end_when_their_work_is_done():
    """The work that is told never goes back and has an end; what is found by then fits, or is not said to be all."""
    for seed in range(40):
        random_ = random.Random(seed)
        space = random_space(random_, most=12)
        capacity = random_.randint(fit(space, 0).bound_bytes, before(space).reserved_high_bytes)
        for visits in (1, 100, 1_000):
            told: list[tuple[int, int]] = []
            found = fit(space, capacity, visits=visits, progress=lambda *one, told=told: told.append(one))
            assert sorted(told) == told
            assert {2 * (visits // 3) * 3, 2 * visits} >= {total for _, total in told}
            assert all(done <= total for done, total in told)
            assert len(told) <= 2 * 3 * (visits + 12)
            assert not found.fits or found.bytes.reserved_high_bytes <= capacity
            assert found.fits or not found.is_minimal or fit(space, capacity) == found


def test_several_edits_at_a_time_make_a_large_program_fit():
    """What is found fits when its edits are applied anew, and is not called the least."""
    together = 0
    for seed in range(40):
        random_ = random.Random(seed)
        space = random_space(random_)
        capacity = random_.randint(fit(space, 0).bound_bytes, before(space).reserved_high_bytes)
        found = fit(space, capacity, nodes=1, large=3)
        if found.fits and found.edits:
            assert not found.is_minimal
            assert len({edit.value for edit in found.edits}) == len(found.edits)
            assert found.bytes == after(Plan(space).apply(found.edits))
            assert found.bytes.reserved_high_bytes <= capacity
            together += len(found.edits) > 1
    assert together > 10


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("15.75GiB", 16911433728),
        ("16G", 2**34),
        ("1.5K", 1536),
        ("100B", 100),
        ("1048576", 2**20),
        ("1 GB", 10**9),
        ("16909336576", 16909336576),
        ("2mib", 2**21),
    ],
)
def test_sizes_are_read_as_they_are_written(text: str, size: int):
    """GiB and G are binary, GB is decimal, bytes need no unit."""
    assert size == read_size(text)


@pytest.mark.parametrize("text", ["4", "16", "1048575"])
def test_a_small_number_without_a_unit_is_refused(text: str):
    """No program fits into 4 bytes, and many fit into 4 GiB."""
    with pytest.raises(UsageError, match=f"expected a unit, such as {text}GiB, or {text}B for so few bytes"):
        read_size(text)


@pytest.mark.parametrize("text", ["", "much", "-1GiB", "1e3", "1PiBs", "9" * 19, "15.75", "0.5B"])
def test_what_is_no_size_is_refused(text: str):
    """The message shows one that is."""
    with pytest.raises(UsageError, match="expected a size such as"):
        read_size(text)
