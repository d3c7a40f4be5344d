"""The lines of a log that may hold a message, however large the log is: prefixes taken off, ranks told apart.

glog and absl write `E1122 17:30:32.022086    1167 file.cc:658] ` before a line, launchers `(EngineCore pid=12) ` or
`[rank3]: `, what collects logs the time, or an object of JSON around the line. Many processes write into one log, line
by line; those of one process are those with its launcher's prefix.
"""

import json
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
    b"B) on device ordinal ", b"exceeding available bytes: ", b" (rounded to ",
    # Without the words before it other programs say it, too.
    b"computation: Out of memory allocating ", b"Definition Event: Out of memory allocating ",
    b"allocation_size_words \\u003c=",  # as JSON of Docker writes it
    # A message of which the words above are damaged still has one of these.
    b"RESOURCE_EXHAUSTED", b"compile permanent error", b"exceeds available HBM", b"<= std::numeric_limits<int32_t>",
    DONATION_KEY,
)  # fmt: skip
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LAUNCHER = re.compile(
    r"(?:\[?(?:rank|default) ?[0-9]+\]?:?|\[[0-9]+(?:,[0-9]+)?\](?:<std(?:err|out)>:|:)"
    r"|\[(?:worker|host|task|process)[ -]?[0-9]+\]:?|(?:worker|host|task|process|node)[ _-]?[0-9]+:(?= |$)"  # pdsh
    r"|\[pod/[^\]\s]+\]|[\w.\-]+ *\|(?= |$)"  # kubectl; docker compose
    r"|\((?:[\w.\-]+ )*(?:pid|rank)=[0-9]+[^)\n]*\)|[0-9]+:(?= )"
    r"|[\w.\-]+ [\w./\-]+\[[0-9]+\]:(?= |$))[ \t]?"  # journald and syslog, behind the time
)
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
_LEVEL = r"\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\]?"
# What says when a line was written, and how bad it is. `stderr F` is of container runtimes, `E   ` of pytest.
_STAMP = re.compile(
    rf"\[?(?:(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]|[A-Z][a-z]{{2}} [ 0-9][0-9] ){_CLOCK}|{_CLOCK})"
    r" ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?\]?:?(?: std(?:err|out) [FP])?(?:[ \t]|$)"
    rf"|(?:- )?(?:[\w.]+ - )?{_LEVEL}(?: -|:)?(?:[ \t]|$)|E(?= {{3}}|$)"
)
_LOGGER = re.compile(
    r"(?:[IWEF][0-9]{4} [0-9:.]+ +[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.,]+: [IWEF](?: +[0-9]+)?)"
    r" [\w./+-]+:[0-9]+\](?: |$)"
)
# An exception as Python's `repr` writes it: line feeds are two characters there.
_QUOTE = re.compile(r"(['\"])(?=(?:RESOURCE_EXHAUSTED|INTERNAL): )")
# Where an object of JSON has the text of a line, and where the process that wrote it.
_TEXTS = ("log", "message", "msg", "textPayload", "text", "event")
_WRITERS = ("pod_name", "pod", "container_id", "instance_id")


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
            yield from _lines(number, first[:LONGEST_LINE], is_whole=False)
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
            yield from _lines(number, data[place:stop])
            number, place = number + 1, stop + 1
        if not block:
            return


def _first(hits: dict[bytes, int], data: bytes, place: int) -> int:
    """Return where the first key stands from a place on, -1 where none does, and bring `hits` up to it."""
    for key, hit in hits.items():
        if 0 <= hit < place:
            hits[key] = data.find(key, place)
    return min((hit for hit in hits.values() if hit >= 0), default=-1)


def _lines(number: int, data: bytes, *, is_whole: bool = True) -> Iterator[Line]:
    """Yield what a line of a log holds: itself without what stands before it, or the lines that it quotes."""
    text = data.decode("utf-8", "backslashreplace").rstrip("\r")
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    start, rank = _begun(text)
    is_json = is_whole and text.startswith("{", start)
    told, writer = (is_json and _in_json(text[start:])) or ([text], "")
    for one in (said for line in told for said in _quoted(line)):
        inner, own = _begun(one)
        # What an object or a quotation holds has the column of its first characters there.
        place = inner if one == text else start + max(text[start:].find(one[inner : inner + 20]), 0)
        yield Line(number, own if one == text else rank + writer + own, one[inner:], text[:place], is_whole)


def _quoted(text: str) -> list[str]:
    """Return the lines of an exception that is written as Python's `repr` does; of any other text itself."""
    if (found := _QUOTE.search(text)) is None or (end := text.rfind(found[1])) <= found.end():
        return [text]
    said = text[found.end() : end].partition("[type.googleapis.com/")[0]
    return said.replace(f"\\{found[1]}", found[1]).split("\\n")


def _begun(text: str) -> tuple[int, str]:
    """Return where a line begins behind its prefixes, and who wrote it."""
    start, rank = 0, ""
    while True:
        if found := _LOGGER.match(text, start):
            return found.end(), rank
        if found := _LAUNCHER.match(text, start):
            rank += found[0].strip()
        elif not (found := _STAMP.match(text, start)):
            return start, rank
        start = found.end()


def _in_json(text: str) -> tuple[list[str], str] | None:
    """Return the lines that an object of JSON holds, and who wrote them; None where it is none."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    texts: dict[str, str] = {}
    left = [record]
    while left:
        for name, value in left.pop().items():
            if isinstance(value, dict):
                left.append(value)
            elif isinstance(value, str):
                texts.setdefault(name, value)
    keys = [key.decode() for key in KEYS]
    named = [texts[name] for name in _TEXTS if name in texts] or [""]
    told = next((one for one in [*named, *texts.values()] if any(key in one for key in keys)), named[0])
    writer = next((f"{texts[name]}:" for name in _WRITERS if name in texts), "")
    plain = _COLOURS.sub("", told).replace("\r\n", "\n").removesuffix("\n")
    # JSON can hold halves of characters, which no text has.
    plain, writer = (one.encode("utf-8", "backslashreplace").decode() for one in (plain, writer))
    return plain.split("\n"), writer
