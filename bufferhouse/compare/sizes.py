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


# The host's memory, as a device sees it (`Layout::kHostMemorySpace`, `kUnpinnedHostMemorySpace`).
_HOST = (5, 6)

# The parts that sum to the footprint, in the words of the measures.
FOOTPRINT_PARTS = {"argument": "parameters", "output": "outputs", "constant": "constants", "temp": "temporaries"}


def metric_bytes(sizes: Sizes, metric: str) -> int | None:
    """Return the bytes of a metric of `threshold.METRICS`, None where they are not known.

    Reserved bytes and the footprint are the same number: every allocation but the thread-local ones. They differ in
    their causes.
    """
    return getattr(sizes, "reserved" if metric == "footprint" else metric)


def is_of_device(platform: str | None, memory_space: int) -> bool:
    """Return whether a memory space lies in the memory that the capacity of a device is of, as space 0 does.

    A TPU has its others elsewhere. Those of a GPU are labels on one memory: buffers of collectives, temporaries under a
    color of their own. A CPU has one memory.
    """
    return memory_space == 0 or platform == "cpu" or (platform == "gpu" and memory_space not in _HOST)


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

    def on_device(self, dump_id: int, platform: str | None) -> int:
        """Return the reserved bytes of a dump in all memory spaces that lie in the memory of its device."""
        spaces = self._spaces.get(dump_id, {}).items()
        return sum(sizes.reserved for space, sizes in spaces if is_of_device(platform, space))

    def reserved(self) -> dict[int, int]:
        """Return the reserved bytes of each dump over all memory spaces, by which dumps are paired."""
        return {dump_id: sum(sizes.reserved for sizes in spaces.values()) for dump_id, spaces in self._spaces.items()}
