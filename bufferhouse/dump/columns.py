"""A parsed dump: columns, one list per field, in the order of the file.

Shape indices are kept as printed (`{0,1}`), None where none is printed; names are instruction names. Nothing is
derived here: `render` turns exactly these columns back into the bytes they came from. Below stands what all readers of
sections need: the proof that nothing of a text was skipped, and the cells of what was captured.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, repeat


@dataclass(slots=True)
class Allocations:
    """`allocation N:` headers (BufferAllocation::ToShortString); row i is allocation i."""

    size_bytes: list[int] = field(default_factory=list)
    memory_space: list[int] = field(default_factory=list)
    page: list[int | None] = field(default_factory=list)
    pointer: list[str | None] = field(default_factory=list)
    parameter_number: list[int | None] = field(default_factory=list)
    parameter_shape_index: list[str | None] = field(default_factory=list)
    parameter_shape: list[str | None] = field(default_factory=list)
    output_shape: list[str | None] = field(default_factory=list)
    is_constant: list[bool] = field(default_factory=list)
    is_thread_local: list[bool] = field(default_factory=list)
    is_maybe_live_out: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class Values:
    """Value lines (BufferAllocation::ToString) joined with their blocks (HloValue::ToString), by ascending id.

    `uses_state` and `instruction_text` are empty lists where the dump has no such part.
    """

    value_id: list[int] = field(default_factory=list)
    instruction: list[str] = field(default_factory=list)
    shape_index: list[str | None] = field(default_factory=list)
    is_phi: list[bool] = field(default_factory=list)
    memory_space: list[int | None] = field(default_factory=list)
    allocation_index: list[int] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    offset_bytes: list[int] = field(default_factory=list)
    shape: list[str] = field(default_factory=list)
    uses_state: list[str] = field(default_factory=list)
    instruction_text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CrossColorValues:
    """Lines below ` reused by buffers of a different color:`; `value_row` points into `Values`."""

    allocation_index: list[int] = field(default_factory=list)
    value_row: list[int] = field(default_factory=list)
    memory_space: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Positions:
    """Position lines of every value; `count[i]` of them belong to row i of `Values`."""

    count: list[int] = field(default_factory=list)
    instruction: list[str] = field(default_factory=list)
    shape_index: list[str | None] = field(default_factory=list)


@dataclass(slots=True)
class Uses:
    """Use lines of every value; `count[i]` of them belong to row i of `Values`."""

    count: list[int] = field(default_factory=list)
    instruction: list[str] = field(default_factory=list)
    operand_number: list[int] = field(default_factory=list)
    operand_shape_index: list[str | None] = field(default_factory=list)


@dataclass(slots=True)
class LiveRanges:
    """`BufferLiveRange` lines; positions are lines of the schedule, both ends included."""

    instruction: list[str] = field(default_factory=list)
    shape_index: list[str] = field(default_factory=list)
    start_position: list[int] = field(default_factory=list)
    end_position: list[int] = field(default_factory=list)


@dataclass(slots=True)
class PeakBuffers:
    """Lines below `Live ranges at N (peak):`; an index that was not printed is recovered from the live ranges."""

    instruction: list[str] = field(default_factory=list)
    shape_index: list[str] = field(default_factory=list)
    listed_bytes: list[int] = field(default_factory=list)
    cumulative_bytes: list[int | None] = field(default_factory=list)


@dataclass(slots=True)
class Facts:
    """The facts that a dump holds once, and their printed form.

    `trailing_newlines` counts the line feeds after the end of each file by role (`combined`, or `allocations`,
    `values`, `live_range`); its keys say which files there are. `live_range_state` is `present`, `absent`,
    `not available` or `unbounded`; `none_form` says how an empty use list is printed (`empty` or `none`, None when no
    list is empty); `peak_form` is `name`, `indexed` or `cumulative` (None when no line is printed).
    """

    file_layout: str = "combined"
    text_encoding: str = "utf-8"
    trailing_newlines: dict[str, int] = field(default_factory=dict)
    total_bytes: int | None = None
    total_human: str | None = None
    has_used_values: bool = False
    none_form: str | None = None
    has_instruction_texts: bool = False
    has_instruction_space: bool | None = None
    is_glued: bool = False
    live_range_state: str = "absent"
    max_position: int | None = None
    reported_peak_position: int | None = None
    peak_form: str | None = None
    stack_trace: str | None = None


@dataclass
class Tables:
    """The tables of one dump, or of several one behind the other; without slots, which a class has from one base."""

    allocations: Allocations = field(default_factory=Allocations)
    values: Values = field(default_factory=Values)
    cross_color_values: CrossColorValues = field(default_factory=CrossColorValues)
    positions: Positions = field(default_factory=Positions)
    uses: Uses = field(default_factory=Uses)
    schedule: list[str] = field(default_factory=list)
    live_ranges: LiveRanges = field(default_factory=LiveRanges)
    peak_buffers: PeakBuffers = field(default_factory=PeakBuffers)


TABLES = tuple(table.name for table in fields(Tables))


@dataclass(slots=True)
class Dump(Facts, Tables):
    """One logical dump, in one file or in up to three."""


@dataclass(slots=True)
class Dumps(Tables):
    """Several dumps: the facts of each, and their tables one behind the other.

    `rows` says how many rows of each table every dump has. What points to a row of another table counts from the first
    one of its own dump. Columns of a part that a dump does not have hold None for it, counts 0.
    """

    facts: list[Facts] = field(default_factory=list)
    rows: dict[str, list[int]] = field(default_factory=lambda: {table: [] for table in TABLES})

    @classmethod
    def of(cls, dump: Dump) -> "Dumps":
        """Return one dump as several."""
        v, count = dump.values, len(dump.values.value_id)
        tables = {table: getattr(dump, table) for table in TABLES}
        texts = {"uses_state": v.uses_state or [None] * count, "instruction_text": v.instruction_text or [None] * count}
        tables["values"] = replace(v, **texts)
        for table in ("positions", "uses"):
            tables[table] = replace(tables[table], count=tables[table].count or [0] * count)
        rows = {table: [len(columns_of(columns)[-1])] for table, columns in tables.items()}
        facts = Facts(*[getattr(dump, fact.name) for fact in fields(Facts)])
        return cls(facts=[facts], rows=rows, **tables)

    def extend(self, others: "Dumps") -> None:
        """Put other dumps behind these."""
        self.facts += others.facts
        for table in TABLES:
            self.rows[table] += others.rows[table]
            pairs = zip(columns_of(getattr(self, table)), columns_of(getattr(others, table)), strict=True)
            for mine, more in pairs:
                mine += more


def columns_of(table: object) -> list[list]:
    """Return the columns of a table; the schedule is its only one."""
    return [table] if isinstance(table, list) else [getattr(table, column.name) for column in fields(table)]


def parts(column: list, counts: Iterable[int]) -> Iterator[list]:
    """Yield the cells of each dump, as many as each count says."""
    start = 0
    for count in counts:
        yield column[start : start + count]
        start += count


def repeated(cells: Iterable, counts: Iterable[int]) -> Iterator:
    """Yield each cell as often as its count says."""
    return chain.from_iterable(map(repeat, cells, counts))


def heads(dump: Dump) -> list[str]:
    """Return the heads of all values by ascending id (HloValue::ToShortString)."""
    v = dump.values
    return [
        f"<{key} {name}{index or ''}{' (phi)' if phi else ''}{'' if space is None else f' @{space}'}>"
        for key, name, index, phi, space in zip(
            v.value_id, v.instruction, v.shape_index, v.is_phi, v.memory_space, strict=True
        )
    ]


LARGEST_SIZE = 2**53  # beyond it a reader that keeps numbers as doubles (JSON, spreadsheets) would change them


def tiles(columns: Sequence[Sequence[str]], literal: int, length: int) -> bool:
    """Return whether the captured columns and `literal` characters of fixed text fill a section of `length` characters.

    Matches of one `findall` never overlap, so equal sums mean that they tile the section: nothing was skipped.
    """
    return sum(len("".join(column)) for column in columns) + literal == length


def content_end(text: str) -> int:
    """Return the character behind the last line and its line feed; a missing line feed is allowed."""
    if text.endswith("\n") and not text.endswith("\n\n"):
        return len(text)  # nearly always, and without a copy of the text
    return len(text.rstrip("\n")) + 1


def optional_ints(cells: Sequence[str]) -> list[int | None]:
    """Return numbers, None where nothing is printed."""
    if not any(cells):
        return [None] * len(cells)
    return [int(cell) if cell else None for cell in cells]


def optional(cells: Sequence[str]) -> list[str | None]:
    """Return texts, None where nothing is printed."""
    if not any(cells):
        return [None] * len(cells)
    return [cell or None for cell in cells]


def decode(files: Mapping[str, bytes]) -> tuple[dict[str, str], str]:
    """Return the texts of a dump's files and their encoding: UTF-8, else latin-1, which loses no byte."""
    try:
        return {role: data.decode("utf-8") for role, data in files.items()}, "utf-8"
    except UnicodeDecodeError:
        return {role: data.decode("latin-1") for role, data in files.items()}, "latin-1"


def peak_form(lines: int, named: int, summed: int) -> str | None:
    """Return how peak lines are printed, of which some show no index and some a sum; None where they differ."""
    form = "cumulative" if summed else "name" if named else "indexed"
    return form if summed in (0, lines) and named == (lines if form == "name" else 0) else None
