"""marts.memory_spaces_v1: one preferred name for each number, each name with source and date, and contradictions."""

from itertools import groupby

import pytest

NAMES = """
    SELECT platform, memory_space, preferred_name, memory_space_name, is_other_name, said_by, since, read_on
    FROM marts.memory_spaces_v1 ORDER BY platform, memory_space, said_by
"""


@pytest.fixture(scope="module")
def names(example) -> list[tuple]:
    """All rows, by platform and memory space."""
    return example.execute(NAMES).fetchall()


def test_a_memory_space_has_one_preferred_name(names):
    """Which one of its sources says, and in whose letters."""
    for (platform, space), group in groupby(names, key=lambda row: row[:2]):
        rows = list(group)
        assert 1 == len({row[2] for row in rows}), (platform, space)
        assert rows[0][2] in {row[3] for row in rows}
        assert len(rows) == len({row[5] for row in rows})
        assert [row[3].lower() != row[2].lower() for row in rows] == [row[4] for row in rows]


def test_every_name_is_dated(names):
    """When it was read is always known; what came in later than it was read did not come in."""
    assert names
    for *_, since, read_on in names:
        assert read_on is not None
        assert since is None or since <= read_on.isoformat()


def test_upstream_contradicts_itself(names):
    """What the specification warns of: the report's names of 2, 4 and 5 on a TPU, and of 1 on a GPU, are others'."""
    by_source = {(row[0], row[1], row[5].split()[0] + " " + row[5].split()[-1]): row[3].lower() for row in names}
    report = "XLA GetMemorySpaceName"
    assert ("smem", "host", "cmem") == tuple(by_source["tpu", space, report] for space in (2, 4, 5))
    assert ("smem", "host") == tuple(by_source["tpu", space, "JAX tpu_custom_call.MemorySpace"] for space in (4, 5))
    assert ("vmem", "collective") == (by_source["gpu", 1, report], names_of(names, "gpu", 1))
    assert ("workspace register", "sparsecore") == (
        by_source["tpu", 6, "XProf GetMemorySpaceName"], by_source["tpu", 6, "XProf memory_viewer_control"]
    )  # fmt: skip


def names_of(names: list[tuple], platform: str, space: int) -> str:
    """The preferred name."""
    return next(row[2] for row in names if row[:2] == (platform, space))


def test_every_memory_space_of_a_dump_has_a_name(names, example):
    """All that the example fleet shows on a platform that is known; the seeds show that one can be unknown."""
    met = example.execute(
        "SELECT DISTINCT o.platform, a.memory_space FROM staging.allocations AS a JOIN staging.observations AS o"
        " USING (dump_id) WHERE o.platform IS NOT NULL"
    ).fetchall()
    assert {("tpu", 2), ("tpu", 6)} < set(met)
    assert set(met) <= {row[:2] for row in names}
