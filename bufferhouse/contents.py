"""Contents to frames: what a worker process does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bufferhouse.batch import Refusal
from bufferhouse.collecting import collector_paused
from bufferhouse.dump import Dump, DumpError, parse
from bufferhouse.frames import Batch
from bufferhouse.identity import Content
from bufferhouse.shape import ShapeError
from bufferhouse.tabulate import Tabulator


@dataclass(slots=True)
class ParsedContents:
    """Frames of the contents that are dumps, refusals of those that are not, and the ids of entry signatures."""

    tables: Batch
    refusals: dict[int, Refusal]
    signature_ids: dict[int, int]


@collector_paused()
def parse_contents(work: Iterable[tuple[Content, Mapping[str, bytes]]]) -> ParsedContents:
    """Parse and tabulate contents; a bad one stops itself alone."""
    tabulator = Tabulator()
    refusals: dict[int, Refusal] = {}
    signatures: dict[int, int] = {}
    for content, files in work:
        dump = _parsed(files)
        if isinstance(dump, Refusal):
            refusals[content.dump_id] = dump
            continue
        try:
            sizes = {role: len(data) for role, data in files.items()}
            signatures[content.dump_id] = tabulator.add(dump, content, sizes)
        except ShapeError as error:
            refusals[content.dump_id] = _shape_refusal(error, files)
    return ParsedContents(tabulator.finish(), refusals, signatures)


def _parsed(files: Mapping[str, bytes]) -> Dump | Refusal:
    try:
        return parse(files["combined"] if len(files) == 1 else files)
    except DumpError as error:
        return Refusal(error.rule, error.expected, error.found, error.line, error.column, error.role)
    except Exception as error:
        # A fault of the reader. Were it raised, one odd dump would stop every ingest of its directory from now on.
        return Refusal("reader", "a dump, or a place where it is none", f"{type(error).__name__}: {error}")


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
