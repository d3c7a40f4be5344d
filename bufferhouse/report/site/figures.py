"""The figures of a page as the JSON beside it, and as a script if a page from the disk needs them; pages of a list."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bufferhouse.query.statements import Answer
from bufferhouse.report.html.frame import Frame, Shared, beside
from bufferhouse.report.html.page import json_block, page
from bufferhouse.report.site.build import Made
from bufferhouse.report.text.sections import Section
from bufferhouse.version import __version__


def figures(address: str, about: Mapping[str, Any], answers: Mapping[str, Answer]) -> dict[str, bytes]:
    """Return the file beside a page: what it is about, and its answers as columns and rows.

    Bytes and ids are numbers, but integers above 2^53 are text; times are text in ISO 8601; no text is a secret.
    """
    told = {name: {"columns": answer.columns, "rows": answer.rows} for name, answer in answers.items()}
    found = {"bufferhouse": __version__, "page": address, **about, "answers": told}
    return {beside(address, "json"): json_block(found).encode()}


def script(address: str, name: str, found: Any) -> dict[str, bytes]:
    """Return the script beside a page that gives `found` to the site's scripts under a name.

    A page that is opened from the disk cannot read JSON.
    """
    call = f"(globalThis.siteData ??= {{}})[{json.dumps(name)}] = {json_block(found)};\n"
    return {beside(address, "js"): call.encode()}


def list_page(
    address: str,
    title: str,
    shared: Shared,
    lines: Sequence[str],
    section: Section,
    links: Sequence[tuple[str, str]] = (),
) -> Made:
    """Return a page with one table, whose records are also its figures, under the name of the table."""
    text = page(
        "site_list.html", title, {}, frame=Frame(address, title, shared),
        heading=title, lines=lines, links=links, section=section,
    )  # fmt: skip
    return Made(address, text, figures(address, {}, {section.name: Answer.of(section.records)}))
