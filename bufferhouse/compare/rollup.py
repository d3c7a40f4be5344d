"""The causes of many programs, added up by what their values have in common."""

from collections.abc import Callable, Iterable
from typing import Any

from bufferhouse.compare.causes import Cause
from bufferhouse.compare.compare import Compared
from bufferhouse.compare.tiers import normalised, tiles
from bufferhouse.compare.values import Value

_PREFIX_PARTS = 3  # of a name stack: program, transformation or layer, and what is in it
_NOTHING = "(none)"


def _prefix(value: Value) -> str | None:
    """Return the beginning of the name stack, without the primitive at its end."""
    return "/".join(normalised(value.op_name).split("/")[:-1][:_PREFIX_PARTS]) if value.op_name else None


_KEYS: dict[str, Callable[[Value], str | None]] = {
    "op_name": _prefix,
    "source": lambda value: f"{value.source_file}:{value.source_line}" if value.source_file else None,
    "opcode": lambda value: value.opcode,
    "element_type": lambda value: value.element_type or "tuple",
    "tile": lambda value: tiles(value.shape_text) or None,
}
GROUPINGS = ("cause", *_KEYS)


def rolled_up(rows: Iterable[Compared], by: str) -> list[dict[str, Any]]:
    """Return for each group what it came to: delta, what rose and what fell, programs and values.

    `by` is one of `GROUPINGS`. A cause belongs to the group of the value after, or if there is none to that of the
    value before; packing has no value. The deltas sum to the changes of all programs, each memory space added up.
    """
    groups: dict[str, list[tuple[int, Cause]]] = {}
    for row in rows:
        for cause in row.causes:
            groups.setdefault(_group(cause, by), []).append((row.pair.any.program_id, cause))
    found = [
        {
            "group": group,
            "delta_bytes": sum(cause.size_bytes for _, cause in causes),
            "risen_bytes": sum(max(cause.size_bytes, 0) for _, cause in causes),
            "fallen_bytes": sum(min(cause.size_bytes, 0) for _, cause in causes),
            "program_count": len({program_id for program_id, _ in causes}),
            "value_count": sum(bool(cause.before or cause.after) for _, cause in causes),
        }
        for group, causes in groups.items()
    ]
    return sorted(found, key=lambda one: (-abs(one["delta_bytes"]), -one["risen_bytes"], one["group"]))


def _group(cause: Cause, by: str) -> str:
    if by == "cause":
        return cause.cause
    value = cause.after or cause.before
    return (value and _KEYS[by](value)) or (_NOTHING if value else f"({cause.cause})")
