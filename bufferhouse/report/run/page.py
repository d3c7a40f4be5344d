"""One run as one HTML page: programs by size, blocks, donation candidates, constants."""

import html
from typing import Any

from bufferhouse.report.html.bar_charts import size_chart
from bufferhouse.report.html.blocks import footer, note, tiles
from bufferhouse.report.html.charts import Chart
from bufferhouse.report.html.page import chart_place, page, text
from bufferhouse.report.html.sections import section_html
from bufferhouse.report.run.data import Run
from bufferhouse.report.run.sections import notes, run_sections, subtitle, title
from bufferhouse.report.text.sections import Section


def run_page(run: Run) -> str:
    """Return the whole page."""
    charts: list[Chart] = []
    tables: dict[str, Any] = {}
    parts = [_head(run)]
    for section in run_sections(run)[1:]:
        parts.append(section_html(section, tables, chart=_chart(section, charts)))
    parts.append(footer(run.warehouse, run.asked_at, run.facts["loaded_at"]))
    name = html.escape(title(run))
    return page(f"Run memory: {name}", "\n".join(parts), run.answers, charts, tables=tables)


def _head(run: Run) -> str:
    facts = run.facts
    parts = [f"<h1>{text(title(run))}</h1>", *(f'<p class="soft">{text(line)}</p>' for line in subtitle(run)[:1])]
    parts += map(note, notes(run))
    counts = {"dump": "dumps", "content": "distinct contents", "program": "programs", "reject": "rejects"}
    parts.append(tiles([(name, f"{facts[f'{thing}_count']:,}") for thing, name in counts.items()]))
    return "\n".join(parts)


def _chart(section: Section, charts: list[Chart]) -> str:
    """Return the place of the chart of a section, and add it to the charts; empty where it has none."""
    chart = None
    if section.source == "run_programs":
        chart = size_chart(section.records, section.where, section.title)
    if chart is None:
        return ""
    charts.append(chart)
    return chart_place(len(charts), chart) + '\n<p class="soft">Pale: reserved. Full: occupied peak.</p>'
