"""Reports on a terminal: tables fitted to its width, color only where there is a terminal that wants it.

In a pipe or a file nothing is cut and no column is left out, unless $COLUMNS says how wide the text is to be.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from itertools import takewhile

from rich.align import Align
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bufferhouse.query.statements import Record
from bufferhouse.report.text.columns import Column, said
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.sections import Section, markdown_text

RISE, FALL = "red", "green"
_WIDTH = 120  # of a terminal that does not say its own
_UNBOUNDED = 1 << 20  # where there is no terminal
_GAP = 2
_NARROWEST_TEXT = 20
# Blanks, and where colors end; a run of blanks is looked at once, where it begins, however long it is.
_TRAILING = re.compile(r"(?<! )(?: |\x1b\[[0-9;]*m)+$")


def console() -> Console:
    """Return standard output as rich sees it."""
    # NO_COLOR turns off all escape sequences, not colors alone.
    colors = None if os.environ.get("NO_COLOR") else "auto"
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if is_fitted() else _UNBOUNDED
    return Console(color_system=colors, width=width, highlight=False, markup=False, emoji=False)


def is_fitted() -> bool:
    """Return whether texts are fitted to a width: that of the terminal, or the one that $COLUMNS asks for."""
    return bool(os.environ.get("COLUMNS")) or sys.stdout.isatty()


def cut(text: str, limit: int) -> str:
    """Return a text as it is printed, without its middle where it is too long; where nothing is fitted, all of it."""
    return printable(text, limit if is_fitted() else None)


def terminal_text(title: str, sections: Sequence[Section], *, exact: bool = False) -> str:
    """Return a report as lines that fit the terminal; `exact` writes all bytes to the byte."""
    screen = console()
    with screen.capture() as captured:
        screen.print(line(title, "bold"))
        for section in sections:
            screen.print()
            print_section(screen, section, exact)
    return lines_of(captured.get())


def report_text(title: str, sections: Sequence[Section], form: str, *, exact: bool = False) -> str:
    """Return a report in Markdown where `form` says so, else as lines that fit the terminal; `exact` as there."""
    return (markdown_text if form == "markdown" else terminal_text)(title, sections, exact=exact)


def line(text: str, style: str = "") -> Text:
    """Return a line as a screen takes it, without what a terminal would obey."""
    return Text(printable(text), style=style)


def lines_of(captured: str) -> str:
    """Return captured output without the blanks that fill its lines."""
    lines = captured.rstrip("\n").split("\n")
    return "\n".join(_TRAILING.sub(lambda end: end[0].replace(" ", ""), one) for one in lines)


def fitted(text: str, width: int) -> str:
    """Return a text without its middle where it is wider than `width` cells; some letters take two."""
    if cell_len(text) <= width:
        return text
    shorter = (printable(text, length) for length in range(min(width, len(text)), 0, -1))
    return next((short for short in shorter if cell_len(short) <= width), "")


def distinct(texts: Sequence[str], width: int) -> list[str]:
    """Return texts of at most `width` cells in which different texts stay different.

    All lose their middle, or all lose another part: what they have in common goes first. Where no cut of this width
    keeps them apart they stay as they are.
    """
    wanted = len(set(texts))
    wide = {text for text in texts if cell_len(text) > width}
    cuts: list[Callable[[str], str]] = [lambda text: fitted(text, width)]
    cuts += [lambda text, head=head: _around(text, head, width) for head in range(width - 1, -1, -1)]
    start, end = (_common([text[::step] for text in set(texts)]) for step in (1, -1))
    cuts += [lambda text, skip=skip: _behind(text, skip, width) for skip in (start, max(start - width // 3, 0))]
    cuts += [lambda text: _behind(text[::-1], end, width)[::-1]]
    for one in cuts:
        shorter = [one(text) if text in wide else text for text in texts]
        if len(set(shorter)) == wanted and all(cell_len(short) <= width for short in shorter):
            return shorter
    return list(texts)


def shortened(texts: Sequence[str], width: int) -> list[str]:
    """Return texts of at most `width` cells; different texts stay different where a cut of this width can do it."""
    return [fitted(text, width) for text in distinct(texts, width)]


def _around(text: str, head: int, width: int) -> str:
    """Return a text without what stands between its first `head` characters and its last."""
    tail = width - head - 1
    return f"{text[:head]}…{text[-tail:] if tail else ''}"


def _behind(text: str, skip: int, width: int) -> str:
    """Return what stands behind the first `skip` characters of a text, and a mark for each part that is left out."""
    rest = text[skip:]
    mark = "…" if skip else ""
    room = width - len(mark)
    return mark + (rest if len(rest) <= room else f"{rest[: room - 1]}…")


def _common(texts: Sequence[str]) -> int:
    """Return how many characters all texts begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False)))


def print_section(screen: Console, section: Section, exact: bool) -> None:
    """Print a heading, the lines below it, and as many columns of its table as fit."""
    if section.title:
        screen.print(line(section.title, "bold"))
    for said_of_it in map(line, section.lines):
        # A path that is wider than the screen is printed whole, so that it can be copied.
        is_whole = any(cell_len(word) > screen.width for word in said_of_it.plain.split())
        screen.print(said_of_it, overflow="ignore" if is_whole else None, crop=not is_whole)
    if not section.columns:
        return
    cells = [
        [said(record[column.name], column, exact=exact) for column in section.columns] for record in section.printed
    ]
    widths = _widths(section.columns, cells, screen.width)
    screen.print(_table(section, cells, widths))
    print_left_out(screen, [column.heading for i, column in enumerate(section.columns) if i not in widths])
    if section.left:
        screen.print(Text(section.left, style="dim"))


def print_left_out(screen: Console, headings: Sequence[str]) -> None:
    """Say which columns of a table did not fit, if any."""
    if headings:
        screen.print(Text(f"columns left out (terminal too narrow): {', '.join(headings)}", style="dim"))


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int) -> dict[int, int]:
    """Return the widths of the columns that fit, by their places."""
    natural = [
        max([*(cell_len(row[i]) for row in cells), *map(cell_len, column.heading.split()), 1])
        for i, column in enumerate(columns)
    ]
    kept = list(range(len(columns)))
    while _least(columns, natural, kept) > room:
        ranked = [i for i in kept if columns[i].rank]
        if not ranked:
            break
        kept.remove(max(ranked, key=lambda i: (columns[i].rank, i)))
    texts = sorted(
        (i for i in kept if columns[i].is_text), key=lambda i: (not columns[i].is_whole, natural[i])
    )  # what must not be cut first
    widths = {i: natural[i] for i in kept}
    room -= sum(natural[i] for i in kept if i not in texts) + _GAP * (len(kept) - 1)
    for count, i in enumerate(texts, 1):  # the narrowest first: what it leaves is for the others
        least = sum(min(natural[other], _NARROWEST_TEXT) for other in texts[count:])
        share = room - least if columns[i].is_whole else room // (len(texts) - count + 1)
        widths[i] = min(natural[i], max(share, 1))
        room -= widths[i]
    return widths


def _least(columns: Sequence[Column], natural: Sequence[int], kept: Sequence[int]) -> int:
    least = (
        min(natural[i], _NARROWEST_TEXT) if columns[i].is_text and not columns[i].is_whole else natural[i] for i in kept
    )
    return sum(least) + _GAP * (len(kept) - 1)


def _table(section: Section, cells: Sequence[Sequence[str]], widths: dict[int, int]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for i, width in widths.items():
        column = section.columns[i]
        justify = "left" if column.is_text else "right"
        heading = Align(Text(column.heading, justify=justify), justify, vertical="bottom")
        table.add_column(heading, width=width, justify=justify, overflow="fold")
    shown = {i: _shown([row[i] for row in cells], width, section.columns[i]) for i, width in widths.items()}
    for number, record in enumerate(section.printed):
        table.add_row(*(Text(shown[i][number], style=_style(record, section.columns[i])) for i in widths))
    return table


def _shown(texts: Sequence[str], width: int, column: Column) -> list[str]:
    """Return the cells of a column. Prose, and what identifies a row and cannot be cut, runs over several lines."""
    if column.is_prose:
        return list(texts)
    return distinct(texts, width) if column.rank == 0 else shortened(texts, width)


def _style(record: Record, column: Column) -> str:
    value = record[column.name]
    if column.kind != "change" or not value:
        return "dim" if value is None else ""
    return RISE if value > 0 else FALL
