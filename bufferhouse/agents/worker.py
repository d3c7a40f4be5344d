"""One call of a tool in a process of its own: `python -m bufferhouse.agents.worker`, a request on standard input.

A statement can crash DuckDB, take all memory that its process may have, or ignore an interrupt. None of this may end
the server, and the warehouse is open only during the call. The answer, or the error, goes to standard output.
"""

import json
import os
import sys
from typing import Any, NamedTuple

from bufferhouse.agents.pages import Page
from bufferhouse.errors import EXPECTED
from bufferhouse.redaction import said


class Request(NamedTuple):
    """A call: a tool with its arguments, for a warehouse, from the process `parent`."""

    tool: str
    arguments: dict[str, Any]
    warehouse: str
    seconds: float
    memory_bytes: int
    rows: int
    offset: int
    limit: int
    parent: int


def main() -> None:
    """Answer the request."""
    # Text that a library prints must not become part of the answer.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = Request(**json.load(sys.stdin))
    from bufferhouse.query.supervisor import die_with

    die_with(request.parent)
    with out:
        json.dump(_answered(request), out)


def _answered(request: Request) -> dict[str, str]:
    from dataclasses import replace

    from bufferhouse.agents.answers import answer
    from bufferhouse.engine.limits import Limits
    from bufferhouse.warehouse import address_of

    limits = replace(Limits(), seconds=request.seconds, memory_bytes=request.memory_bytes, rows=request.rows)
    page = Page(request.offset, request.limit)
    try:
        return {"answer": answer(request.tool, address_of(request.warehouse), request.arguments, limits, page)}
    except EXPECTED as error:
        return {"refused": said(str(error))}
    except OSError as error:
        return {"refused": said(error.strerror or str(error))}


if __name__ == "__main__":
    main()
