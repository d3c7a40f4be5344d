"""The records of a comparison: programs, the causes of their changes, and the values alive at their peaks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from bufferhouse.compare.causes import MOVED_IN, MOVED_OUT, Cause, former, gone_to, new_from, short
from bufferhouse.compare.compare import GONE, NEW, NOT_COMPARED, UNCHANGED, AtPeaks, Compared
from bufferhouse.compare.groups import by
from bufferhouse.compare.match import Elsewhere
from bufferhouse.compare.pairing import RENAMED, RESHAPED, Dump, Pair
from bufferhouse.compare.peaks import Peaks
from bufferhouse.compare.signature import signature_words
from bufferhouse.compare.sizes import Sizes
from bufferhouse.compare.tiers import tiles, without_layout
from bufferhouse.compare.values import Value
from bufferhouse.config.threshold import Threshold
from bufferhouse.query.statements import Record
from bufferhouse.report.text.figures import bytes_form

KEY = ("program_id", "before_dump_id", "after_dump_id", "memory_space")  # of a record, as `Compared.key` is of a row
key_of = itemgetter(*KEY)
OF_THE_PROGRAM = ("program_id", "program_label", "platform", "memory_space", "before_dump_id", "after_dump_id")
# The columns of the sizes, named as the measures are.
_COLUMNS = {
    "reserved": "reserved",
    "occupied": "occupied_peak",
    "padding": "layout_padding",
    "temp": "temp",
    "argument": "argument",
    "output": "output",
    "constant": "constant",
}
# The columns of the facts about both peaks, in the order of `Peaks`.
_PEAKS = ("before_peak_position", "after_peak_position", *Peaks._fields[2:])


def program_records(rows: Sequence[Compared], relevant: Threshold, sides: Sequence[Record]) -> list[Record]:
    """Return a record for each of the rows, in their order; within a status relevant changes come first.

    `sides` are the records of `compare_runs`: where a run has no dump, nothing is called new or gone. A dump that is
    new or gone is a further one (`is_further_dump`) where its program, for this target, is in a pair.
    """
    empty = [side["side"] for side in sides if not side["dump_count"]]
    labels = _labels([row.pair for row in rows])
    both = {_compiled(dump) for row in rows if None not in row.pair[:2] for dump in row.pair[:2]}
    ranks: defaultdict[tuple, int] = defaultdict(int)
    records = []
    for row in sorted(rows, key=lambda row: not _is_relevant(row, relevant)):
        platform, status, reason = row.pair.any.platform, row.status, row.reason
        # None without a change, or from nothing on.
        ratio = row.delta_bytes / row.before_bytes if row.delta_bytes and row.before_bytes else None
        if empty and status in (NEW, GONE):
            status, reason = NOT_COMPARED, f"the run {' and '.join(empty)} has no dump that could be read"
        ranks[platform, row.memory_space, status] += 1
        records.append(
            {
                "platform": platform,
                "memory_space": row.memory_space,
                "status": status,
                "status_rank": ranks[platform, row.memory_space, status],
                "program_id": row.pair.any.program_id,
                "program_name": row.pair.any.program_name,
                "program_label": labels[row.pair],
                "reason": reason,
                "is_ambiguous": row.pair.is_ambiguous,
                "is_further_dump": None in row.pair[:2] and _compiled(row.pair.any) in both,
                "has_same_content": row.status == UNCHANGED and row.pair.before.dump_id == row.pair.after.dump_id,
                "is_relevant": _is_relevant(row, relevant),
                **_sides(row.pair),
                "before_bytes": row.before_bytes,
                "after_bytes": row.after_bytes,
                "delta_bytes": row.delta_bytes,
                "change_ratio": ratio,
                "change_percent": ratio and round(100 * row.delta_bytes / row.before_bytes, 4),
                **_main_cause(row),
                **_sizes(row.before, row.after),
                **dict(zip(_PEAKS, row.peaks or [None] * len(_PEAKS), strict=True)),
                **_programs(row.pair),
            }
        )
    return records


def _compiled(dump: Dump) -> tuple:
    """Return the program of a dump, as it was compiled for a target."""
    return dump.program_id, dump.platform, dump.compile_target


def _is_relevant(row: Compared, relevant: Threshold) -> bool:
    return bool(row.delta_bytes) and relevant.is_crossed(row.before_bytes, row.delta_bytes)


def _programs(pair: Pair) -> Record:
    """Return what is to be known of a pair of two programs; both program_ids are equal in all other pairs.

    `change_said` is what changed in words: the signature of a reshaped program, the name of a renamed one.
    """
    before, after = pair[:2]
    said = None
    if pair.change == RESHAPED:
        said = "; ".join(signature_words(before.signature, after.signature))
    elif pair.change == RENAMED:
        said = f"{before.program_name} → {after.program_name}"
    return {
        "before_program_id": before and before.program_id,
        "after_program_id": after and after.program_id,
        "before_program_name": before and before.program_name,
        "signature_change": said if pair.change == RESHAPED else None,
        "change_said": said,
        "guess": "a guess" if pair.change and pair.is_ambiguous else None,
    }


def _sides(pair: Pair) -> Record:
    sides = {"before": pair.before, "after": pair.after}
    return {
        **{f"{side}_dump_id": dump and dump.dump_id for side, dump in sides.items()},
        **{f"{side}_compile_target": dump and dump.compile_target for side, dump in sides.items()},
        **{f"{side}_did_not_fit": dump and dump.did_not_fit for side, dump in sides.items()},
    }


def _sizes(before: Sizes | None, after: Sizes | None) -> Record:
    found: Record = {}
    for size, column in _COLUMNS.items():
        old, new = before and getattr(before, size), after and getattr(after, size)
        found[f"before_{column}_bytes"], found[f"after_{column}_bytes"] = old, new
        found[f"{column.removesuffix('_peak')}_change_bytes"] = None if old is None or new is None else new - old
    return found


def _main_cause(row: Compared) -> Record:
    """Return the main cause and its bytes; `main_cause` and `most_of_it` are in the words of earlier releases."""
    cause, size = row.main_cause or (None, None)
    return {
        "main_cause": cause and former(cause),
        "main_cause_label": cause,
        "main_cause_bytes": size,
        "most_of_it": cause and cause_with_bytes(former(cause), size),
        "main_cause_said": cause and cause_with_bytes(short(cause), size),
    }


def cause_with_bytes(cause: str, size: int, *, exact: bool = False) -> str:
    """Return the text of a cell: the cause, and its bytes with their sign."""
    return f"{cause} {bytes_form(exact=exact)(size, signed=True)}"


def exactly(row: Record) -> Record:
    """Return a record of `compare_programs` with the bytes of its main cause written to the byte."""
    cause = row["main_cause_label"]
    said = cause and cause_with_bytes(short(cause), row["main_cause_bytes"], exact=True)
    return {**row, "main_cause_said": said}


def _labels(pairs: Sequence[Pair]) -> dict[Pair, str]:
    """Return a label for each pair: the program's name, with its id or compile target where the name is not unique."""
    ids: defaultdict[str, set[int]] = defaultdict(set)
    targets: defaultdict[tuple, set[str]] = defaultdict(set)
    for pair in pairs:
        for dump in filter(None, pair[:2]):
            ids[dump.program_name].add(dump.program_id)
        targets[pair.any.platform, pair.any.program_id].update(_targets(pair))
    labels, seen = {}, defaultdict(int)
    for pair in dict.fromkeys(pairs):
        words = [pair.any.program_name]
        own = {dump.program_id for dump in pair[:2] if dump and dump.program_name == pair.any.program_name}
        if ids[pair.any.program_name] - own:
            words.append(f"#{str(pair.any.program_id)[:8]}")
        sides = _targets(pair)
        if len(sides) > 1 or len(targets[pair.any.platform, pair.any.program_id]) > 1:
            words.append(" → ".join(sides))
        label = " ".join(words)
        seen[label] += 1
        labels[pair] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return labels


def _targets(pair: Pair) -> list[str]:
    """Return the compile targets of a pair that are known; two, if they differ."""
    return list(dict.fromkeys(dump.compile_target for dump in pair[:2] if dump and dump.compile_target))


def cause_records(rows: Sequence[Compared], programs: Sequence[Record]) -> list[Record]:
    """Return the causes of each of the rows, the biggest of a row first.

    `programs` are the records of the rows. Causes that differ in the value alone are one record, which holds their
    count and the sum of their bytes. `cause` holds the words of earlier releases, `cause_label` those of today.
    """
    by_key = {key_of(record): record for record in programs}
    records = []
    for row in rows:
        program = {name: by_key[row.key][name] for name in OF_THE_PROGRAM}
        found = [{**program, **_record(group)} for group in by(_about, row.causes).values()]
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
        "source": next((value.source for value in sides if value.source), None),
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
        f"{side}_source": value and value.source,
        f"{side}_start_position": value and value.start_position,
        f"{side}_end_position": value and value.end_position,
    }


def match_records(where: Mapping[str, Any], at_peaks: AtPeaks) -> list[Record]:
    """Return the pairs of values that are alive at both peaks: the biggest differences first, then the largest values.

    `where` is put before each record. Owned bytes count a byte of several values once.
    """
    records = []
    for before, after, tier in at_peaks.found.matches:
        owned = at_peaks.before.owned[before.value_id], at_peaks.after.owned[after.value_id]
        records.append(
            {
                **where,
                "before_instruction": _name(before),
                "after_instruction": _name(after),
                "shape": shape_of(before.shape_text, after.shape_text),
                "before_owned_bytes": owned[0],
                "after_owned_bytes": owned[1],
                "difference_bytes": owned[1] - owned[0],
                **_slot("before", before),
                **_slot("after", after),
                "tier": tier,
            }
        )
    return sorted(records, key=lambda one: (-abs(one["difference_bytes"]), -one["after_owned_bytes"]))


def unmatched_records(where: Mapping[str, Any], at_peaks: AtPeaks) -> list[Record]:
    """Return the values that are alive at one of the peaks and have no partner at the other, the largest first.

    `difference_bytes` is the part of the difference of the peaks that belongs to the value; the `like_*` describe the
    value most like it elsewhere in the other program.
    """
    before, after, found = at_peaks
    records = [_unmatched(where, "before", gone_to(one), one, -before.owned[one.value.value_id]) for one in found.gone]
    records += [_unmatched(where, "after", new_from(one), one, after.owned[one.value.value_id]) for one in found.new]
    return sorted(records, key=lambda one: -abs(one["difference_bytes"]))


def _unmatched(where: Mapping[str, Any], side: str, cause: str, found: Elsewhere, owned_bytes: int) -> Record:
    like = found.like
    return {
        **where,
        "instruction": _name(found.value),
        "side": side,
        "cause": former(cause),
        "cause_label": cause,
        "shape": found.value.shape_text,
        "difference_bytes": owned_bytes,
        **_slot("", found.value),
        "like_instruction": like and _name(like),
        "like_memory_space": like and like.memory_space,
        "like_start_position": like and like.start_position,
        "like_end_position": like and like.end_position,
        "tier": found.tier,
    }


def _name(value: Value) -> str:
    """Return the name of the instruction, and the shape index of the value in its result."""
    return value.instruction_name + (value.shape_index or "")


def _slot(side: str, value: Value) -> Record:
    begin = f"{side}_" if side else ""
    return {
        f"{begin}value_id": value.value_id,
        f"{begin}slot_bytes": value.size_bytes,
        f"{begin}start_position": value.start_position,
        f"{begin}end_position": value.end_position,
    }
