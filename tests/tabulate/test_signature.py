"""The entry signature: what a program keeps from compiler to compiler."""

import pytest

from bufferhouse.dump import parse
from bufferhouse.dump.columns import Dumps
from bufferhouse.tabulate.tabulator import entry_signatures

VALUES = """
Total bytes used: {total}

Used values:
"""


def signature(*allocations: tuple[str, str | None]) -> str:
    """The signature of a dump with these headers, each with a value of a shape in it or none."""
    lines, blocks = ["BufferAssignment:"], []
    for index, (header, shape) in enumerate(allocations):
        lines.append(f"allocation {index}: size 8{header}:")
        if shape is not None:
            lines.append(f" value: <{index} v{index} @0> (size=8,offset=0): {shape}")
            blocks.append(f"<{index} v{index} @0>\n positions:\n  v{index}\n uses:\n")
    text = "\n".join(lines) + "\n" + VALUES.format(total=8 * len(allocations)) + "".join(blocks)
    [found] = entry_signatures(Dumps.of(parse(text.encode())))
    return found


LEAF = "(f32[4]{0}, (s32[]{:T(128)}, bf16[8,2]{1,0:T(8,128)(2,1)}))"
WHOLE = "(f32[4], (s32[], bf16[8,2]))"


@pytest.mark.parametrize(
    ("allocations", "expected"),
    [
        # By number, then by index, whatever the order of the allocations.
        (
            [
                (", parameter 10, shape |pred[]| at ShapeIndex {}", "pred[]"),
                (", parameter 2, shape |f32[4]| at ShapeIndex {}", "f32[4]{0}"),
                (", output shape is |s32[]|, maybe-live-out", "s32[]"),
            ],
            "(f32[4], pred[])->(s32[])",
        ),
        # Before jaxlib 0.7.2 each leaf shows the whole parameter, since then itself.
        (
            [
                (f", parameter 0, shape |{WHOLE}| at ShapeIndex {{1,1}}", "bf16[8,2]{1,0:T(8,128)(2,1)}"),
                (f", parameter 0, shape |{WHOLE}| at ShapeIndex {{0}}", "f32[4]{0}"),
                (f", parameter 0, shape |{WHOLE}| at ShapeIndex {{1,0}}", "s32[]{:T(128)}"),
                (f", parameter 0, shape |{WHOLE}| at ShapeIndex {{}}", LEAF),
            ],
            "(f32[4], s32[], bf16[8,2])->()",
        ),
        (
            [
                (", parameter 0, shape |bf16[8,2]| at ShapeIndex {1,1}", "bf16[8,2]{1,0}"),
                (", parameter 0, shape |f32[4]| at ShapeIndex {0}", "f32[4]{0}"),
                (", parameter 0, shape |(s32[], bf16[8,2])| at ShapeIndex {1}", "(s32[], bf16[8,2]{1,0})"),
                (", parameter 0, shape |s32[]| at ShapeIndex {1,0}", "s32[]"),
            ],
            "(f32[4], s32[], bf16[8,2])->()",
        ),
        # The oldest dialects print no shape, and a GPU may not know it: the value tells.
        ([(", parameter 0 at ShapeIndex {}", "f32[4]{0}")], "(f32[4])->()"),
        ([(", parameter 0, shape |<unknown shape>| at ShapeIndex {}", "f32[4]{0}")], "(f32[4])->()"),
        ([(", parameter 0 at ShapeIndex {}", None)], "()->()"),
        # Outputs: flattened from the one header that has them, else from what is live out.
        (
            [
                (", maybe-live-out", "f32[4]{0}"),
                (", output shape is |(f32[4], (s32[], ()))|, maybe-live-out", "(f32[4]{0}, (s32[], ()))"),
            ],
            "()->(f32[4], s32[])",
        ),
        ([(", maybe-live-out", "f32[4]{0}"), (", maybe-live-out", "(f32[4]{0}, s32[])")], "()->(f32[4], s32[])"),
        # A donated parameter is both.
        (
            [(", parameter 0, shape |f32[4]| at ShapeIndex {}, output shape is |f32[4]|, maybe-live-out", "f32[4]{0}")],
            "(f32[4])->(f32[4])",
        ),
        ([(", preallocated-temp", "f32[4]{0}")], "()->()"),
    ],
)
def test_signatures_of_all_dialects(allocations, expected):
    """Parameter leaves and output leaves without layout, from whatever the dialect prints."""
    assert expected == signature(*allocations)


def test_programs_of_the_fleet_keep_their_signature(example):
    """From jaxlib 0.4.13 to 0.10.0 and from CPU to TPU a program of the fleet is one program."""
    found = example.execute(
        "SELECT module_name, COUNT(DISTINCT entry_signature), COUNT(DISTINCT program_id), COUNT(DISTINCT run_id),"
        " MIN(entry_signature) FROM raw.observations JOIN raw.dumps USING (dump_id)"
        " WHERE module_name IS NOT NULL GROUP BY module_name"
    ).fetchall()
    assert 13 == len(found)
    assert {name: 1 for name, *_ in found} == {name: programs for name, _, programs, *_ in found}
    assert {name: 1 for name, *_ in found} == {name: signatures for name, signatures, *_ in found}
    assert all(8 <= runs for *_, runs, _ in found)
    signatures = {name: signature for name, *_, signature in found}
    assert "(f32[])->(f32[])" == signatures["jit_scalar_add"]
