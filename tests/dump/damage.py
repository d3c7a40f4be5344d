"""Real dumps edited: many that all differ, and ways of breaking one, each with the place at which it shows."""

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


Place = tuple[int, int]
"""Line and column, from 1."""


def _line_of(lines: list[bytes], start: bytes) -> int:
    return next(row for row, line in enumerate(lines) if line.startswith(start))


def _in_line(start: bytes, old: bytes, new: bytes, shows: int = 0, below: int = 0) -> Callable[[list[bytes]], Place]:
    """Break a line, some below the first that begins with `start`; it shows `shows` bytes behind where `old` began."""

    def edit(lines: list[bytes]) -> Place:
        row = _line_of(lines, start) + below
        at = lines[row].index(old)
        lines[row] = lines[row][:at] + new + lines[row][at + len(old) :]
        return row + 1, at + shows + 1

    return edit


def _cut(start: bytes, before: bytes, below: int = 0) -> Callable[[list[bytes]], Place]:
    """Break off in the middle of a line, some lines below the first that begins with `start`."""

    def edit(lines: list[bytes]) -> Place:
        row = _line_of(lines, start) + below
        at = lines[row].index(before)
        del lines[row + 1 :]
        lines[row] = lines[row][:at]
        return row + 1, at + 1

    return edit


def _inserted(start: bytes, line: bytes) -> Callable[[list[bytes]], Place]:
    def edit(lines: list[bytes]) -> Place:
        row = _line_of(lines, start)
        lines.insert(row, line)
        return row + 1, 1

    return edit


def _removed(start: bytes) -> Callable[[list[bytes]], Place]:
    def edit(lines: list[bytes]) -> Place:
        row = _line_of(lines, start)
        del lines[row]
        return row + 1, 1

    return edit


def _doubled(start: bytes, shows: int) -> Callable[[list[bytes]], Place]:
    """Repeat a line; its second copy shows it."""

    def edit(lines: list[bytes]) -> Place:
        row = _line_of(lines, start)
        lines.insert(row, lines[row])
        return row + 2, shows

    return edit


def _first_position_elsewhere(lines: list[bytes]) -> Place:
    row = _line_of(lines, b" positions:") + 1
    lines[row] = b"  elsewhere"
    return row + 1, 3


DAMAGES: dict[str, Callable[[list[bytes]], Place]] = {
    "first line": _in_line(b"BufferAssignment:", b"BufferAssignment", b"BuferAssignment"),
    "header": _in_line(b"allocation ", b"allocation", b"alocation"),
    "number": _in_line(b" value: ", b"size=", b"size=x", 5),
    "control character": _in_line(b" value: ", b",offset", b",off\0set"),
    "inserted line": _inserted(b" value: ", b"what is this"),
    "missing line": _removed(b" positions:"),
    "total": _in_line(b"Total bytes used: ", b"used: ", b"used: 9", 6),
    "schedule": _in_line(b"    1:", b"1:", b"7:"),
    "range": _in_line(b"  BufferLiveRange:", b"  BufferLiveRange", b"  BufferLiveRage"),
    "cut in a live range": _cut(b"  BufferLiveRange:", b"{", 1),
    "allocation index": _in_line(b"allocation 0", b"0", b"7"),
    "sign": _in_line(b"allocation ", b"size ", b"size -", 5),
    "leading zero": _in_line(b"allocation ", b"size ", b"size 0", 5),
    "too large": _in_line(b"allocation ", b"size ", b"size 90071992547409930", 5),
    "two spaces": _in_line(b"allocation ", b"size ", b"size  ", 5),
    "no offset": _in_line(b" value: ", b",offset=", b",offset=)", 8),
    "value twice": _doubled(b" value: ", 9),
    "empty line": _inserted(b"    0:", b""),
    "heading": _in_line(b"Used values:", b"Used values", b"Used valves"),
    "other value": _in_line(b"<", b"<", b"<9"),
    "positions": _in_line(b" positions:", b" positions:", b" position:"),
    "first position": _first_position_elsewhere,
    "text behind": _in_line(b"HloLiveRange (max ", b"HloLiveRange (max ", b"HloLiveRange (maximum "),
    "schedule twice": _doubled(b"    0:", 5),
    "no range": _in_line(b"  BufferLiveRange:", b"}:", b"} ", 1, below=1),
    "cut in a header": _cut(b"allocation ", b"size "),
    "cut in a value": _cut(b" value: ", b" (size="),
}


def damaged(text: bytes, kind: str) -> tuple[bytes, Place]:
    """Return a broken dump, and the line and column at which it shows."""
    lines = text.split(b"\n")
    place = DAMAGES[kind](lines)
    return b"\n".join(lines), place
