"""The memory of a chip for a program: its HBM, without what the runtime keeps for itself if that is known."""

from typing import NamedTuple

from bufferhouse.errors import UsageError, did_you_mean

_GIB, _MIB = 1 << 30, 1 << 20


class Chip(NamedTuple):
    """A chip: its memory, the bytes that the runtime reserves (0 if unknown), and `target`, the compilers' name for it.

    Dumps for GPUs are named by the architecture, such as sm_9.0 or sm_9.0a. `kinds` is how runs call a TPU.
    """

    name: str
    memory_bytes: int
    reserved_bytes: int = 0
    target: str = "tpu"
    kinds: tuple[str, ...] = ()

    @property
    def capacity_bytes(self) -> int:
        """The bytes that are left for programs."""
        return self.memory_bytes - self.reserved_bytes

    def is_other(self, device_kind: str) -> bool:
        """Return whether a run that names its device is known to be of another chip; GPUs are recognized by target."""
        return any(device_kind in chip.kinds for chip in CHIPS.values() if chip.name != self.name)


# Memory per chip (of v2, v3 and v7x per core, which is what a program sees). TPU: what libtpu 0.0.52 prints when
# memory runs out, available and reserved, such as `15.75G` and `258.00M` on v5e; older ones reserve up to 16 MiB less.
# Of a v4 that is what it prints on devices; ahead of time it gives a program no more than 15.25 GiB.
# GPU: the total that nvidia-smi prints; what CUDA and the allocator keep of it depends on the machine and is not known
# here.
CHIPS = {
    chip.name: chip
    for chip in (
        Chip("v2", 8 * _GIB, 530 * _MIB, kinds=("TPU v2",)),
        Chip("v3", 16 * _GIB, 530 * _MIB, kinds=("TPU v3",)),
        Chip("v4", 32 * _GIB, 1280 * _MIB, kinds=("TPU v4",)),
        Chip("v5e", 16 * _GIB, 258 * _MIB, kinds=("TPU v5e", "TPU v5 lite")),
        Chip("v5p", 96 * _GIB, 279 * _MIB, kinds=("TPU v5p", "TPU v5")),
        Chip("v6e", 63 * _GIB // 2, 264 * _MIB, kinds=("TPU v6e", "TPU v6 lite")),
        Chip("v7x", 95 * _GIB, 268 * _MIB, kinds=("TPU v7x", "TPU7x")),
        Chip("t4", 15360 * _MIB, target="sm_7.5"),
        Chip("a10g", 23028 * _MIB, target="sm_8.6"),
        Chip("l4", 23034 * _MIB, target="sm_8.9"),
        Chip("l40s", 46068 * _MIB, target="sm_8.9"),
        Chip("a100-40", 40960 * _MIB, target="sm_8.0"),
        Chip("a100-80", 81920 * _MIB, target="sm_8.0"),
        Chip("h100", 81559 * _MIB, target="sm_9.0"),
        Chip("h100-nvl", 95830 * _MIB, target="sm_9.0"),
        Chip("gh200", 97871 * _MIB, target="sm_9.0"),
        Chip("h200", 143771 * _MIB, target="sm_9.0"),
        Chip("b200", 183359 * _MIB, target="sm_10.0"),
        Chip("gb200", 189471 * _MIB, target="sm_10.0"),
        Chip("b300", 275040 * _MIB, target="sm_10.3"),
        Chip("gb300", 284208 * _MIB, target="sm_10.3"),
    )
}


def chip_of(name: str) -> Chip:
    """Return the chip of a name; for a TPU the name may also be that of runs, such as `TPU7x`.

    Raises:
        UsageError: the name is not known; the message lists the known names.
    """
    word = name.lower()
    found = CHIPS.get(word) or next((chip for chip in CHIPS.values() if word in map(str.lower, chip.kinds)), None)
    if found is None:
        raise UsageError(
            f"--chip: expected one of {', '.join(CHIPS)}, found {name!r}{did_you_mean(name, CHIPS)}; "
            "--capacity takes any size"
        )
    return found
