"""The dimensions that changed between two signatures, and which of them explain that two shapes differ."""

from collections.abc import Sequence
from functools import lru_cache

from bufferhouse.compare.signature import Step, changed_shapes, steps
from bufferhouse.compare.tiers import without_layout
from bufferhouse.tabulate.signature import read_signature


@lru_cache(1 << 10)
def changed_dimensions(before: str, after: str) -> tuple[Step, ...]:
    """Return the changes of dimensions between two signatures: each pair of sizes once, the commonest first.

    Parameters tell them; the outputs only where no parameter changed its shape.
    """
    old, new = read_signature(before), read_signature(after)
    changed = changed_shapes(old.parameters, new.parameters) or changed_shapes(old.output, new.output)
    found: dict[tuple[int, int], Step] = {}
    for shapes, _ in changed.most_common():
        for step in steps(*shapes):
            found.setdefault((step.before, step.after), step)
    return tuple(found.values())


def explanation(before_shape: str, after_shape: str, changes: Sequence[Step]) -> tuple[Step, ...] | None:
    """Return the changes that make one shape the other: nothing for equal shapes, None where they do not explain it.

    A dimension is explained that is the changed one, or a multiple of it: `f32[2048,64]` holds 32 rows of 64 tokens,
    and is `f32[4096,64]` with 64. Tuples and shapes of another rank or element type are not explained.
    """
    old, new = without_layout(before_shape), without_layout(after_shape)
    if old == new:
        return ()
    if old.startswith("(") or new.startswith("(") or old.partition("[")[0] != new.partition("[")[0]:
        return None
    found: list[Step] = []
    for one in steps(old, new):
        fitting = [step for step in changes if one.before * step.after == one.after * step.before]
        exact = [step for step in fitting if (one.before, one.after) == (step.before, step.after)]
        if not fitting:
            return None
        found.append((exact or fitting)[0])
    return tuple(dict.fromkeys(found)) or None
