"""Values and moments for tests of blame, of which only what matters has to be said."""

from collections.abc import Sequence

from hypothesis import strategies as st

from bufferhouse.compare.moments import Moment, moment_at
from bufferhouse.compare.values import Value

_numbers = iter(range(1, 10**9))


def value(
    size: int = 64, start: int = 0, end: int = 9, *, offset: int = 0, allocation: int | None = None, **about: object
) -> Value:
    """A value with a new id, by default a temporary one in an allocation of its own and without a known instruction."""
    number = next(_numbers)
    known = {
        "value_id": number, "memory_space": 0, "kind": "temp",
        "allocation_index": number if allocation is None else allocation, "offset_bytes": offset, "size_bytes": size,
        "start_position": start, "end_position": end, "logical_bytes": size, "layout_padding_bytes": 0,
        "slack_bytes": 0, "instruction_name": f"v{number}", "shape_index": None, "shape_text": f"u8[{size}]{{0}}",
        "element_type": "u8", "opcode": None, "op_name": None, "source_file": None, "source_line": None,
        "parameter": None,
    }  # fmt: skip
    return Value(**{**known, **about})


def fill(values: Sequence[Value], position: int, memory_space: int = 0) -> Moment:
    """The moment of a memory space at a position."""
    return moment_at([one for one in values if one.memory_space == memory_space], position)


def union(values: Sequence[Value]) -> int:
    """The bytes in the union of the slots, counted one by one."""
    return len({
        (one.allocation_index, byte)
        for one in values
        for byte in range(one.offset_bytes, one.offset_bytes + one.size_bytes)
    })  # fmt: skip


@st.composite
def values(draw) -> Value:
    """Any value of a small world, in which names and shapes come up often."""
    logical, padding, slack = (draw(st.integers(0, most)) for most in (20, 8, 8))
    start = draw(st.integers(0, 6))
    shape = draw(st.sampled_from(["f32[2]{0}", "f32[2]{0:T(8)}", "s8[2]{0}", "f32[4]{0}", "(f32[2]{0}, s8[2]{0})"]))
    has_text = draw(st.booleans())
    is_parameter = has_text and draw(st.integers(0, 3)) == 0
    return value(
        logical + padding + slack, start, start + draw(st.integers(0, 4)), offset=draw(st.integers(0, 30)),
        allocation=draw(st.integers(0, 2)), memory_space=draw(st.integers(0, 1)),
        kind=draw(st.sampled_from(["parameter", "output", "temp"])), logical_bytes=logical,
        layout_padding_bytes=padding, slack_bytes=slack, shape_text=shape,
        element_type=None if shape.startswith("(") else shape.split("[")[0],
        opcode="parameter" if is_parameter else draw(st.sampled_from(["add", "copy"])) if has_text else None,
        parameter=f"{draw(st.integers(0, 2))} {{}}" if is_parameter else None,
        op_name=draw(st.sampled_from([None, "jit(f)/a/add", "jit(f)/b/mul"])) if has_text else None,
    )  # fmt: skip


PROGRAMS = st.lists(values(), max_size=12)
