"""Reports on a terminal: tables fitted to its width, colour only where there is a terminal that wants it."""

import os
import re
import shutil
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bufferhouse.query.statements import Record
from bufferhouse.report.text.columns import Column, said
from bufferhouse.report.text.figures import printable
from bufferhouse.report.text.sections import Section

RISE, FALL = "red", "green"
_WIDTH = 120  # where there is no terminal
_GAP = 2
_NARROWEST_TEXT = 20
_TRAILING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$")  # blanks, and where colours end


def console() -> Console:
    """Return standard output as rich sees it."""
    # NO_COLOR turns off all escape sequences, not colours alone.
    colours = None if os.environ.get("NO_COLOR") else "auto"
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    return Console(color_system=colours, width=width, highlight=False, markup=False, emoji=False)


def terminal_text(title: str, sections: Sequence[Section], *, exact: bool = False) -> str:
    """Return a report as lines that fit the terminal; `exact` writes all bytes to the byte."""
    screen = console()
    with screen.capture() as captured:
        screen.print(line(title, "bold"))
        for section in sections:
            screen.print()
            print_section(screen, section, exact)
    return lines_of(captured.get())


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


def print_section(screen: Console, section: Section, exact: bool) -> None:
    """Print a heading, the lines below it, and as many columns of its table as fit."""
    if section.title:
        screen.print(line(section.title, "bold"))
    for said_of_it in section.lines:
        screen.print(line(said_of_it))
    if not section.columns:
        return
    cells = [
        [said(record[column.name], column, exact=exact) for column in section.columns] for record in section.printed
    ]
    widths = _widths(section.columns, cells, screen.width)
    screen.print(_table(section, cells, widths))
    left_out = [column.heading for i, column in enumerate(section.columns) if i not in widths]
    if left_out:
        screen.print(Text(f"columns left out (terminal too narrow): {', '.join(left_out)}", style="dim"))
    if section.left:
        screen.print(Text(section.left, style="dim"))


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
    for count, i in enumerate(texts):  # the narrowest first: what it leaves is for the others
        share = room if columns[i].is_whole else room // (len(texts) - count)
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
        table.add_column(
            Text(column.heading), width=width, justify="left" if column.is_text else "right", vertical="bottom"
        )
    for record, row in zip(section.printed, cells, strict=True):
        table.add_row(
            *(Text(fitted(row[i], width), style=_style(record, section.columns[i])) for i, width in widths.items())
        )
    return table


def _style(record: Record, column: Column) -> str:
    value = record[column.name]
    if column.kind != "change" or not value:
        return "dim" if value is None else ""
    return RISE if value > 0 else FALL
