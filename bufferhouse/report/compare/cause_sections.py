"""Why programs differ between two runs: a section for each of the biggest changes, and one for all changes."""

from collections.abc import Callable, Sequence

from bufferhouse.compare.rollup import rolled_up
from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.records import KEY
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import exact_bytes, human_bytes, printable, space_key, space_title
from bufferhouse.report.text.sections import Section

_EXPLAINED = 5  # programs; with one program asked for, all of its memory spaces
_SHOWN = 12  # causes of a program on a terminal and in Markdown
_CAUSES = [
    Column("cause_bytes", "bytes", "change"),
    Column("cause_label", "cause", is_whole=True),
    Column("value_count", "values", "count", rank=3),
    Column("other_memory_space", "memory space", "count", rank=2),
    Column("shape", "shape", limit=60, rank=1),
    Column("opcode", "opcode", rank=4),
    Column("op_name", "op_name", limit=48, rank=2),
    Column("source", "source", limit=48, rank=5),
    Column("tier", "matched by", rank=3),
]
_ROLLUP = [
    Column("group_label", "", limit=80),
    Column("delta_bytes", "change", "change"),
    Column("risen_bytes", "growth", "change", rank=1),
    Column("fallen_bytes", "decrease", "change", rank=1),
    Column("program_count", "programs", "count", rank=2),
    Column("value_count", "values", "count", rank=2),
]


def cause_sections(comparison: Comparison, *, exact: bool = False) -> list[Section]:
    """Return the causes of each program that is explained."""
    return [cause_section(row, comparison.causes, exact=exact) for row in explained(comparison)]


def explained(comparison: Comparison) -> list[Record]:
    """Return the programs with the biggest relevant changes; where none is relevant, with the biggest changes."""
    changed = [row for row in comparison.programs if row["status"] == "changed" and row["delta_bytes"]]
    chosen = [row for row in changed if row["is_relevant"]] or changed
    chosen.sort(key=lambda row: -abs(row["delta_bytes"]))
    return chosen[:_EXPLAINED]


def cause_section(row: Record, causes: Sequence[Record], *, exact: bool = False) -> Section:
    """Return why one program changed in one memory space; `causes` may hold causes of other programs, too."""
    where = {name: row[name] for name in KEY}
    causes = [one for one in causes if all(one[name] == value for name, value in where.items())]
    space = space_title(row["platform"], row["memory_space"])
    heading = f"Why {printable(row['program_label'], 80)} changed in {space}"
    name = f"causes-{space_key(row)}-{row['status_rank']}"
    shown = [column for column in _CAUSES if any(one[column.name] is not None for one in causes)]
    return Section(
        heading,
        _lines(row, exact_bytes if exact else human_bytes),
        shown,
        causes,
        name,
        "compare_causes",
        where,
        _SHOWN,
    )


def _lines(row: Record, said: Callable[..., str]) -> list[str]:
    before, after, change = (said(row[name], signed=name == "delta_bytes") for name in
                             ("before_bytes", "after_bytes", "delta_bytes"))  # fmt: skip
    lines = [f"{before} before, {after} after: {change}. The causes below sum to this change, to the byte."]
    if row["before_peak_position"] is None:
        return lines
    if row["before_like_position"] != row["before_peak_position"]:
        lines.append(
            f"The peak moved. The program before has its peak at position {row['before_peak_position']:,}; it is most "
            f"like the peak after at position {row['before_like_position']:,}, with "
            f"{said(row['before_like_bytes'])} occupied."
        )
    if row["reordered_count"]:
        lines.append(
            f"The schedule changed: another order for {row['reordered_count']:,} of "
            f"{counted(row['ordered_count'], 'matched value')}."
        )
    return lines


def rollup_section(comparison: Comparison, by: Sequence[str]) -> list[Section]:
    """Return one table for each of `by`: the changes of all programs, added up by group."""
    return [
        Section(
            f"All changes by {key.replace('_', ' ')}",
            [],
            [Column("group_label", key.replace("_", " "), limit=80), *_ROLLUP[1:]],
            rolled_up(comparison.rows, key),
            f"by-{key}",
            shown=_SHOWN,
        )
        for key in by
    ]
