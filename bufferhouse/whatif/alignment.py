"""The alignment of offsets in an arena: a dump does not print it, but its offsets show it."""

from collections.abc import Iterable
from math import gcd

# The largest alignments seen in offsets of dumps. CPU: `cpu_function_runtime::MinAlign`, 16 in older builds; GPU:
# `kXlaAllocatedBufferAlignBytes`; TPU by memory space, in all arenas of libtpu 0.0.8 to 0.0.52 (3 in those of a v4).
_TPU = {0: 16384, 1: 4096, 2: 4, 3: 4096, 4: 4096, 6: 512}
_CPU, _GPU, _OTHER = 64, 256, 512


def alignment_of(compile_target: str | None, memory_space: int, offsets: Iterable[int]) -> int:
    """Return the power of two that all offsets of an arena are multiples of, at most what its platform aligns to.

    The limit is needed because the offsets of a few slots may have larger common divisors by chance. If no file name
    says the target, it counts as a TPU if the offsets are aligned as only a TPU aligns them.
    """
    common = gcd(*offsets)
    power = common & -common if common else 0
    limit = _limit(compile_target, memory_space, power)
    return min(power, limit) if power else limit


def is_cpu(compile_target: str | None) -> bool:
    """Return whether a program is compiled for CPU."""
    return (compile_target or "").lower().startswith("cpu")


def _limit(compile_target: str | None, memory_space: int, power: int) -> int:
    if is_cpu(compile_target):
        return _CPU
    target = (compile_target or "").lower()
    if target.startswith(("sm_", "gfx", "gpu")):
        return _GPU
    tpu = _TPU.get(memory_space, _OTHER)
    return tpu if target.startswith("tpu") or power >= tpu else _CPU
