"""Hypothesis strategies for dumps over the whole grammar: every dialect feature, alone and in combination.

`dumps()` builds `Dump` objects in the form `parse` gives them, so that one property says it all: rendered and parsed
again, a dump is the same, and so are its bytes. Sizes and ids are any the format allows, not what a compiler would
choose.
"""

import re
from itertools import accumulate

from hypothesis import strategies as st

from bufferhouse.dump import Dump
from bufferhouse.dump.columns import (
    Allocations,
    CrossColorValues,
    LiveRanges,
    PeakBuffers,
    Positions,
    Uses,
    Values,
)

MOSTLY = st.sampled_from([True, True, True, False])
INT64 = st.integers(0, 9) | st.integers(0, 2**63 - 1)
SIZES = st.integers(0, 100) | st.integers(0, 2**40)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.\-]{0,12}", fullmatch=True) | st.sampled_from(
    ["_", "a-b.1-2", "constant_1_2_0", "add.remat.clone.1", "n" * 300, "copy-start", "positions", "uses"]
)
INDICES = st.lists(INT64, max_size=3).map(lambda path: "{" + ",".join(map(str, path)) + "}")

TYPES = st.sampled_from(["pred", "s4", "u32", "f32", "bf16", "f8e4m3b11fnuz", "c128", "x9"])
DIMS = st.lists(st.sampled_from(["0", "1", "8", "128", "<=10", "?"]), max_size=4)


def numbers(least: int = 0, most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(st.integers(0, 999), min_size=least, max_size=most).map(lambda row: ",".join(map(str, row)))


@st.composite
def layouts(draw) -> str:
    """A layout with any of the properties that `Layout::Print` knows, in its order."""
    tiles = st.lists(st.sampled_from(["(8,128)", "(2,1)", "()", "(*,128)", "(Invalid value -5,1)"]), min_size=1)
    properties = [
        st.sampled_from(["D(D)", "D(C+,S~)"]),
        tiles.map(lambda row: "T" + "".join(row)),
        st.just("L(128)"),
        st.just("#(u8)"),
        st.just("*(u32)"),
        st.sampled_from(["E(4)", "E(1)"]),
        st.sampled_from(["S(1)", "S(5)"]),
        st.sampled_from(["SC(0:16)", "SC(0:16,32)(1:8)"]),
        st.just("P((f32[2]{0:T(8)}, /*index=5*/u8[]))"),
        st.just("M(512)"),
    ]
    chosen = "".join(draw(text) for text in properties if draw(st.integers(0, 4)) == 0)
    return "{" + draw(numbers()) + (":" + chosen if chosen else "") + "}"


@st.composite
def arrays(draw, has_layout: bool) -> str:
    layout = draw(layouts()) if has_layout and draw(st.booleans()) else ""
    return f"{draw(TYPES)}[{','.join(draw(DIMS))}]{layout}"


def shapes(has_layout: bool = True) -> st.SearchStrategy[str]:
    """Shape texts: arrays, tokens, buffers, and tuples of all of them with the comments between their elements."""
    leaves = arrays(has_layout) | st.sampled_from(["token[]", "opaque[]", "()", "b(f32[4]{0:S(1)})"])

    def tuple_of(row: list[str]) -> str:
        comments = [f"/*index={n}*/" if n and n % 5 == 0 else "" for n in range(len(row))]
        return "(" + ", ".join(map("".join, zip(comments, row, strict=True))) + ")"

    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=7).map(tuple_of), max_leaves=8)


# Lines that look like those of a dump, as the bytes of a user may.
FAKES = (
    "\n positions:\n", "\n uses:\n", "\n<1 a @0>\n positions:\n  a\n uses:\n from instruction: %a = f32[] b()",
    "\n<2 b{0} (phi) @1>\n positions:\n", "\n\nHloLiveRange (max 3):\n", "\n\nHloLiveRange (max ", "\n", "\r\n", "\t",
    "é│", "<", "\\", "'", "\n  Live ranges at 0 (peak):\n", "\nUsed values:\n", " value: ",
)  # fmt: skip
PLAIN = st.text(st.characters(blacklist_characters='"{}\\', blacklist_categories=["Cs"]), max_size=8)
BARE = st.lists(PLAIN | st.sampled_from([*FAKES[:-8], "[", "(", " a = dense<[1, 2]>", "// x", "\n\n"]), max_size=4)


def quoted(raw: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", raw) + '"'


QUOTED = st.lists(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=8) | st.sampled_from(FAKES), max_size=4
).map(lambda pieces: quoted("".join(pieces)))
DICTS = st.recursive(
    BARE.map(lambda pieces: "{" + "".join(pieces).replace('"', "").replace("\\", "") + "}"),
    lambda inner: st.lists(inner | QUOTED, max_size=4).map(lambda row: "{" + ", ".join(row) + "}"),
    max_leaves=5,
)
BLANKS = st.sampled_from(["", "", "", " ", "\n", "\n\n", "\t\n ", "\n// it is a comment\n", " /* one\nmore */"])
ESCAPED = st.sampled_from(["jit(f)/add", 'a\\"b', "params[\\'w\\']", "\\303\\251", "(size=1,offset=2): x", "<1 a @0>"])


@st.composite
def attributes(draw, has_line_feeds: bool) -> str:
    """The attributes of an instruction: `metadata`, then last of all `backend_config`."""
    text = draw(st.sampled_from(["", ', custom_call_target="x"', ", sharding={replicated}", ', origin={"x"}']))
    if draw(st.booleans()):
        text += f', metadata={{op_name="{draw(ESCAPED)}" source_line={draw(st.integers(1, 99))}}}'
    if has_line_feeds and draw(st.booleans()):
        text += f", frontend_attributes={{k={draw(DICTS)}}}"
    if has_line_feeds:
        return f"{text}, backend_config={draw(st.sampled_from(['', '', ' ', chr(10)]))}{draw(DICTS)}{draw(BLANKS)}"
    return text + draw(st.sampled_from(["", ', backend_config="x\\n\\"y"', ", backend_config={}"]))


# One line, anything else: what unescaped names and raw frontend attributes of older versions can bring.
RAW_LINES = st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]), min_size=1, max_size=40)


@st.composite
def instruction_texts(draw, name: str, form: str) -> str:
    start = f"%{name} = {draw(shapes())} "
    if form == "raw":
        return start + draw(RAW_LINES | st.just('add(%a), x="<1 a @0>" <2 b'))
    return (
        f"{start}{draw(st.sampled_from(['add(%a, /*index=5*/%b)', 'call-start()']))}{draw(attributes(form == 'lines'))}"
    )


def filled(draw, n: int, cells: st.SearchStrategy) -> list:
    return draw(st.lists(cells, min_size=n, max_size=n))


def sometimes(draw, n: int, cells: st.SearchStrategy) -> list:
    """A column that a dialect prints always, never, or here and there."""
    if not draw(st.booleans()):
        return [None] * n
    return filled(draw, n, cells if draw(st.booleans()) else cells | st.none())


def fill_allocations(draw, dump: Dump, n: int) -> None:
    numbers_ = sometimes(draw, n, INT64)
    a = Allocations(
        size_bytes=filled(draw, n, SIZES),
        memory_space=filled(draw, n, st.just(0) | INT64),
        page=sometimes(draw, n, st.integers(-(10**18) + 1, 2**63 - 1)),
        pointer=sometimes(draw, n, st.from_regex(r"0x[0-9a-f]{1,16}", fullmatch=True)),
        parameter_number=numbers_,
        parameter_shape_index=[None if number is None else draw(INDICES) for number in numbers_],
        output_shape=sometimes(draw, n, shapes(has_layout=False)),
        is_constant=filled(draw, n, st.booleans()),
        is_thread_local=filled(draw, n, st.booleans()),
        is_maybe_live_out=filled(draw, n, st.booleans()),
    )
    known = shapes(has_layout=False) | st.just("<unknown shape>")
    printed = sometimes(draw, n, known)
    a.parameter_shape = [None if numbers_[row] is None else printed[row] for row in range(n)]
    dump.allocations = a


def fill_values(draw, dump: Dump, n: int) -> None:
    owners = len(dump.allocations.size_bytes)
    n = n if owners else 0
    dump.values = Values(
        value_id=sorted(draw(st.lists(INT64, min_size=n, max_size=n, unique=True))),
        instruction=filled(draw, n, NAMES),
        shape_index=filled(draw, n, st.none() | INDICES),
        is_phi=filled(draw, n, st.booleans()),
        memory_space=sometimes(draw, n, INT64),
        allocation_index=filled(draw, n, st.integers(0, owners - 1)) if n else [],
        size_bytes=filled(draw, n, SIZES),
        offset_bytes=filled(draw, n, SIZES),
        shape=filled(draw, n, shapes()),
    )
    if n and draw(st.integers(0, 3)) == 0:
        rows = filled(
            draw, draw(st.integers(1, 4)), st.tuples(st.integers(0, owners - 1), st.integers(0, n - 1), INT64)
        )
        dump.cross_color_values = CrossColorValues(*map(list, zip(*sorted(rows, key=lambda row: row[0]), strict=True)))


def fill_used_values(draw, dump: Dump) -> None:
    n = len(dump.values.value_id)
    dump.has_used_values = True
    counts = filled(draw, n, st.integers(1, 3))
    positions = Positions(counts)
    for count, *definition in zip(counts, dump.values.instruction, dump.values.shape_index, strict=True):
        further = filled(draw, count - 1, st.tuples(NAMES, st.none() | INDICES))
        for name, shape_index in [tuple(definition), *further]:
            positions.instruction.append(name)
            positions.shape_index.append(shape_index)
    dump.positions = positions
    states = filled(draw, n, st.sampled_from(["listed", "listed", "empty", "uninitialized"]))
    counts = [draw(st.integers(1, 3)) if state == "listed" else 0 for state in states]
    total = sum(counts)
    dump.values.uses_state = states
    dump.none_form = draw(st.sampled_from(["empty", "none"])) if "empty" in states else None
    dump.uses = Uses(counts, filled(draw, total, NAMES), filled(draw, total, INT64), sometimes(draw, total, INDICES))


def fill_instruction_texts(draw, dump: Dump) -> None:
    """Texts of one kind in a dump: plain, of one line with anything in it, or balanced over many lines."""
    v = dump.values
    form = draw(st.sampled_from(["lines", "plain", "raw", "lines"]))
    dump.has_instruction_texts = True
    dump.has_instruction_space = draw(st.booleans())
    dump.is_glued = dump.file_layout == "combined" and draw(st.booleans())
    v.instruction_text = [draw(instruction_texts(name, form)) for name in v.instruction]
    # A line feed at the end of the last text cannot be told from one behind it.
    v.instruction_text = [text.rstrip("\n") if dump.is_glued else text for text in v.instruction_text]
    v.instruction_text[-1] = v.instruction_text[-1].rstrip("\n")


def fill_live_range(draw, dump: Dump) -> None:
    dump.live_range_state = draw(st.sampled_from(["present", "present", "unbounded"]))
    dump.schedule = draw(st.lists(NAMES, min_size=draw(st.sampled_from([0, 2, 4])), max_size=6, unique=True))
    last = dump.max_position = len(dump.schedule)
    keys = st.tuples(st.sampled_from(dump.schedule), INDICES) if last else st.nothing()
    rows = []
    for name, index in (
        draw(st.lists(keys, min_size=draw(st.sampled_from([0, 3])), max_size=6, unique=True)) if last else []
    ):
        start = draw(st.integers(0, last))
        rows.append((name, index, start, draw(st.integers(start, last))))
    if rows:
        dump.live_ranges = LiveRanges(*map(list, zip(*rows, strict=True)))
    if dump.live_range_state == "unbounded":
        return
    peak = dump.reported_peak_position = draw(st.integers(0, last))
    alive = [(name, index) for name, index, start, end in rows if start <= peak <= end]
    if alive:
        dump.peak_form = draw(st.sampled_from(["name", "indexed", "cumulative"]))
        # Without an index on its line a value is known by its place alone.
        alive = alive if dump.peak_form == "name" else draw(st.permutations(alive))
        listed = filled(draw, len(alive), SIZES)
        totals = list(accumulate(listed)) if dump.peak_form == "cumulative" else [None] * len(alive)
        dump.peak_buffers = PeakBuffers([name for name, _ in alive], [index for _, index in alive], listed, totals)
    if draw(st.booleans()):
        dump.stack_trace = draw(stack_traces(dump.text_encoding))


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


LABELS = st.lists(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=6)
    | st.sampled_from(["jit(f)/add", "{0}", " (", "bytes, current:", "\n", "\n\n", "\t", "é", "\nfoo{}: 3 bytes"]),
    max_size=4,
).map("".join)


def suffix(*numbers: int) -> str:
    total, current, remaining = map(spaced, numbers)
    return f" (10.0%, total: {total} bytes, current: {current} bytes, remaining: {remaining} bytes)"


@st.composite
def stack_traces(draw, encoding: str) -> str:
    """A tree whose labels are anything, complete fake lines included."""
    currents = draw(st.lists(SIZES, max_size=5))
    total = remaining = sum(currents)
    text = f"  Stack trace breakdown for peak usage: {spaced(total)} bytes\n"
    branches = st.sampled_from(["  │   ├── ", "      └── ", "      │       └── ", "  ├── "])
    for number, current in enumerate(currents):
        label = draw(LABELS)
        if draw(st.booleans()):  # a fake end of this node: the bytes that remain are wrong, or no node begins behind
            label += suffix(5, 1, remaining) + draw(st.sampled_from(["\n", "\n    └── x", "/tile"]))
        if draw(st.integers(0, 5)) == 0:
            label += suffix(5, 0, remaining) + "\ntile"
        remaining -= current
        rail = (draw(branches) if number else "    ").encode().decode(encoding)
        text += f"{rail}{label}{suffix(total, current, remaining)}\n"
    return text


@st.composite
def dumps(draw, most_values: int = 5) -> Dump:
    """Any dump the grammar allows, as `parse` returns it."""
    dump = Dump(file_layout=draw(st.sampled_from(["combined", "combined", "split"])))
    dump.text_encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "latin-1"]))
    is_split = dump.file_layout == "split"
    fill_allocations(draw, dump, draw(st.sampled_from([1, 2, 3, 5, 0])))
    fill_values(draw, dump, draw(st.sampled_from([1, 2, 3, most_values, 0])))
    roles = ["allocations"] if is_split else ["combined"]
    if draw(st.integers(0, 9)):
        fill_used_values(draw, dump)
        roles += ["values"] if is_split else []
        if is_split or draw(st.booleans()):
            dump.total_bytes = sum(dump.allocations.size_bytes)
            dump.total_human = draw(st.none() | st.sampled_from(["0B", "18.5KiB", "1.00GiB", "3.25EiB"]))
        if dump.values.value_id and draw(MOSTLY):
            fill_instruction_texts(draw, dump)
    elif not is_split:
        dump.allocations.pointer = [None] * len(dump.allocations.pointer)  # else it is the dialect of before 2019-09
    has_live_range = dump.has_instruction_texts if not is_split else False
    if has_live_range or ((dump.has_used_values or is_split) and draw(MOSTLY)):
        if is_split and draw(st.integers(0, 3)) == 0:
            dump.live_range_state = "not available"
        else:
            fill_live_range(draw, dump)
        roles += ["live_range"] if is_split else []
    dump.trailing_newlines = {role: draw(st.sampled_from([0, 0, 1, 3])) for role in roles}
    return in_encoding(dump)


def in_encoding(dump: Dump) -> Dump:
    """Make the bytes of the dump invalid UTF-8 where its encoding is latin-1; where nothing is free, it is not."""
    if dump.text_encoding == "utf-8":
        return dump
    latin = [latin_of(text) for text in dump.values.instruction_text]
    if latin:
        dump.values.instruction_text = [latin[0].replace(" = ", " = \xff", 1), *latin[1:]]
        dump.stack_trace = None if dump.stack_trace is None else latin_of(dump.stack_trace)
    else:
        dump.text_encoding = "utf-8"
        trace = dump.stack_trace
        dump.stack_trace = None if trace is None else trace.encode("latin-1", "replace").decode("utf-8", "replace")
    return dump


def latin_of(text: str) -> str:
    return text.encode("latin-1", "replace").decode("latin-1")
