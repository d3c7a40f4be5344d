"""What a batch is on its way from the sources to the warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bufferhouse.dump.identity import Content, FileName
from bufferhouse.dump.stack_frames import StackFrame
from bufferhouse.errors import told
from bufferhouse.tabulate.batch import Batch


@dataclass(slots=True)
class ModuleText:
    """What was found at the head of the module text beside a dump: tables of stack frames, a fault, or neither.

    Size and time are None where the file could not be read, so that the next ingest tries again. `held_bytes` is about
    what the tables take in memory.
    """

    source_uri: str
    size_bytes: int | None = None
    mtime_ns: int | None = None
    stack_frames_id: int | None = None
    stack_frames: list[StackFrame] | None = None
    fault: str | None = None
    held_bytes: int = 0


@dataclass(slots=True)
class Sighting:
    """A file of a run and the content found in it. `files` is kept only where the content is new."""

    run_name: str
    relative_path: str
    source_uri: str
    size_bytes: int
    mtime_ns: int | None
    content: Content
    file_name: FileName
    text_bytes: int
    files: Mapping[str, bytes] | None = None
    module_text: ModuleText | None = None


@dataclass(slots=True)
class Refusal:
    """Why a content was refused; `role` says in which file of the dump the fault lies."""

    rule: str
    expected: str
    found: str
    line: int | None = None
    column: int | None = None
    role: str = "combined"

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line is not None else ""
        return f"{place}expected {self.expected}, found {self.found}"


def fault_of(step: str, error: Exception) -> Refusal:
    """Return why a content is refused on which a step of this program fails."""
    return Refusal(f"internal:{step}", "what this version can work with", told(error))


@dataclass(slots=True)
class ParsedBatch:
    """The new contents of a batch as frames, every sighting in it, and what was refused, by dump_id."""

    tables: Batch
    sightings: list[Sighting] = field(default_factory=list)
    refusals: dict[int, Refusal] = field(default_factory=dict)
    signature_ids: dict[int, int] = field(default_factory=dict)
