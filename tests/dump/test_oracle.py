"""The oracle against the tables of the corpus, the compiler's own protos, and sums done by hand."""

import json
import tarfile

import pytest

from benchmarks import lean_reader, plain_reader
from bufferhouse.dump import instruction_text
from bufferhouse.paths import CHECKOUT
from bufferhouse.tabulate.shape import parse_shape
from tests import oracle
from tests.samples import BUILDS

CORPUS = CHECKOUT / ".." / "shared" / "corpus"
SUFFIX = "-buffer-assignment.txt"
# Allocations, values, positions, uses, schedule, live ranges, peak lines; total bytes; max position; printed
# peak position and its listed bytes; most listed bytes alive and their position.
SEED_ROWS = {
    "000": ((8, 9, 11, 10, 8, 9, 7), 18_980, 8, (7, 4_132), (4_140, 5)),
    "001": ((20, 19, 27, 17, 7, 7, 6), 52_288, 7, (6, 96), (96, 1)),
    "002": ((16, 25, 31, 31, 14, 16, 9), 172_580, 14, (13, 43_200), (49_232, 5)),
    "003": ((6, 11, 17, 16, 13, 11, 7), 40_448, 13, (9, 60), (60, 9)),
    "004": ((6, 6, 10, 8, 6, 6, 6), 524_320, 6, (5, 524_320), (524_320, 5)),
}
# By memory space: reserved, thread-local, sum of slots, logical bytes; occupied bytes and their position.
SEED_MEMORY_SPACES = {
    "000": {
        0: (9_760, 0, 9_760, 2_100, (9_728, 7)),
        1: (8_192, 0, 8_192, 2_048, (8_192, 1)),
        2: (4, 0, 4, 4, (4, 1)),
        6: (1_024, 0, 1_024, 8, (1_024, 5)),
    },
    "001": {0: (3_136, 49_152, 52_288, 176, (3_104, 1)), 1: (0, 0, 0, 0, (0, None))},
    "002": {
        0: (98_336, 4_608, 70_240, 30_820, (65_536, 13)),
        1: (69_632, 0, 59_392, 28_928, (41_472, 5)),
        2: (4, 0, 8, 8, (4, 1)),
    },
    "003": {
        0: (35_328, 0, 3_136, 76, (2_080, 2)),
        1: (4_608, 0, 1_024, 24, (1_024, 9)),
        6: (512, 0, 1_024, 8, (512, 7)),
    },
    "004": {0: (524_320, 0, 524_320, 524_320, (524_320, 5))},
}
PADDING_PARTS = ("slot_bytes", "logical_bytes", "layout_padding", "slack", "tuple_table_bytes")
SHARED_BYTES = """\
BufferAssignment:
allocation 0: size 16, thread-local:
 value: <1 inner @0> (size=16,offset=0): f32[4]{0}
allocation 1: size 300, preallocated-temp:
 value: <2 early @0> (size=200,offset=0): f32[50]{0}
 value: <3 late.b @0> (size=100,offset=150): f32[25]{0}
 value: <4 late.a{1} @0> (size=150,offset=100): f32[25]{0}
 value: <5 last @0> (size=8,offset=292): (f32[2]{0}, f32[2]{0})

Total bytes used: 316 (316B)

Used values:
<1 inner @0>
 positions:
  inner
 uses:
<2 early @0>
 positions:
  early
 uses:
<3 late.b @0>
 positions:
  late.b
 uses:
<4 late.a{1} @0>
 positions:
  late.a {1}
 uses:
<5 last @0>
 positions:
  last
 uses:


HloLiveRange (max 3):
  InstructionSequence:
    0:early
    1:late.a
    2:last
  BufferLiveRange:
    inner{}:0-1
    early{}:0-1
    late.b{}:1-1
    late.a{1}:1-2
    last{}:3-3
  Live ranges at 1 (peak):
    early: 200 bytes
"""


def seed_text(number: str) -> str:
    paths = sorted((CORPUS / "seeds").glob(f"{number}_*.txt"))
    if not paths:
        pytest.skip("the seeds of the corpus are not here")
    return paths[0].read_text()


def sampled_texts(build: str) -> list[dict[str, str]]:
    """The files of the smallest, the median and the largest dump of a build, each by the end of its name."""
    path = CORPUS / "builds" / f"{build}.tar.gz"
    if not path.exists():
        pytest.skip(f"the archive of {build} is not here")
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    names = [name for name in files if name.endswith(SUFFIX)]
    names.sort(key=lambda name: (len(files[name]), name))
    samples = []
    for name in (names[0], names[len(names) // 2], names[-1]):
        stem = name.removesuffix(SUFFIX)
        group = [other for other in files if other.startswith(stem)]
        samples.append({other.removeprefix(stem): files[other].decode() for other in group})
    return samples


def read(texts: dict[str, str]) -> dict:
    values, ranges = texts.get("-buffer-assignment-values.txt"), texts.get("-live-range.txt")
    if values is None:
        return oracle.read_dump(texts[SUFFIX])
    return oracle.read_split(texts[SUFFIX], values, ranges)


@pytest.mark.parametrize("number", SEED_ROWS)
def test_seed_has_the_rows_and_moments_of_the_corpus_table(number):
    """Every count and every moment of the first table of the corpus comes out of the seeds."""
    dump = oracle.read_dump(seed_text(number))
    values = dump["values"].values()
    counts = (len(dump["allocations"]), len(values), sum(len(value["positions"]) for value in values))
    counts += (sum(len(value["uses"]) for value in values), len(dump["schedule"]))
    counts += (len(dump["live_ranges"]), len(dump["peak_lines"]))
    printed = (dump["peak_position"], sum(line[2] for line in dump["peak_lines"]))
    most = oracle.peak(oracle.listed(dump))
    assert SEED_ROWS[number] == (counts, dump["total_bytes"], dump["max_position"], printed, most)


@pytest.mark.parametrize("number", SEED_MEMORY_SPACES)
def test_seed_has_the_bytes_of_the_corpus_table(number):
    """Every figure per memory space of the second table of the corpus comes out of the seeds."""
    dump = oracle.read_dump(seed_text(number))
    actual = {}
    for space, reserved in oracle.reserved(dump).items():
        held = [row["values"] for row in dump["allocations"] if row["memory_space"] == space]
        values = [dump["values"][number] for numbers in held for number in numbers]
        slots = sum(value["size"] for value in values)
        logical = sum(oracle.logical_bytes(value["shape"]) for value in values)
        occupied = oracle.peak(oracle.occupied(dump, space))
        actual[space] = (reserved, oracle.thread_local(dump)[space], slots, logical, occupied)
    assert SEED_MEMORY_SPACES[number] == actual


@pytest.mark.parametrize("number", SEED_ROWS)
def test_lean_reader_finds_the_rows_of_the_corpus_table(number):
    """The reader of the benchmark reads the seeds whole, one instruction text with its opcode per value."""
    tables = lean_reader.read(seed_text(number))
    names = ("allocations", "values", "positions", "uses", "schedule", "live_ranges", "peak_lines")
    counts, total, maximum, (peak_position, _), _ = SEED_ROWS[number]
    assert counts == tuple(len(tables[name]) for name in names)
    assert [(total, maximum, peak_position)] == tables["dump"]
    assert counts[1] == len([row for row in tables["instructions"] if row[2] is not None])


def test_lean_reader_takes_glued_lines_and_split_files_apart():
    """Both shapes of file that a plain line reader stumbles over give one instruction text per value."""
    for build in ("jaxlib-0.4.25", "jaxlib-0.10.0"):
        for texts in sampled_texts(build):
            parts = (SUFFIX, "-buffer-assignment-values.txt", "-live-range.txt")
            tables = lean_reader.read("".join(texts.get(part, "") for part in parts))
            values = sorted(read(texts)["values"].values(), key=lambda value: value["id"])
            expected = [(value["id"], value["instruction_text"]) for value in values]
            assert expected == [row[:2] for row in tables["instructions"]]


def plain_rows(text: str) -> dict[str, list[dict]]:
    tables: dict[str, list[dict]] = {}
    plain_reader.read(text, lambda table, row: tables.setdefault(table, []).append(row))
    return tables


@pytest.mark.parametrize("number", SEED_ROWS)
def test_plain_reader_finds_the_rows_of_the_corpus_table(number):
    """The other reader of the benchmark reads the seeds whole, with the bytes of every shape."""
    tables = plain_rows(seed_text(number))
    names = ("allocations", "hlo_values", "positions", "uses", "schedule", "live_ranges", "peak_buffers")
    counts, total, maximum, (peak_position, _), _ = SEED_ROWS[number]
    assert counts == tuple(len(tables.get(name, ())) for name in names)
    [numbers] = [{k: v for row in tables["dumps"] for k, v in row.items() if k in ("total", "max", "peak")}]
    assert {"total": total, "max": maximum, "peak": peak_position} == numbers
    shapes = [row["shape"] for row in tables["hlo_values"] if "logical" in row["shape"]]
    parsed = [parse_shape(shape["text"]) for shape in shapes]
    assert [(p.logical_bytes, p.dims) for p in parsed] == [(s["logical"], tuple(s["dims"])) for s in shapes]
    assert [p.physical_bytes for p in parsed if p.layout_memory_space != 2] == [
        s["physical"] for s, p in zip(shapes, parsed, strict=True) if p.layout_memory_space != 2
    ]


def test_plain_reader_reads_what_instructions_say():
    """Opcode, name, place and operands of every instruction of a build are those of the project's own reader."""
    for build in ("jaxlib-0.4.25", "tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8"):
        for texts in sampled_texts(build):
            rows = plain_rows("".join(texts.get(part, "") for part in (SUFFIX,)))["instruction_texts"]
            own = instruction_text.read([row["text"] for row in rows])
            for column in ("opcode", "op_name", "source_file", "source_line", "stack_frame_id", "custom_call_target"):
                assert getattr(own, column) == [row.get(column) for row in rows]
            assert own.operands == [tuple(row["operands"]) for row in rows]


@pytest.mark.parametrize("build", BUILDS)
def test_oracle_agrees_with_the_compiler(build):
    """Allocations, flags, slots, names, indices and memory spaces are those of `BufferAssignmentProto`."""
    for texts in sampled_texts(build):
        dump, truth = read(texts), json.loads(texts[f"{SUFFIX}.truth.json"])
        assert [allocation_of_proto(row) for row in truth["allocations"]] == [
            allocation_of_dump(row, dump["values"]) for row in dump["allocations"]
        ]
        assert {
            row["id"]: (row["instruction"], tuple(row["shape_index"]), row["color"]) for row in truth["logical_buffers"]
        } == {
            number: (value["name"], value["index"] or (), value["memory_space"])
            for number, value in dump["values"].items()
        }


def allocation_of_proto(row: dict) -> tuple:
    is_parameter = row["is_entry_computation_parameter"]
    return (
        (row["index"], row["size"], row["color"]),
        (row["is_constant"], row["is_thread_local"], row["maybe_live_out"]),
        (row["parameter_number"], tuple(row["parameter_shape_index"])) if is_parameter else None,
        sorted((slot["logical_buffer_id"], slot["offset"], slot["size"]) for slot in row["assigned"]),
    )


def allocation_of_dump(row: dict, values: dict) -> tuple:
    is_parameter = row["parameter_number"] is not None
    return (
        (row["index"], row["size"], row["memory_space"]),
        (row["is_constant"], row["is_thread_local"], row["is_maybe_live_out"]),
        (row["parameter_number"], row["parameter_shape_index"]) if is_parameter else None,
        [(number, values[number]["offset"], values[number]["size"]) for number in row["values"]],
    )


def test_listed_bytes_are_those_of_the_printed_peak():
    """Where XLA prints a value's own bytes (D8b and later) they add up to the listed bytes alive there."""
    for build in ("jaxlib-0.6.0", "jaxlib-0.9.0", "jaxlib-0.10.0", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"):
        for texts in sampled_texts(build):
            dump = read(texts)
            printed = sum(line[2] for line in dump["peak_lines"])
            assert printed == oracle.listed(dump)[dump["peak_position"]]


def test_tensorflow_1_is_refused_by_name():
    """A dump from before 2019-09 is refused with an error that says so."""
    for texts in sampled_texts("tensorflow-1.15.0"):
        with pytest.raises(ValueError, match="pre-2019-09 dialect"):
            oracle.read_dump(texts[SUFFIX])


def test_pointers_and_nothing_behind_the_allocations_is_refused():
    """Headers with a pointer and no later section can only be older than 2019-09."""
    with pytest.raises(ValueError, match="pre-2019-09 dialect"):
        oracle.read_dump("BufferAssignment:\nallocation 0: 0x55d0, size 8, constant:\n")


@pytest.mark.parametrize("line", ["allocation 5: size 1, temp:", "anything", " value: <1 a> (size=1): f32[]"])
def test_an_unknown_line_is_refused(line):
    """A line that the grammar does not have is an error and not skipped."""
    with pytest.raises(ValueError, match="not a line of an allocation"):
        oracle.read_dump(f"BufferAssignment:\n{line}\n")


def test_header_parts_of_all_dialects_are_read():
    """A header gives every part that any dialect prints, down to pages (D12)."""
    header = (
        "allocation 0: 0x1f, size 64, color 1, page 3, parameter 2, shape |(f32[4], s32[])| "
        "at ShapeIndex {0,1}, output shape is |f32[4]|, constant, maybe-live-out:"
    )
    expected = {
        "index": 0,
        "pointer": "0x1f",
        "size": 64,
        "memory_space": 1,
        "page": 3,
        "parameter_number": 2,
        "parameter_shape_index": (0, 1),
        "parameter_shape": "(f32[4], s32[])",
        "output_shape": "f32[4]",
        "is_constant": True,
        "is_thread_local": False,
        "is_maybe_live_out": True,
        "is_preallocated_temp": False,
        "values": [],
        "cross_color_values": [],
    }
    text = f"BufferAssignment:\n{header}\n\nTotal bytes used: 64\n"
    assert [expected] == oracle.read_dump(text)["allocations"]


def test_an_allocations_file_alone_is_a_whole_dump():
    """Values and cross-color values (D11b) are read, and what the missing files would say is unknown."""
    text = (
        "BufferAssignment:\n"
        "allocation 0: size 64, preallocated-temp:\n"
        " value: <70 while.1{1} (phi) @0> (size=60,offset=4): f32[15]{0}\n"
        " reused by buffers of a different color:\n"
        "  value: <70 while.1{1} (phi) @0> (color=2)\n"
    )
    head = {"id": 70, "name": "while.1", "index": (1,), "is_phi": True, "memory_space": 0}
    slot = {"allocation": 0, "offset": 4, "size": 60, "shape": "f32[15]{0}"}
    unknown = {"positions": [], "uses": None, "instruction_text": None, "live_range": None}
    dump = oracle.read_dump(text)
    assert {70: head | slot | unknown} == dump.pop("values")
    (allocation,) = dump.pop("allocations")
    expected = {"values": [70], "cross_color_values": [(70, 2)]}
    assert expected == {name: allocation[name] for name in expected}
    absent = ("schedule", "live_ranges", "max_position", "peak_position", "peak_lines", "total_bytes")
    assert dict.fromkeys(absent) == dump


def test_used_values_of_all_dialects_are_read():
    """Glued heads, raw text over several lines and three ways to say "no uses" do not change what is read."""
    values = (
        "\nTotal bytes used: 12\n\nUsed values:\n"
        "<0 a>\n positions:\n  a\n uses are not initialized yet.\n from instruction:%a = f32[] foo()\n"
        "<1 b{} @0>\n positions:\n  b {}\n  c {0,1}\n uses:\n  (none)\n"
        ' from instruction: %b = () foo(), backend_config={"x":\n uses:\n\n<9 z @0>}<2 d @0>\n'
        " positions:\n  d\n uses:\n  e, operand 3 {1,0}\n  f, operand 0\n"
        " from instruction: %d = f32[] foo()\n"
    )
    allocations = "BufferAssignment:\n"
    for number, head in enumerate(("<0 a>", "<1 b{} @0>", "<2 d @0>")):
        allocations += f"allocation {number}: size 4, constant:\n value: {head} (size=4,offset=0): f32[]\n"
    unavailable = "HloLiveRange not available (finalized or constructed from proto)"
    dump = oracle.read_split(allocations, values, unavailable)
    expected = [
        ([("a", None)], None, "%a = f32[] foo()"),
        ([("b", ()), ("c", (0, 1))], [], '%b = () foo(), backend_config={"x":\n uses:\n\n<9 z @0>}'),
        ([("d", None)], [("e", 3, (1, 0)), ("f", 0, None)], "%d = f32[] foo()"),
    ]
    names = ("positions", "uses", "instruction_text")
    assert expected == [tuple(value[name] for name in names) for value in dump["values"].values()]
    assert dump["live_ranges"] is None


def test_an_unbounded_peak_has_no_position():
    """Where XLA says that it cannot determine the peak (D12), the ranges are read and the peak is None."""
    sentence = "  Peak memory could not be determined due to unbounded dynamic shape.\n"
    dump = oracle.read_dump(SHARED_BYTES[: SHARED_BYTES.index("  Live ranges at")] + sentence)
    expected = [("inner", (), 0, 1), ("early", (), 0, 1), ("late.b", (), 1, 1)]
    expected += [("late.a", (1,), 1, 2), ("last", (), 3, 3)]
    assert expected == dump["live_ranges"]
    assert dump["peak_position"] is None
    assert dump["peak_lines"] is None


def test_shared_bytes_are_occupied_once_and_owned_once():
    """At a shared instant the union counts each byte once; the last to start owns it, then the lowest id.

    A thread-local value is not in the union even if it has a range, though XLA's listing has it.
    """
    dump = oracle.read_dump(SHARED_BYTES)
    occupied, listed, owned_at_1 = [200, 250, 150, 8], [216, 416, 100, 16], {2: 100, 3: 100, 4: 50}
    assert occupied == oracle.occupied(dump, 0)
    assert listed == oracle.listed(dump)
    assert owned_at_1 == oracle.owners(dump, 0, 1)


def test_memory_spaces_are_those_of_the_allocations():
    """Every memory space with an allocation has both figures, and a space without one lists nothing."""
    dump = oracle.read_dump(SHARED_BYTES)
    reserved, thread_local, nothing = {0: 300}, {0: 16}, [0, 0, 0, 0]
    assert reserved == oracle.reserved(dump)
    assert thread_local == oracle.thread_local(dump)
    assert oracle.listed(dump) == oracle.listed(dump, memory_space=0)
    assert nothing == oracle.listed(dump, memory_space=1)


def padding_by_kind(dump: dict) -> dict[str, tuple]:
    found = {}
    for kind, row in oracle.padding(dump, 0)["kinds"].items():
        fillings = [tuple(row[when][part] for part in PADDING_PARTS) for when in ("alive", "all_values")]
        found[kind] = (row["occupied_bytes"], *fillings)
    return found


def test_padding_of_a_seed_done_by_hand():
    """In seed 000 the tiles waste 7,652 bytes at the peak of HBM; the tuple table is dead by then."""
    nothing = (0, 0, 0, 0, 0)
    expected = {
        "parameter": (9_216, (9_216, 2_056, 7_160, 0, 0), (9_216, 2_056, 7_160, 0, 0)),
        "output": (512, (512, 20, 492, 0, 0), (512, 20, 492, 0, 0)),
        "constant": (0, nothing, nothing),
        "temp": (0, nothing, (32, 0, 0, 8, 24)),
        "thread_local": (0, nothing, nothing),
    }
    assert expected == padding_by_kind(oracle.read_dump(seed_text("000")))


def test_padding_counts_whole_values_and_no_more_table_than_slot():
    """Values that share bytes are counted whole; a tuple table is never more than its slot."""
    nothing = (0, 0, 0, 0, 0)
    expected = {
        "parameter": (0, nothing, nothing),
        "output": (0, nothing, nothing),
        "constant": (0, nothing, nothing),
        "temp": (250, (450, 400, 0, 50, 0), (458, 400, 0, 50, 8)),
        "thread_local": (0, nothing, (16, 16, 0, 0, 0)),
    }
    assert expected == padding_by_kind(oracle.read_dump(SHARED_BYTES))


@pytest.mark.parametrize("number", SEED_MEMORY_SPACES)
def test_padding_closes(number):
    """Parts sum to slots, kinds sum to the peak, and so do the owned bytes."""
    dump = oracle.read_dump(seed_text(number))
    for space, (*_, slots, _, (peak_bytes, _)) in SEED_MEMORY_SPACES[number].items():
        found = oracle.padding(dump, space)
        kinds = found["kinds"].values()
        assert peak_bytes == sum(found["owned_bytes"].values())
        assert peak_bytes == sum(kind["occupied_bytes"] for kind in kinds)
        assert slots == sum(kind["all_values"]["slot_bytes"] for kind in kinds)
        for row in [kind[when] for kind in kinds for when in ("alive", "all_values")]:
            assert row["slot_bytes"] == sum(row[part] for part in PADDING_PARTS[1:])


@pytest.mark.parametrize(
    ("logical", "shape"),
    [
        (2048, "f32[16,32]{1,0:T(8,128)S(1)}"),
        (4, "u32[]{:S(2)}"),
        (1, "pred[]"),
        (100, "s4[100]{0}"),
        (50, "s4[100]{0:T(1024)(128)(8,1)E(4)}"),
        (26, "s2[101]{0:E(2)}"),
        (160, "f32[<=10,4]{1,0}"),
        (32, "c128[2]"),
        (3, "f8e4m3b11fnuz[3]"),
        (6, "bf16[3]"),
        (0, "f32[0,8]"),
        (0, "token[]"),
        (8, "opaque[]"),
        (0, "()"),
        (16, "((f32[2]{0}, s32[]), f32[4,4]{1,0})"),
        (48, "(f32[1], f32[1], f32[1], f32[1], f32[1], /*index=5*/f32[2,3]{1,0})"),
    ],
)
def test_logical_bytes(logical, shape):
    """Logical bytes are those of `ShapeUtil::ByteSizeOf` with pointers of eight bytes."""
    assert logical == oracle.logical_bytes(shape)


@pytest.mark.parametrize(
    ("physical", "shape"),
    [
        (8192, "f32[16,32]{1,0:T(8,128)}"),
        (1024, "u32[3,2]{0,1:T(2,128)}"),
        (512, "s32[]{:T(128)}"),
        (4096, "bf16[3,5]{1,0:T(8,256)(2,1)}"),
        (512, "s4[100]{0:T(1024)(128)(8,1)E(4)}"),
        (8192, "f32[32,64]{1,0:T(8,128)S(1)SC(0:16)}"),
        (3 * 1024 * 4, "f32[3,10,100]{2,1,0:T(*,128)}"),
        (24, "f32[2,3]{1,0}"),
        (16, "(f32[2]{0:T(128)}, f32[2]{0:T(128)})"),
    ],
)
def test_physical_bytes(physical, shape):
    """An array is rounded up to its first tile in physical order; a shape without a tile has no padding."""
    assert physical == oracle.physical_bytes(shape)
