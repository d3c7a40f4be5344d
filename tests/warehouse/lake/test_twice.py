"""A content that a lake has twice, which the fence lets nobody do: it is named, and mended."""

import pytest

from bufferhouse.warehouse.address import LakeAddress
from bufferhouse.warehouse.open import writing
from tests.command_line import call
from tests.synthetic import small_dump
from tests.warehouse.lake.lakes import asked, lake_in, moved, needs_lake, stored_models
from tests.warehouses import load_parsed, parsed

pytestmark = [needs_lake, pytest.mark.slow]

TEXTS = [small_dump(number) for number in range(3)]
MARTS = ("peak_memory_v1", "fleet_summary_v1", "memory_space_trend_v1", "program_history_v1")


@pytest.fixture(scope="module")
def lakes(tmp_path_factory) -> tuple[LakeAddress, LakeAddress]:
    """Two lakes whose dumps two runs have seen: in the first loaded once, in the second one of them by both runs."""
    folder = tmp_path_factory.mktemp("lakes")
    (folder / "once").mkdir()
    with writing(lake_in(folder / "once")) as warehouse:
        load_parsed(warehouse, parsed(TEXTS))
    twice = moved(folder / "once", folder / "twice")
    once = lake_in(folder / "once")
    for address, others in ((once, TEXTS), (twice, TEXTS[1:])):
        with writing(address) as warehouse:
            known = warehouse.known_contents([s.content.dump_id for s in parsed(others).sightings])
            # As a worker would that does not ask what the others have loaded; a catalog that is a file has no fence.
            load_parsed(warehouse, parsed(TEXTS, "again", known), "again")
    return once, twice


def numbers(address: LakeAddress) -> dict[str, list[tuple]]:
    """What marts and stored models say."""
    with asked(address) as con:
        told = {name: con.execute(f"SELECT * FROM marts.{name} ORDER BY ALL").fetchall() for name in MARTS}
        return told | stored_models(con)


@pytest.mark.soak
def test_a_content_that_is_there_twice_is_named_and_mended(lakes):
    """With both loads, by check and verify; compact leaves one copy, and every mart is right again."""
    once, twice = lakes
    with asked(twice) as con:
        ((dump_id, *loads),) = con.execute(
            "SELECT dump_id, MIN(load_id), MAX(load_id) FROM raw.dumps GROUP BY dump_id HAVING COUNT(*) > 1"
        ).fetchall()
    right = numbers(once)
    assert right != numbers(twice)
    outcome = call("check", "--warehouse", twice)
    assert 1 == outcome.code
    assert f"dump {dump_id}: expected one load, found loads {loads[0]}, {loads[1]}" in outcome.out
    outcome = call("verify", "--warehouse", twice)
    assert (1, True) == (outcome.code, f"{dump_id}: raw.dumps: expected one row, found 2" in outcome.out + outcome.err)
    outcome = call("compact", "--warehouse", twice)
    assert (0, "1 second copy of contents removed") == (outcome.code, outcome.out.splitlines()[0])
    assert right == numbers(twice)
    for words in (("check",), ("verify",)):
        assert 0 == call(*words, "--warehouse", twice).code
    assert "second cop" not in call("compact", "--warehouse", twice).out
