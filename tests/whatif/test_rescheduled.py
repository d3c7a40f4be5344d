"""Programs of the same instructions in two schedules: neither takes less than the other lets any schedule take."""

import pytest

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.whatif.edits import Edit
from bufferhouse.whatif.outcome import before, compute
from bufferhouse.whatif.space import Space, read_space
from tests.command_line import CHECKOUT

SCHEDULES = ("memory", "concurrency")


@pytest.fixture(scope="module")
def spaces() -> dict[tuple[str, str], Space]:
    """The memory of each program, by schedule and name."""
    with in_memory([str(CHECKOUT / "tests" / "data" / "rescheduled")]) as con:
        dumps = con.execute("SELECT run_name, program_name, dump_id FROM marts.observations_v2").fetchall()
        return {(schedule, name): read_space(con, dump_id) for schedule, name, dump_id in dumps}


@pytest.mark.parametrize(("one", "other"), [SCHEDULES, SCHEDULES[::-1]])
@pytest.mark.parametrize("program", ["outputs", "constant", "in_place"])
def test_no_schedule_goes_below_the_bound(spaces, program, one, other):
    """Temporaries may stand in outputs, constants end, a result takes the place of what is read last."""
    space, truth = spaces[one, f"jit_{program}"], spaces[other, f"jit_{program}"]
    assert sorted(space.columns["instruction"]) == sorted(truth.columns["instruction"])
    found = compute(space, [Edit("reschedule")]).after
    assert found.reserved_low_bytes <= truth.reserved_bytes
    assert found.occupied_bytes <= before(truth).occupied_bytes
