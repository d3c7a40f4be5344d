"""Parts of a page besides tables and charts: notes, tiles, bars, the footer."""

from collections.abc import Sequence
from datetime import datetime

from bufferhouse.report.html.page import text
from bufferhouse.report.text.figures import exact_bytes, human_bytes
from bufferhouse.version import __version__

_WIDTH = 10_000  # units of a bar


def note(said: str) -> str:
    """Return a highlighted line."""
    return f'<p class="note">{text(said)}</p>'


def tiles(figures: Sequence[tuple[str, str]]) -> str:
    """Return names with large figures; both are HTML."""
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{figure}</dd></div>' for name, figure in figures)}</dl>"


def bytes_bar(parts: Sequence[tuple[str, int]], total: int) -> str:
    """Return a bar of at most eight parts and its key; the parts sum to the total.

    Raises:
        ValueError: they do not.
    """
    if sum(count for _, count in parts) != total or any(count < 0 for _, count in parts):
        raise ValueError(f"a bar of {total} bytes does not close: {parts}")
    rects, keys, start = [], [], 0
    for colour, (name, count) in enumerate(parts, 1):
        if not count:
            continue
        left, right = start * _WIDTH / total, (start + count) * _WIDTH / total
        exact = f"{name}: {exact_bytes(count)}, {count / total:.1%}"
        place = f'x="{left:.1f}" width="{right - left:.1f}" height="10"'
        rects.append(f'<rect class="c{colour}" {place}><title>{exact}</title></rect>')
        share = f"{human_bytes(count)}, {count / total:.1%}"
        keys.append(f'<li title="{exact}"><span class="swatch c{colour}"></span>{name} {share}</li>')
        start += count
    said = ", ".join(f"{name} {exact_bytes(count)}" for name, count in parts if count)
    return (
        f'<svg class="bar" viewBox="0 0 {_WIDTH} 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{exact_bytes(total)}: {said}">{"".join(rects)}</svg>\n<ul class="key">{"".join(keys)}</ul>'
    )


def footer(warehouse: str, asked_at: datetime, loaded_at: datetime | None = None) -> str:
    """Return the last line of a page: its time, its version and its warehouse."""
    last = f", last loaded {loaded_at:%Y-%m-%d %H:%M} UTC" if loaded_at else ""
    made = f"Made {asked_at:%Y-%m-%d %H:%M} UTC by bufferhouse {__version__}"
    return f"<footer>{made} from {text(warehouse)}{last}.</footer>"
