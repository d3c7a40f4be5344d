"""The reader of stack frames: real heads against an independent reading, and what it says of damaged ones."""

import gzip
import io
import lzma
from pathlib import Path

import pytest
import zstandard

from bufferhouse.dump import DumpError, stack_frames
from bufferhouse.dump.identity import dump_beside, module_text_beside
from bufferhouse.dump.stack_frames import read_stack_frames
from bufferhouse.sources.module_text import HeadError, head_of
from tests.samples import unpack
from tests.sources.module_texts import DATA, ENDING, call_stacks, mentioned

SMALL = (DATA / "jaxlib-0.10.0" / f"module_0001.jit_scalar_add.cpu_{ENDING}").read_text()
HEAD = SMALL[: SMALL.index("%wrapped")]


def read(text: str | bytes) -> dict[int, list] | None:
    """The call stacks that the reader finds in a text."""
    data = text.encode() if isinstance(text, str) else text
    frames = read_stack_frames(head_of("x.txt", io.BytesIO(data)))
    if frames is None:
        return None
    places = {one.stack_frame_id: (one.function_name, one.source_file, one.source_line) for one in frames}
    return {one.stack_frame_id: [places[number] for number in one.call_stack] for one in frames}


def compare(paths: list[Path]) -> int:
    """Compare the reader with the other reading; return how many call stacks were equal."""
    count = 0
    for path in paths:
        text = path.read_text()
        expected = call_stacks(text)
        assert (expected or None) == read(text), path.name
        assert mentioned(text) <= expected.keys(), path.name
        count += len(expected)
    return count


def test_every_frame_of_real_module_texts_is_resolved():
    """Of CPU and TPU, with functions that call each other, and with none at all."""
    assert 23 == compare(sorted(DATA.glob(f"*/*{ENDING}")))


@pytest.mark.corpus
def test_every_frame_of_the_corpus_is_resolved(corpus, tmp_path):
    """All module texts of three compilers."""
    for path in sorted((corpus / "builds").glob("*-hlo.tar.gz")):
        unpack(path, tmp_path)
    assert 2240 == compare(sorted(tmp_path.glob(f"*/*{ENDING}")))


def test_the_outermost_frame_has_no_caller():
    """XLA prints the number of the parent and 1: 1 is none."""
    frames = read_stack_frames(HEAD.encode())
    assert [(1,), (2, 1), (3, 2, 1)] == [frame.call_stack for frame in frames]
    last = ("scalar_add", "/srv/train/programs.py", 26, 26, 26, 31)
    assert last == frames[-1][2:]


def test_nothing_behind_the_head_is_read():
    """Not one line: a module text can be a hundred times its dump."""
    data = SMALL.encode()
    file = io.BufferedReader(io.BytesIO(data), 16)
    assert HEAD.encode()[:-1] == head_of("x.txt", file)
    assert file.tell() < len(HEAD)
    bare = "HloModule f, is_scheduled=true\n\nENTRY %main (x: f32[]) -> f32[] {\n"
    assert bare.encode() == head_of("x.txt", io.BytesIO((bare + "  ROOT %x = f32[] parameter(0)\n}\n").encode()))
    assert read(bare) is None


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress), ("xz", lzma.compress)]
)
def test_compressed_module_texts_are_read(suffix, pack):
    """By the suffix of their names; a cut one is no head."""
    data = pack(SMALL.encode())
    assert HEAD.encode()[:-1] == head_of(f"x.txt.{suffix}", io.BytesIO(data))
    damaged = head_of(f"x.txt.{suffix}", io.BytesIO(data[: len(data) // 4]))
    if not isinstance(damaged, HeadError):
        with pytest.raises(DumpError, match=r"found (the end of the|an empty) file"):
            read_stack_frames(damaged)


def test_names_are_unescaped_and_unknown_numbers_are_none():
    """As absl::CEscape wrote them, bytes that are no UTF-8 included; lines below 0 and ends that are not printed."""
    text = HEAD.replace("programs.py", 'gr\\303\\266\\303\\237e \\"x\\".py').replace('"mk"', '"a\\tb"')
    text = text.replace(" line=26 end_line=26 column=26 end_column=31", " line=-1")
    frames = read_stack_frames(text.encode())
    assert '/srv/train/größe "x".py' == frames[0].source_file
    assert "a\tb" == frames[1].function_name
    assert (None, None, None, None) == frames[2][4:]
    raw = HEAD.encode().replace(b"programs.py", b"caf\xe9.py")
    assert "/srv/train/café.py" == read_stack_frames(raw)[0].source_file


def test_a_header_of_several_lines_is_passed_over():
    """The table of original values holds a whole module, indented."""
    module = "HloModule r\n\n    ENTRY %e () -> s32[] {\n    }\n\n"
    table = f'{{\n  {{"a"}} : {{"b"}},\n  "\n    {module}  "\n}}\n'
    text = SMALL.replace("\n", f", origin_recovery_table={table}", 1)
    assert call_stacks(SMALL) == read(text)


# What is damaged, and what is said of it.
DAMAGED = {
    "empty": (lambda text: "", "1:1: expected HloModule, found an empty file"),
    "something else": (lambda text: "BufferAssignment:\n", "1:1: expected HloModule, found 'BufferAssignment:'"),
    "cut in the header": (lambda text: text[:30], "expected FileNames or a computation, found the end of the file"),
    "cut in names": (
        lambda text: text[: text.index('"mk"') + 2],
        """8:1: expected a line such as: 1 "step", found '2 "m'""",
    ),
    "cut between tables": (
        lambda text: text[: text.index("StackFrames")],
        "16:1: expected StackFrames, found the end of the file",
    ),
    "cut at a line": (
        lambda text: text[: text.index("3 {file_location")],
        "19:1: expected an empty line behind the table, found the end of the file",
    ),
    "cut behind the last line": (
        lambda text: text[: text.index("\n\n\n%")] + "\n",
        "20:1: expected an empty line behind the table, found the end of the file",
    ),
    "a table is missing": (
        lambda text: text.replace("FunctionNames", "FileLocations", 1),
        "6:1: expected FunctionNames, found 'FileLocations'",
    ),
    "a number is missing": (lambda text: text.replace('2 "mk"\n', ""), "numbered 2, found '3 \"scalar_add\"'"),
    "no such file": (
        lambda text: text.replace("file_name_id=1", "file_name_id=2", 1),
        "12:1: expected a file_name_id from 1 to 1, found 2",
    ),
    "no such function": (
        lambda text: text.replace("function_name_id=3", "function_name_id=4"),
        "14:1: expected a function_name_id from 1 to 3, found 4",
    ),
    "no such location": (
        lambda text: text.replace("file_location_id=2", "file_location_id=0"),
        "18:1: expected a file_location_id from 1 to 3, found 0",
    ),
    "no such caller": (
        lambda text: text.replace("parent_frame_id=3", "parent_frame_id=9"),
        "19:1: expected a parent_frame_id from 1 to 4, found 9",
    ),
    "a circle": (
        lambda text: text.replace("parent_frame_id=2", "parent_frame_id=4"),
        "18:1: expected a caller that is not the frame itself, found frame 2 in a circle",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_head_is_refused_with_its_place(name):
    """Line, column, what was expected and what was found; never half of the tables."""
    change, message = DAMAGED[name]
    with pytest.raises(DumpError) as error:
        read(change(SMALL))
    assert str(error.value).endswith(message)


def test_every_cut_of_a_head_is_noticed():
    """At whatever byte a module text breaks off, no frames are made up."""
    for length in range(len(HEAD) - 1):
        with pytest.raises(DumpError):
            read(SMALL[:length])


def test_what_has_no_bound_is_refused(monkeypatch):
    """A head without an end, and frames whose call stacks together would fill the memory."""
    monkeypatch.setattr("bufferhouse.sources.module_text._MOST_BYTES", 1000)
    assert "within 1000 bytes, found more" in str(head_of("x.txt", io.BytesIO(b"HloModule f" + b"x" * 2000)))
    monkeypatch.setattr(stack_frames, "MOST_CALLERS", 5)
    with pytest.raises(DumpError, match="19:1: expected at most 5 callers in all, found more"):
        read_stack_frames(HEAD.encode())


def test_names_lead_from_a_dump_to_its_module_text_and_back():
    """A dump that is not called as XLA calls it has none."""
    dump = f"/d/module_0001.jit_f.cpu_{ENDING.removesuffix('.txt')}-buffer-assignment.txt"
    text = f"/d/module_0001.jit_f.cpu_{ENDING}"
    assert (text, dump) == (module_text_beside(dump), dump_beside(text))
    assert module_text_beside("/d/notes-buffer-assignment.txt") is None
