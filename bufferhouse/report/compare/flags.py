"""The options that differ between compilations: as records, as a sentence, as a table."""

from collections.abc import Sequence

from bufferhouse.compare.flags import FlagChange
from bufferhouse.query.statements import Record
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import printable, some_of
from bufferhouse.report.text.sections import Section

_COLUMNS = [
    Column("name", "flag", limit=100, is_whole=True),
    Column("before_said", "before", limit=48),
    Column("after_said", "after", limit=48),
    Column("program_count", "programs", "count"),
    Column("programs_said", "in", limit=60, rank=1),
]
_SHOWN = 12  # on a terminal and in Markdown
_IN_A_SENTENCE = 5


def flag_objects(changes: Sequence[FlagChange]) -> list[Record]:
    """Return a record for each option that differs; a value of None is the compiler's default."""
    return [{"name": one.flag_name, "before": one.before, "after": one.after} for one in changes]


def flag_records(changes: Sequence[FlagChange], programs: Sequence[Record]) -> list[Record]:
    """Return the same records, each with the labels of the programs where it differs."""
    # Of several pairs of dumps of a program the first is called as the program is.
    labels = {row["program_id"]: row["program_label"] for row in reversed(programs)}
    return [
        {**record, "programs": [labels.get(program_id, str(program_id)) for program_id in one.program_ids]}
        for record, one in zip(flag_objects(changes), changes, strict=True)
    ]


def flags_said(changes: Sequence[FlagChange]) -> str:
    """Return the options that differ with their values before and after, safe to print."""
    said = [f"{printable(one.flag_name, 100)} {_said(one.before)} → {_said(one.after)}" for one in changes]
    return some_of(said, _IN_A_SENTENCE)


def flag_section(flags: Sequence[Record]) -> list[Section]:
    """Return the table of the options that differ, records of `flag_records`; none where none does."""
    if not flags:
        return []
    records = [
        {
            **one,
            "before_said": _said(one["before"]),
            "after_said": _said(one["after"]),
            "program_count": len(one["programs"]),
            "programs_said": ", ".join(one["programs"]),
        }
        for one in flags
    ]
    lines = ["The two sides were compiled with different options, as files beside the dumps say."]
    return [Section("Flags that differ", lines, _COLUMNS, records, "flags", shown=_SHOWN)]


def _said(value: str | None) -> str:
    return "default" if value is None else printable(value, 100)
