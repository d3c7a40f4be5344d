"""One run as one HTML page: programs by size, blocks, donation candidates, constants."""

from collections.abc import Sequence

from bufferhouse.report.html.charts import Chart, size_chart
from bufferhouse.report.html.frame import Frame
from bufferhouse.report.html.page import page
from bufferhouse.report.run.data import Run
from bufferhouse.report.run.text import notes, run_sections, subtitle, title
from bufferhouse.report.text.sections import Section


def run_page(run: Run, frame: Frame | None = None, links: Sequence[tuple[str, str]] = ()) -> str:
    """Return the whole page; in a site with `links` to other pages."""
    name = title(run)
    return page(
        "run.html",
        f"Run memory: {name}",
        run.answers,
        **run.provenance,
        loaded_at=run.facts["loaded_at"],
        shared_texts=("run_programs", "run_blocks", "run_donations", "run_constants") if frame else (),
        frame=frame,
        links=links,
        name=name,
        subtitle=subtitle(run)[0],
        notes=notes(run),
        facts=run.facts,
        sections=[(section, _chart(section)) for section in run_sections(run)[1:]],
    )


def _chart(section: Section) -> Chart | None:
    return size_chart(section.records, section.where, section.title) if section.source == "run_programs" else None
