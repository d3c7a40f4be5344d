"""The lines of a log that may hold a message, however large the log is: prefixes taken off, ranks told apart.

glog and absl write `E1122 17:30:32.022086    1167 file.cc:658] ` before a line, launchers `(EngineCore pid=12) ` or
`[rank3]: `, what collects logs the time, or an object of JSON around the line. Many processes write into one log, line
by line; those of one process are those with its launcher's prefix.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

BLOCK_BYTES = 4 << 20
LONGEST_LINE = 4 << 20  # bytes; no message prints one that long
DONATION_KEY = b"Some donated buffers were not usable: "
# As CUDA and HIP say it, NCCL, cuBLAS and cuDNN: other libraries ask for memory of their own, and XLA goes on or fails.
DRIVER_KEYS = (b"CUDA_ERROR_OUT_OF_MEMORY", b"hipErrorOutOfMemory", b" 'out of memory'", b"_STATUS_ALLOC_FAILED")
ALLOCATOR_KEY = b"Limit:            "  # of the first line of what an allocator says of itself
KEYS = (
    b"Ran out of memory", b"would exceed memory", b"Aborting compilation early", b"allocation_size_words <=",
    b"Attempting to allocate", b"Attempting to reserve", b"memory while trying to allocate",
    b"by rematerialization; only reduced to", b"E1001: CompileTimeScopedVmemOom", b") exceeds the base limit (",
    b"B) on device ordinal ", b"exceeding available bytes: ", b" (rounded to ", b" bytes for new constant",
    # Without the words before it other programs say it, too.
    b"computation: Out of memory allocating ", b"Definition Event: Out of memory allocating ",
    b"allocation_size_words \\u003c=",  # as JSON of Docker writes it
    # A message of which the words above are damaged still has one of these.
    b"RESOURCE_EXHAUSTED", b"compile permanent error", b"exceeds available HBM", b"<= std::numeric_limits<int32_t>",
    b" exceeded scoped ",
    # No message of XLA about a program, and yet memory was lacking: to the GPU's libraries, other frameworks, the host.
    *DRIVER_KEYS, b"OOM when allocating tensor", b" of memory: Kill", b"std::bad_alloc",
    b"CUDA out of memory", b"HIP out of memory", b"CUDA error: out of memory",
    b"CUDA driver error: out of memory", b"ArrayMemoryError: Unable to allocate",
    # What launchers and containers say of a process that the kernel killed: its own words stand in another log.
    b"OOMKilled", b"oom_kill event", b"oom-kill event", b"oom-killer", b"'oom-kill'", b"by the OOM killer",
    b"user allocatable offset upper bound",  # of a kernel of SparseCore
    DONATION_KEY, b"cuMemAllocAsync failed to allocate", ALLOCATOR_KEY,
)  # fmt: skip
_KEYS = [key.decode() for key in KEYS]
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# What a terminal obeys and does not show: colors, the character set that `tput sgr0` goes back to, links and titles.
_COLORS = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[()][0-9A-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_LAUNCHER = re.compile(
    r"(?:\[?(?:rank|default) ?[0-9]+\]?:?|\[[0-9]+(?:,[0-9]+)?\](?:<std(?:err|out)>:|:)"
    r"|\[(?:worker|host|task|process)[ -]?[0-9]+\]:?|(?:worker|host|task|process|node)[ _-]?[0-9]+:(?= |$)"  # pdsh
    r"|\[pod/[^\]\s]+\]|[\w.\-]+ *\|(?= |$)"  # kubectl; docker compose
    r"|\((?:[\w.\-]+ )*(?:pid|rank)=[0-9]+[^)\n]*\)| {0,6}[0-9]+:(?= )"  # srun pads its label
    r"|[\w.\-]+ [\w./\-]+\[[0-9]+\]:(?= |$))[ \t]?"  # journald and syslog, behind the time
)
CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
_LEVEL = r"\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\]?"
# What says when a line was written, and how bad it is. `stderr F` is of container runtimes, `{file.py:3}` of Airflow,
# `<14>` of syslog, `E   ` of pytest.
_STAMP = re.compile(
    rf"\[?(?:(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]|, )|[A-Z][a-z]{{2}} [ 0-9][0-9] ){CLOCK}|{CLOCK})"
    r" ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?\]?:?(?: std(?:err|out) [FP])?(?:[ \t]|$)"
    rf"|(?:- )?(?:[\w.]+ - )?{_LEVEL}(?: -|:)?(?:[ \t]|$)|E(?= {{3}}|$)"
    r"|\[?1[0-9]{9}(?:[0-9]{3}|[.,][0-9]+)?\]?(?:[ \t]|$)"
    r"|\{{1,2}[\w./-]+:[0-9]+\}{1,2}(?:[ \t]|$)|<[0-9]{1,3}>(?=[A-Z])"
)
# RFC 5424: behind the time the host, the program and its process; behind the name of the message what has a structure.
_SYSLOG = re.compile(
    r"<[0-9]{1,3}>1 \S+ (?P<who>\S+ \S+ \S+) \S+ "
    r'(?:-|(?:\[(?:[^]"\\]|"(?:[^"\\]|\\.)*")*\])+)(?:[ ]\ufeff?|$)'
)
_LOGGER = re.compile(
    r"(?:[IWEF][0-9]{4} [0-9:.]+ +[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.,]+: [IWEF](?: +[0-9]+)?)"
    r" [\w./+-]+:[0-9]+\](?: |$)"
)
# An exception as Python's `repr` writes it: line feeds are two characters there.
_QUOTE = re.compile(r"(['\"])(?=(?:RESOURCE_EXHAUSTED|INTERNAL): )")
# Where an object of JSON has the text of a line, and where the process that wrote it.
_TEXTS = ("log", "message", "msg", "textPayload", "text", "event", "body", "stringValue")
# A line of an object that is printed over several, as `gcloud logging read --format=json` does.
_MEMBER = re.compile(r'[][{}]+,?|"(?P<name>[^"\\]+)": .*')
_WRITERS = ("pod_name", "pod", "container_id", "instance_id")


class Line(NamedTuple):
    """A line of a log: its number from 1, who wrote it (empty where nobody says), its text and what stood before it."""

    number: int
    rank: str
    text: str
    prefix: str
    is_whole: bool


def lines(file: BinaryIO, is_reading: Callable[[], bool]) -> Iterator[Line]:
    """Yield the lines with a key of a message, and all others as long as `is_reading()`.

    A line longer than LONGEST_LINE comes cut, and is not whole.
    """
    number, rest, is_cut, parts = 1, b"", False, _Parts()
    blocks = filter(None, _blocks(file))
    while True:
        block = next(blocks, b"")
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
            if not (is_reading() or parts.held):
                hit = _first(hits, data, place)
                start = data.rfind(b"\n", place, hit) + 1 if hit >= 0 else len(data)
                start = _before_parts(data, place, start or place)
                number += data.count(b"\n", place, start)
                place = start
                if hit < 0:
                    break
            stop = data.find(b"\n", place)
            stop = stop if stop >= 0 else len(data)
            for first, line in parts.joined(number, data[place:stop]):
                yield from _lines(first, line)
            number, place = number + 1, stop + 1
        if not block:
            for first, line in parts.held.values():
                yield from _lines(first, line)
            return


_PART_BYTES, _DOCKER_PART_BYTES = 8000, 16384  # no runtime of containers cuts a line to fewer, and Docker to as many
_MOST_PARTS = 1000  # lines until what stands in parts must be whole
_CRI = re.compile(rb"(?P<before>[0-9]{4}-\S+ (?P<stream>std(?:err|out)) )(?P<tag>[FP]) ")


class _Parts:
    """Joins lines that a container's runtime writes in parts: CRI says so by P, Docker by no line feed in its JSON.

    Lines of the other stream may stand between parts. A whole line has the number of its first part.
    """

    def __init__(self) -> None:
        self.held: dict[str | bytes, tuple[int, bytes]] = {}  # by stream the number of the first, and all so far

    def joined(self, number: int, line: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield each line that is whole, or that nothing completes, with its number."""
        for stream in [one for one, (first, _) in self.held.items() if number - first > _MOST_PARTS]:
            yield self.held.pop(stream)
        if found := _CRI.match(line):
            stream, is_part = found["stream"], found["tag"] == b"P"
            first, before = self.held.pop(stream, (number, found["before"] + b"F "))
            whole = before + line[found.end() :]
        elif line.startswith(b'{"log":') and (self.held or len(line) > _DOCKER_PART_BYTES):
            stream, is_part, first, whole = self._of_docker(number, line)
        else:
            yield number, line
            return
        if is_part and len(whole) < LONGEST_LINE:
            self.held[stream] = first, whole
        else:
            yield first, whole

    def _of_docker(self, number: int, line: bytes) -> tuple[str, bool, int, bytes]:
        try:
            record = json.loads(line)
            stream, text = record["stream"], record["log"]
            # What collects logs adds names, and takes the line feed away.
            is_part = (
                record.keys() <= _OF_DOCKER and not text.endswith("\n") and len(text.encode()) >= _DOCKER_PART_BYTES
            )
            first, before = self.held.pop(stream, (number, b""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return "", False, number, line
        if before:
            line = json.dumps({**record, "log": json.loads(before)["log"] + text}).encode()
        return stream, is_part, first, line


_OF_DOCKER = {"log", "stream", "time", "attrs"}


def _before_parts(data: bytes, place: int, start: int) -> int:
    """Return where lines begin, from a place on, of which that at `start` may be the last part."""
    while start > place:
        before = max(data.rfind(b"\n", place, start - 1) + 1, place)
        if start - before <= _PART_BYTES:
            break
        start = before
    return start


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield a log piece by piece, without the mark at its beginning; UTF-16, as PowerShell writes it, as UTF-8."""
    block = file.read(BLOCK_BYTES)
    encoding = next((name for mark, name in _UTF16.items() if block.startswith(mark)), None)
    if encoding is None:
        yield block.removeprefix(codecs.BOM_UTF8)
        while block := file.read(BLOCK_BYTES):
            yield block
        return
    decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
    yield decoder.decode(block[2:]).encode()
    while block := file.read(BLOCK_BYTES):
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


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
        text = _COLORS.sub("", text)
    start, rank = _begun(text)
    for one, said in _told(text, start, rank, is_whole=is_whole):
        # What an object or a quotation holds has the column of its first characters there.
        place = start + max(text[start:].find(said[:20]), 0)
        yield Line(number, one, said, text[:place], is_whole)


def _told(text: str, start: int, rank: str, *, is_whole: bool = True) -> list[tuple[str, str]]:
    """Return the lines that a line holds behind its prefixes, each with who wrote it.

    A text in an object of JSON may be an object, too, as an application writes it and Docker quotes it. A line may hold
    a list of objects, or of one that is printed over several lines a text, with its name or alone.
    """
    held, inside = None, text[start:].strip() if is_whole else ""
    member = _MEMBER.fullmatch(inside)
    if member and _has_key(inside):
        member = None  # read as any other line with a key, or refused
    if member and member["name"] not in _TEXTS:
        return []  # it stands between the texts of two lines, and ends no message
    if inside.startswith("{"):
        held = _in_json(inside)
    elif member or (inside.startswith(('"', "[{")) and _has_key(inside)):
        inside = inside.removesuffix(",")
        held = _in_json(f"{{{inside}}}") or _in_json(f'{{"log": {inside}}}')
    if held is None and member:
        return []  # the text is an object, or a list
    if held is None:
        said = _quoted(text)
        if said == [text]:
            return [(rank, text[start:])]
        told = [(rank + own, one[place:]) for one in said for place, own in [_begun(one)]]
    else:
        begun = [(one, rank + writer, *_begun(one)) for writer, one in held]
        told = [line for one, who, place, own in begun for line in _told(one, place, who + own)]
    if _has_key(text) and not any(_has_key(said) for _, said in told):
        return [(rank, text[start:])]  # as it is, so that it is refused
    return told


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
        elif found := _SYSLOG.match(text, start):
            rank += found["who"]
        elif not (found := _STAMP.match(text, start)):
            return start, rank
        start = found.end()


def _in_json(text: str) -> list[tuple[str, str]] | None:
    """Return the lines that an object of JSON holds, each behind who wrote it; None where it is none.

    An object is a record of a log, or has lists of such; of a record it is the text with a key of a message.
    """
    try:
        whole = json.loads(text)
        records = [_record(whole)]
        if not _has_key(records[0][1]):
            batch = list(_batch(whole))
            if any(_has_key(said) for _, said in batch) or not records[0][1]:
                records = batch or records
        if _has_key(text) and not any(_has_key(said) for _, said in records):
            records = [(records[0][0], said) for said in _texts(whole) if _has_key(said)][:1] or records
    except (ValueError, RecursionError):
        return None
    found = []
    for writer, told in records:
        plain = _COLORS.sub("", told).replace("\r\n", "\n").removesuffix("\n")
        # JSON can hold halves of characters, which no text has.
        plain, who = (one.encode("utf-8", "backslashreplace").decode() for one in (plain, writer))
        found += [(who, line) for line in plain.split("\n")]
    return found


def _has_key(text: str) -> bool:
    return any(key in text for key in _KEYS)


def _record(record: dict) -> tuple[str, str]:
    """Return who wrote a record, and its text: that with a key, also in objects inside it, else the first named."""
    texts: dict[str, str] = {}
    others: list[str] = []
    left = [record]
    while left:
        for name, value in left.pop().items():
            if isinstance(value, dict):
                left.append(value)
            elif isinstance(value, str):
                others += [value] * (name in texts)
                texts.setdefault(name, value)
    named = [texts[name] for name in _TEXTS if name in texts] or [""]
    told = next((one for one in [*named, *texts.values(), *others] if _has_key(one)), named[0])
    return next((f"{texts[name]}:" for name in _WRITERS if name in texts), ""), told


def _batch(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the records in the lists of an object, as `_record` returns each; of a stream of Loki its lines."""
    for one in _members(value):
        if isinstance(one, dict) and isinstance(one.get("stream"), dict):
            writer, _ = _record(one["stream"])
            pairs = [pair for pair in _members(one.get("values")) if _is_pair(pair)]
            if pairs and pairs[0][0] > pairs[-1][0]:  # it gives the newest first if it is not asked otherwise
                pairs.reverse()
            yield from ((writer, pair[1]) for pair in pairs)
        elif isinstance(value, list) and isinstance(one, dict) and (record := _record(one))[1]:
            yield record
        else:
            yield from _batch(one)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and isinstance(value[0], str) and isinstance(value[1], str)


def _members(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of an object of JSON; those of a list that has nothing else are the lines of one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield "\n".join(one.removesuffix("\n") for one in value)
    else:
        for one in _members(value):
            yield from _texts(one)
