"""Real dumps edited: many that all differ, and ten ways of breaking one, each with the line at which it shows."""

import re
from collections.abc import Callable
from pathlib import Path


def sources(fleet: Path) -> list[bytes]:
    """Dumps in one file with a live range section, of several compilers."""
    runs = ("jaxlib-0.4.38", "jaxlib-0.6.0", "jaxlib-0.7.0", "jaxlib-0.9.0", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33")
    texts = [path.read_bytes() for run in runs for path in sorted((fleet / run).glob("*-buffer-assignment.txt"))]
    return [text for text in texts if b"HloLiveRange (max 0)" not in text]


def renamed(text: bytes, number: int) -> bytes:
    """The same dump with another name for the instruction that runs last."""
    section = text[text.index(b"InstructionSequence:") : text.index(b"  BufferLiveRange:")]
    name = section.rsplit(b"\n", 2)[-2].split(b":", 1)[1]
    return re.sub(rb"(?<![\w.\-])" + re.escape(name) + rb"(?![\w.\-])", name + b"_%d" % number, text)


def _line_of(lines: list[bytes], start: bytes, nth: int = 0) -> int:
    return [row for row, line in enumerate(lines) if line.startswith(start)][nth]


def _in_line(start: bytes, old: bytes, new: bytes, nth: int = 0) -> Callable[[list[bytes]], int]:
    """Break one line, counted among those that begin with `start`."""

    def edit(lines: list[bytes]) -> int:
        row = _line_of(lines, start, nth)
        assert old in lines[row]
        lines[row] = lines[row].replace(old, new, 1)
        return row + 1

    return edit


def _cut(lines: list[bytes]) -> int:
    """Break off in the middle of a live range."""
    row = _line_of(lines, b"  BufferLiveRange:") + 1
    del lines[row + 1 :]
    lines[row] = lines[row][: len(lines[row]) // 2]
    return row + 1


def _inserted(lines: list[bytes]) -> int:
    row = _line_of(lines, b" value: ")
    lines.insert(row, b"what is this")
    return row + 1


def _removed(lines: list[bytes]) -> int:
    row = _line_of(lines, b" positions:")
    del lines[row]
    return row + 1


DAMAGES: dict[str, Callable[[list[bytes]], int]] = {
    "first line": _in_line(b"BufferAssignment:", b"Buffer", b"Bufer"),
    "header": _in_line(b"allocation ", b"allocation", b"alocation"),
    "number": _in_line(b" value: ", b"size=", b"size=x"),
    "control character": _in_line(b" value: ", b"offset", b"off\0set"),
    "inserted line": _inserted,
    "missing line": _removed,
    "total": _in_line(b"Total bytes used: ", b"used: ", b"used: 9"),
    "schedule": _in_line(b"    1:", b"1:", b"7:"),
    "range": _in_line(b"  BufferLiveRange:", b"Range", b"Rage"),
    "cut": _cut,
}


def damaged(text: bytes, kind: str) -> tuple[bytes, int]:
    """Return a broken dump, and the line at which it shows."""
    lines = text.split(b"\n")
    line = DAMAGES[kind](lines)
    return b"\n".join(lines), line
