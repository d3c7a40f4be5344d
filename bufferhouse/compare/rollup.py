"""The causes of many programs, added up in groups: by cause, source line, changed dimension and other facts."""

from collections.abc import Callable, Iterable
from typing import Any

from bufferhouse.compare.causes import Cause, former
from bufferhouse.compare.compare import Compared
from bufferhouse.compare.dimensions import changed_dimensions, explanation
from bufferhouse.compare.groups import gathered
from bufferhouse.compare.pairing import RESHAPED, Pair
from bufferhouse.compare.tiers import normalized, tiles
from bufferhouse.compare.values import Value
from bufferhouse.tabulate.signature import read_signature

_PREFIX_PARTS = 3  # of a name stack: program, transformation or layer, and what is in it
_NOTHING = "(none)"


def _prefix(value: Value) -> str | None:
    """Return the beginning of the name stack, without the primitive at its end."""
    return "/".join(normalized(value.op_name).split("/")[:-1][:_PREFIX_PARTS]) if value.op_name else None


_KEYS: dict[str, Callable[[Value], str | None]] = {
    "op_name": _prefix,
    "source": lambda value: value.source,
    "opcode": lambda value: value.opcode,
    "element_type": lambda value: value.element_type or "tuple",
    "tile": lambda value: tiles(value.shape_text) or None,
}
GROUPINGS = ("cause", *_KEYS, "parameter")


def rolled_up(rows: Iterable[Compared], by: str) -> list[dict[str, Any]]:
    """Return one record a group: its change, the growth and the shrinkage in it, its programs and its values.

    `by` is one of `GROUPINGS`. A cause belongs to the group of the value after, or to that of the value before where
    the program after has no such value. Fragmentation has no value and is a group of its own. The changes of the groups
    sum to the changes of all programs in all memory spaces. `group` holds causes in the words of earlier releases.
    """
    groups = gathered((_group(cause, by, row.pair), (row, cause)) for row in rows for cause in row.causes)
    found = [
        {
            "group": former_label,
            "group_label": label,
            "delta_bytes": sum(cause.size_bytes for _, cause in causes),
            "risen_bytes": sum(max(cause.size_bytes, 0) for _, cause in causes),
            "fallen_bytes": sum(min(cause.size_bytes, 0) for _, cause in causes),
            "program_count": len({row.pair.any.program_id for row, _ in causes}),
            # A value may have several causes, such as its elements and its padding.
            "value_count": len({(row.key, *_ids(cause)) for row, cause in causes if cause.before or cause.after}),
        }
        for (label, former_label), causes in groups.items()
    ]
    return sorted(found, key=lambda one: (-abs(one["delta_bytes"]), -one["risen_bytes"], one["group"]))


def _ids(cause: Cause) -> list[int | None]:
    return [side and side.value_id for side in (cause.before, cause.after)]


def _group(cause: Cause, by: str, pair: Pair) -> tuple[str, str]:
    """Return the label of the group of a cause, and the label that it had in earlier releases."""
    if by == "cause":
        return cause.cause, former(cause.cause)
    if value := cause.after or cause.before:
        label = (_changed_dimension(cause, pair) if by == "parameter" else _KEYS[by](value)) or _NOTHING
        return label, label
    return f"({cause.cause})", f"({former(cause.cause)})"


def _changed_dimension(cause: Cause, pair: Pair) -> str:
    """Return what changed in the parameters of a reshaped program and explains a cause; in brackets if nothing does."""
    if pair.change != RESHAPED:
        return "(same signature)"
    before, after = pair.before.signature, pair.after.signature
    if cause.before is None or cause.after is None:
        if not (cause.before or cause.after).parameter:
            return "(new and removed buffers)"
        counts = [len(read_signature(signature).parameters) for signature in (before, after)]
        return "parameters {:,} → {:,}".format(*counts)
    changes = changed_dimensions(before, after)
    found = explanation(cause.before.shape_text, cause.after.shape_text, changes)
    if found is None:
        return "(other shapes)"
    return " and ".join(f"{step.name} {step.before:,} → {step.after:,}" for step in found) or "(same shapes)"
