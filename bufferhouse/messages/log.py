"""The lines of a log that may hold a message, however large the log is: prefixes taken off, ranks told apart.

glog and absl write `E1122 17:30:32.022086    1167 file.cc:658] ` before a line, launchers `(EngineCore pid=12) ` or
`[rank3]: `. Many processes write into one log, line by line; those of one process are those with its launcher's prefix.
"""

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

BLOCK_BYTES = 4 << 20
LONGEST_LINE = 4 << 20  # bytes; no message prints one that long
DONATION_KEY = b"Some donated buffers were not usable: "
KEYS = (
    b"Ran out of memory", b"would exceed memory", b"Aborting compilation early", b"allocation_size_words <=",
    b"Attempting to allocate", b"Attempting to reserve", b"Out of memory while trying to allocate",
    b"by rematerialization; only reduced to", b"E1001: CompileTimeScopedVmemOom",
    # A message of which the words above are damaged still has one of these.
    b"RESOURCE_EXHAUSTED", b"compile permanent error", b"exceeds available HBM", b"<= std::numeric_limits<int32_t>",
    DONATION_KEY,
)  # fmt: skip
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LAUNCHER = re.compile(
    r"(?:\[?(?:rank|default) ?[0-9]+\]?:?|\[[0-9]+\](?:<std(?:err|out)>:|:)"
    r"|\((?:[\w.\-]+ )*(?:pid|rank)=[0-9]+[^)\n]*\)|[0-9]+:(?= ))[ \t]?"
)
_LOGGER = re.compile(
    r"[IWEF][0-9]{4} [0-9:.]+ +[0-9]+ [\w./+-]+:[0-9]+\] |"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.,]+: [IWEF] [\w./+-]+:[0-9]+\] "
)


class Line(NamedTuple):
    """A line of a log: its number from 1, who wrote it (empty where nobody says), its text and what stood before it."""

    number: int
    rank: str
    text: str
    prefix: str = ""
    is_whole: bool = True


def lines(file: BinaryIO, is_reading: Callable[[], bool]) -> Iterator[Line]:
    """Yield the lines with a key of a message, and all others as long as `is_reading()`.

    A line longer than LONGEST_LINE comes cut, and is not whole.
    """
    number, rest, is_cut = 1, b"", False
    while True:
        block = file.read(BLOCK_BYTES)
        data = rest + block
        end = data.rfind(b"\n") + 1 if block else len(data)
        if end == 0 and len(data) > LONGEST_LINE:
            rest, is_cut = data[:LONGEST_LINE], True  # what is left of the line is read and thrown away
            continue
        rest = data[end:]
        data = data[:end]
        if is_cut and data:
            first, _, data = data.partition(b"\n")
            yield _line(number, first[:LONGEST_LINE], is_whole=False)
            number, is_cut = number + 1, False
        place = 0
        hits = {key: data.find(key) for key in KEYS}  # the next place of each: no key is looked for twice
        while place < len(data):
            if not is_reading():
                hit = _first(hits, data, place)
                start = data.rfind(b"\n", place, hit) + 1 if hit >= 0 else len(data)
                start = start or place
                number += data.count(b"\n", place, start)
                place = start
                if hit < 0:
                    break
            stop = data.find(b"\n", place)
            stop = stop if stop >= 0 else len(data)
            yield _line(number, data[place:stop])
            number, place = number + 1, stop + 1
        if not block:
            return


def _first(hits: dict[bytes, int], data: bytes, place: int) -> int:
    """Return where the first key stands from a place on, -1 where none does, and bring `hits` up to it."""
    for key, hit in hits.items():
        if 0 <= hit < place:
            hits[key] = data.find(key, place)
    return min((hit for hit in hits.values() if hit >= 0), default=-1)


def _line(number: int, data: bytes, *, is_whole: bool = True) -> Line:
    text = data.decode("utf-8", "backslashreplace").rstrip("\r")
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    start, rank = 0, ""
    while found := _LAUNCHER.match(text, start):
        start, rank = found.end(), rank + found[0].strip()
    if found := _LOGGER.match(text, start):
        start = found.end()
    return Line(number, rank, text[start:], text[:start], is_whole)
