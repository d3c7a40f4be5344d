"""The sizes of a dump in each memory space, and the metrics by which runs are compared."""

from collections.abc import Iterable
from typing import NamedTuple

import duckdb

from bufferhouse.query.statements import ask


class Sizes(NamedTuple):
    """A row of `compare_sizes`, in bytes; peak and padding are None where the dump has no live ranges."""

    reserved: int
    occupied: int | None
    padding: int | None
    argument: int
    output: int
    temp: int
    constant: int


# The parts that sum to the footprint, in the words of the measures.
FOOTPRINT_PARTS = {"argument": "parameters", "output": "outputs", "constant": "constants", "temp": "temporaries"}


def metric_bytes(sizes: Sizes, metric: str) -> int | None:
    """Return the bytes of a metric of `threshold.METRICS`, None where they are not known.

    Reserved bytes and the footprint are the same number: every allocation but the thread-local ones. They differ in
    their causes.
    """
    return getattr(sizes, "reserved" if metric == "footprint" else metric)


class SizesOfDumps:
    """The sizes of some dumps, by dump and memory space."""

    def __init__(self, con: duckdb.DuckDBPyConnection, dump_ids: Iterable[int]) -> None:
        self._spaces: dict[int, dict[int, Sizes]] = {}
        for dump_id, memory_space, *sizes in ask(con, "compare_sizes", dump_ids=list(dump_ids)).rows:
            self._spaces.setdefault(dump_id, {})[memory_space] = Sizes._make(sizes)

    def memory_spaces(self, *dump_ids: int) -> list[int]:
        """Return the memory spaces of the dumps, in order; the default one if they have none."""
        return sorted({space for dump_id in dump_ids for space in self._spaces.get(dump_id, {})}) or [0]

    def of(self, dump_id: int, memory_space: int) -> Sizes:
        """Return the sizes of a dump in a memory space: 0 if it has no allocation there."""
        spaces = self._spaces.get(dump_id, {})
        # Whether a dump has live ranges is the same for all of its memory spaces.
        nothing = None if any(sizes.occupied is None for sizes in spaces.values()) else 0
        return spaces.get(memory_space) or Sizes(0, nothing, nothing, 0, 0, 0, 0)

    def reserved(self) -> dict[int, int]:
        """Return the reserved bytes of each dump over all memory spaces, by which dumps are paired."""
        return {dump_id: sum(sizes.reserved for sizes in spaces.values()) for dump_id, spaces in self._spaces.items()}
