"""Module texts: the file `…after_optimizations.txt` beside a dump, of which only the head is read.

A module text can be a hundred times its dump. Its head is all lines up to the end of the tables of stack frames, or up
to the first computation where it has none.
"""

import io
import re
from typing import BinaryIO

from bufferhouse.dump.stack_frames import FIRST_TABLE, LAST_TABLE
from bufferhouse.sources import compression

_PIECE_BYTES = 16 << 10
_MOST_BYTES = 16 << 20
# The first line of a computation stands at the margin, as nothing else before it that ends so (HloComputation::Print).
_COMPUTATION = re.compile(rb"(?!HloModule )[^ \n}][^\n]* \{\n")


class HeadError(Exception):
    """The head of a module text that cannot be read, or has no end."""


def head_of(name: str, file: BinaryIO) -> bytes | HeadError:
    """Read the head of a module text, decompressed by the suffix of its name, and nothing behind it.

    What is returned ends with the first line that is no part of the head, or with the end of the file.
    """
    try:
        stream = compression.opened(name, file)
        stream = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, _PIECE_BYTES)
        return _small_head(stream.peek(_PIECE_BYTES)) or _head_by_lines(stream)
    except compression.DAMAGE as error:
        return HeadError(f"expected {name.rsplit('.', 1)[-1]} data, found damage: {error}")


def _small_head(data: bytes) -> bytes | None:
    """Return a head with tables that lies whole in the first bytes of a file; None where there is any doubt."""
    first, last = (data.find(b"\n" + table) + 1 for table in (FIRST_TABLE, LAST_TABLE))
    end = data.find(b"\n\n", last) + 2
    is_plain = data.startswith(b"HloModule ") and 0 < first < last and end > 1 and data.find(b" {\n", 0, last) < 0
    return data[:end] if is_plain else None


def _head_by_lines(stream: BinaryIO) -> bytes | HeadError:
    lines = []
    size = 0
    is_in_tables = is_in_last = False
    while line := stream.readline(_MOST_BYTES + 1 - size):
        lines.append(line)
        size += len(line)
        if size > _MOST_BYTES:
            return HeadError(f"expected the end of the tables within {_MOST_BYTES} bytes, found more")
        if size == len(line) and not line.startswith(b"HloModule "):
            break
        if line == b"\n" if is_in_last else _COMPUTATION.fullmatch(line):
            break
        is_in_last = is_in_last or (is_in_tables and line == LAST_TABLE)
        is_in_tables = is_in_tables or line == FIRST_TABLE
    return b"".join(lines)
