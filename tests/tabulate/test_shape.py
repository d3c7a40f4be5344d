"""Shape texts: the examples of the format description, the corpus, and shapes generated from the grammar."""

import math
import pickle
import re
import tarfile
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.paths import CHECKOUT
from bufferhouse.tabulate.shape import Shape, ShapeError, leaves, parse_shape, subshape, without_layout

BUILDS = CHECKOUT / ".." / "shared" / "corpus" / "builds"
needs_builds = pytest.mark.skipif(not BUILDS.is_dir(), reason="the corpus of real dumps is absent")
examples = settings(deadline=None, max_examples=50)
# TPU builds with the number of different tiled slots, so that no test passes for want of slots.
TILED_SLOTS = {"tpu-v5e-jaxlib-0.4.38-libtpu-0.0.8": 184, "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33": 415}
# CPU and GPU builds with the slots that are larger than their shape: those of larger alias sets.
OUTSIZED_SLOTS: dict[str, set[tuple[str, int]]] = {
    "gpu-sm90-jaxlib-0.10.2-userbuffers": set(),
    "jaxlib-0.10.0": set(),
    "jaxlib-0.4.13": {("f32[16,64]{1,0}", 16384), ("f32[16]{0}", 256)},
    "jaxlib-0.4.25": set(),
    "jaxlib-0.4.38": set(),
    "jaxlib-0.6.0": set(),
    "jaxlib-0.7.0": set(),
    "jaxlib-0.8.0": set(),
    "jaxlib-0.9.0": set(),
    "tensorflow-2.1.4": set(),
    "tensorflow-2.10.1": set(),
    "tensorflow-2.21.0": set(),
    "tensorflow-2.5.3": set(),
}
# Builds whose peak lines name a shape index (from D8b on), with the number of these lines.
INDEXED_PEAK_LINES = {
    "gpu-sm90-jaxlib-0.10.2-userbuffers": 92,
    "jaxlib-0.10.0": 1294,
    "jaxlib-0.6.0": 1270,
    "jaxlib-0.7.0": 1262,
    "jaxlib-0.8.0": 1277,
    "jaxlib-0.9.0": 1277,
    "tensorflow-2.21.0": 218,
    "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33": 1039,
}

# shape text, element bits, logical bytes, physical bytes
SIZES = [
    ("f32[16,32]{1,0:T(8,128)}", 32, 2048, 8192),
    ("f32[16,32]{1,0:T(8,128)S(1)}", 32, 2048, 8192),
    ("f32[16,32]{0,1:T(8,128)}", 32, 2048, 32 * 128 * 4),
    ("s32[]{:T(128)}", 32, 4, 512),
    ("u32[]{:T(128)S(2)}", 32, 4, 4),
    ("u32[]{:S(2)}", 32, 4, 4),
    ("f32[32,64]{1,0:T(8,128)S(1)SC(0:16)}", 32, 8192, 8192),
    ("f32[32,64]{0,1:T(8,128)SC(0:16,40)}", 32, 8192, 24 * 128 * 4),
    ("f32[32,64]{1,0:T(8,128)SC(1:16)}", 32, 8192, 32 * 128 * 4),
    ("f32[<=10,4]{1,0}", 32, 160, 160),
    ("f32[<=8,?]", 32, None, None),
    ("f32[?]{0}", 32, None, None),
    ("f32[?]{0:T(128)}", 32, None, None),
    ("bf16[8,<=128]{1,0:T(8,128)(2,1)S(1)}", 16, 2048, 2048),
    ("bf16[3,5,7]{2,1,0:T(4,128)(2,1)}", 16, 210, 3 * 8 * 128 * 2),
    ("s4[16]{0:E(4)}", 4, 8, 8),
    ("s4[100]{0}", 8, 100, 100),
    ("s2[101]{0:E(2)}", 2, 26, 26),
    ("s4[100]{0:T(1024)(128)(8,1)E(4)}", 4, 50, 512),
    ("s2[100]{0:T(1024)(128)(16,1)E(2)}", 2, 25, 256),
    ("f4e2m1fn[41]{0:T(1024)(128)(8,1)E(4)S(1)}", 4, 21, 512),
    ("f8e4m3b11fnuz[9]", 8, 9, 9),
    ("f8e8m0fnu[9]", 8, 9, 9),
    ("f6e3m2fn[9]", 8, 9, 9),
    ("pred[17]{0:T(512)(128)(4,1)}", 8, 17, 512),
    ("c64[17]{0:T(128)}", 64, 136, 1024),
    ("c128[17]{0:T(128)}", 128, 272, 2048),
    ("f64[5]", 64, 40, 40),
    ("u16[5]", 16, 10, 10),
    ("s32[128]{0:T(1)L(128)S(4)}", 32, 512, 512),
    ("s32[130]{0:T(1)L(128)S(4)}", 32, 520, 1024),
    ("s32[25]{0:T(1)S(11)}", 32, 100, 100),
    ("s32[0]{0:T(1)S(12)}", 32, 0, 0),
    ("f32[10,20]{1,0:T(*,128)}", 32, 800, 256 * 4),
    ("f32[2,3,50]{2,1,0:T(8,*,128)}", 32, 1200, 8 * 256 * 4),
    ("f32[2]{0:T(*)}", 32, 8, None),
    ("f32[2]{0:T(Invalid value -3)}", 32, 8, None),
    ("f32[2]{0:T(0)}", 32, 8, None),
    ("f32[2]{0:T()}", 32, 8, 8),
    ("f32[2,3]{0:T(8)}", 32, 24, None),
    ("f32[2,3]{0,0:T(8)}", 32, 24, None),
    ("f32[2]{0:T(8)SC(1:1)}", 32, 8, None),
    ("token[]", None, 0, 0),
    ("opaque[]", None, 8, 8),
    ("b(f32[2]{0})", 32, 8, 8),
    ("b((f32[2]{0}))", None, None, None),
    ("()", None, 0, 0),
    ("(f32[2], f32[2])", None, 16, 16),
    ("(f32[2]{0}, /*index=5*/u32[]{:S(2)})", None, 16, 16),
    (
        "(bf16[8,<=128]{1,0:T(8,128)(2,1)S(1)}, s4[16]{0:E(4)}, token[], u32[]{:S(2)}, (), /*index=5*/f32[?]{0})",
        None,
        48,
        48,
    ),
    ("<unknown shape>", None, None, None),
    ("zz9[3]", None, None, None),
    ("zz9[3]{0:E(4)}", 4, 2, 2),
    ("f32[9223372036854775807,2]", 32, None, None),
    ("f32[0,9223372036854775807]", 32, 0, 0),
]

# Every property the layout printer knows, in its order; all but the tiles and E leave the size alone.
GRAMMAR = [
    "f32[2]{}",
    "f32[2,2]{1,0:D(D,C+~)}",
    "f32[2]{0:D(H,S,?)T(8)L(2)#(s32)*(u64)E(32)S(1)SC(0:1)(0:1)P(f32[2]{0:P(())M(1)})M(4)}",
    "f32[2]{0:T(8)D(D)S(1)}",
    "f32[2]{0:M(4)}",
    "f32[2]{0:P((f32[2]{0}, /*index=5*/b(f32[2])))}",
    "((), (()), ((f32[2]), b(b(s8[]))))",
    "(f32[2], f32[2], f32[2], f32[2], f32[2], /*index=5*/f32[2])",
]

# text, offset of the fault, part of what was expected
FAULTS = [
    ("", 0, "a shape"),
    ("F32[2]", 0, "a shape"),
    (" f32[2]", 0, "a shape"),
    ("f32", 3, "'['"),
    ("f32[2", 5, "a dimension"),
    ("f32[2,]", 6, "a dimension"),
    ("f32[02]", 5, "a dimension"),
    ("f32[-2]", 4, "a dimension"),
    ("f32[>=2]", 4, "a dimension"),
    ("f32[2] ", 6, "the end of the text"),
    ("f32[2]\n", 6, "the end of the text"),
    ("f32[2]{0", 8, "a layout property"),
    ("f32[2]{0:}", 9, "a layout property"),
    ("f32[2]{0:T}", 9, "a layout property"),
    ("f32[2]{0:Q(1)}", 9, "a layout property"),
    ("f32[2]{0:S(1)T(8)}", 13, "a layout property"),
    ("f32[2]{0:D(D)T(8)D(D)}", 17, "a layout property"),
    ("f32[2]{0:P(f32[2]{0}}", 20, "')'"),
    ("f32[2]{0:P()}", 11, "a shape"),
    ("(f32[2]", 7, "', ' or ')'"),
    ("(f32[2],f32[2])", 7, "', ' or ')'"),
    ("(f32[2], )", 9, "a shape"),
    ("(/*index=0*/f32[2])", 1, "a shape"),
    ("(f32[2], <unknown shape>)", 9, "a shape"),
    ("(f32[2], f32[2]{0:Q})", 18, "a layout property"),
    ("())", 2, "the end of the text"),
    ("b()", 2, "a shape"),
    ("b(f32[2], f32[2])", 8, "')'"),
    ("f32[9223372036854775808]", 4, "2^63 - 1"),
    ("(f32[2], f32[" + "9" * 5000 + "])", 13, "2^63 - 1"),
    ("f32[٣]", 4, "a dimension"),
]


# What the regex of an array must read in full: element type, dims, layout, tiles, memory space, bits.
FIELDS = [
    ("bf16[8,<=128]{1,0:T(8,128)(2,1)S(1)}", ("bf16", (8, 128), True, "1,0", "(8,128)(2,1)", 1, 16)),
    ("f32[<=8,?]", ("f32", (8, None), True, None, None, 0, 32)),
    ("u32[]{:S(2)}", ("u32", (), False, "", None, 2, 32)),
    ("s4[16]{0:E(4)}", ("s4", (16,), False, "0", None, 0, 4)),
    ("b(f32[2]{0:T(256)S(5)})", ("f32", (2,), False, "0", "(256)", 5, 32)),
    ("token[]", ("token", (), False, None, None, 0, None)),
    ("<unknown shape>", (None, None, False, None, None, 0, None)),
    ("()", (None, None, False, None, None, 0, None)),
    ("(f32[2]{0:S(1)}, (f32[<=2]{0}))", (None, None, True, None, None, 0, None)),
    ("(f32[2]{0:D(?)})", (None, None, False, None, None, 0, None)),
]


@pytest.mark.parametrize(("text", "bits", "logical", "physical"), SIZES)
def test_sizes(text: str, bits: int | None, logical: int | None, physical: int | None) -> None:
    """Element bits, logical and physical bytes are those of XLA's size functions, None where unknown."""
    shape = parse_shape(text)
    assert (bits, logical, physical) == (shape.element_bits, shape.logical_bytes, shape.physical_bytes)


@pytest.mark.parametrize(("text", "fields"), FIELDS)
def test_fields(text: str, fields: tuple[object, ...]) -> None:
    """Each part of a layout is found; a tuple has none of its own, but is dynamic if one of its leaves is."""
    shape = parse_shape(text)
    assert fields == (
        shape.element_type,
        shape.dims,
        shape.is_dynamic,
        shape.layout,
        shape.tiles,
        shape.layout_memory_space,
        shape.element_bits,
    )


@pytest.mark.parametrize("text", GRAMMAR)
def test_whole_grammar_is_accepted(text: str) -> None:
    """Properties and nestings that no real dump has shown yet are read all the same."""
    assert text == parse_shape(text).shape_text


@pytest.mark.parametrize(("text", "offset", "expected"), FAULTS)
def test_fault_is_refused_where_it_stands(text: str, offset: int, expected: str) -> None:
    """A text outside the grammar is refused with the place and with what should have stood there."""
    with pytest.raises(ShapeError) as caught:
        parse_shape(text)
    assert offset == caught.value.offset
    assert expected in caught.value.expected


def test_error_reads_well_and_crosses_processes() -> None:
    """The message quotes what was found, cut at 80 characters, also when it comes out of another process."""
    with pytest.raises(ShapeError) as caught:
        parse_shape("f32[2]" + "x" * 200)
    expected = f"shape, offset 6: expected the end of the text, found '{'x' * 80}'"
    assert expected == str(caught.value)
    assert expected == str(pickle.loads(pickle.dumps(caught.value)))


def test_tuple_is_taken_apart() -> None:
    """Elements, leaves and subshapes are exact pieces of the text, without index comments."""
    inner = ["s4[1]{0:P((u8[], u8[]))}", "b(u8[4]{0})"]
    elements = ["f32[2]{0}", f"({inner[0]}, {inner[1]})", "u32[]{:S(2)}", "()"]
    text = f"({elements[0]}, {elements[1]}, /*index=5*/{elements[2]}, {elements[3]})"
    bare = "(f32[2], (s4[1], b(u8[4])), /*index=5*/u32[], ())"
    assert elements == [subshape(text, (number,)) for number in range(4)]
    assert [elements[0], *inner, elements[2]] == leaves(text)
    assert (text, inner[1]) == (subshape(text, ()), subshape(text, (1, 1)))
    assert bare == without_layout(text)


@pytest.mark.parametrize("index", [(4,), (-1,), (0, 0), (1, 1, 0), (3, 0)])
def test_missing_subshape_is_none(index: tuple[int, ...]) -> None:
    """An index outside the shape is answered with None; a buffer has no elements either."""
    text = "(f32[2]{0}, (s4[1], b(u8[4])), u32[]{:S(2)}, ())"
    assert subshape(text, index) is None


def test_unknown_shape_is_its_own_leaf() -> None:
    """`<unknown shape>` of a parameter header passes through every function unchanged."""
    text = "<unknown shape>"
    assert [text] == leaves(text)
    assert (text, text) == (subshape(text, ()), without_layout(text))


@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("b(", ")"), ("f32[2]{0:P(", ")}")])
def test_nesting_has_no_limit(before: str, after: str) -> None:
    """Ten thousand levels of tuple, buffer or physical shape are read; a bracket too few is refused."""
    text = before * 10_000 + "f32[2]" + after * 10_000
    assert text == parse_shape(text).shape_text
    with pytest.raises(ShapeError):
        parse_shape(text[:-1])


class Build(NamedTuple):
    """What the dumps of one archive say about shapes: distinct, so that every test is a short loop."""

    slots: frozenset[tuple[str, int]]
    header_shapes: frozenset[str]
    peak: frozenset[tuple[str, int]]
    peak_lines: int


VALUE_LINE = re.compile(
    r"^ value: <\d+ ([\w.-]+)(\{[0-9,]*\})?(?: \(phi\))?(?: @\d+)?> \(size=(\d+),offset=\d+\): (.*)$", re.M
)
HEADER_SHAPE = re.compile(r"(?:, shape|output shape is) \|([^|\n]*)\|")
PEAK_LINE = re.compile(r"^    ([\w.-]+)(\{[0-9,]*\}): (\d+) bytes", re.M)


@cache
def read_build(name: str) -> Build:
    texts: dict[str, str] = {}
    with tarfile.open(BUILDS / f"{name}.tar.gz") as archive:
        for member in archive:
            if file_name := re.fullmatch(r"(.*)-(buffer-assignment|live-range)\.txt", member.name):
                text = archive.extractfile(member).read().decode("latin-1")
                texts[file_name[1]] = texts.get(file_name[1], "") + text
    slots, header_shapes, peak = set(), set(), []
    for text in texts.values():
        values = VALUE_LINE.findall(text)
        slots.update((shape, int(size)) for _, _, size, shape in values)
        for header in re.findall(r"^allocation .*", text, re.M):
            header_shapes.update(HEADER_SHAPE.findall(header))
        shapes = {(value, index or "{}"): shape for value, index, _, shape in values}
        peak += [(shapes[value, index], int(size)) for value, index, size in PEAK_LINE.findall(text)]
    return Build(frozenset(slots), frozenset(header_shapes), frozenset(peak), len(peak))


@needs_builds
@pytest.mark.parametrize("name", [*OUTSIZED_SLOTS, *TILED_SLOTS])
def test_every_real_shape_is_read(name: str) -> None:
    """Shapes of values and headers of real dumps are all accepted, and so are all their leaves."""
    build = read_build(name)
    texts = {shape for shape, _ in build.slots} | build.header_shapes
    assert texts
    assert texts == {parse_shape(text).shape_text for text in texts}
    parts = {leaf for text in texts for leaf in leaves(text)}
    assert parts == {parse_shape(leaf).shape_text for leaf in parts}
    assert build.header_shapes == {without_layout(text) for text in build.header_shapes}


@needs_builds
@pytest.mark.parametrize("name", OUTSIZED_SLOTS)
def test_slot_on_cpu_and_gpu_is_the_logical_size(name: str) -> None:
    """A slot holds the logical bytes, of a bounded dynamic array also four bytes for each dimension."""
    misfits = set()
    for text, size in read_build(name).slots:
        shape = parse_shape(text)
        dimension_sizes = 4 * len(shape.dims) if shape.is_dynamic and shape.dims else 0
        if size != shape.logical_bytes + dimension_sizes:
            misfits.add((text, size))
    assert OUTSIZED_SLOTS[name] == misfits


@needs_builds
@pytest.mark.parametrize("name", TILED_SLOTS)
def test_slot_of_a_tiled_array_on_tpu_is_the_physical_size(name: str) -> None:
    """The first tile and the element bits give every slot of a tiled array, sub-byte types included."""
    tiled = {slot for slot in read_build(name).slots if parse_shape(slot[0]).tiles}
    assert TILED_SLOTS[name] == len(tiled)
    assert tiled == {(text, parse_shape(text).physical_bytes) for text, _ in tiled}


@needs_builds
@pytest.mark.parametrize("name", TILED_SLOTS)
def test_slot_of_an_untiled_array_on_tpu_has_slack(name: str) -> None:
    """Untiled sync flags take their logical bytes, any other untiled array here 4096: the rest is slack."""
    untiled = {
        (text, size)
        for text, size in read_build(name).slots
        if not parse_shape(text).tiles and not text.startswith("(")
    }
    sync_flags = {text for text, _ in untiled if parse_shape(text).layout_memory_space == 2}
    assert untiled == {(text, parse_shape(text).physical_bytes if text in sync_flags else 4096) for text, _ in untiled}


@needs_builds
@pytest.mark.parametrize("name", INDEXED_PEAK_LINES)
def test_peak_lines_are_logical_bytes(name: str) -> None:
    """From D8b on a peak line prints the logical bytes of the value it names, be it packed or a tuple."""
    build = read_build(name)
    assert INDEXED_PEAK_LINES[name] == build.peak_lines
    assert build.peak == {(text, parse_shape(text).logical_bytes) for text, _ in build.peak}


@st.composite
def arrays(draw: st.DrawFn) -> str:
    """One array with any of the properties in their order; its layout is a permutation of its dimensions."""
    dims = draw(st.lists(st.integers(0, 300), max_size=4))
    signs = draw(st.lists(st.sampled_from(["", "", "", "<="]), min_size=len(dims), max_size=len(dims)))
    printed = [sign + str(dim) for sign, dim in zip(signs, dims, strict=True)]
    text = draw(st.sampled_from(["f32", "s4", "bf16", "pred", "c128", "zz1"])) + f"[{','.join(printed)}]"
    order = draw(st.permutations(range(len(dims))))
    chosen = "".join(draw(st.sampled_from(["", part])) for part in PROPERTIES)
    layouts = ["", f"{{{','.join(map(str, order))}{':' if chosen else ''}{chosen}}}"]
    return text + draw(st.sampled_from(layouts))


PROPERTIES = ["D(D,C~)", "T(8,128)(2,1)", "L(128)", "#(s32)", "*(u8)", "E(4)", "S(3)", "P(f32[2]{0})", "M(8)"]


def joined(elements: list[str]) -> str:
    """A tuple as XLA prints it, with a comment before each fifth element."""
    commented = [
        f"/*index={number}*/{element}" if number and number % 5 == 0 else element
        for number, element in enumerate(elements)
    ]
    return f"({', '.join(commented)})"


leaf_texts = arrays() | st.sampled_from(["token[]", "opaque[]"]) | arrays().map("b({})".format)
shape_texts = st.recursive(leaf_texts, lambda inner: st.lists(inner, max_size=7).map(joined), max_leaves=25)


@examples
@given(shape_texts)
def test_tuple_comes_apart_and_together(text: str) -> None:
    """Elements are the direct subshapes, make the text when joined, and have its leaves among them."""
    arity = parse_shape(text).tuple_arity
    if arity is None:
        assert [text] == leaves(text)
        return
    *elements, behind = [subshape(text, (number,)) for number in range(arity + 1)]
    assert (text, None) == (joined(elements), behind)
    assert [leaf for element in elements for leaf in leaves(element)] == leaves(text)


@examples
@given(shape_texts)
def test_without_layout_keeps_all_but_layouts(text: str) -> None:
    """Taking layouts away twice is taking them away once; dimensions and tuples stay what they were."""
    bare = without_layout(text)
    assert bare == without_layout(bare)
    assert "{" not in bare
    dims = [parse_shape(leaf).dims for leaf in leaves(text)]
    assert dims == [parse_shape(leaf).dims for leaf in leaves(bare)]


@examples
@given(arrays())
def test_physical_bytes_hold_the_logical_ones(text: str) -> None:
    """Rounding up to a tile never loses bytes, and without a tile there is nothing to round."""
    shape = parse_shape(text)
    if shape.logical_bytes is None or shape.tiles is None:
        assert shape.logical_bytes == shape.physical_bytes
    else:
        assert math.prod(shape.dims) * shape.element_bits <= 8 * shape.logical_bytes
        assert shape.logical_bytes <= shape.physical_bytes


@examples
@given(shape_texts, st.data())
def test_damaged_text_has_two_outcomes(text: str, data: st.DataObject) -> None:
    """Whatever is cut out or put in, the answer is a Shape or a ShapeError with a place inside the text."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 3, len(text))))
    damaged = text[:start] + data.draw(st.text("(){}[]:,<=?*b/PSCT1 \n|٣", max_size=3)) + text[end:]
    outcome = parsed_or_refused(damaged)
    if isinstance(outcome, Shape):
        assert damaged == outcome.shape_text
    else:
        assert 0 <= outcome.offset <= len(damaged)


def parsed_or_refused(text: str) -> Shape | ShapeError:
    try:
        return parse_shape(text)
    except ShapeError as error:
        return error
