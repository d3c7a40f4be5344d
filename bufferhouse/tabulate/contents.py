"""Contents to tables: by the native reader where it takes them, else together in Python; each bad one refused alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from bufferhouse.dump import Dump, DumpError, parse, parse_many
from bufferhouse.dump.columns import Dumps
from bufferhouse.dump.identity import Content
from bufferhouse.dump.native import Scanner, new_scanner
from bufferhouse.errors import told
from bufferhouse.tabulate.batch import Batch, Refusal, fault_of, merged
from bufferhouse.tabulate.memory import collector_paused, give_back
from bufferhouse.tabulate.overlap import OverlapError
from bufferhouse.tabulate.scanned import Scanned
from bufferhouse.tabulate.shape import ShapeError
from bufferhouse.tabulate.tabulator import Tabulator

T, R = TypeVar("T"), TypeVar("R")
Work = Sequence[tuple[Content, Mapping[str, bytes]]]
"""Contents with their bytes, all that parsing needs."""


@dataclass(slots=True)
class ParsedContents:
    """Frames of the contents that are dumps, refusals of those that are not, and the ids of entry signatures."""

    tables: Batch
    refusals: dict[int, Refusal]
    signature_ids: dict[int, int]


TOGETHER = 64
"""As many dumps are read together at most: of more, a fault in one makes many be read twice."""


def parse_contents(work: Iterable[tuple[Content, Mapping[str, bytes]]]) -> ParsedContents:
    """Parse and tabulate contents; a bad one does not affect the others, and is found by halves if need be."""
    work = list(work)
    try:
        return _parse_contents(work)
    except Exception as error:
        if len(work) == 1:
            return ParsedContents(Tabulator().finish(), {work[0][0].dump_id: fault_of("tabulate", error)}, {})
    middle = len(work) // 2
    one, other = parse_contents(work[:middle]), parse_contents(work[middle:])
    return ParsedContents(
        merged([one.tables, other.tables]),
        one.refusals | other.refusals,
        one.signature_ids | other.signature_ids,
    )


@collector_paused()
def _parse_contents(work: Work) -> ParsedContents:
    scanner = new_scanner()
    scanned = None if scanner is None else _soundly(_scanned, (scanner, work))
    del scanner  # its memory is that of the frames
    taken = scanned.signature_ids if scanned else {}
    others = [(content, files) for content, files in work if content.dump_id not in taken]
    if not others and scanned:
        return scanned
    parsed = _parsed_in_python(others)
    if not taken:
        return parsed
    tables = _in_order(merged([scanned.tables, parsed.tables]), [content.dump_id for content, _ in work])
    return ParsedContents(tables, parsed.refusals, taken | parsed.signature_ids)


def _scanned(scanner_and_work: tuple[Scanner, Work]) -> ParsedContents:
    """Return the contents that the native reader takes."""
    scanner, work = scanner_and_work
    scanned = Scanned(scanner)
    for content, files in work:
        scanned.take(content, files)
    tables, ids = scanned.finish()
    return ParsedContents(tables, {}, dict(zip([content.dump_id for content in scanned.contents], ids, strict=True)))


def _in_order(batch: Batch, dump_ids: Sequence[int]) -> Batch:
    """Return the batch with its dumps in an order."""
    order = pl.DataFrame({"dump_id": dump_ids}, schema={"dump_id": pl.Int64}).unique(maintain_order=True)
    return Batch(
        {
            table: order.join(frame, on="dump_id", maintain_order="left_right").select(frame.columns)
            if "dump_id" in frame.columns
            else frame
            for table, frame in batch.frames.items()
        }
    )


def _parsed_in_python(work: Work) -> ParsedContents:
    parsing = _Parsing()
    text_bytes = 0
    for content, files in work:
        text_bytes += sum(map(len, files.values()))
        parsing.take(content, files)
    parsing.read_waiting()
    tables, refusals, signature_ids = parsing.tabulator.finish(), parsing.refusals, parsing.signature_ids
    del parsing
    give_back(text_bytes)
    return ParsedContents(tables, refusals, signature_ids)


class _Parsing:
    """Reads contents in their order: neighbours together, and each alone where that cannot be."""

    def __init__(self) -> None:
        self.tabulator = Tabulator()
        self.refusals: dict[int, Refusal] = {}
        self.signature_ids: dict[int, int] = {}
        self.waiting: list[tuple[Content, Mapping[str, bytes]]] = []
        self.sections: list[parse_many.Sections] = []

    def take(self, content: Content, files: Mapping[str, bytes]) -> None:
        """Read a content, now or together with what follows."""
        sections = _soundly(parse_many.sections, files)
        is_like_them = sections is not None and all(sections.form == other.form for other in self.sections[:1])
        if not is_like_them or len(self.waiting) == TOGETHER:
            self.read_waiting()
        if sections is None:
            self._read_alone(content, files)
        else:
            self.waiting.append((content, files))
            self.sections.append(sections)

    def read_waiting(self) -> None:
        """Read what waits for others."""
        waiting, sections = self.waiting, self.sections
        self.waiting, self.sections = [], []
        if not waiting:
            return
        dumps = _soundly(parse_many.read, sections)
        try:
            if dumps is not None:
                self._add(dumps, waiting)
                return
        except (ShapeError, OverlapError):
            pass
        for content, files in waiting:
            self._read_alone(content, files)

    def _read_alone(self, content: Content, files: Mapping[str, bytes]) -> None:
        dump = _parsed(files)
        if isinstance(dump, Refusal):
            self.refusals[content.dump_id] = dump
            return
        try:
            self._add(Dumps.of(dump), [(content, files)])
        except ShapeError as error:
            self.refusals[content.dump_id] = _shape_refusal(error, files)
        except OverlapError as error:
            self.refusals[content.dump_id] = _overlap_refusal(error, files)

    def _add(self, dumps: Dumps, work: list[tuple[Content, Mapping[str, bytes]]]) -> None:
        contents = [content for content, _ in work]
        sizes = [{role: len(data) for role, data in files.items()} for _, files in work]
        ids = self.tabulator.add_all(dumps, contents, sizes)
        self.signature_ids.update(zip([content.dump_id for content in contents], ids, strict=True))


def _soundly(read: Callable[[T], R | None], what: T) -> R | None:
    """Return what reading gives; None also for a fault of the reader, of which each dump that is read alone tells."""
    try:
        return read(what)
    except Exception:
        return None


def _parsed(files: Mapping[str, bytes]) -> Dump | Refusal:
    try:
        return parse(files["combined"] if len(files) == 1 else files)
    except DumpError as error:
        return Refusal(error.rule, error.expected, error.found, error.line, error.column, error.role)
    except Exception as error:
        # A fault of the reader. Were it raised, one odd dump would stop every ingest of its directory from now on.
        return Refusal("reader", "a dump, or a place where it is none", told(error))


def _shape_refusal(error: ShapeError, files: Mapping[str, bytes]) -> Refusal:
    """Find the place of a text that should be a shape; only the first one in the file is looked for."""
    needle = error.text.encode("utf-8", "surrogatepass")
    for role, data in files.items():
        at = data.find(needle)
        if at >= 0:
            line = data.count(b"\n", 0, at) + 1
            column = at - (data.rfind(b"\n", 0, at) + 1) + 1 + error.offset
            return Refusal("shape", error.expected, error.found, line, column, role)
    return Refusal("shape", error.expected, error.found)


def _overlap_refusal(error: OverlapError, files: Mapping[str, bytes]) -> Refusal:
    role = "combined" if "combined" in files else "allocations"
    at = files[role].find(b"\nallocation %d: " % error.allocation) + 1
    return Refusal("overlap", error.expected, error.found, files[role].count(b"\n", 0, at) + 1, 1, role)
