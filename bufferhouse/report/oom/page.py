"""Findings about programs that did not fit, as one HTML page."""

from collections.abc import Sequence
from dataclasses import replace

from bufferhouse.messages.message import Refused
from bufferhouse.oom.finding import Finding
from bufferhouse.query.statements import Record
from bufferhouse.report.html.page import page
from bufferhouse.report.oom.text import oom_sections, refused_section, silent_section, title, told, unread_section


def oom_page(
    findings: Sequence[Finding],
    refused: Sequence[Refused],
    silent: Sequence[Record],
    *,
    warehouse: str,
    unread: Sequence[str] = (),
) -> str:
    """Return the whole page; `warehouse` names what the dumps were taken from, `unread` as in `oom_text`."""
    name = title(findings, refused, silent, unread=unread)
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
        + [[section] for section in (*silent_section(silent), *unread_section(unread), *refused_section(refused))],
    )
