"""Edits of values, as users write them: `free:fusion.3`, `shrink:dot.1:bf16`, `shard:*:2@0`; or as a TOML file."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bufferhouse.config.toml import read_toml
from bufferhouse.errors import UsageError, did_you_mean
from bufferhouse.whatif.narrow import element_bits
from bufferhouse.whatif.space import Space

KINDS = ("free", "remove", "donate", "shrink", "unpad", "remat", "offload", "shard", "reschedule")
# Kinds in the order in which they are applied: donations, sizes (padding is that of the shape that is left), lives.
SIZES = ("shard", "shrink", "unpad")
LIVES = ("free", "remove", "remat", "offload")
PHASES = (("donate",), SIZES, LIVES, ("reschedule",))
FORM = (
    "KIND:VALUE, such as free:fusion.3, donate:parameter=0, shrink:VALUE:bf16, shard:VALUE:2@0, "
    "offload:VALUE:window=8, or reschedule alone"
)
_SHARDS = re.compile(r"(?P<parts>[1-9][0-9]*)(?:@(?:(?P<dimension>[0-9]+)|size=(?P<size>[1-9][0-9]*)))?")
_TYPE = re.compile(r"[a-z][a-z0-9]*")
_WINDOW = re.compile(r"window=([0-9]+)")
_KEYS = {"kind", "value", "dtype", "parts", "dimension", "size", "window"}
# What a kind of edit needs besides the value.
_KEYS_OF = {"shrink": {"dtype"}, "shard": {"parts", "dimension", "size"}, "offload": {"window"}}
_NARROWER = {"f32": "bf16", "f64": "f32"}
_COLUMNS = {"op_name": "op_name", "line": "source", "opcode": "opcode", "parameter": "parameter"}


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: its kind, the values as the user named them, and what the kind needs besides.

    `dtype` is the element type of `shrink`; `parts` is the number of parts of `shard`, along `dimension`, or along the
    dimensions of `size`; `window` is how many positions before a use `offload` has the value back on the device.
    """

    kind: str
    value: str = ""
    dtype: str | None = None
    parts: int = 1
    dimension: int | None = None
    size: int | None = None
    window: int = 1

    @property
    def argument(self) -> str:
        """What the kind needs besides, as it is written; empty for most."""
        if self.kind == "shrink":
            return self.dtype or ""
        if self.kind == "offload":
            return f"window={self.window}"
        if self.kind != "shard":
            return ""
        return f"{self.parts}@" + (f"size={self.size}" if self.dimension is None else str(self.dimension))

    def __str__(self) -> str:
        # The usual window is not told as if somebody had written it.
        argument = "" if self.kind == "offload" and self.window == 1 else self.argument
        return ":".join(filter(None, (self.kind, self.value, argument)))


def narrower(shape: str) -> str | None:
    """Return the element type to which `shrink` changes a shape by default; None if there is none."""
    return _NARROWER.get(shape.partition("[")[0])


def read_edit(text: str) -> Edit:
    """Read an edit in the form of the command line.

    Raises:
        UsageError: the text is not an edit.
    """
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise UsageError(f"--edit {text!r}: expected {FORM}, found {kind!r}{did_you_mean(kind, KINDS)}")
    if kind == "reschedule":
        if rest:
            raise UsageError(f"--edit {text!r}: expected reschedule alone: it concerns the schedule, not a value")
        return Edit(kind)
    has_argument = kind in ("shrink", "shard") or (kind == "offload" and ":window=" in rest)
    value, _, argument = rest.rpartition(":") if has_argument else (rest, "", "")
    if not value:
        raise UsageError(f"--edit {text!r}: expected {FORM}")
    return _with_argument(text, kind, value, argument)


def _with_argument(text: str, kind: str, value: str, argument: str) -> Edit:
    if kind == "shrink":
        if not _TYPE.fullmatch(argument):
            raise UsageError(f"--edit {text!r}: expected an element type such as bf16 at the end, found {argument!r}")
        return Edit(kind, value, dtype=argument)
    if kind == "shard":
        found = _SHARDS.fullmatch(argument)
        if found is None:
            raise UsageError(f"--edit {text!r}: expected PARTS@DIMENSION or PARTS@size=N, found {argument!r}")
        size = int(found["size"]) if found["size"] else None
        return Edit(kind, value, parts=int(found["parts"]), size=size,
                    dimension=None if size else int(found["dimension"] or 0))  # fmt: skip
    if kind == "offload" and argument:
        found = _WINDOW.fullmatch(argument)
        if found is None:
            raise UsageError(f"--edit {text!r}: expected window=POSITIONS at the end, found {argument!r}")
        return Edit(kind, value, window=int(found[1]))
    return Edit(kind, value)


def read_edits_file(path: Path) -> list[Edit]:
    """Read a TOML file with a table `[[edit]]` for each edit: kind, value, and dtype, parts, dimension, size or window.

    Raises:
        UsageError: the file cannot be read, or a table is not an edit; the message names the table.
    """
    file = read_toml(path)
    found = file.document
    tables = found.pop("edit", None)
    if found or not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise UsageError(f"{path}: expected tables [[edit]] and nothing else, found {sorted(found) or tables!r}")
    return [_of_table(f"{file.at('edit', number)}: edit {number + 1}", one) for number, one in enumerate(tables)]


def _of_table(place: str, table: dict[str, Any]) -> Edit:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise UsageError(f"{place}: expected the keys {', '.join(sorted(_KEYS))}, found {', '.join(unknown)}")
    texts = {key: table.get(key) for key in ("kind", "value", "dtype") if key in table}
    numbers = {key: table[key] for key in ("parts", "dimension", "size", "window") if key in table}
    for key, given in texts.items():
        if not isinstance(given, str):
            raise UsageError(f"{place}: {key}: expected text, found {given!r}")
    for key, given in numbers.items():
        if type(given) is not int or given < (key in ("parts", "size")):
            raise UsageError(f"{place}: {key}: expected a number from {int(key in ('parts', 'size'))}, found {given!r}")
    kind = texts.get("kind", "")
    if kind not in KINDS:
        raise UsageError(f"{place}: kind: expected one of {', '.join(KINDS)}, found {kind!r}")
    if bool(texts.get("value")) == (kind == "reschedule"):
        raise UsageError(f"{place}: value: expected {'none' if kind == 'reschedule' else 'the name of one'}")
    if kind == "shrink" and not _TYPE.fullmatch(texts.get("dtype", "")):
        raise UsageError(f"{place}: dtype: expected an element type such as bf16, found {texts.get('dtype')!r}")
    if foreign := sorted({*texts, *numbers} - {"kind", "value"} - _KEYS_OF.get(kind, set())):
        raise UsageError(f"{place}: {foreign[0]}: expected none for {kind}, found {table[foreign[0]]!r}")
    if kind == "shard":
        if "parts" not in numbers:
            raise UsageError(f"{place}: parts: expected a number from 1, found none")
        if {"dimension", "size"} <= set(numbers):
            raise UsageError(f"{place}: expected either dimension or size, found both")
        if "size" not in numbers:
            numbers.setdefault("dimension", 0)
    return Edit(**texts, **numbers)


def chosen(space: Space, edit: Edit) -> list[int]:
    """Return the rows that an edit names: an instruction, one part of its result, an id, or all of a group.

    `fusion.3`, `fusion.3{1}`, `#12`, `parameter=0`, `op_name=…`, `line=FILE:LINE`, `opcode=dot`, `type=f32`, or `*` for
    all.

    Raises:
        UsageError: there is no such value.
    """
    name = edit.value
    key, has_key, wanted = name.partition("=")
    if name == "*":
        found = list(range(len(space)))
    elif name.startswith("#") and name[1:].isdigit():
        found = [space.rows[int(name[1:])]] if int(name[1:]) in space.rows else []
    elif has_key and key == "type":
        found = [row for row, shape in enumerate(space.columns["shape"]) if shape.startswith(f"{wanted}[")]
    elif has_key and key in _COLUMNS:
        found = _equal(space.columns[_COLUMNS[key]], wanted, is_place=key == "line")
    else:
        instruction, brace, index = name.partition("{")
        found = [
            row
            for row, one in enumerate(space.columns["instruction"])
            if one == instruction and (not brace or (space.columns["shape_index"][row] or "{}") == brace + index)
        ]
    if not found:
        near = did_you_mean(name.partition("{")[0], dict.fromkeys(space.columns["instruction"]), 3)
        near = f"; did you mean 'parameter={name}' or '#{name}'?" if name.isdigit() else near
        raise UsageError(
            f"{edit}: no value with a live range in memory space {space.memory_space} is named {name!r}{near}"
        )
    return found


def _equal(column: Sequence[Any], wanted: str, *, is_place: bool) -> list[int]:
    return [
        row
        for row, found in enumerate(column)
        if found is not None and (str(found) == wanted or (is_place and str(found).endswith(f"/{wanted}")))
    ]


def phase(edit: Edit) -> int:
    """Return the place of an edit's kind among `PHASES`."""
    return next(number for number, kinds in enumerate(PHASES) if edit.kind in kinds)


def in_order(edits: Iterable[tuple[Edit, list[int]]], argument: Callable[[int], tuple]) -> list[tuple[Edit, list[int]]]:
    """Return edits, each with its rows, in the order in which they are applied, which does not depend on their own.

    Edits of one value come before groups, which take the values that are left. Edits of one kind come in the order of
    `argument`, the place of a row among the arguments, in which JAX gives outputs to donated arguments.
    """

    def place(one: tuple[Edit, list[int]]) -> tuple:
        edit, rows = one
        number = phase(edit)
        # A narrower type comes after a wider one, so each takes bytes off.
        bits = element_bits(edit.dtype) or 0 if edit.dtype else 0
        return number, len(rows) != 1, PHASES[number].index(edit.kind), -bits, list(map(argument, rows)), str(edit)

    return sorted(((edit, sorted(rows, key=argument)) for edit, rows in edits), key=place)
