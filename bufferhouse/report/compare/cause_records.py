"""The causes of a comparison as records: equal ones of a program counted together."""

from collections.abc import Sequence

from bufferhouse.compare.causes import MOVED_IN, MOVED_OUT, Cause, former
from bufferhouse.compare.compare import Compared
from bufferhouse.compare.tiers import tiles, without_layout
from bufferhouse.compare.values import Value
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.records import KEY

OF_THE_PROGRAM = ("program_id", "program_label", "platform", "memory_space", "before_dump_id", "after_dump_id")


def cause_records(rows: Sequence[Compared], programs: Sequence[Record]) -> list[Record]:
    """Return the causes of each of the rows, the biggest of a row first.

    `programs` are the records of the rows. Causes that differ in the value alone are one record, which holds their
    count and the sum of their bytes. `cause` holds the words of earlier releases, `cause_label` those of today.
    """
    by_key = {tuple(record[name] for name in KEY): record for record in programs}
    records = []
    for row in rows:
        groups: dict[tuple, list[Cause]] = {}
        for cause in row.causes:
            groups.setdefault(_about(cause), []).append(cause)
        program = {name: by_key[row.key][name] for name in OF_THE_PROGRAM}
        found = [{**program, **_record(group)} for group in groups.values()]
        records += sorted(found, key=lambda one: -abs(one["cause_bytes"]))
    return records


def _record(group: Sequence[Cause]) -> Record:
    first = group[0]
    return {
        "cause": former(first.cause),
        "cause_label": first.cause,
        "cause_bytes": sum(cause.size_bytes for cause in group),
        "value_count": sum(bool(cause.before or cause.after) for cause in group),
        "tier": first.tier,
        "other_memory_space": _other_space(first),
        **_shown([side for side in (first.after, first.before) if side]),
        **_value("before", first.before),
        **_value("after", first.after),
    }


def _about(cause: Cause) -> tuple:
    sides = tuple(side and (side.shape_text, side.opcode, side.op_name) for side in (cause.before, cause.after))
    return cause.cause, cause.tier, _other_space(cause), sides, cause.size_bytes > 0


def _other_space(cause: Cause) -> int | None:
    if cause.cause == MOVED_IN:
        return cause.before.memory_space
    return cause.after.memory_space if cause.cause == MOVED_OUT else None


def _shown(sides: Sequence[Value]) -> Record:
    """Return the facts of a cause for a table: those of the value after, else those of the value before."""
    return {
        "shape": shape_of(*(value.shape_text for value in reversed(sides))) if sides else None,
        "opcode": next((value.opcode for value in sides if value.opcode), None),
        "op_name": next((value.op_name for value in sides if value.op_name), None),
        "source": next(filter(None, map(_source, sides)), None),
    }


def shape_of(before: str, after: str | None = None) -> str:
    """Return the shape; its layout is shown only where the layouts differ or there is one side only."""
    if after is None:
        return before
    if before == after:
        return without_layout(after)
    shorter = without_layout(before), without_layout(after)
    return " → ".join(shorter if shorter[0] != shorter[1] else (before, after))


def _value(side: str, value: Value | None) -> Record:
    return {
        f"{side}_instruction": value and value.instruction_name,
        f"{side}_shape": value and value.shape_text,
        f"{side}_element_type": value and value.element_type,
        f"{side}_tile": value and (tiles(value.shape_text) or None),
        f"{side}_opcode": value and value.opcode,
        f"{side}_op_name": value and value.op_name,
        f"{side}_source": _source(value),
        f"{side}_start_position": value and value.start_position,
        f"{side}_end_position": value and value.end_position,
    }


def _source(value: Value | None) -> str | None:
    return f"{value.source_file}:{value.source_line}" if value and value.source_file else None
