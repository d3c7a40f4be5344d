"""What an ingest did, in a few lines."""

from bufferhouse.ingest.summary import Summary
from bufferhouse.report.text.figures import human_bytes
from bufferhouse.warehouse.observations import UNREADABLE

_SHOWN_REJECTS = 20


def lines(summary: Summary, *, plan: bool = False) -> list[str]:
    """Return the lines `ingest` prints: counts, then what was refused and why."""
    runs = summary.runs if len(summary.runs) <= 12 else [*summary.runs[:11], f"… {len(summary.runs) - 11} more"]
    result = [
        f"{summary.seen} dumps of {len(summary.runs)} run{'s' if len(summary.runs) != 1 else ''} seen: "
        f"{summary.new} {'to load' if plan else 'new'}, {summary.known} known, {summary.rejected} rejected"
        + (f", {summary.known_rejected} rejected before" if summary.known_rejected else "")
        + (f"; {summary.ignored} other files ignored" if summary.ignored else ""),
    ]
    if runs:
        result.append(f"runs: {', '.join(runs)}")
    if not plan:
        rows = sum(count for table, count in summary.rows.items() if table not in ("observations", "rejects"))
        result.append(f"loaded {rows:,} rows from {human_bytes(summary.bytes)} of text in {summary.seconds:.1f} s")
    if summary.conflicts or summary.retries:
        result.append(
            f"beside other writers: {summary.conflicts} commits tried again, {summary.retries} loads done anew"
        )
    for line in summary.reject_lines[:_SHOWN_REJECTS]:
        result.append(f"rejected: {line}")
    if len(summary.reject_lines) > _SHOWN_REJECTS:
        result.append(f"… and {len(summary.reject_lines) - _SHOWN_REJECTS} more rejects, in raw.rejects")
    result += [f"unreadable: {line}" for line in summary.unreadable]
    for line in summary.head_faults[:_SHOWN_REJECTS]:
        result.append(f"warning: {line}; loaded without the source lines of it")
    if len(summary.head_faults) > _SHOWN_REJECTS:
        result.append(f"… and {len(summary.head_faults) - _SHOWN_REJECTS} more, in marts.warnings")
    for name, count in summary.warnings.items():
        if name == UNREADABLE:
            continue  # told file by file
        result.append(f"warning: check {name} found {count} offender{'s' if count != 1 else ''}")
    return result
