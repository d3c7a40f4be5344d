"""Findings about programs that did not fit, as one HTML page."""

from dataclasses import replace

from bufferhouse.report.html.page import page
from bufferhouse.report.oom.text import Explanation, oom_sections, sections_about_all, title, told


def oom_page(found: Explanation, *, warehouse: str) -> str:
    """Return the whole page; `warehouse` names what the dumps were taken from."""
    name = title(found)
    return page(
        "oom.html",
        name,
        {},
        warehouse=warehouse,
        name=name,
        findings=[
            [replace(section, name=f"{section.name}-{number}") for section in oom_sections(finding)]
            for number, finding in enumerate(told(found.findings), 1)
        ]
        + [[section] for section in sections_about_all(found)],
    )
