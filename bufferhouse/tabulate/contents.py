"""Turn contents into tables, with the native reader if it takes them, else in Python; each bad one is refused alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bufferhouse.dump import Dump, DumpError, parse
from bufferhouse.dump.identity import Content
from bufferhouse.dump.native import Scanner, new_scanner
from bufferhouse.errors import told
from bufferhouse.proto import ProtoError
from bufferhouse.tabulate.batch import Batch, Refusal, fault_of, merged
from bufferhouse.tabulate.memory import collector_paused
from bufferhouse.tabulate.overlap import OverlapError
from bufferhouse.tabulate.scanned import Scanned
from bufferhouse.tabulate.shape import ShapeError
from bufferhouse.tabulate.tabulator import Tabulator

Work = Sequence[tuple[Content, Mapping[str, bytes]]]
"""Contents with their bytes, all that parsing needs."""


@dataclass(slots=True)
class ParsedContents:
    """Frames of the contents that are dumps, refusals of those that are not, and the ids of entry signatures."""

    tables: Batch
    refusals: dict[int, Refusal]
    signature_ids: dict[int, int]


def parse_contents(work: Iterable[tuple[Content, Mapping[str, bytes]]]) -> ParsedContents:
    """Parse and tabulate contents; a bad one does not affect the others, and is found by halving if needed."""
    work = list(work)
    try:
        return _parse_contents(work)
    except Exception as error:
        if len(work) == 1:
            return ParsedContents(Tabulator().finish(), {work[0][0].dump_id: fault_of("tabulate", error)}, {})
    middle = len(work) // 2
    one, other = parse_contents(work[:middle]), parse_contents(work[middle:])
    return ParsedContents(
        merged([one.tables, other.tables]), one.refusals | other.refusals, one.signature_ids | other.signature_ids
    )


def _parse_contents(work: Work) -> ParsedContents:
    scanner = new_scanner()
    scanned = None if scanner is None else _scanned(scanner, work)
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


def _scanned(scanner: Scanner, work: Work) -> ParsedContents | None:
    """Return the contents that the native reader takes; None also if it fails, as the reader in Python can answer."""
    scanned = Scanned(scanner)
    try:
        for content, files in work:
            if "proto" not in files:
                scanned.take(content, files)
        tables, ids = scanned.finish()
    except Exception:
        return None
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


@collector_paused()
def _parsed_in_python(work: Work) -> ParsedContents:
    tabulator, refusals, signature_ids = Tabulator(), {}, {}
    for content, files in work:
        found = _added(tabulator, content, files)
        if isinstance(found, Refusal):
            refusals[content.dump_id] = found
        else:
            signature_ids[content.dump_id] = found
    return ParsedContents(tabulator.finish(), refusals, signature_ids)


def _added(tabulator: Tabulator, content: Content, files: Mapping[str, bytes]) -> int | Refusal:
    """Add a content and return its signature id, or why it is refused."""
    dump = _parsed(files)
    if isinstance(dump, Refusal):
        return dump
    try:
        return tabulator.add(dump, content, {role: len(data) for role, data in files.items()}, files.get("proto"))
    except ShapeError as error:
        return _shape_refusal(error, files)
    except OverlapError as error:
        return _overlap_refusal(error, files)


def _parsed(files: Mapping[str, bytes]) -> Dump | Refusal:
    try:
        if "proto" in files:
            from bufferhouse.proto.dump import read_proto_dump

            return read_proto_dump(files["proto"]).dump
        return parse(files["combined"] if len(files) == 1 else files)
    except ProtoError as error:
        return Refusal("proto", error.expected, error.found, role="proto")
    except DumpError as error:
        return Refusal(error.rule, error.expected, error.found, error.line, error.column, error.role)
    except Exception as error:
        # A fault of the reader. If it were raised, one unusual dump would stop every later ingest of its directory.
        return Refusal("reader", "a dump, or a place where it is none", told(error))


def _shape_refusal(error: ShapeError, files: Mapping[str, bytes]) -> Refusal:
    """Find the place of a text that should be a shape; only the first one in the file is looked for."""
    if "proto" in files:
        return Refusal("shape", error.expected, error.found, role="proto")
    needle = error.text.encode("utf-8", "surrogatepass")
    for role, data in files.items():
        at = data.find(needle)
        if at >= 0:
            line = data.count(b"\n", 0, at) + 1
            column = at - (data.rfind(b"\n", 0, at) + 1) + 1 + error.offset
            return Refusal("shape", error.expected, error.found, line, column, role)
    return Refusal("shape", error.expected, error.found)


def _overlap_refusal(error: OverlapError, files: Mapping[str, bytes]) -> Refusal:
    if "proto" in files:
        return Refusal("overlap", error.expected, error.found, role="proto")
    role = "combined" if "combined" in files else "allocations"
    at = files[role].find(b"\nallocation %d: " % error.allocation) + 1
    return Refusal("overlap", error.expected, error.found, files[role].count(b"\n", 0, at) + 1, 1, role)
