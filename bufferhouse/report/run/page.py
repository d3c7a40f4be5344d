"""One run as one HTML page: programs by size, blocks, donation candidates, constants."""

from bufferhouse.report.html.charts import Chart, size_chart
from bufferhouse.report.html.page import page
from bufferhouse.report.run.data import Run
from bufferhouse.report.run.text import notes, run_sections, subtitle, title
from bufferhouse.report.text.sections import Section


def run_page(run: Run) -> str:
    """Return the whole page."""
    name = title(run)
    return page(
        "run.html",
        f"Run memory: {name}",
        run.answers,
        warehouse=run.warehouse,
        asked_at=run.asked_at,
        loaded_at=run.facts["loaded_at"],
        name=name,
        subtitle=subtitle(run)[0],
        notes=notes(run),
        facts=run.facts,
        sections=[(section, _chart(section)) for section in run_sections(run)[1:]],
    )


def _chart(section: Section) -> Chart | None:
    return size_chart(section.records, section.where, section.title) if section.source == "run_programs" else None
