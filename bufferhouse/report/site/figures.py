"""The figures of a page as the JSON beside it, and as a script where a page from the disk needs them."""

import json
from collections.abc import Mapping
from typing import Any

from bufferhouse.query.statements import Answer
from bufferhouse.report.html.frame import beside
from bufferhouse.report.html.page import json_block
from bufferhouse.version import __version__


def figures(address: str, about: Mapping[str, Any], answers: Mapping[str, Answer]) -> dict[str, bytes]:
    """Return the file beside a page: what it is about, and its answers as columns and rows.

    Bytes and ids are numbers, but integers above 2^53 are text; times are text in ISO 8601; no text is a secret.
    """
    told = {name: {"columns": answer.columns, "rows": answer.rows} for name, answer in answers.items()}
    found = {"bufferhouse": __version__, "page": address, **about, "answers": told}
    return {beside(address, "json"): json_block(found).encode()}


def script(address: str, name: str, found: Any) -> dict[str, bytes]:
    """Return the script beside a page that hands `found` to the site's scripts under a name.

    From the disk a page can read no JSON.
    """
    call = f"(globalThis.siteData ??= {{}})[{json.dumps(name)}] = {json_block(found)};\n"
    return {beside(address, "js"): call.encode()}
