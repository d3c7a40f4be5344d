"""The tables of stack frames at the head of a module text: file, line, function and caller of each frame.

A module text is what XLA dumps beside a buffer assignment as `…after_optimizations.txt`. Since jaxlib 0.8.2 an
instruction there and in the dump only has a `stack_frame_id`; HloModule::PrintStackFrameIndex prints the tables:
FileNames, FunctionNames, FileLocations, StackFrames, numbered from 1, each ended by an empty line.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from bufferhouse.dump.errors import DumpError, quoted
from bufferhouse.dump.instruction_text import unescaped

FIRST_TABLE = b"FileNames\n"
LAST_TABLE = b"StackFrames\n"
LONGEST_LINE = 1 << 16  # a pattern remembers each escape that it passes, in hundreds of bytes
MOST_CALLERS = 1 << 22  # callers of all frames together: a forged chain of frames would have the square of its length

_NAME = re.compile(r'([1-9][0-9]{0,8}) "((?:[^"\\]|\\.)*)"')
_LOCATION = re.compile(
    r"([1-9][0-9]{0,8}) \{file_name_id=([0-9]{1,9}) function_name_id=([0-9]{1,9}) line=(-?[0-9]{1,9})"
    r"(?: end_line=(-?[0-9]{1,9}))?(?: column=(-?[0-9]{1,9}))?(?: end_column=(-?[0-9]{1,9}))?\}"
)
_FRAME = re.compile(r"([1-9][0-9]{0,8}) \{file_location_id=([0-9]{1,9}) parent_frame_id=([0-9]{1,9})\}")
_TABLES = (
    ("FileNames", _NAME, 'a line such as: 1 "train.py"'),
    ("FunctionNames", _NAME, 'a line such as: 1 "step"'),
    ("FileLocations", _LOCATION, "a line such as: 1 {file_name_id=1 function_name_id=1 line=7 …}"),
    ("StackFrames", _FRAME, "a line such as: 1 {file_location_id=1 parent_frame_id=1}"),
)


class StackFrame(NamedTuple):
    """One frame: where it is, and `call_stack`, the numbers of the frame itself and its callers, innermost first.

    Numbers that were not printed, and those below 0, by which XLA says that it does not know, are None.
    """

    stack_frame_id: int
    call_stack: tuple[int, ...]
    function_name: str
    source_file: str
    source_line: int | None
    source_end_line: int | None
    source_column: int | None
    source_end_column: int | None


def read_stack_frames(head: bytes) -> list[StackFrame] | None:
    """Return the frames of a module text by its head, the lines up to the end of the tables; None where it has none.

    Raises:
        DumpError: the head is damaged or cut, with the place in the module text.
    """
    try:
        lines = head.decode().split("\n")
    except UnicodeDecodeError:
        lines = head.decode("latin-1").split("\n")
    if not lines[0].startswith("HloModule "):
        raise DumpError(1, 1, "HloModule", quoted(lines[0]) if head else "an empty file")
    first_table = FIRST_TABLE.decode().rstrip("\n")
    if first_table not in lines:
        if len(lines) < 2 or lines[-2][-2:] != " {":
            raise DumpError(len(lines), 1, "FileNames or a computation", "the end of the file")
        return None
    place = first = lines.index(first_table)
    tables = []
    for name, form, expected in _TABLES:
        if lines[place] != name:
            raise _fault(lines, place, name)
        rows = list(_rows(lines, place + 1, form, expected))
        tables.append(rows)
        place += len(rows) + 2
    return _resolved(tables, first)


def _rows(lines: list[str], start: int, form: re.Pattern, expected: str) -> Iterator[re.Match]:
    """Yield the lines of one table, which are numbered from 1 and end in an empty line."""
    for number, place in enumerate(range(start, len(lines)), 1):
        if not lines[place]:
            if place == len(lines) - 1:
                break
            return
        if len(lines[place]) > LONGEST_LINE:
            raise _fault(lines, place, f"a line of at most {LONGEST_LINE} characters")
        match = form.fullmatch(lines[place])
        if match is None or int(match[1]) != number:
            raise _fault(lines, place, f"{expected}, numbered {number}" if match else expected)
        yield match
    raise DumpError(len(lines), 1, "an empty line behind the table", "the end of the file")


def _fault(lines: list[str], place: int, expected: str) -> DumpError:
    is_end = place >= len(lines) - 1
    found = "the end of the file" if is_end and not lines[-1] else quoted(lines[min(place, len(lines) - 1)])
    return DumpError(min(place, len(lines) - 1) + 1, 1, expected, found)


def _resolved(tables: list[list[re.Match]], first: int) -> list[StackFrame]:
    """Put the four tables together; `first` is the place of the first of them, from which faults are counted."""
    files, functions = ([unescaped(row[2]) or "" for row in rows] for rows in tables[:2])
    starts = [first + 1]
    for rows in tables[:-1]:
        starts.append(starts[-1] + len(rows) + 2)
    locations = []
    for place, row in enumerate(tables[2], starts[2]):
        file, function = int(row[2]), int(row[3])
        _check(place, "a file_name_id", file, len(files))
        _check(place, "a function_name_id", function, len(functions))
        locations.append((functions[function - 1], files[file - 1], *map(_number, row.groups()[3:])))
    parents = []
    for place, row in enumerate(tables[3], starts[3]):
        _check(place, "a file_location_id", int(row[2]), len(locations))
        # Printed is the parent's number and 1: the outermost frame has the parent 0 (HloModule::PrintStackFrameIndex).
        _check(place, "a parent_frame_id", int(row[3]), len(tables[3]) + 1)
        parents.append(int(row[3]) - 1)
    stacks = call_stacks(parents, starts[3])
    return [StackFrame(number, stacks[number], *locations[int(row[2]) - 1]) for number, row in enumerate(tables[3], 1)]


def _check(place: int, what: str, number: int, count: int) -> None:
    if not 1 <= number <= count:
        raise DumpError(place + 1, 1, f"{what} from 1 to {count}", str(number))


def _number(cell: str | None) -> int | None:
    number = -1 if cell is None else int(cell)
    return number if number >= 0 else None


def call_stacks(parents: list[int], start: int) -> dict[int, tuple[int, ...]]:
    """Return each frame with its callers; a frame that calls itself by way of others is refused."""
    stacks: dict[int, tuple[int, ...]] = {0: ()}
    total = 0
    for frame in range(1, len(parents) + 1):
        way = [frame]
        while parents[way[-1] - 1] not in stacks:
            way.append(parents[way[-1] - 1])
            if len(way) > len(parents):
                raise DumpError(start + frame, 1, "a caller that is not the frame itself", f"frame {frame} in a circle")
        for number in reversed(way):
            stacks.setdefault(number, (number, *stacks[parents[number - 1]]))
            total += len(stacks[number])
            if total > MOST_CALLERS:
                raise DumpError(start + number, 1, f"at most {MOST_CALLERS} callers in all", "more")
    return stacks
