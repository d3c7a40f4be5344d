"""Work grows as the input does: what every reader does is counted in lines of Python and bytes read, not by the clock.

A reader of an input twice as long may do twice as much, and a tenth more. What one line hands to the C library is
bounded there by patterns without backtracking (`tests/dump/test_grammar.py`); a loop in Python shows here.
"""

import io
import json
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bufferhouse.dump import DumpError, parse
from bufferhouse.dump.columns import Dumps
from bufferhouse.dump.identity import program_name, read_file_name
from bufferhouse.dump.instruction_text import attributes, unescaped
from bufferhouse.dump.stack_frames import read_stack_frames
from bufferhouse.sources.archive import Archive
from bufferhouse.sources.discover import discover, read
from bufferhouse.sources.module_text import head_of
from bufferhouse.sources.run import RunFault, read_run_file
from bufferhouse.tabulate.overlap import OverlapError, overlaps, strict_overlaps
from bufferhouse.tabulate.shape import ShapeError, leaves, parse_shape, subshape, without_layout
from bufferhouse.tabulate.tabulator import entry_signatures
from tests.fuzz import HOSTILE
from tests.ingests import name_of
from tests.synthetic import Slot, dump_text, small_dump

REFUSALS = (DumpError, ShapeError, OverlapError, RunFault)


def lines_of(read: Callable[[], object]) -> int:
    """Count the lines of Python that run."""
    count = 0

    def trace(frame: object, event: str, _: object) -> Callable | None:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read()
    except REFUSALS:
        pass
    finally:
        sys.settrace(before)
    return count


def assert_linear(make: Callable[[int], object], read: Callable[[object], object], n: int) -> None:
    """Read inputs of n and 2n, each after one small one that fills what is kept."""
    counts = []
    for size in (n // 8, n, 2 * n):
        made = make(size)
        counts.append(lines_of(lambda made=made: read(made)))
    _, once, twice = counts
    assert twice <= 2.2 * once + 500, counts


def shape_deep(n: int) -> str:
    return "(" * n + "f32[2]" + ")" * n


SHAPES = {
    "deep tuples": shape_deep,
    "wide tuples": lambda n: "(" + ", ".join(["f32[2]{0}"] * n) + ")",
    "dimensions": lambda n: "f32[" + ",".join(["9"] * n) + "]{" + ",".join(map(str, range(n))) + ":T(8,128)}",
    "joined dimensions": lambda n: (
        "f32[" + ",".join(["9"] * n) + "]{" + ",".join(map(str, range(n))) + ":T(8" + ",*" * (n - 1) + ")}"
    ),
    "buffers": lambda n: "b(" * n + "f32[2]" + ")" * n,
    "physical shapes": lambda n: "f32[2]{0:P(" * n + "f32[2]" + ")}" * n,
    "an open tuple": lambda n: "(" * n,
    "splits": lambda n: "f32[9]{0:SC" + "(0:1)" * n + "}",
}


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes(kind):
    """Of a shape text each part is looked at once, whatever is asked of it."""

    def ask(text: str) -> None:
        for question in (parse_shape, leaves, without_layout):
            question(text)
        subshape(text, (0,) * (len(text) // 2))

    assert_linear(SHAPES[kind], ask, 400)


def test_the_size_of_a_shape_is_counted_as_far_as_it_can_be_stored():
    """A product of 100,000 dimensions would have millions of digits; a zero among them still makes it empty."""
    dims, layout = ["9223372036854775807"] * 100_000, ",".join(map(str, range(100_000)))
    shape = parse_shape(f"f32[{','.join(dims)}]{{{layout}:T(8,128)}}")
    assert (100_000, None, None) == (len(shape.dims), shape.logical_bytes, shape.physical_bytes)
    empty = parse_shape(f"f32[{','.join(dims[:-1])},0]")
    assert (0, 0) == (empty.logical_bytes, empty.physical_bytes)


@pytest.mark.parametrize("kind", HOSTILE)
def test_dumps(kind):
    """Inputs that are made to bring some loop of the reader to run over them again and again."""
    assert_linear(HOSTILE[kind], parse, 6000)


SLOTS = {
    "apart": lambda n: [Slot(0, n, 8 * i, 8) for i in range(n)],
    "apart and backwards": lambda n: [Slot(i, n, 8 * (n - i), 8) for i in range(n)],
    "instants": lambda n: [Slot(1, 1, 8 * i, 8) for i in range(n)],
    "one after the other": lambda n: [Slot(i, i + 1, 0, 8) for i in range(n)],
    "one in the other": lambda n: [Slot(0, n, i, 2 * (n - i)) for i in range(n)],
    "meeting": lambda n: [Slot(0, 1, 8 * i, 8) if i < n // 2 else Slot(1, 2, 8 * i, 8) for i in range(n)],
}


@pytest.mark.parametrize("kind", SLOTS)
def test_overlaps(kind):
    """Slots anywhere, at any time: each is compared with its neighbors."""

    def sweep(dumps: Dumps) -> None:
        strict_overlaps(dumps)
        list(entry_signatures(dumps))

    assert_linear(lambda n: Dumps.of(parse(dump_text(SLOTS[kind](n)))), sweep, 300)


def test_models_have_a_bound_on_what_they_compare():
    """Values that all share bytes are refused where the models would compare the square of their number."""
    assert True is overlaps([(0, 9, number, 9000 - number) for number in range(200)])
    assert [True] == strict_overlaps(Dumps.of(parse(dump_text(SLOTS["one in the other"](60)))))
    with pytest.raises(OverlapError) as error:
        strict_overlaps(Dumps.of(parse(dump_text(SLOTS["one in the other"](1000)))))
    assert (0, True) == (error.value.allocation, "1000 values" in error.value.found)


TEXTS = {
    "escapes": lambda n: '%a = f32[] add(), metadata={op_name="' + "\\9" * n + '"}',
    "items": lambda n: "%a = f32[] add(), metadata={" + 'op_name="x" ' * n + "}",
    "fake metadata": lambda n: '%a = f32[] add(), x="' + ", metadata={" * n + '"',
    "operands": lambda n: "%a = f32[] add(" + "f32[] %b, " * n + ")",
    "brackets": lambda n: "%a = f32[] add(" + "(" * n + ")" * n + ")",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_instruction_texts(kind):
    """The texts that are read by themselves."""
    assert_linear(TEXTS[kind], attributes, 500)


NAMES = {
    "underscores": lambda n: "f" + "_" * n + "x",
    "trailing underscores": lambda n: "f" + "_" * n,
    "recompiles": lambda n: "f" + "_1" * n,
    "dots": lambda n: "f" + ".1" * n + "x",
    "digits": lambda n: "f_" + "1" * n + "x",
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(kind):
    """Names of programs, and those of the files that say them; work with the square of 260,000 would not end."""

    name = NAMES[kind](1 << 18)
    assert program_name(name).startswith("f")
    path = f"module_1.{name}.cpu_after_optimizations-buffer-assignment.txt"
    assert name == read_file_name(path).module_name
    assert read_file_name(path.replace("_after", "_behind")).module_name is None


def frames_of(n: int) -> bytes:
    files = "".join(f'{i} "{"x" * 50}"\n' for i in range(1, n + 1))
    places = "".join(f"{i} {{file_name_id={i} function_name_id={i} line=1}}\n" for i in range(1, n + 1))
    frames = "".join(f"{i} {{file_location_id={i} parent_frame_id={(i + 9) // 10}}}\n" for i in range(1, n + 1))
    tables = f"FileNames\n{files}\nFunctionNames\n{files}\nFileLocations\n{places}\nStackFrames\n{frames}\n"
    return f"HloModule a\n\n{tables}".encode()


def test_module_texts():
    """The head of a module text, and its tables of stack frames."""

    def ask(data: bytes) -> None:
        head = head_of("x.txt", io.BytesIO(data))
        read_stack_frames(head.replace(b"parent_frame_id=0", b"parent_frame_id=1"))

    assert_linear(frames_of, ask, 100)


def test_a_line_of_escapes_is_refused():
    """A pattern that counts escapes needs memory for each: no name of a file has thousands."""
    head = b'HloModule a\n\nFileNames\n1 "' + b"\\\\" * 100_000 + b'"\n\n'
    with pytest.raises(DumpError, match="a line of at most"):
        read_stack_frames(head)
    assert "9" * 3 == unescaped("\\9\\9\\9")


RUN_FILES = {
    "labels": lambda n: json.dumps({"labels": {str(i): i for i in range(n)}}).encode(),
    "deep": lambda n: b'{"labels": {"a": ' + b"[" * n + b"]" * n + b"}}",
    "digits": lambda n: b'{"labels": {"a": ' + b"9" * n + b"}}",
}


@pytest.mark.parametrize("kind", RUN_FILES)
def test_run_files(kind):
    """A run.json, as far as it is read."""
    # Whatever the Python is, n and 2n are on the same side of its limits on levels and digits: a refusal takes more.
    assert_linear(RUN_FILES[kind], lambda data: read_run_file("run.json", data), 4500)


def tarred(n: int, path: Path) -> Path:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(n):
            info = tarfile.TarInfo(f"run{number % 7}/{name_of(number)}")
            info.size, info.pax_headers = len(small_dump(1)), {"comment": "x" * 50}
            archive.addfile(info, io.BytesIO(small_dump(1)))
    return path


def zipped(n: int, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(n):
            archive.writestr(f"run{number % 7}/{name_of(number)}", small_dump(1))
            archive.writestr(f"other{number}/run.json", "{}")
    return path


def lying(n: int, path: Path) -> Path:
    from tests.attack.archives import END, good, member, pax

    odd = b"".join(pax(mtime="inf") + member(f"{number}/x-buffer-assignment.txt") for number in range(n))
    path.write_bytes(odd + good(1) + END)
    return path


@pytest.mark.parametrize("make", [tarred, zipped, lying], ids=["tar", "zip", "lies"])
def test_archives(make, tmp_path):
    """Listed and read; what is read of the file are its bytes, twice."""

    def ask(path: Path) -> None:
        assert list(read(discover([path]).dumps))

    assert_linear(lambda n: make(n, tmp_path / f"{n}{'.zip' if make is zipped else '.tar'}"), ask, 40)


def test_an_archive_is_read_as_far_as_it_goes(tmp_path):
    """A size of 2^62 in its headers asks for no byte behind its end."""
    from tests.attack.archives import good, member, pax

    path = tmp_path / "long.tar"
    path.write_bytes(good(1) + pax(size=str(2**62)) + member())
    asked = []

    class Counted(io.FileIO):
        def read(self, size: int = -1) -> bytes:
            asked.append(size)
            return super().read(size)

    archive = Archive(str(path), lambda: Counted(path))
    assert [name_of(1), "odd-buffer-assignment.txt"] == [one.path.rsplit("!", 1)[1] for one in archive.entries()]
    assert [(str(path), "the archive is damaged: unexpected end of data")] == archive.refused
    assert len(asked) < 100
