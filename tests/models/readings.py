"""What the oracle reads in the example fleet and counts in it, for the tests of the marts to compare with."""

from functools import cache
from pathlib import Path

from tests import oracle


def by_dump(con, sql: str) -> dict[int, list[tuple]]:
    """The rows of a query by their first column, dump_id."""
    found: dict[int, list[tuple]] = {}
    for dump_id, *row in con.execute(sql).fetchall():
        found.setdefault(dump_id, []).append(tuple(row))
    return found


def oracle_dumps(con, fleet: Path) -> dict[int, dict]:
    """What the oracle reads in every dump of the example fleet, by dump_id."""
    sightings = con.execute(
        "SELECT run_name, relative_path, dump_id FROM raw.observations JOIN raw.runs USING (run_id)"
    )
    return {dump_id: read(fleet / run / path) for run, path, dump_id in sightings.fetchall()}


@cache
def read(path: Path) -> dict:
    """One dump of the example fleet; to be read, never changed."""
    stem = str(path).removesuffix("-buffer-assignment.txt")
    values, live_range = Path(stem + "-buffer-assignment-values.txt"), Path(stem + "-live-range.txt")
    if values.exists():
        return oracle.read_split(path.read_text(), values.read_text(), live_range.read_text())
    return oracle.read_dump(path.read_text())


def owned_parts(value: dict, owned: int) -> tuple[int, int, int, int, int]:
    """Owned bytes of a value, and what of them is elements, layout padding, slack, tuple table: in this order."""
    _, logical, layout_padding, _, table = oracle.filling_of(value)
    elements = min(owned, logical)
    padding = max(0, min(owned - elements, layout_padding))
    table = min(owned, table)
    return owned, elements, padding, owned - elements - padding - table, table


def alive_in(dump: dict, memory_space: int, position: int) -> list[dict]:
    """The values alive at a position in the allocations of a memory space that are not thread-local."""
    inside = {
        allocation["index"]
        for allocation in dump["allocations"]
        if allocation["memory_space"] == memory_space and not allocation["is_thread_local"]
    }
    return [value for value in oracle.alive_at(dump, position) if value["allocation"] in inside]
