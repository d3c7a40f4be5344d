"""Words that a dump repeats, stored once: instruction names and instruction texts, numbered in each dump from 0."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, count

from bufferhouse.dump.columns import Dumps, parts
from bufferhouse.dump.instruction_text import AttributeColumns


@dataclass(slots=True)
class Texts:
    """The distinct instruction texts of each dump, and where they are used.

    `ids` is the number of its text for each value, `rows` that of the text among all of the batch, a row per distinct
    text of a dump; `counts` says how many each dump has, `distinct` are the texts of the batch.
    """

    ids: list[int | None] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    distinct: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Names:
    """The instruction names of each dump, interned: `names` by id, `counts` per dump, and the ids in every column."""

    names: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    live_ranges: list[int] = field(default_factory=list)
    peak_buffers: list[int] = field(default_factory=list)


def distinct_texts(dumps: Dumps) -> Texts:
    """Number the instruction texts of each dump in the order in which they first appear."""
    found = Texts()
    row_of = defaultdict(count().__next__)
    for texts in parts(dumps.values.instruction_text, dumps.rows["values"]):
        id_of = defaultdict(count().__next__)
        found.ids += texts if texts[:1] == [None] else map(id_of.__getitem__, texts)
        found.counts.append(len(id_of))
        found.rows += map(row_of.__getitem__, id_of)
    found.distinct += row_of
    return found


def interned(dumps: Dumps, said: AttributeColumns, texts: Texts) -> Names:
    """Number the instruction names of each dump: the schedule first, so that most ids are schedule positions.

    Every name mentioned anywhere has a number; `said` is what the distinct texts of the batch say.
    """
    found = Names()
    columns = (
        parts(dumps.schedule, dumps.rows["schedule"]),
        parts(dumps.values.instruction, dumps.rows["values"]),
        parts(dumps.positions.instruction, dumps.rows["positions"]),
        parts(dumps.uses.instruction, dumps.rows["uses"]),
        parts(texts.rows, texts.counts),
        parts(dumps.live_ranges.instruction, dumps.rows["live_ranges"]),
        parts(dumps.peak_buffers.instruction, dumps.rows["peak_buffers"]),
    )
    for schedule, values, positions, uses, rows, ranges, peak in zip(*columns, strict=True):
        # One look-up numbers a name and tells its number.
        id_of = defaultdict(count(len(schedule)).__next__, zip(schedule, count()))
        number = id_of.__getitem__
        found.values += map(number, values)
        found.positions += map(number, positions)
        found.uses += map(number, uses)
        found.texts += map(number, [said.instruction_name[row] for row in rows])
        found.operands += map(number, chain.from_iterable([said.operands[row] for row in rows]))
        found.live_ranges += map(number, ranges)
        found.peak_buffers += map(number, peak)
        found.names += id_of
        found.counts.append(len(id_of))
    return found
