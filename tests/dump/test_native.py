"""The native reader: the tables of the one in Python, for every dump that it takes; and none that `parse` refuses."""

import os
import random
import shutil
import subprocess
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bufferhouse.dump import Dump, DumpError, parse, render
from bufferhouse.dump.columns import CrossColorValues
from bufferhouse.dump.native import Scanner, library, new_scanner
from bufferhouse.tabulate.contents import parse_contents
from bufferhouse.tabulate.scanned import Scanned
from tests.corpus import CORPUS
from tests.dump import fuzz_native
from tests.dump.strategies import dumps
from tests.fuzz import HOSTILE
from tests.samples import of_archive, of_fleet
from tests.synthetic import Slot, dump_text, small_dump
from tests.tabulate.readers import differences, in_python, work_of

needs_it = pytest.mark.skipif(library.library() is None, reason=f"the reader is {library.reader()}")
RUNS = {run: list(samples) for run, samples in groupby(of_fleet(), lambda sample: sample.name.split("/")[0])}
ARCHIVES = [path for folder in ("builds", "fleet", "large") for path in sorted((CORPUS / folder).glob("*.tar.gz"))]
DUMPS = [path for path in ARCHIVES if not path.name.endswith("-hlo.tar.gz")]
# Each compiler, platform and layout of files once; the dialects of the others are those of committed dumps, too.
OTHERS = (
    "gpu-sm80", "jaxlib-0.4.25.", "jaxlib-0.4.38.", "jaxlib-0.6.0.", "jaxlib-0.7.0.", "jaxlib-0.8.0.", "jaxlib-0.9.0.",
    "large-jaxlib-0.10.2", "tensorflow-2.5.3", "tpu-v5e-jaxlib-0.4.38",
)  # fmt: skip
PARTED = [pytest.param(path, marks=pytest.mark.soak if path.name.startswith(OTHERS) else ()) for path in DUMPS]
# Dialects that are left to Python: without instruction texts, without live ranges, or refused.
LEFT = ("tensorflow-1.15", "tensorflow-2.1.", "tensorflow-2.5.")


def offense(*files: dict[str, bytes]) -> str | None:
    """Return in what the native reader offends, None where it does not."""
    return fuzz_native.offended(lambda: Scanned(new_scanner()), work_of(files))


def is_taken(files: dict[str, bytes]) -> bool:
    """Return whether the native reader takes a dump, which is then the same as in Python."""
    assert offense(files) is None
    return bool(fuzz_native.taken(Scanned(new_scanner()), work_of([files])))


@needs_it
@pytest.mark.parametrize("run", sorted(RUNS))
def test_committed_dumps_become_the_same_tables(run):
    """All of them are taken, and every cell is equal but for the numbers of shapes."""
    work = work_of([sample.files for sample in RUNS[run]])
    assert work == fuzz_native.taken(Scanned(new_scanner()), work)
    expected, found = in_python(work), parse_contents(work)
    assert ({}, expected.signature_ids) == (found.refusals, found.signature_ids)
    assert [] == differences(expected.tables.frames, found.tables.frames)


@needs_it
@pytest.mark.corpus
@pytest.mark.skipif(not DUMPS, reason="the corpus is not beside the checkout")
@pytest.mark.parametrize("path", PARTED, ids=lambda path: path.name)
def test_the_corpus_becomes_the_same_tables(path: Path):
    """All builds of the common dialects are taken, whole."""
    work = work_of([sample.files for sample in of_archive(path)])
    expected, found = in_python(work), parse_contents(work)
    assert (expected.refusals, expected.signature_ids) == (found.refusals, found.signature_ids)
    assert [] == differences(expected.tables.frames, found.tables.frames)
    count = 0 if path.name.startswith(LEFT) else len(work)
    assert count == len(fuzz_native.taken(Scanned(new_scanner()), work))


@needs_it
@given(st.lists(dumps(), min_size=1, max_size=4))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_dumps_become_the_same_tables(generated: list[Dump]):
    """Whatever the grammar allows: the same tables, or it is left to Python."""
    assert offense(*[render(dump) for dump in generated]) is None


@pytest.mark.soak
@needs_it
@given(st.lists(dumps(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_generated_dumps_become_the_same_tables(generated: list[Dump]):
    """The same, at length."""
    assert offense(*[render(dump) for dump in generated]) is None


TEXTS = [
    "%{} = f32[2]{{0}} add(%a.1, f32[] %b)",
    '%{} = (f32[], /*index=5*/u8[3]{{0:T(8)}}) tuple(%c), metadata={{op_name="a/é" source_file="f.py" source_line=7}}',
    r"""%{} = u8[] custom-call(%a.1), custom_call_target="t", metadata={{op_name="a[\'w\']"}}, backend_config={{}}""",
    '%{} = u8[] fusion(%d), kind=kLoop, calls=%e, metadata={{source_line=7 op_name="another order"}}',
    r'%{} = u8[] copy(%{}), sharding={{{{replicated}}, {{x}}}}, metadata={{op_name="\303\251" stack_frame_id=12}}',
]


@st.composite
def common_dumps(draw) -> Dump:
    """A dump of the dialects that the native reader takes, with any cells."""
    dump = draw(dumps().filter(lambda one: one.live_range_state in ("present", "unbounded") and one.has_used_values))
    dump.cross_color_values = CrossColorValues()
    dump.total_bytes = sum(dump.allocations.size_bytes)
    dump.has_instruction_texts, dump.has_instruction_space = True, draw(st.booleans())
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=8, max_size=8))
    names = dump.values.instruction
    dump.values.instruction_text = [text.format(name, name) for text, name in zip(texts, names, strict=False)]
    return dump


@pytest.mark.soak
@needs_it
@given(st.lists(common_dumps(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_dumps_of_common_dialects_become_the_same_tables(generated: list[Dump]):
    """With any cells: indices, memory spaces, pages, overlaps, peaks, trees with fake lines."""
    assert offense(*[render(dump) for dump in generated]) is None


slots = st.builds(
    lambda start, length, offset, size, allocation: Slot(start, start + length, offset, size, allocation),
    *(st.integers(0, limit) for limit in (6, 3, 6, 4, 1)),
)


@needs_it
@given(st.lists(slots, min_size=1, max_size=14))
@settings(max_examples=50, deadline=None)
def test_strict_overlaps_are_the_same(generated: list[Slot]):
    """Wherever values lie, and whenever they live."""
    headers = [", preallocated-temp"] * (1 + max(slot.allocation for slot in generated))
    assert is_taken({"combined": dump_text(generated, headers)})


@needs_it
@pytest.mark.parametrize(
    ("slots", "taken"),
    [
        ([Slot(number, number, number % 7, 5) for number in range(5000)], True),
        ([Slot(0, number % 5, number, 5000 - number) for number in range(300)], False),
        ([Slot(number // 4, number // 4 + 1, 8 * number, 8) for number in range(6000)], True),
        ([Slot(number % 2, 1 + number % 2, 8 * number, 8) for number in range(20_000)], False),
    ],
    ids=["instants", "more segments than the models compare", "neighbors", "more meetings than the models compare"],
)
def test_many_values_in_one_allocation(slots, taken):
    """They are swept; what the models could not compare is left to Python, which refuses it."""
    assert taken == is_taken({"combined": dump_text(slots)})


@needs_it
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_dumps(name):
    """What is written to keep a reader busy is refused, or becomes the same tables."""
    assert offense({"combined": HOSTILE[name](20_000)}) is None


@needs_it
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 4))])
def test_damaged_dumps(seed, tmp_path):
    """Nothing is taken that `parse` refuses; what both take becomes the same tables."""
    assert 0 == fuzz_native.fuzz(1000, seed, tmp_path)


@needs_it
def test_damaged_dumps_under_sanitizers():
    """No byte beyond the input is read, and nothing overflows."""
    outcome = fuzz_native.sanitized(["--mutations", "100", "--seed", "9"], "-O0")  # which is built sooner
    if outcome is None:
        pytest.skip("the compiler has no sanitizers")
    assert 0 == outcome


@needs_it
def test_an_allocation_that_fails_leaves_the_dump_to_python():
    """Wherever it is: the dump is not taken, those before and behind it are, and nothing breaks."""
    functions = library.library()
    first, second = (sample.files for sample in RUNS["jaxlib-0.9.0"][:2])
    work = work_of([first, second, {"combined": small_dump(1)}])
    expected = cache(lambda *ids: in_python([one for one in work if one[0].dump_id in ids]).tables.frames)
    outcomes = set()
    for until_failure in range(1000):
        try:
            scanned = Scanned(Scanner(functions, until_failure))
        except MemoryError:
            outcomes.add("no scanner")
            continue
        kept = fuzz_native.taken(scanned, work)
        try:
            tables, _ = scanned.finish()
        except MemoryError:
            outcomes.add("no columns")
            continue
        outcomes.add(len(kept))
        assert [] == differences(expected(*(content.dump_id for content, _ in kept)), tables.frames)
        if "no columns" in outcomes:
            break
    assert {"no scanner", 2, 3, "no columns"} == outcomes


LARGEST = 2**63 - 1
NUMBERS = {
    "a size above 2^53": (b"size 136", b"size %d" % (2**53 + 1)),
    "a size of 64 bits": (b"(size=64", b"(size=%d" % 2**63),
    "an offset above 2^53": (b"offset=64", b"offset=%d" % (2**53 + 1)),
    "a total of 64 bits": (b"used: 136", b"used: %d" % 2**64),
    "a number that wraps": (b"size 136", b"size %d" % (2**64 + 136)),
    "a number of 5,000 digits": (b"size 136", b"size " + b"9" * 5000),
    "a leading zero": (b"size 136", b"size 0136"),
    "a sign": (b"size 136", b"size +136"),
    "a schedule of 2^63 - 1 lines": (b"(max 2)", b"(max %d)" % LARGEST),
    "a range that ends at 2^63 - 1": (b":0-2", b":0-%d" % LARGEST),
    "a page of 19 digits": (b"size 136,", b"size 136, page -1000000000000000000,"),
    "a memory space 0 that is printed": (b"size 136,", b"size 136, color 0,"),
}


@needs_it
@pytest.mark.parametrize("fault", NUMBERS)
def test_numbers_that_are_none_are_left_to_python(fault):
    """They are refused there; here nothing overflows."""
    old, new = NUMBERS[fault]
    text = small_dump(64)
    assert is_taken({"combined": text})
    damaged = text.replace(old, new, 1)
    assert damaged != text
    assert not is_taken({"combined": damaged})
    with pytest.raises(DumpError):
        parse(damaged)


@needs_it
def test_sizes_whose_sum_overflows_are_left_to_python():
    """2^10 + 1 times 2^53 bytes are more than 64 bits hold."""
    lines = b"".join(b"allocation %d: size %d, constant:\n" % (number, 2**53) for number in range(1 << 11))
    text = small_dump(64)
    assert not is_taken({"combined": text.replace(b"BufferAssignment:\n", b"BufferAssignment:\n" + lines)})


@needs_it
def test_large_numbers_are_kept():
    """Ids, memory spaces, pages and operands go up to 2^63 - 1."""
    text = small_dump(64).replace(b"<1 v1", b"<%d v1" % LARGEST).replace(b" @0>", b" @%d>" % LARGEST)
    text = text.replace(b"size 136,", b"size 136, color %d, page %d," % (LARGEST, LARGEST))
    text = text.replace(b" uses:\n", b" uses:\n  v0, operand %d {%d}\n" % (LARGEST, LARGEST))
    assert is_taken({"combined": text})


@needs_it
@pytest.mark.parametrize(
    "ending",
    [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80"],
)
def test_what_is_no_utf8_is_left_to_python(ending):
    """It is read as latin-1 there."""
    text = small_dump(3).replace(b"custom-call()", b'custom-call(), metadata={op_name="' + ending + b'"}', 1)
    assert not is_taken({"combined": text})


@needs_it
@pytest.mark.parametrize("letter", ["é", "│", "𝒙", "\u0800", "\ud7ff", "\U0010ffff", "\u2028", "\x85", "\x00", "\r"])
def test_letters_of_all_lengths(letter):
    """Names of operations are any text."""
    text = small_dump(3).replace(b"custom-call()", f'custom-call(), metadata={{op_name="{letter}"}}'.encode(), 1)
    assert is_taken({"combined": text})


@needs_it
def test_neighbors_stay_in_their_order():
    """A batch of dumps of which one reader takes some, the other others, and both refuse one, is in its order."""
    files = [sample.files for sample in RUNS["jaxlib-0.9.0"][:5]]
    files[1] = {"combined": files[1]["combined"][:-40]}
    files[3] = {"combined": files[3]["combined"].replace(b'op_name="', b'op_name="\xff', 1)}
    assert [True, False, True, False, True] == [is_taken(one) for one in files]
    work = work_of(files)
    expected, found = in_python(work), parse_contents(work)
    assert (expected.refusals, expected.signature_ids) == (found.refusals, found.signature_ids)
    assert [work[1][0].dump_id] == list(found.refusals)
    assert [] == differences(expected.tables.frames, found.tables.frames)


@needs_it
def test_a_shape_that_is_none_takes_its_dump_back():
    """The next dump stands where it stood, and no shape of it is left."""
    good, bad = small_dump(1), small_dump(2).replace(b"u8[10]{0}", b"u8[10]{0")
    assert not is_taken({"combined": bad})
    work = work_of([{"combined": text} for text in (bad, good, bad)])
    scanned = Scanned(new_scanner())
    assert [work[1]] == fuzz_native.taken(scanned, work)
    tables, _ = scanned.finish()
    assert ["u8[64]{0}", "u8[9]{0}"] == tables.frames["shapes"]["shape_text"].to_list()


@needs_it
def test_no_dump_is_read_once_the_columns_were_asked_for():
    """Their cells would move."""
    scanner = new_scanner()
    scanner.finish()
    with pytest.raises(ValueError, match="expected no dump after"):
        scanner.read(1, {"combined": small_dump(1)})


@needs_it
@pytest.mark.parametrize(
    "files", [{}, {"allocations": b"x"}, {"values": b"x"}, {"combined": b""}, {"combined": bytearray(b"x")}]
)
def test_files_that_are_not_for_it(files):
    """Roles that are missing, no bytes at all, and what is not bytes."""
    assert not new_scanner().read(1, files)


compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@compiler
@pytest.mark.parametrize("optimization", ["-O0", "-O3"])
def test_the_compiler_has_nothing_to_say(tmp_path, optimization):
    """With all warnings on."""
    flags = [flag for flag in library.FLAGS if flag != "-O3"]
    warnings = ("-Wall", "-Wextra", "-Wshadow", "-Wvla", "-Wconversion", "-Wno-sign-conversion", "-Werror")
    command = ["cc", *flags, optimization, *warnings, "-o", tmp_path / "scan.so", library.SOURCE]
    outcome = subprocess.run(command, capture_output=True, text=True)
    assert (0, "") == (outcome.returncode, outcome.stderr)


@compiler
def test_it_is_there_where_there_is_a_compiler():
    """Else most tests of it would be skipped, and nobody would see."""
    assert library.built().exists()
    assert library.library() is not None or os.environ.get(library.SWITCH) == "0"


@compiler
def test_it_is_built_anew_when_its_source_has_changed(tmp_path, monkeypatch):
    """The library of each state has a name of its own, and an older one goes."""
    source = tmp_path / "scan.c"
    source.write_bytes(library.SOURCE.read_bytes())
    monkeypatch.setattr(library, "SOURCE", source)
    monkeypatch.setattr(library, "FLAGS", ("-O0", *library.FLAGS[2:]))  # as usual, but sooner
    assert library.build() is None
    first = library.built()
    assert first.exists()
    source.write_bytes(source.read_bytes() + b"/* changed */\n")
    assert not library.built().exists()
    assert library.build() is None
    assert [library.built()] == list(tmp_path.glob("*.so"))
    assert first != library.built()
    assert library.open_library(library.built()).scanner_begin


@pytest.mark.parametrize(("command", "says"), [("/no/such/compiler", "No such file"), ("false", "ended with 1")])
def test_without_a_compiler_all_is_as_before(tmp_path, monkeypatch, command, says):
    """The build says why it is not there; dumps are read in Python."""
    source = tmp_path / "scan.c"
    source.write_bytes(library.SOURCE.read_bytes())
    monkeypatch.setattr(library, "SOURCE", source)
    monkeypatch.setenv("CC", command)
    monkeypatch.delenv(library.SWITCH, raising=False)
    assert says in library.build()
    assert [source] == list(tmp_path.iterdir())
    library._loaded.cache_clear()
    try:
        assert library.reader().startswith("Python (the native one is not built")
        assert "python -m bufferhouse.dump.native builds it" in library.reader()  # in a wheel, too
        assert new_scanner() is None
        work = work_of([{"combined": small_dump(1)}])
        assert {} == parse_contents(work).refusals
    finally:
        library._loaded.cache_clear()


@needs_it
def test_a_fault_of_the_native_reader_leaves_all_to_python(monkeypatch):
    """The same tables."""
    work = work_of([{"combined": small_dump(number)} for number in range(3)])
    expected = in_python(work)

    def faulty(*_: object) -> None:
        raise TypeError("a fault of the reader")

    monkeypatch.setattr(Scanned, "finish", faulty)
    found = parse_contents(work)
    assert [] == differences(expected.tables.frames, found.tables.frames)
    assert ({}, expected.signature_ids) == (found.refusals, found.signature_ids)


@needs_it
def test_a_seed_decides_nothing():
    """Numbers follow the order of the text, never the hashes."""
    files = [sample.files for sample in random.Random(0).sample(RUNS["jaxlib-0.4.25"], 3)]
    one, other = parse_contents(work_of(files)), parse_contents(work_of(files))
    assert one.tables.frames.keys() == other.tables.frames.keys()
    assert all(frame.equals(other.tables.frames[table]) for table, frame in one.tables.frames.items())
