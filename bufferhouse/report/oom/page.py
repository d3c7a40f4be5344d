"""Findings about programs that did not fit, as one HTML page."""

from collections.abc import Sequence
from dataclasses import replace

from bufferhouse.messages.message import Refused
from bufferhouse.oom.finding import Finding
from bufferhouse.query.statements import Record
from bufferhouse.report.html.page import page
from bufferhouse.report.oom.text import oom_sections, refused_section, silent_section, title, told


def oom_page(
    findings: Sequence[Finding],
    refused: Sequence[Refused],
    silent: Sequence[Record],
    *,
    warehouse: str,
    is_partial: bool = False,
) -> str:
    """Return the whole page; `warehouse` names what the dumps were taken from, `is_partial` as in `oom_text`."""
    name = title(findings, refused, silent, is_partial=is_partial)
    return page(
        "oom.html",
        name,
        {},
        warehouse=warehouse,
        name=name,
        findings=[
            [replace(section, name=f"{section.name}-{number}") for section in oom_sections(finding)]
            for number, finding in enumerate(told(findings), 1)
        ]
        + ([[silent_section(silent)]] if silent else []),
        refused=refused_section(refused) if refused else None,
    )
