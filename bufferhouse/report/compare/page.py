"""Two runs as one HTML page: what changed in which program and why, what is new, what is gone."""

import html
from typing import Any

from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.compare.cause_sections import explained
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.match_records import match_records, unmatched_records
from bufferhouse.report.compare.match_sections import MATCHES, UNMATCHED, matched_section, unmatched_section
from bufferhouse.report.compare.records import KEY
from bufferhouse.report.compare.sections import METRIC_NAMES, notes, subtitle, title
from bufferhouse.report.compare.text import compare_sections
from bufferhouse.report.html.bar_charts import change_chart
from bufferhouse.report.html.blocks import footer, note
from bufferhouse.report.html.charts import Chart
from bufferhouse.report.html.page import chart_place, page, text
from bufferhouse.report.html.sections import section_html
from bufferhouse.report.html.waterfall import SOURCE, axis_said, waterfall_chart, waterfall_records
from bufferhouse.report.text.sections import Section

_CAUSES = "compare_causes"


def compare_page(comparison: Comparison) -> str:
    """Return the whole page."""
    charts: list[Chart] = []
    tables: dict[str, Any] = {}
    made: dict[str, list[Record]] = {SOURCE: [], MATCHES: [], UNMATCHED: []}
    parts = [f"<h1>{text(title(comparison))}</h1>"]
    parts += [f'<p class="soft">{text(line)}</p>' for line in subtitle(comparison)]
    parts += map(note, notes(comparison))
    for section in compare_sections(comparison)[1:]:
        if section.source == _CAUSES:
            parts.append(section_html(section, tables, chart=_waterfall(section, comparison, charts, made)))
            parts += [section_html(one, tables, level=3) for one in _at_peaks(section, comparison, made)]
        else:
            parts.append(section_html(section, tables, chart=_changes(section, comparison, charts)))
    loaded = max(filter(None, (side["loaded_at"] for side in (comparison.before, comparison.after))), default=None)
    parts.append(footer(comparison.warehouse, comparison.asked_at, loaded))
    name = html.escape(title(comparison))
    answers = {**comparison.answers, **{name: Answer.of(records) for name, records in made.items() if records}}
    return page(
        f"Memory of two runs: {name}",
        "\n".join(parts),
        answers,
        charts,
        tables=tables,
        shared_texts=(_CAUSES, *made),
    )


def _changes(section: Section, comparison: Comparison, charts: list[Chart]) -> str:
    """Return the place of the chart of a section, and add it to the charts; empty where it has none."""
    if section.where.get("status") != "changed":
        return ""
    if (chart := change_chart(section.records, section.where, section.title)) is None:
        return ""
    return _placed(chart, f"Change of {METRIC_NAMES[comparison.metric]}.", charts)


def _waterfall(section: Section, comparison: Comparison, charts: list[Chart], made: dict[str, list[Record]]) -> str:
    row = _program(section, comparison)
    steps = waterfall_records(section.where, row, section.records)
    made[SOURCE] += steps
    chart = waterfall_chart(steps, section.where, section.title)
    said = f"{axis_said(chart)}{METRIC_NAMES[comparison.metric].capitalize()} before and after, cause by cause."
    return _placed(chart, said, charts)


def _placed(chart: Chart, said: str, charts: list[Chart]) -> str:
    charts.append(chart)
    return f'{chart_place(len(charts), chart)}\n<p class="soft">{said}</p>'


def _at_peaks(section: Section, comparison: Comparison, made: dict[str, list[Record]]) -> list[Section]:
    """Return the matched and the unmatched values of an explained program; the listed records go into `made`."""
    row = _program(section, comparison)
    key = tuple(section.where[name] for name in KEY)
    at_peaks = next(one.at_peaks for one in comparison.rows if one.key == key)
    if at_peaks is None:
        return []
    found = [
        matched_section(row, section.where, match_records(section.where, at_peaks)),
        unmatched_section(row, section.where, unmatched_records(section.where, at_peaks)),
    ]
    for one in found:
        made[one.source] += one.records
    return [one for one in found if one.records]


def _program(section: Section, comparison: Comparison) -> Record:
    """Return the record of the program that a section explains."""
    return next(
        row for row in explained(comparison) if all(row[name] == value for name, value in section.where.items())
    )
