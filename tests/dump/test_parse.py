"""The reader on real dumps, on the dialects no real dump at hand shows, and on dumps generated from the grammar."""

import pytest
from hypothesis import HealthCheck, given, settings

from bufferhouse.dump import Dump, DumpError, parse, render
from tests.corpus import Count
from tests.dump.facts import assert_read_back, facts, facts_for_proto, facts_of_proto, oracle_facts
from tests.dump.strategies import dumps
from tests.fuzz import HOSTILE, outcome
from tests.samples import BUILDS, Sample, of_archive, of_fleet

FLEET = of_fleet()
# Each compiler, platform and layout of files once. The dialects of the others are those of examples, which are read
# against the slow reader, and that against protos (test_oracle.py); `make soak` reads all.
OTHERS = {
    *(f"jaxlib-{version}" for version in ("0.4.25", "0.4.38", "0.6.0", "0.7.0", "0.8.0", "0.9.0")),
    *("tensorflow-2.5.3", "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8"),
}


def read(text: str) -> Dump:
    """Read one combined file that has to come back byte for byte."""
    dump = parse(text.encode())
    assert {"combined": text.encode()} == render(dump)
    return dump


@pytest.mark.parametrize("sample", FLEET, ids=[sample.name for sample in FLEET])
def test_every_example_is_read_whole(sample: Sample):
    """Its bytes come back, and every fact of it is the one the slow reader finds."""
    dump = parse(sample.files)
    assert sample.files == render(dump)
    assert oracle_facts(sample.files) == facts(dump)


@pytest.mark.corpus
@pytest.mark.parametrize(
    "build", [pytest.param(name, marks=pytest.mark.soak if name in OTHERS else ()) for name in BUILDS]
)
def test_every_dump_of_a_build_is_read_whole(corpus, build: str):
    """Byte-exact, with the facts of the slow reader, and with those of the compiler's own proto."""
    count = Count()
    for sample in of_archive(corpus / "builds" / f"{build}.tar.gz"):
        count.add(sample)
    assert [] == count.problems
    assert (count.dumps, 0) == (count.by_truth, count.refused)
    assert count.dumps > 0


@pytest.mark.corpus
def test_tensorflow_1_is_refused_by_name(corpus):
    """A dump from before 2019-09 is refused, and the message says that it is one."""
    count = Count()
    for sample in of_archive(corpus / "builds" / "tensorflow-1.15.0.tar.gz"):
        count.add(sample)
    assert (18, 18, []) == (count.dumps, count.refused, count.problems)


@pytest.mark.corpus
def test_a_fact_that_differs_from_the_proto_is_noticed(corpus):
    """The comparison with the compiler's proto is one that can fail."""
    sample = next(iter(of_archive(corpus / "builds" / "jaxlib-0.9.0.tar.gz")))
    dump = parse(sample.files)
    dump.values.offset_bytes[0] += 1
    assert facts_of_proto(sample.truth) != facts_for_proto(dump)


@given(dumps())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_generated_dump_is_read_back(dump: Dump):
    """Whatever the grammar allows in any combination of features: the same columns and the same bytes."""
    assert_read_back(dump)


@pytest.mark.soak
@given(dumps())
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_generated_dumps_are_read_back(dump: Dump):
    """The same, at length."""
    assert_read_back(dump)


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_ends_on_hostile_input(name: str):
    """A megabyte made to be read over and over are accepted whole or refused like any other input."""
    assert outcome({"combined": HOSTILE[name](1_000_000)}) in ("accepted", "refused")


def allocation(header: str) -> dict:
    """Read one allocation header and return what stands in it."""
    dump = read(f"BufferAssignment:\n{header}\n\nUsed values:\n")
    defaults = {"memory_space": 0, "is_constant": False, "is_thread_local": False, "is_maybe_live_out": False}
    return {
        name: value
        for name, value in facts(dump)["allocations"][0].items()
        if value != defaults.get(name) and name not in ("index", "values", "cross_color_values", "is_preallocated_temp")
    }


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "allocation 0: 0x55d0c8e0, size 8192, parameter 0 at ShapeIndex {}:",
            {"pointer": "0x55d0c8e0", "size": 8192, "parameter_number": 0, "parameter_shape_index": ()},
        ),
        (
            "allocation 0: 0x153084e0, size 32, output shape is |(f32[2], f32[2])|, maybe-live-out:",
            {"pointer": "0x153084e0", "size": 32, "output_shape": "(f32[2], f32[2])", "is_maybe_live_out": True},
        ),
        ("allocation 0: size 8192, color 1, preallocated-temp:", {"size": 8192, "memory_space": 1}),
        (
            "allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {0,1}, output shape is |f32[16]|,"
            " maybe-live-out:",
            {
                "size": 64,
                "parameter_number": 0,
                "parameter_shape": "f32[16]",
                "parameter_shape_index": (0, 1),
                "output_shape": "f32[16]",
                "is_maybe_live_out": True,
            },
        ),
        (
            "allocation 0: size 8192, color 1, page 0, preallocated-temp:",
            {"size": 8192, "memory_space": 1, "page": 0},
        ),
        ("allocation 0: size 1, page 3, preallocated-temp:", {"size": 1, "page": 3}),
        ("allocation 0: size 1, page -2, preallocated-temp:", {"size": 1, "page": -2}),
        (
            "allocation 0: size 8, parameter 1, shape |<unknown shape>| at ShapeIndex {}:",
            {
                "size": 8,
                "parameter_number": 1,
                "parameter_shape": "<unknown shape>",
                "parameter_shape_index": (),
            },
        ),
        (
            "allocation 0: size 0, constant, thread-local, maybe-live-out:",
            {"size": 0, "is_constant": True, "is_thread_local": True, "is_maybe_live_out": True},
        ),
        ("allocation 0: size 0, color 7, preallocated-temp:", {"size": 0, "memory_space": 7}),
        ("allocation 0: size 9007199254740992, constant:", {"size": 2**53, "is_constant": True}),
        (
            "allocation 0: size 1, color 9223372036854775807, page 9223372036854775807, preallocated-temp:",
            {"size": 1, "memory_space": 2**63 - 1, "page": 2**63 - 1},
        ),
    ],
)
def test_headers_of_all_dialects(header: str, expected: dict):
    """Every optional part of a header, alone and beside others, comes out as its column."""
    assert expected == {name: value for name, value in allocation(header).items() if value is not None}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<70 while.1{1} (phi) @0> (size=64,offset=128): f32[16]{0}", (70, "while.1", (1,), True, 0, 64, 128)),
        ("<11 add.3 @0> (size=4096,offset=0): u32[]", (11, "add.3", None, False, 0, 4096, 0)),
        ("<0 a-b.1-2 (phi)> (size=0,offset=0): token[]", (0, "a-b.1-2", None, True, None, 0, 0)),
        ("<3 _{} @5> (size=16,offset=0): ()", (3, "_", (), False, 5, 16, 0)),
        (
            "<9223372036854775807 x{0,1,2}> (size=1,offset=9)" + ": b(f32[4]{0})",
            (2**63 - 1, "x", (0, 1, 2), False, None, 1, 9),
        ),
        (f"<1 {'n' * 300}{{0}} @1> (size=2,offset=0): pred[?,<=8]{{1,0}}", (1, "n" * 300, (0,), False, 1, 2, 0)),
    ],
)
def test_value_lines_of_all_dialects(line: str, expected: tuple):
    """Index, phi and memory space are there or not; the shape is any text without a colon and a space."""
    dump = read(f"BufferAssignment:\nallocation 0: size 0, constant:\n value: {line}\n")
    value = next(iter(facts(dump)["values"].values()))
    names = ("id", "name", "index", "is_phi", "memory_space", "size", "offset")
    assert expected == tuple(value[name] for name in names)
    assert line.split("): ")[1] == value["shape"]


@pytest.mark.parametrize(
    "shape",
    [
        "(bf16[8,<=128]{1,0:T(8,128)(2,1)S(1)}, s4[16]{0:E(4)}, token[], u32[]{:S(2)}, (), /*index=5*/f32[?]{0})",
        "f32[2,3]{1,0:D(D,C)T(*,128)L(128)#(u8)*(u32)E(4)S(1)SC(0:16)(1:8,9)P((f32[2]{0}, u8[]))M(512)}",
        "f32[4]{0:T(8,Invalid value -5)}",
        "b((f32[2]{0}, token[]))",
        "(((())))",
    ],
)
def test_shapes_are_kept_as_printed(shape: str):
    """Every property of a layout, tuples with comments, buffers and unbounded dimensions stay as they are."""
    text = f"BufferAssignment:\nallocation 0: size 0, constant:\n value: <1 a> (size=0,offset=0): {shape}\n"
    assert [shape] == read(text).values.shape


FIRST_DIALECT = """\
BufferAssignment:
allocation 0: 0x55d0c8e0, size 8, parameter 0 at ShapeIndex {}:
 value: <1 p> (size=8,offset=0): f32[2]{0}
allocation 1: 0x55d0c8f0, size 8, maybe-live-out:
 value: <3 add.1> (size=8,offset=0): f32[2]{0}

Used values:
<1 p>
 positions:
  p
 uses:
  add.1, operand 0
<3 add.1>
 positions:
  add.1
 uses:
"""


def test_the_dialect_of_2019_09_has_no_total_no_text_and_no_live_range():
    """D1: pointers, values with sizes, positions and uses, and nothing else."""
    dump = read(FIRST_DIALECT)
    assert (None, None, "absent", False, "empty") == (
        dump.total_bytes,
        dump.total_human,
        dump.live_range_state,
        dump.has_instruction_texts,
        dump.none_form,
    )
    assert ["0x55d0c8e0", "0x55d0c8f0"] == dump.allocations.pointer
    assert [(1, "p", "listed"), (3, "add.1", "empty")] == list(
        zip(dump.values.value_id, dump.values.instruction, dump.values.uses_state, strict=True)
    )


@pytest.mark.parametrize(
    ("total", "expected"),
    [("", (None, None)), ("Total bytes used: 16\n\n", (16, None)), ("Total bytes used: 16 (16B)\n\n", (16, "16B"))],
)
def test_the_total_was_added_in_two_steps(total: str, expected: tuple):
    """D2 brought the total, D5 the size for people; every step can stand without the next."""
    dump = read(FIRST_DIALECT.replace("Used values:", f"{total}Used values:"))
    assert expected == (dump.total_bytes, dump.total_human)


def test_uses_that_are_unknown_are_not_uses_that_are_none():
    """`uses are not initialized yet.`, an empty list and `(none)` are three forms and two states."""
    unknown = read(FIRST_DIALECT.replace(" uses:\n  add.1, operand 0\n", " uses are not initialized yet.\n"))
    assert ["uninitialized", "empty"] == unknown.values.uses_state
    assert [0, 0] == unknown.uses.count
    none = read(FIRST_DIALECT + "  (none)\n")
    assert (["listed", "empty"], "none") == (none.values.uses_state, none.none_form)


def test_nested_indices_of_positions_and_uses():
    """An index of any depth stands behind a space at positions and uses."""
    text = FIRST_DIALECT.replace("  p\n", "  p\n  q {0,1,2}\n  r {}\n").replace("operand 0\n", "operand 3 {1,0}\n")
    dump = read(text)
    assert [None, "{0,1,2}", "{}", None] == dump.positions.shape_index
    assert ([3], ["{1,0}"]) == (dump.uses.operand_number, dump.uses.operand_shape_index)


CROSS_COLOR = """\
BufferAssignment:
allocation 0: size 64, color 1, preallocated-temp:
 value: <2 copy @1> (size=64,offset=0): f32[16]{0}
 reused by buffers of a different color:
  value: <9 add.3{1} (phi) @0> (color=0)
  value: <2 copy @1> (color=1)
allocation 1: size 64, preallocated-temp:
 value: <9 add.3{1} (phi) @0> (size=64,offset=0): f32[16]{0}
"""


def test_values_of_another_color_repeat_values_of_some_allocation():
    """D11b: the block names values, with the memory space they have there, and adds no value."""
    dump = read(CROSS_COLOR)
    assert [[(9, 0), (2, 1)], []] == [row["cross_color_values"] for row in facts(dump)["allocations"]]
    assert [[2], [9]] == [row["values"] for row in facts(dump)["allocations"]]


def test_several_values_share_the_allocation_of_a_donated_parameter():
    """Same offset, other sizes and shapes, partial overlaps: places need not be unique."""
    lines = [
        " value: <0 p @0> (size=64,offset=0): f32[16]{0}",
        " value: <5 while{0} (phi) @0> (size=64,offset=0): f32[16]{0}",
        " value: <7 token @0> (size=0,offset=32): token[]",
        " value: <8 half @3> (size=32,offset=16): f32[8]{0}",
    ]
    header = "allocation 0: size 64, parameter 0 at ShapeIndex {}, output shape is |f32[16]|, maybe-live-out:"
    dump = read("\n".join(["BufferAssignment:", header, *lines, ""]))
    assert [0, 5, 7, 8] == dump.values.value_id
    assert [0, 0, 32, 16] == dump.values.offset_bytes


def test_allocations_without_values_and_nothing_at_all():
    """A preset region holds no value, and an empty dump no allocation."""
    assert [0, 4] == read(
        "BufferAssignment:\nallocation 0: size 0, color 1, preallocated-temp:\nallocation 1: size 4, constant:\n"
    ).allocations.size_bytes
    assert [] == read("BufferAssignment:\n").allocations.size_bytes
    assert read("BufferAssignment:\n\nTotal bytes used: 0 (0B)\n\nUsed values:\n").has_used_values


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_line_feeds_behind_the_end_are_counted(count: int):
    """They are no part of any section, wherever the dump ends."""
    for text in ("BufferAssignment:\n", CROSS_COLOR, FIRST_DIALECT):
        assert {"combined": count} == read(text + "\n" * count).trailing_newlines


@pytest.mark.parametrize("data", [b"\xff", b"\xe2\x94", b"\xed\xa0\x80", "é".encode("latin-1")])
def test_bytes_that_are_no_utf_8_are_kept(data: bytes):
    """They can stand in an instruction text; every other byte of the dump is then read as latin-1, and none is lost."""
    traced = next(sample for sample in FLEET if b"Stack trace" in sample.files.get("combined", b""))
    mark = b'metadata={op_name="'
    damaged = traced.files["combined"].replace(mark, mark + data + "é".encode(), 1)
    dump = parse(damaged)
    assert "latin-1" == dump.text_encoding
    assert {"combined": damaged} == render(dump)


def test_one_file_of_three_decides_the_encoding_of_all():
    """A split dump is one dump: its texts are of one encoding."""
    sample = next(sample for sample in FLEET if "values" in sample.files)
    values = sample.files["values"].replace(b'op_name="', b'op_name="\xff', 1)
    dump = parse({**sample.files, "values": values})
    assert "latin-1" == dump.text_encoding
    assert {**sample.files, "values": values} == render(dump)


@pytest.mark.parametrize("roles", [(), ("values",), ("live_range",), ("values", "live_range")])
def test_any_siblings_of_a_split_dump_may_be_missing(roles: tuple[str, ...]):
    """What is there is read, and the roles say what that is; one file alone is a whole dump."""
    sample = next(sample for sample in FLEET if "values" in sample.files)
    files = {role: data for role, data in sample.files.items() if role in ("allocations", *roles)}
    dump = parse(files)
    assert files == render(dump)
    assert ("values" in roles, "live_range" in roles) == (dump.has_used_values, dump.live_range_state == "present")


def test_sections_give_the_same_rows_in_one_file_and_in_three():
    """Only the layout and the counts of line feeds tell a split dump from the same one in one file."""
    for sample in FLEET:
        if "values" not in sample.files:
            continue
        parts = [sample.files[role] for role in ("allocations", "values")]
        split, combined = parse(sample.files), parse(b"".join([*parts, b"\n\n", sample.files["live_range"]]))
        combined.file_layout, combined.trailing_newlines = split.file_layout, split.trailing_newlines
        assert split == combined


@pytest.mark.parametrize(
    "files", [{}, {"values": b""}, {"combined": b"", "values": b""}, {"allocations": b"", "x": b""}]
)
def test_roles_that_make_no_dump_are_a_mistake_of_the_caller(files: dict):
    """They are no property of any input, so they are no DumpError."""
    with pytest.raises(ValueError, match="files of one dump are") as caught:
        parse(files)
    assert not isinstance(caught.value, DumpError)


# Text of which an arithmetic proof alone would say that it is a section: what is skipped is as long as what is counted
# twice.
HEADER = "allocation 0: size 4, constant:\n"
CROSS_TITLE = " reused by buffers of a different color:"


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER} value: <1 a> (size=1,offset=0): {HEADER}" + "x" * (len(HEADER) - 1) + "\n",
        f"{HEADER} value: <1 a> (size=1,offset=0): f32[]{CROSS_TITLE}\n" + "x" * len(CROSS_TITLE) + "\n",
        f"{HEADER}  value: <1 a> (size=1,offset=0): x> (color=0)\n",
        f"{HEADER}  value: <1 a> (size=1,offset=0): f32[]\n",
        FIRST_DIALECT.partition("\n")[2].replace("<3 add.1>\n", "\n<3 add.1>\n"),
    ],
)
def test_what_is_counted_twice_hides_nothing_that_is_skipped(text: str):
    """Lines inside lines, and an empty line between blocks, are refused like any other foreign text."""
    with pytest.raises(DumpError):
        parse(f"BufferAssignment:\n{text}".encode())
