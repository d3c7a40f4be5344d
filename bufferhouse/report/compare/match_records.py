"""The values alive at the two compared peaks, as records: matched pairs, and values without a partner."""

from collections.abc import Mapping
from typing import Any

from bufferhouse.compare.causes import former, gone_to, new_from
from bufferhouse.compare.compare import AtPeaks
from bufferhouse.compare.match import Elsewhere
from bufferhouse.compare.values import Value
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.cause_records import shape_of


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
