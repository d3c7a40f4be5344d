"""Sections of a report as HTML."""

from typing import Any

from bufferhouse.report.html.page import text
from bufferhouse.report.html.tables import FIRST_ROWS, answer_source, answer_table
from bufferhouse.report.text.sections import Section


def section_html(section: Section, tables: dict[str, Any], *, level: int = 2, chart: str = "") -> str:
    """Return a section; `chart` stands above its table. The description of its table goes into `tables`, by its id."""
    parts = [f"<h{level}>{text(section.title)}</h{level}>"] if section.title else []
    parts += [f'<p class="soft">{text(line)}</p>' for line in section.lines]
    if chart:
        parts.append(chart)
    if section.columns:
        first = FIRST_ROWS if section.source else None
        parts.append(
            answer_table(section.name, section.title or section.name, section.columns, section.records, first=first)
        )
        if section.source:
            tables[section.name] = answer_source(section.columns, section.source, dict(section.where))
    return "\n".join(parts)
