"""Module texts: the file `…after_optimizations.txt` beside a dump, of which only the head is read.

A module text can be a hundred times its dump. Its head is all lines up to the end of the tables of stack frames, or up
to the first computation where it has none.
"""

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.dump.stack_frames import FIRST_TABLE, LAST_TABLE
from bufferhouse.sources import compression

STAGE = "after_optimizations"
ENDING = f"{STAGE}.txt"
_DUMP_ENDING = f"{STAGE}{SUFFIXES['allocations']}"
_PIECE_BYTES = 16 << 10
_MOST_BYTES = 16 << 20
# The first line of a computation stands at the margin, as nothing else before it that ends so (HloComputation::Print).
_COMPUTATION = re.compile(rb"(?!HloModule )[^ \n}][^\n]* \{\n")


class HeadError(Exception):
    """The head of a module text that cannot be read, or has no end."""


def is_module_text(path: str) -> bool:
    """Say whether a file is called like a module text, compressed or not."""
    return ENDING in path and compression.plain_name(path).endswith(ENDING)


def dump_beside(path: str) -> str:
    """Return the plain path of the dump that a module text belongs to."""
    return compression.plain_name(path).removesuffix(ENDING) + _DUMP_ENDING


def names_beside(path: str) -> Iterator[str]:
    """Yield the paths at which the module text of a dump may lie: none where the dump is not called as XLA calls it."""
    plain = compression.plain_name(path)
    if plain.endswith(_DUMP_ENDING):
        stem = plain.removesuffix(_DUMP_ENDING)
        yield from (f"{stem}{ENDING}{suffix}" for suffix in ("", *compression.SUFFIXES))


def head_of(name: str, file: BinaryIO) -> bytes | HeadError:
    """Read the head of a module text, decompressed by the suffix of its name, and nothing behind it.

    What is returned ends with the first line that is no part of the head, or with the end of the file.
    """
    try:
        stream = compression.opened(name, file)
        return _head(stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, _PIECE_BYTES))
    except compression.DAMAGE as error:
        return HeadError(f"expected {name.rsplit('.', 1)[-1]} data, found damage: {error}")


def _head(stream: BinaryIO) -> bytes | HeadError:
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
        if not is_in_tables:
            is_in_tables = line == FIRST_TABLE
            if _COMPUTATION.fullmatch(line):
                break
        elif not is_in_last:
            is_in_last = line == LAST_TABLE
            if _COMPUTATION.fullmatch(line):
                break
        elif line == b"\n":
            break
    return b"".join(lines)
