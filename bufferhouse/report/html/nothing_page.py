"""The page of a report that has nothing to show: what is missing, why, and the way on."""

from datetime import UTC, datetime

from bufferhouse.errors import counted
from bufferhouse.report.fleet.terminal import reject_line
from bufferhouse.report.html.blocks import footer, note, tiles
from bufferhouse.report.html.page import page, text
from bufferhouse.report.nothing import NothingToShow


def nothing_page(nothing: NothingToShow) -> str:
    """Return the whole page."""
    facts, rejects = nothing.held.overview, nothing.held.rejects
    parts = [f"<h1>Nothing to show</h1>\n<p>{text(_sentence(nothing.what))}</p>", note(_sentence(nothing.why))]
    counts = {"run": "runs", "dump": "dumps", "program": "programs", "reject": "rejects"}
    parts.append(tiles([(name, f"{facts[f'{thing}_count']:,}") for thing, name in counts.items()]))
    if rejects:
        total = facts["reject_count"]
        last = f"The last {len(rejects)} of {counted(total, 'reject')}" if total > len(rejects) else "Rejects"
        lines = "\n".join(f"<li>{text(reject_line(row).removeprefix('rejected: '))}</li>" for row in rejects)
        parts.append(f"<h2>{last}</h2>\n<ul>\n{lines}\n</ul>")
    parts.append(footer("the warehouse", datetime.now(UTC), facts["loaded_at"]))
    return page("Nothing to show", "\n".join(parts), {}, [])


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", ")")) else ".")
