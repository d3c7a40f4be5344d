"""Programs compiled again with less, or with a donation: the compiler's bytes lie between the bounds."""

import json
import shutil
from pathlib import Path

import pytest

from bufferhouse.report.whatif.text import capacity_said
from bufferhouse.whatif.edits import read_edit
from bufferhouse.whatif.fitting import fit
from bufferhouse.whatif.outcome import Outcome, before, compute
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.space import Space, read_spaces
from tests.command_line import CHECKOUT, call
from tests.warehouses import asked

DROPPED = CHECKOUT / "tests" / "data" / "dropped"
RESULTS = {"sort": [1], "dots": [0], "loop": [0], "chain": [0, 2], "grad": [1], "momentum": [0]}
DONATED = [
    *(("cpu", "base", "bound"), ("tpu", "base", "bound"), ("cpu", "apart", "exact"), ("cpu", "sharded", "bound")),
    *(("cpu", program, "bound") for program in ("zeros", "scanned", "ranks", "sorted_pair")),
]

REMOVED = {"middle": ["sort.0"], "mask": ["while.24{1}", "while.24{2}"], "table": ["ynn_fusion"]}


@pytest.fixture(scope="module")
def programs(blank_warehouse, tmp_path_factory) -> Path:
    """A warehouse with a run for each build. To be read, never written."""
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("dropped") / "w.duckdb"))
    assert 0 == call("ingest", DROPPED, "--warehouse", path).code
    return path


@pytest.fixture(scope="module")
def spaces(programs) -> dict[tuple[str, str], Space]:
    """The default memory space of each program, by build and name."""
    with asked(programs) as con:
        dumps = con.execute("SELECT run_name, program_name, dump_id FROM marts.observations_v2").fetchall()
        read = read_spaces(con, [dump_id for *_, dump_id in dumps])
    return {(build, name.removeprefix("jit_")): read[dump_id] for build, name, dump_id in dumps}


def check(found: Outcome, truth: Space) -> None:
    assert found.after.reserved_low_bytes <= truth.reserved_bytes <= found.after.reserved_high_bytes


@pytest.mark.parametrize("program", RESULTS)
def test_a_program_that_returns_less_is_between_the_bounds(spaces, program):
    """What was computed for a dropped result alone goes: a loop's body, operands of a sort, what stood in outputs."""
    space, truth = spaces["cpu", f"{program}_all"], spaces["cpu", f"{program}_less"]
    rows = [row for row, place in space.results.items() if place in RESULTS[program]]
    found = compute(space, [read_edit(f"free:#{space.columns['value_id'][row]}") for row in rows])
    check(found, truth)
    assert truth.reserved_bytes - found.after.reserved_low_bytes <= space.reserved_bytes // 10


@pytest.mark.parametrize("program", REMOVED)
def test_a_program_without_a_value_is_between_what_is_said(spaces, program):
    """Its reader reads its operand, which lives on; a loop and a constant that were for it alone go."""
    found = compute(spaces["cpu", program], [read_edit(f"remove:{name}") for name in REMOVED[program]])
    check(found, spaces["cpu", f"{program}_removed"])
    assert {"estimate"} == {one.label for one in found.applied}
    assert found.after.reserved_high_bytes <= spaces["cpu", program].reserved_bytes


def test_what_lives_on_for_a_removed_value_may_have_to_stand_elsewhere_too(spaces):
    """It stood in the output that takes a donated parameter's place: it is placed anew once, as long as it lives."""
    plan = Plan(spaces["cpu", "middle"]).apply([read_edit("donate:parameter=0"), read_edit("remove:sort.0")])
    slots = plan.with_copies()
    assert all(start <= end for start, end in zip(slots.start, slots.end, strict=True))


def test_the_window_of_an_offload_is_counted(spaces):
    """In the number that agrees."""
    for edit, said in (("offload:sort.0", "1 position around"), ("offload:sort.0:window=2", "2 positions around")):
        assert said in compute(spaces["cpu", "middle"], [read_edit(edit)]).applied[0].why


@pytest.mark.parametrize(("build", "program", "label"), DONATED)
def test_a_donation_is_between_the_bounds(spaces, build, program, label):
    """What may come first is copied, a TPU fetches in another way, on several devices XLA chooses: none is exact.

    What stood in the place of the output may have to stand elsewhere, and temporaries may take that of the parameter.
    """
    found = compute(spaces[build, program], [read_edit("donate:parameter=0")])
    truth = spaces[build, "donated" if program == "base" else f"{program}_donated"]
    check(found, truth)
    assert [label] == [one.label for one in found.applied]
    if label == "exact":
        assert before(truth).reserved_high_bytes == found.after.reserved_low_bytes == found.after.reserved_high_bytes


def test_the_order_of_jax_says_which_donation_is_left_over(spaces):
    """In whatever order they are given: JAX serves arguments in theirs, and ignores the last of three for two."""
    edits = [read_edit(f"donate:parameter={number}") for number in range(3)]
    for given in (edits, edits[::-1]):
        with pytest.raises(
            NoCandidate, match=r"parameter=2: .* take the 2 outputs of its shape; leave this donation out"
        ):
            compute(spaces["cpu", "dots_less"], given)


def test_a_donation_that_jax_may_use_for_other_dimensions_is_not_said_to_be_ignored(spaces):
    """It puts the second of two arguments in the place of a result of as many elements, and takes half of the bytes."""
    space, truth = spaces["tpu", "reshaped"], spaces["tpu", "reshaped_donated"]
    edits = [read_edit(f"donate:parameter={number}") for number in range(2)]
    with pytest.raises(NoCandidate, match=r"take the 1 output of its shape; one of as many elements is"):
        compute(space, edits)
    capacity = truth.reserved_bytes
    assert capacity < compute(space, edits[:1]).after.reserved_low_bytes
    found = fit(space, capacity, means=["donate"])
    assert (False, False, True) == (found.fits, found.is_minimal, found.may_fit)
    assert found.bound_bytes <= capacity


def test_fewer_edits_that_may_fit_are_not_ruled_out(programs, spaces):
    """Donated, a cache needs no copy: the donation alone fits, though a copy beside it would not."""
    capacity = 400_000
    assert capacity > spaces["tpu", "cache_donated"].reserved_bytes
    words = ("whatif", "jit_cache", "--warehouse", programs, "--fit", f"{capacity}B")
    said = "with 2 edits. No set of fewer values is sure to; some may, where the compiler does better"
    assert said in " ".join(call(*words).out.split())
    found = json.loads(call(*words, "--format", "json").out)["fit"]
    assert (True, True, True) == (found["fits"], found["is_minimal"], found["fewer_may_fit"])


def test_what_a_conditional_reads_is_no_result(spaces):
    """As the root it has results, and no operand of it is one: without its predicate nothing less is returned."""
    space = spaces["cpu", "branches"]
    assert {} == space.results
    c = space.columns
    for value_id in (c["value_id"][row] for row in range(len(space)) if c["role"][row] != "parameter"):
        found = compute(space, [read_edit(f"remove:#{value_id}")]).after
        assert space.reserved_bytes // 2 < found.reserved_low_bytes <= found.reserved_high_bytes


def test_what_may_fit_is_neither_promised_nor_refused(programs):
    """Without its second result the first takes 786,448 B: no set of edits was said to fit. The second does not fit."""
    for program, means, capacity in (("sort_all", "free", 790_000), ("base", "donate", 800_000)):
        words = ("--fit", f"{capacity}B", "--means", means, "--run", "cpu", "--warehouse", programs)
        outcome = call("whatif", f"jit_{program}", *words)
        said = f"No set of edits is sure to fit into {capacity_said(capacity)}; some may, "
        assert (1, True) == (outcome.code, said in outcome.out), outcome.out
        found = json.loads(call("whatif", f"jit_{program}", *words, "--format", "json").out)["fit"]
        assert (False, False, True) == (found["fits"], found["is_minimal"], found["may_fit"])
