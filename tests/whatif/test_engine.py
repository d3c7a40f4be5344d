"""What an edit is worth is what brute force finds: every byte at every moment, and every placement of a small arena."""

import random
from contextlib import suppress
from itertools import permutations

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.paths import CHECKOUT
from bufferhouse.whatif.edits import SIZES, Edit, read_edit
from bufferhouse.whatif.moments import Moments
from bufferhouse.whatif.outcome import Bytes, after, before, compute
from bufferhouse.whatif.packing import Body, bodies_of, height, pack, verify
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.ranking import rank
from bufferhouse.whatif.slots import lower_bound, timeline
from bufferhouse.whatif.space import Space, read_space, read_spaces
from tests.whatif.arenas import (
    ALIGNMENT,
    LAST,
    alive,
    crowded_space,
    made_space,
    possible_edits,
    random_space,
    smallest_arena,
    space_without_arena,
    taken_edits,
)

FLEET = CHECKOUT / "examples" / "fleet"
KINDS = {"free", "remove", "donate", "shrink", "unpad", "remat", "offload", "shard"}


def arenas(count: int, at_length: int) -> pytest.MarkDecorator:
    """How many random arenas a test looks at; `make soak` looks at more."""
    return pytest.mark.parametrize("count", [count, pytest.param(at_length, marks=pytest.mark.soak)])


@pytest.fixture(scope="module")
def spaces() -> list[tuple[str, Space]]:
    """The spaces of real programs, of a TPU and of a CPU, each with its target."""
    runs = ("tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33", "jaxlib-0.10.0")
    with in_memory([str(FLEET / run) for run in runs], with_logs=False) as con:
        dumps = con.execute("SELECT DISTINCT dump_id, compile_target FROM marts.observations_v2").fetchall()
        read = read_spaces(con, [dump_id for dump_id, _ in dumps])
    return [(target, read[dump_id]) for dump_id, target in dumps]


def check(seed: int) -> set[str]:
    """Compare a random space and all its single edits with brute force; return the kinds of edit that were possible."""
    random_ = random.Random(seed)
    space = random_space(random_)
    assert max(map(len, alive(space, []).values())) == before(space).occupied_bytes
    done = set()
    for edit, plan in taken_edits(space, random_):
        expected = max(map(len, alive(space, [edit]).values()))
        assert expected == timeline(plan.slots).peak, (seed, edit)
        check_arena(plan, seed, edit)
        done.add(edit.kind)
    check_combination(space, random_, seed)
    return done


def check_arena(plan: Plan, seed: int, edit: Edit) -> None:
    """The bounds hold the best placement of a small arena, and the packing is one."""
    bodies = bodies_of(plan.slots, ALIGNMENT)
    best = smallest_arena(bodies, ALIGNMENT) if len(bodies) <= 5 else None
    for limits in ({}, {"many": 0, "work": 0}):
        packing = pack(plan.slots, ALIGNMENT, given=True, **limits)
        verify(packing.offsets, bodies)
        assert height(packing.offsets, bodies) == packing.high_bytes
        assert lower_bound(plan.slots, ALIGNMENT) == packing.low_bytes <= packing.high_bytes
        if best is not None:
            assert packing.low_bytes <= best <= packing.high_bytes, (seed, edit)


@pytest.mark.parametrize("make", [random_space, crowded_space])
def test_without_a_value_the_next_moment_is_the_highest(make):
    """Whatever its kind, and whoever lies on its bytes."""
    for seed in range(100):
        space = make(random.Random(seed))
        moments = Moments(space)
        for row in range(len(space)):
            expected = max(map(len, alive(space, [Edit("remove", f"v{row}")]).values()))
            assert expected == moments.without(row), (seed, row)


@arenas(100, at_length=300)
def test_no_edit_is_worth_more_than_the_value(count):
    """Slots that lie on others anywhere: a smaller value takes off no more than its bytes, and never more than none."""
    kept = 0
    for seed in range(count):
        random_ = random.Random(seed)
        space = crowded_space(random_)
        gone: dict[str, Bytes] = {}  # by the value that is removed
        for edit, plan in taken_edits(space, random_, kinds=SIZES):
            if edit.value not in gone:
                gone[edit.value] = compute(space, [Edit("remove", edit.value)]).after
            found, without = after(plan), gone[edit.value]
            assert without.occupied_bytes <= found.occupied_bytes, (seed, edit)
            assert without.arena_low_bytes <= found.arena_low_bytes, (seed, edit)
            assert found.occupied_bytes <= found.arena_high_bytes
            kept += 1
    assert kept > count


@arenas(40, at_length=100)
@pytest.mark.parametrize("make", [random_space, crowded_space])
def test_what_leaves_the_device_takes_nothing_there_and_once_on_the_host(make, count):
    """No offload takes more than before, whoever goes on in the bytes; the host holds each byte of a moment once."""
    moved = 0
    for seed in range(count):
        random_ = random.Random(seed)
        space = make(random_)
        c, peak, host = space.columns, before(space).occupied_bytes, {at: set() for at in range(-1, LAST + 2)}
        for edit, plan in taken_edits(space, random_):
            if edit.kind == "offload":
                assert timeline(plan.slots).peak <= peak, (seed, edit)
        plan = Plan(space)
        with suppress(NoCandidate):
            plan.apply([Edit("offload", "*", window=1)])
        moved_rows = {one.row for one in plan.applied}
        together = alive(space, [Edit("offload", f"v{row}", window=1) for row in sorted(moved_rows)])
        assert max(map(len, together.values())) == timeline(plan.slots).peak, seed
        for row in moved_rows:
            start, end, is_temp = c["start"][row], c["end"][row], c["kind"][row] == "temp"
            there = {at for use in space.uses[row] for at in range(max(use - 1, start), use + 1)}
            there |= {at for at in range(start, min(start + 1, end) + 1) if is_temp}
            away = [at for at in range(start, max(there) + 1) if at not in there] if is_temp else [start, end]
            for at in range(away[0], away[-1] + 1) if away else ():
                place, offset = c["allocation"][row], c["offset_bytes"][row]
                host[at] |= {(place, offset + byte) for byte in range(c["size_bytes"][row])}
        assert max(map(len, host.values())) == plan.host_bytes, seed
        moved += plan.host_bytes > 0
    assert moved > count // 2


@arenas(20, at_length=60)
def test_groups_and_sizes_come_to_the_same_in_any_order(count):
    """What names one value comes before groups; of two sizes of a value the padding comes last."""
    done = 0
    for seed in range(count):
        random_ = random.Random(seed)
        space = random_space(random_)
        possible = possible_edits(space, random_)
        groups = [Edit(kind, "*") for kind in ("free", "offload", "remat", "unpad")] + [
            Edit("shrink", "*", dtype="bf16")
        ]
        sizes = [Edit("shrink", "v0", dtype="bf16"), Edit("unpad", "v0"), Edit("shard", "v0", parts=2, dimension=0)]
        for edits in [sizes, *([*random_.sample(groups, 2), random_.choice(possible)] for _ in range(6))]:
            found = set()
            for given in permutations(edits):
                try:
                    after_them = compute(space, given)
                except NoCandidate:
                    found.add(None)
                else:
                    found.add((after_them.after, tuple(sorted(map(str, after_them.applied)))))
            assert 1 == len(found), (seed, edits)
            done += None not in found
    assert done > count


def test_dimensions_are_named_by_their_sizes_in_the_dump():
    """Not by those that another division left: 64, halved, is no 32, and is found again as 64."""
    space = space_without_arena(*[("parameter", 64 * 32 * 4, 0, "f32[64,32]{1,0}")] * 2)
    halves = Edit("shard", "v0", parts=2, dimension=0)
    for size in (32, 64):
        for given in permutations([halves, Edit("shard", "*", parts=2, size=size)]):
            assert 64 * 32 * (1 + 2) == compute(space, given).after.occupied_bytes
    quarters = Edit("shard", "v0", parts=4, dimension=0)
    with pytest.raises(NoCandidate, match="has no dimension of 16"):
        compute(space, [quarters, Edit("shard", "*", parts=2, size=16)])


def test_of_many_bodies_few_are_moved():
    """Those that XLA has on the bytes of another at some moment, and what an edit added; the others stay."""
    moved = 0
    for seed in range(40):
        random_ = random.Random(seed)
        space = random_space(random_)
        for edit, plan in taken_edits(space, random_):
            known = [body for body in bodies_of(plan.slots, ALIGNMENT) if body.number >= 0]
            offsets = pack(plan.slots, ALIGNMENT, given=True, work=0, many=0).offsets
            changed = {body.number for body in known if body.offset_bytes != offsets[body.number]}
            in_the_way = {one.number for one in known for other in known if one != other and share_bytes(one, other)}
            assert changed <= in_the_way, (seed, edit)
            moved += len(changed)
    assert moved > 0


def share_bytes(one: Body, other: Body) -> bool:
    """Whether some byte holds both at some moment, where XLA has them."""
    base, theirs = one.offset_bytes, other.offset_bytes
    return any(
        a.start < b.stop and b.start < a.stop and base + a.begin < theirs + b.end and theirs + b.begin < base + a.end
        for a in one.pieces
        for b in other.pieces
    )


def check_combination(space, random_: random.Random, seed: int) -> None:
    """Edits of several values are computed together, not added up, in whatever order they are given."""
    possible = possible_edits(space, random_)
    for _ in range(6):
        edits = [*{edit.value: edit for edit in random_.sample(possible, 3)}.values()]
        found = set()
        for given in permutations(edits):
            try:
                plan = Plan(space).apply(given)
            except NoCandidate:
                break
            verify(pack(plan.slots, ALIGNMENT).offsets, bodies_of(plan.slots, ALIGNMENT))
            found.add(timeline(plan.slots).peak)
        else:
            assert {max(map(len, alive(space, edits).values()))} == found, (seed, edits)


@arenas(15, at_length=1_000)
def test_edits_are_what_brute_force_finds(count):
    """Random arenas with slots in the place of others: all kinds of edit, alone and together."""
    assert set().union(*map(check, range(count))) == KINDS


@arenas(20, at_length=60)
def test_any_schedule_needs_what_one_instruction_needs(count):
    """The bound of `reschedule` is what is always there, and the most that one instruction needs, writing in place."""
    for seed in range(count):
        space = random_space(random.Random(seed))
        outcome = compute(space, [Edit("reschedule")])
        assert outcome.after.occupied_bytes <= outcome.before.occupied_bytes, seed
        for edit, plan in taken_edits(space, random.Random(seed)):
            alone = after(plan)
            both = compute(space, [Edit("reschedule"), edit]).after
            assert both.occupied_bytes <= alone.occupied_bytes, (seed, edit)
        assert outcome.after.arena_low_bytes <= outcome.before.arena_low_bytes
        c, read = space.columns, alive(space, [])
        for at in range(LAST + 1):
            here = {row for row in range(len(space)) if c["start"][row] == at or at in space.uses[row]}
            given = {row for row in range(len(space)) if c["kind"][row] == "parameter"}
            places = {(c["allocation"][row], c["offset_bytes"][row]) for row in here - given}
            largest = [max(c["size_bytes"][row] for row in here if c["offset_bytes"][row] == offset
                           and c["allocation"][row] == allocation) for allocation, offset in places]  # fmt: skip
            assert sum(largest) <= len(read[at])
            born = [c["size_bytes"][row] for row in here if c["start"][row] == at]  # they may take the place of others
            needed = sum(largest) - sum(born) + sum(c["size_bytes"][row] for row in given)
            assert needed <= outcome.after.occupied_bytes
        assert ["bound"] == [one.label for one in outcome.applied]


def test_without_edits_nothing_changes():
    """The arena of a program that nobody edits is XLA's own, not what a packer could do."""
    for seed in range(20):
        space = random_space(random.Random(seed))
        assert before(space) == after(Plan(space))
        assert space.reserved_bytes == before(space).reserved_low_bytes == before(space).reserved_high_bytes


SMALL, LARGE = "f32[3]{0}", "f32[4,2]{1,0}"
GIVEN = [("parameter", 32, 0, LARGE), ("output", 12, 2, SMALL), ("output", 32, 3, LARGE)]


@pytest.mark.parametrize(
    ("operands", "label", "copies"),
    [
        ({1: [0], 2: [1]}, "exact", 0),
        # What reads the parameter may come last: until then it lies elsewhere, or what is computed beside it does, too.
        ({1: [0], 2: [0]}, "bound", 1),
        ({1: [0]}, "bound", 2),
    ],
)
def test_a_donation_is_exact_where_every_schedule_has_the_output_behind_what_reads(operands, label: str, copies: int):
    """Copies are made before there is a schedule: that of the dump alone says nothing."""
    outcome = compute(space_without_arena(*GIVEN, operands=operands), [Edit("donate", "v0")])
    assert [label] == [one.label for one in outcome.applied]
    after_it = outcome.after
    assert (44, 44 + 32 * copies) == (after_it.reserved_low_bytes, after_it.reserved_high_bytes)


def test_the_first_result_of_its_shape_takes_the_place_of_a_parameter():
    """As JAX pairs them: another result that is computed later would fit, but is not asked."""
    values = [("parameter", 32, 0, LARGE), ("output", 32, 2, LARGE), ("output", 32, 3, LARGE)]
    operands = {1: [0], 2: [1]}
    for results, label, high in (([1, 2], "bound", 96), ([2, 1], "exact", 64)):
        outcome = compute(space_without_arena(*values, operands=operands, results=results), [Edit("donate", "v0")])
        assert [label] == [one.label for one in outcome.applied]
        assert (64, high) == (outcome.after.reserved_low_bytes, outcome.after.reserved_high_bytes)


def test_results_have_the_shapes_in_which_they_are_returned():
    """What is reshaped for nothing keeps the shape of its instruction in the dump, and JAX knows the other alone.

    On several devices XLA may choose, which takes the first result of as many bytes.
    """
    values = [("parameter", 32, 0, LARGE), ("output", 32, 2, LARGE), ("output", 32, 3, LARGE)]
    operands = {1: [0], 2: [1]}
    for returned, is_of_devices in ((["f32[8]", "f32[4,2]"], True), (["f32[4,2]", "f32[8]"], False)):
        space = space_without_arena(*values, operands=operands, results=[1, 2], returned=returned)
        outcome = compute(space, [Edit("donate", "v0")])
        [found] = outcome.applied
        assert ("bound", is_of_devices) == (found.label, "on several devices" in found.why)
        assert (64, 96) == (outcome.after.reserved_low_bytes, outcome.after.reserved_high_bytes)
    flat = [("parameter", 32, 0, LARGE), ("output", 32, 3, "f32[8]{0}")]
    outcome = compute(space_without_arena(*flat, returned=["f32[4,2]"]), [Edit("donate", "v0")])
    assert 32 == outcome.after.reserved_low_bytes
    with pytest.raises(UsageError, match="no output of its shape that could take its place; one of as many"):
        compute(space_without_arena(*flat), [Edit("donate", "v0")])


def test_what_stands_in_an_output_before_it_needs_a_place_beside_a_donated_parameter():
    """A temporary that is alive with the parameter: its bytes are in the upper bound, and nothing is exact."""
    space = space_without_arena(*GIVEN, ("output", 24, 1, "f32[6]{0}"), operands={1: [0], 2: [1]})
    space.columns["allocation"][3], space.columns["end"][3] = 2, 2
    space = made_space(space.columns, space.uses, space.operands, {0: ("parameter", 32), 1: ("output", 12),
                  2: ("output", 32)})  # fmt: skip
    outcome = compute(space, [Edit("donate", "v0")])
    assert ["bound"] == [one.label for one in outcome.applied]
    assert (44, 44 + 24) == (outcome.after.reserved_low_bytes, outcome.after.reserved_high_bytes)


def test_a_result_that_is_no_longer_returned_takes_no_parameter_s_place():
    """JAX pairs what the program still returns."""
    values = [("parameter", 32, 0, LARGE), ("output", 32, 2, LARGE), ("output", 32, 3, LARGE)]
    space = space_without_arena(*values, operands={1: [0], 2: [1]}, results=[1, 2])
    found = compute(space, [Edit("free", "v1"), Edit("donate", "v0")])
    assert ["exact", "bound"] == [one.label for one in found.applied]
    assert (32, 32) == (found.after.reserved_low_bytes, found.after.reserved_high_bytes)


def test_what_a_loop_carries_goes_with_its_result():
    """The values before the result, in the same bytes, are computed for it alone: a compiler may leave them out."""
    space = space_without_arena(("parameter", 12, 0, SMALL), ("output", 32, 3, LARGE), ("output", 32, 1, LARGE))
    space.columns["is_phi"][1], space.columns["allocation"][2], space.columns["end"][2] = True, 1, 3
    allocations = {0: ("parameter", 12), 1: ("output", 32)}
    space = made_space(space.columns, space.uses, space.operands, allocations)
    found = compute(space, [Edit("free", "v1")]).after
    assert (12, 12 + 32) == (found.reserved_low_bytes, found.reserved_high_bytes)


def test_temporaries_may_stand_where_something_else_made_room():
    """What stood in the output goes elsewhere, and another value takes the place of the donated parameter before it."""
    kinds = [("parameter", 0), ("output", 5), ("output", 2), ("temp", 3), ("temp", 4)]
    space = space_without_arena(*((kind, 32, start, LARGE) for kind, start in kinds), operands={2: [0], 3: [2], 4: [3]})
    space.columns["allocation"][2:], space.columns["end"][2:] = [1, 2, 2], [3, 4, 5]
    space.columns["offset_bytes"][4] = 32
    allocations = {0: ("parameter", 32), 1: ("output", 32), 2: ("temp", 64)}
    space = made_space(space.columns, space.uses, space.operands, allocations)
    found = compute(space, [Edit("donate", "v0")]).after
    assert (64, 64) == (found.occupied_bytes, found.reserved_low_bytes)


def returning_space() -> Space:
    """A program that returns two arrays: the first is read besides, the second is computed from a temporary alone."""
    space = space_without_arena(
        ("parameter", 32, 0, LARGE), ("output", 32, 2, LARGE), ("output", 12, 3, SMALL),
        ("output", 16, 4, "(f32[4,2], f32[3])"), ("temp", 32, 2, LARGE),
    )  # fmt: skip
    c = space.columns
    c["is_tuple"][3], c["end"][4] = True, 3
    uses = [[2], [3, 4], [4], [], [3]]
    allocations = {**space.allocations, 4: ("temp", 32)}
    return made_space(c, uses, [[], [0], [4, 1], [1, 2], [0]], allocations, results={1: 0, 2: 1}, root=4)


def test_an_output_that_is_no_longer_returned_is_not_read_by_what_returns_it():
    """It lives until something else reads it for the last time, or is gone; its address is gone from the table."""
    space = returning_space()
    assert 32 + 32 + 12 + 16 + 32 == before(space).reserved_high_bytes
    kept = compute(space, [Edit("free", "v1")]).after  # alive up to 3: beside the parameter, v2 and v4
    assert (32 + 32 + 12 + 32, 32 + 12) == (kept.occupied_bytes, kept.other_bytes)
    for kind in ("free", "remove"):
        gone = compute(space, [Edit(kind, "v2")]).after
        assert (32 + 32, 32 + 32 + 32) == (gone.reserved_low_bytes, gone.reserved_high_bytes), kind
    assert 32 == compute(space, [Edit("free", "v1"), Edit("remove", "v2")]).after.other_bytes


def check_ranking(spaces: list[Space]) -> None:
    spaces = [space for space in spaces if space.has_live_ranges]
    assert len(spaces) > 10
    for space in spaces:
        worths = [one.worth_bytes for one in rank(space, most=100_000).worths]
        for most in (1, 8, 20):
            assert worths[:most] == [one.worth_bytes for one in rank(space, most=most).worths]


def test_the_best_edits_are_those_of_the_whole_ranking(spaces):
    """What a value can be worth besides its slot is thought of before the search ends: its place in a table."""
    check_ranking([space for _, space in spaces])


@pytest.mark.corpus
@pytest.mark.soak
def test_the_best_edits_of_a_build_are_those_of_the_whole_ranking(corpus):
    """The same, of all programs of a build."""
    with in_memory([str(corpus / "builds" / "jaxlib-0.10.0.tar.gz")]) as con:
        dumps = con.execute("SELECT DISTINCT dump_id FROM marts.observations_v2").fetchall()
        check_ranking([*read_spaces(con, [dump_id for (dump_id,) in dumps]).values()])


def test_a_ranking_knows_the_table_of_results():
    """An edit alone is worth what it is worth there, to the byte."""
    space = returning_space()
    worths = {str(one.applied.edit): one.worth_bytes for one in rank(space).worths}
    assert worths
    for edit, worth in worths.items():
        outcome = compute(space, [read_edit(edit)])
        assert worth == outcome.before.occupied_bytes - outcome.after.occupied_bytes, edit


def test_nobody_is_advised_to_edit_what_nobody_can(spaces):
    """Nobody offloads or computes again a table of addresses, as `copy-start` returns, nor moves what the host has."""
    ranked = [(target, space, one.applied) for target, space in spaces for one in rank(space).worths]
    assert {"tpu"} == {target for target, _, applied in ranked if applied.edit.kind == "offload"}
    assert [] == [applied for _, space, applied in ranked if space.columns["is_tuple"][applied.row]]


def test_what_a_device_has_on_the_host_is_not_offloaded():
    """In the memory space that a TPU has on the host an offload is refused: it would give back what stays there."""
    with in_memory([str(CHECKOUT / "tests" / "data" / "host_temporaries")], with_logs=False) as con:
        [(dump_id,)] = con.execute("SELECT dump_id FROM staging.dumps").fetchall()
        space = read_space(con, dump_id, 5)
    [row] = space.rows.values()
    with pytest.raises(NoCandidate, match="is in the memory of the host already"):
        compute(space, [Edit("offload", space.name(row), window=1)])


def test_who_reads_what_is_read_from_the_dump(spaces):
    """All that a program computes an output from comes before it, and its results are in their order."""
    behind = 0
    for space in [space for target, space in spaces if target == "cpu"]:
        c = space.columns
        assert sorted({*space.results.values()}) == [*range(len({*space.results.values()}))]
        for output in space.outputs:
            before = space.before(c["instruction"][output.row])
            starts = [start for name, start in zip(c["instruction"], c["start"], strict=True) if name in before]
            assert all(start <= c["start"][output.row] for start in starts)
            behind += len(starts)
    assert behind > 100


@pytest.mark.parametrize(
    ("kind", "edited", "words"),
    [
        ("parameter", "free", "is a parameter, which its caller keeps: donate it first"),
        ("parameter", "remove", "donate, shard, shrink or offload it"),
        ("constant", "free", "is a constant, which is part of the program"),
        ("temp", "donate", "is of kind temp: only parameters of the program are donated"),
        ("output", "remat", "is of kind output: only temporaries are computed again"),
    ],
)
def test_a_value_that_is_no_candidate_says_so(kind: str, edited: str, words: str):
    """The message says why, and what can be done instead."""
    spaces = (random_space(random.Random(seed)) for seed in range(100))
    space = next(space for space in spaces if kind in space.columns["kind"])
    name = space.name(space.columns["kind"].index(kind))
    with pytest.raises(NoCandidate, match=words):
        compute(space, [Edit(edited, name)])


def test_an_edit_that_names_nothing_says_what_is_near():
    """A misspelled name is answered by those that are like it."""
    space = random_space(random.Random(1))
    with pytest.raises(UsageError, match=r"named 'v00'; did you mean 'v0'"):
        compute(space, [Edit("remove", "v00")])


def test_a_value_is_edited_once():
    """Two edits that say when one value is alive contradict each other; a donated parameter may be freed."""
    space = next(
        space
        for space in map(random_space, map(random.Random, range(100)))
        if any(kind == "temp" and uses for kind, uses in zip(space.columns["kind"], space.uses, strict=True))
    )
    row = next(r for r, kind in enumerate(space.columns["kind"]) if kind == "temp" and space.uses[r])
    with pytest.raises(UsageError, match="is edited already: free:"):
        compute(space, [Edit("free", space.name(row)), Edit("remove", space.name(row))])
