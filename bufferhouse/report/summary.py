"""The result of an ingest in a few lines."""

from bufferhouse.errors import counted
from bufferhouse.ingest.summary import Summary
from bufferhouse.report.text.figures import human_bytes
from bufferhouse.warehouse.observations import UNREADABLE

_SHOWN_REJECTS = 20


def lines(summary: Summary, *, plan: bool = False) -> list[str]:
    """Return the lines that `ingest` prints: counts, then the rejects with their reasons."""
    runs = summary.runs if len(summary.runs) <= 12 else [*summary.runs[:11], f"… {len(summary.runs) - 11} more"]
    result = [
        f"{counted(summary.seen, 'dump')} of {counted(len(summary.runs), 'run')} seen: "
        f"{summary.new} {'to load' if plan else 'new'}, {summary.known} known, {summary.rejected} rejected"
        + (f", {summary.known_rejected} rejected before" if summary.known_rejected else "")
        + (f"; {counted(summary.ignored, 'other file')} ignored" if summary.ignored else ""),
    ]
    if runs:
        result.append(f"runs: {', '.join(runs)}")
    if not plan:
        rows = sum(count for table, count in summary.rows.items() if table not in ("observations", "rejects"))
        size = human_bytes(summary.bytes)
        result.append(f"loaded {counted(rows, 'row')} from {size} of text in {summary.seconds:.1f} s")
    if summary.conflicts or summary.retries:
        result.append(
            f"other writers: {counted(summary.conflicts, 'commit')} and {counted(summary.retries, 'load')} repeated"
        )
    for line in summary.reject_lines[:_SHOWN_REJECTS]:
        result.append(f"rejected: {line}")
    if len(summary.reject_lines) > _SHOWN_REJECTS:
        result.append(f"… and {counted(len(summary.reject_lines) - _SHOWN_REJECTS, 'more reject')}, in raw.rejects")
    result += [f"unreadable: {line}" for line in summary.unreadable]
    for line in summary.head_faults[:_SHOWN_REJECTS]:
        result.append(f"warning: {line}; the dump is loaded without its source lines")
    if len(summary.head_faults) > _SHOWN_REJECTS:
        result.append(f"… and {len(summary.head_faults) - _SHOWN_REJECTS} more, in marts.warnings")
    for name, count in summary.warnings.items():
        if name == UNREADABLE:
            continue  # listed file by file above
        result.append(f"warning: check {name} found {counted(count, 'offender')}")
    return result
