"""The programs of a comparison as records: one for each pair of dumps and memory space."""

from collections import defaultdict
from collections.abc import Sequence

from bufferhouse.compare.causes import former, short
from bufferhouse.compare.compare import GONE, NEW, NOT_COMPARED, UNCHANGED, Compared
from bufferhouse.compare.pairing import Pair
from bufferhouse.compare.sizes import Sizes
from bufferhouse.config.threshold import Threshold
from bufferhouse.query.statements import Record
from bufferhouse.report.text.figures import exact_bytes, human_bytes

KEY = ("before_dump_id", "after_dump_id", "memory_space")  # of a record, as `Compared.key` is of a row
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


def program_records(rows: Sequence[Compared], relevant: Threshold, sides: Sequence[Record]) -> list[Record]:
    """Return a record for each of the rows, in their order; within a status relevant changes come first.

    `sides` are the records of `compare_runs`: where a run has no dump, nothing is called new or gone.
    """
    empty = [side["side"] for side in sides if not side["dump_count"]]
    labels = _labels([row.pair for row in rows])
    ranks: defaultdict[tuple, int] = defaultdict(int)
    records = []
    for row in sorted(rows, key=lambda row: not _is_relevant(row, relevant)):
        platform, status, reason = row.pair.any.platform, row.status, row.reason
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
                "has_same_content": _has_same_content(row),
                "is_relevant": _is_relevant(row, relevant),
                **_sides(row.pair),
                "before_bytes": row.before_bytes,
                "after_bytes": row.after_bytes,
                "delta_bytes": row.delta_bytes,
                "change_ratio": row.delta_bytes / row.before_bytes if row.delta_bytes and row.before_bytes else None,
                **_main_cause(row),
                **_sizes(row.before, row.after),
                **_beside(row),
            }
        )
    return records


def _is_relevant(row: Compared, relevant: Threshold) -> bool:
    return bool(row.delta_bytes) and relevant.is_crossed(row.before_bytes, row.delta_bytes)


def _has_same_content(row: Compared) -> bool:
    return row.status == UNCHANGED and row.pair.before.dump_id == row.pair.after.dump_id


def _sides(pair: Pair) -> Record:
    sides = {"before": pair.before, "after": pair.after}
    return {
        **{f"{side}_dump_id": dump and dump.dump_id for side, dump in sides.items()},
        **{f"{side}_compile_target": dump and dump.compile_target for side, dump in sides.items()},
    }


def _sizes(before: Sizes | None, after: Sizes | None) -> Record:
    found: Record = {}
    for size, column in _COLUMNS.items():
        old, new = before and getattr(before, size), after and getattr(after, size)
        found[f"before_{column}_bytes"], found[f"after_{column}_bytes"] = old, new
        found[f"{column.removesuffix('_peak')}_change_bytes"] = None if old is None or new is None else new - old
    return found


def _beside(row: Compared) -> Record:
    peaks = row.peaks
    return {
        "before_peak_position": peaks and peaks.before_position,
        "after_peak_position": peaks and peaks.after_position,
        "before_like_position": peaks and peaks.before_like_position,
        "before_like_bytes": peaks and peaks.before_like_bytes,
        "after_like_position": peaks and peaks.after_like_position,
        "after_like_bytes": peaks and peaks.after_like_bytes,
        "matched_bytes": peaks and peaks.matched_bytes,
        "ordered_count": peaks and peaks.ordered_count,
        "reordered_count": peaks and peaks.reordered_count,
    }


def _main_cause(row: Compared) -> Record:
    """Return the main cause and its bytes; `main_cause` and `most_of_it` are in the words of earlier releases."""
    cause, size = main_cause(row) or (None, None)
    return {
        "main_cause": cause and former(cause),
        "main_cause_label": cause,
        "main_cause_bytes": size,
        "most_of_it": cause and cause_with_bytes(former(cause), size),
        "main_cause_said": cause and cause_with_bytes(short(cause), size),
    }


def cause_with_bytes(cause: str, size: int, *, exact: bool = False) -> str:
    """Return the text of a cell: the cause, and its bytes with their sign."""
    return f"{cause} {(exact_bytes if exact else human_bytes)(size, signed=True)}"


def main_cause(row: Compared) -> tuple[str, int] | None:
    """Return the cause with the most bytes in the direction of the change, and these bytes."""
    sums: defaultdict[str, int] = defaultdict(int)
    for cause in row.causes:
        sums[cause.cause] += cause.size_bytes
    ways = {cause: size for cause, size in sums.items() if size * (row.delta_bytes or 0) > 0}
    return max(ways.items(), key=lambda one: abs(one[1])) if ways else None


def _labels(pairs: Sequence[Pair]) -> dict[Pair, str]:
    """Return a label for each pair: the program's name, with its id or compile target where the name is not unique."""
    ids: defaultdict[str, set[int]] = defaultdict(set)
    targets: defaultdict[tuple, set[str]] = defaultdict(set)
    for pair in pairs:
        ids[pair.any.program_name].add(pair.any.program_id)
        targets[pair.any.platform, pair.any.program_id].update(_targets(pair))
    labels, seen = {}, defaultdict(int)
    for pair in dict.fromkeys(pairs):
        words = [pair.any.program_name]
        if len(ids[pair.any.program_name]) > 1:
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
