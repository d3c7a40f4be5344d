"""What memory a chip has for a program: its HBM, without what the runtime keeps for itself where that is known."""

from typing import NamedTuple

from bufferhouse.errors import UsageError, did_you_mean

_GIB, _MIB = 1 << 30, 1 << 20


class Chip(NamedTuple):
    """A chip: its memory, and what the runtime reserves of it; 0 where nobody said."""

    name: str
    memory_bytes: int
    reserved_bytes: int = 0

    @property
    def capacity_bytes(self) -> int:
        """What is left for programs."""
        return self.memory_bytes - self.reserved_bytes


# Memory per chip (of v2 and v3 per core, which is what a program sees). TPU: cloud.google.com/tpu/docs, the page of
# each version. What libtpu reserves: its out-of-memory messages, which say `15.75G` of 16 on v5e (oom/rules.py).
# GPU: the data sheets of NVIDIA; what a driver reserves hangs on the machine and is not known here.
CHIPS = {
    chip.name: chip
    for chip in (
        Chip("v2", 8 * _GIB),
        Chip("v3", 16 * _GIB),
        Chip("v4", 32 * _GIB),
        Chip("v5e", 16 * _GIB, 258 * _MIB),
        Chip("v5p", 95 * _GIB, 263 * _MIB),
        Chip("v6e", 32 * _GIB, 260 * _MIB),
        Chip("a100-40", 40 * _GIB),
        Chip("a100-80", 80 * _GIB),
        Chip("h100", 80 * _GIB),
    )
}


def chip_of(name: str) -> Chip:
    """Return the chip of a name.

    Raises:
        UsageError: it is not known; the message names those that are.
    """
    found = CHIPS.get(name.lower())
    if found is None:
        raise UsageError(
            f"--chip: expected one of {', '.join(CHIPS)}, found {name!r}{did_you_mean(name, CHIPS)}; "
            "--capacity takes any size"
        )
    return found
