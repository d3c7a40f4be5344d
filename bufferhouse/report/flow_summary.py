"""The result of a flow run as the Markdown of an artifact."""

from collections.abc import Mapping, Sequence

from bufferhouse.ingest.summary import Summary
from bufferhouse.query.format import formatted
from bufferhouse.report.text.figures import human_bytes

_SHOWN = 20


def pass_summary(
    total: Summary,
    by_source: Mapping[str, Summary],
    *,
    published: str | None,
    warehouse_bytes: int | None,
) -> str:
    """Return the summary of one ingest: figures, sources, rejects and waiting files with their reasons."""
    rows = {
        "dumps seen": total.seen,
        "new contents": total.new,
        "known": total.known,
        "other files ignored": total.ignored,
        "rejected": total.rejected,
        "rejected before": total.known_rejected,
        "unreadable": len(total.unreadable),
        "logs of no known run": len(total.unplaced),
        "waiting": len(total.waiting),
        "late": total.late,
        "left out, as retention removed their runs": sum(total.pruned.values()),
        "text": human_bytes(total.bytes),
        "text bytes": total.bytes,
        "seconds": f"{total.seconds:.1f}",
        "warehouse bytes": warehouse_bytes if warehouse_bytes is not None else "none",
        "published": published or "no",
    }
    parts = [figures(rows)]
    if len(by_source) > 1:
        columns = ("source", "seen", "new", "known", "rejected", "waiting")
        cells = [
            (name, p.seen, p.new, p.known, p.rejected + p.known_rejected, len(p.waiting))
            for name, p in by_source.items()
        ]
        parts.append("Sources:\n\n" + formatted(columns, cells, "markdown"))
    parts += bullets("Failed sources", [f"{name}: {p.fault}" for name, p in by_source.items() if p.fault])
    parts += bullets("Refused", [*total.reject_lines, *total.unreadable])
    parts += bullets("Logs of no known run", total.unplaced)
    parts += bullets("Waiting", total.waiting)
    parts += bullets("Not opened", total.archive_lines())
    return "\n\n".join(parts)


def bullets(title: str, lines: Sequence[str]) -> list[str]:
    """Return a list under a title, cut where it is long; nothing where it is empty."""
    if not lines:
        return []
    shown = [f"* `{_inside(line)}`" for line in lines[:_SHOWN]]
    if len(lines) > _SHOWN:
        shown.append(f"* … and {len(lines) - _SHOWN} more")
    return [f"{title}:\n\n" + "\n".join(shown)]


def _inside(text: str) -> str:
    """Return a text without characters that would end its code span or its line."""
    return text.replace("`", "'").replace("\n", " ").replace("\r", " ")


def figures(rows: Mapping[str, object]) -> str:
    """Return names and values as a table."""
    return formatted(("", "value"), list(rows.items()), "markdown")
