"""Two runs as one HTML page: what changed in which program, what is new, what is gone."""

import html
from typing import Any

from bufferhouse.report.bar_charts import change_chart
from bufferhouse.report.blocks import footer, note
from bufferhouse.report.charts import Chart
from bufferhouse.report.compare import Comparison
from bufferhouse.report.compare_sections import notes, subtitle, title
from bufferhouse.report.compare_text import compare_sections
from bufferhouse.report.page import chart_place, page, text
from bufferhouse.report.section_page import section_html
from bufferhouse.report.sections import Section


def compare_page(comparison: Comparison) -> str:
    """Return the whole page."""
    charts: list[Chart] = []
    tables: dict[str, Any] = {}
    parts = [f"<h1>{text(title(comparison))}</h1>"]
    parts += [f'<p class="soft">{text(line)}</p>' for line in subtitle(comparison)]
    parts += map(note, notes(comparison))
    for section in compare_sections(comparison)[1:]:
        parts.append(section_html(section, tables, chart=_chart(section, charts)))
    loaded = max(filter(None, (side["loaded_at"] for side in (comparison.before, comparison.after))), default=None)
    parts.append(footer(comparison.warehouse, comparison.asked_at, loaded))
    name = html.escape(title(comparison))
    return page(f"Memory of two runs: {name}", "\n".join(parts), comparison.answers, charts, tables=tables)


def _chart(section: Section, charts: list[Chart]) -> str:
    """Return the place of the chart of a section, and add it to the charts; empty where it has none."""
    chart = None
    if section.where.get("status") == "changed":
        chart = change_chart(section.records, section.where, section.title)
    if chart is None:
        return ""
    charts.append(chart)
    return chart_place(len(charts), chart) + '\n<p class="soft">Change of reserved bytes.</p>'
