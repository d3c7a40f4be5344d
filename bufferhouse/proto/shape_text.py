"""Shapes of a proto (`ShapeProto`) as a dump prints them (ShapeUtil::PrintHumanString, Layout::Print)."""

from collections.abc import Sequence
from typing import Any

from bufferhouse.proto.errors import ProtoError

# PrimitiveType, xla/xla_data.proto.
_TYPES = (
    "invalid", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "tuple", "opaque",
    "c64", "bf16", "token", "c128", "f8e5m2", "f8e4m3fn", "s4", "u4", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz",
    "s2", "u2", "f8e4m3", "f8e3m4", "s1", "u1", "f4e2m1fn", "f8e8m0fnu", "buffer",
)  # fmt: skip
_TUPLE, _BUFFER = _TYPES.index("tuple"), _TYPES.index("buffer")
_COMBINED = -(2**63)  # Tile::kCombineDimension; of a dimension: it has no bound


def shape_text(shape: Any, *, with_layout: bool) -> str:
    """Return a shape as printed, with its layout or without."""
    if shape.element_type == _TUPLE:
        parts = [
            f"{f'/*index={place}*/' if place and place % 5 == 0 else ''}{shape_text(part, with_layout=with_layout)}"
            for place, part in enumerate(shape.tuple_shapes)
        ]
        return f"({', '.join(parts)})"
    if shape.element_type == _BUFFER and shape.tuple_shapes:
        return f"b({shape_text(shape.tuple_shapes[0], with_layout=with_layout)})"
    kind = shape.element_type
    name = _TYPES[kind] if 0 <= kind < len(_TYPES) else f"type{abs(kind)}"
    dynamic = list(shape.is_dynamic_dimension) or [False] * len(shape.dimensions)
    if len(dynamic) != len(shape.dimensions):
        raise ProtoError(f"a shape with {len(shape.dimensions)} dimensions", f"one with {len(dynamic)} bounds")
    dims = ",".join(map(_dimension, shape.dimensions, dynamic))
    return f"{name}[{dims}]{_layout(shape) if with_layout else ''}"


def _dimension(size: int, is_dynamic: bool) -> str:
    if is_dynamic and size == _COMBINED:
        return "?"
    if size < 0:
        raise ProtoError("a dimension from 0", str(size))
    return f"<={size}" if is_dynamic else str(size)


def _layout(shape: Any) -> str:
    if not shape.HasField("layout"):
        return ""
    layout = shape.layout
    properties = "".join(_properties(layout))
    order = ",".join(map(str, layout.minor_to_major))
    if not properties:
        return f"{{{order}}}" if order or shape.dimensions else ""
    return f"{{{order}:{properties}}}"


def _properties(layout: Any) -> list[str]:
    """Return what stands behind the order of dimensions, in the order of Layout::Print."""
    tiles = "".join(
        f"({','.join('*' if n == _COMBINED else str(n) for n in tile.dimensions)})" for tile in layout.tiles
    )
    found = [f"T{tiles}"] if tiles else []
    if layout.tail_padding_alignment_in_elements not in (0, 1):
        found.append(f"L({layout.tail_padding_alignment_in_elements})")
    for mark, kind in (("#", layout.index_primitive_type), ("*", layout.pointer_primitive_type)):
        if 0 < kind < len(_TYPES):
            found.append(f"{mark}({_TYPES[kind]})")
    if layout.element_size_in_bits:
        found.append(f"E({layout.element_size_in_bits})")
    if layout.memory_space:
        found.append(f"S({layout.memory_space})")
    if layout.split_configs:
        parts = [f"({one.dimension}:{','.join(map(str, one.split_indices))})" for one in layout.split_configs]
        found.append(f"SC{''.join(parts)}")
    if layout.dynamic_shape_metadata_prefix_bytes:
        found.append(f"M({layout.dynamic_shape_metadata_prefix_bytes})")
    return found


def part_of(shape: Any, index: Sequence[int]) -> Any:
    """Return the shape at an index of another.

    Raises:
        ProtoError: there is none.
    """
    for place in index:
        if shape.element_type != _TUPLE or place >= len(shape.tuple_shapes):
            raise ProtoError("a shape index that exists in the shape", f"{{{','.join(map(str, index))}}}")
        shape = shape.tuple_shapes[place]
    return shape


def is_tuple(shape: Any) -> bool:
    """Return whether a shape is a tuple."""
    return shape.element_type == _TUPLE
