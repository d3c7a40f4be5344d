"""The scanner as Python sees it: it reads dumps one after the other, and then says where their columns are."""

import ctypes
import os
from collections.abc import Mapping
from ctypes import byref
from typing import NamedTuple

from bufferhouse.dump.native.library import Cells, library

KINDS = ("number", "optional", "word", "flag")


class Words(NamedTuple):
    """Distinct texts in memory: `count` + 1 ends of 8 bytes, of which the first is 0, and the UTF-8 between them."""

    ends: int | None
    count: int
    data: int | None
    bytes: int


class Columns(NamedTuple):
    """Where the columns are that a scanner has read, by name (`table.column`), each with its kind; and lists of words.

    `owner` is the scanner, which must live as long as its columns are used.
    """

    owner: "Scanner"
    columns: dict[str, tuple[str, Cells]]
    words: dict[str, Words]


class Scanner:
    """Reads dumps into the columns that `scan.c` declares."""

    def __init__(self, functions: ctypes.CDLL, until_failure: int = -1) -> None:
        """`until_failure` is for tests: the allocation after so many fails; none fails if it is negative.

        Raises:
            MemoryError: there is no memory for the scanner.
        """
        self._functions = functions
        self._state = functions.scanner_begin(int.from_bytes(os.urandom(8), "little"), until_failure)
        if not self._state:
            raise MemoryError
        self._words = _names(functions.scanner_words_name)
        self._is_finished = False

    def __del__(self) -> None:
        if getattr(self, "_state", None):
            self._functions.scanner_end(self._state)

    def read(self, dump_id: int, files: Mapping[str, bytes]) -> bool:
        """Read the files of a dump, given by role; return False, and keep nothing, if this reader does not take it.

        Raises:
            ValueError: `finish` was called before: the columns would move.
        """
        if self._is_finished:
            raise ValueError("expected no dump after the columns were asked for, found one")
        if not all(type(data) is bytes for data in files.values()):
            return False
        if files.keys() == {"combined"}:
            first, values, live_range = files["combined"], None, None
        elif files.keys() == {"allocations", "values", "live_range"}:
            first, values, live_range = files["allocations"], files["values"], files["live_range"]
        else:
            return False
        return bool(
            self._functions.scanner_read(
                self._state, dump_id, first, len(first), values, len(values or b""), live_range, len(live_range or b"")
            )
        )

    def take_back(self) -> None:
        """Forget the dump that was read last."""
        self._functions.scanner_take_back(self._state)

    def new_words(self, name: str, known: int) -> list[str]:
        """Return the texts of a list without the first `known` ones."""
        found = self._where(self._words.index(name))
        if found.count <= known:
            return []
        ends = ctypes.cast(found.ends, ctypes.POINTER(ctypes.c_int64))
        return [
            ctypes.string_at((found.data or 0) + ends[number], ends[number + 1] - ends[number]).decode()
            for number in range(known, found.count)
        ]

    def finish(self) -> Columns:
        """Return where the columns are; after that no dump can be read.

        Raises:
            MemoryError: there is no memory for the bits of absent cells.
        """
        kind = ctypes.c_int64()
        kinds: dict[str, str] = {}
        while name := self._functions.scanner_column_name(len(kinds), byref(kind)):
            kinds[name.decode()] = KINDS[kind.value]
        cells = (Cells * len(kinds))()
        self._is_finished = True
        if not self._functions.scanner_finish(self._state, cells):
            raise MemoryError
        columns = {name: (kind, one) for (name, kind), one in zip(kinds.items(), cells, strict=True)}
        return Columns(self, columns, {name: self._where(number) for number, name in enumerate(self._words)})

    def _where(self, number: int) -> Words:
        count, data = ctypes.c_int64(), ctypes.c_void_p()
        ends = self._functions.scanner_words(self._state, number, byref(count), byref(data))
        last = ctypes.c_int64.from_address(ends + 8 * count.value).value if ends else 0
        return Words(ends, count.value, data.value, last)


def _names(name_of: "ctypes._FuncPointer") -> list[str]:
    names: list[str] = []
    while name := name_of(len(names)):
        names.append(name.decode())
    return names


def new_scanner() -> Scanner | None:
    """Return a scanner; None if the native reader is not built, is switched off, or has no memory."""
    functions = library()
    try:
        return None if functions is None else Scanner(functions)
    except MemoryError:
        return None
