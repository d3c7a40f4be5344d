"""The tree that splits the bytes of the peak over call paths (FormatStackTraceBreakdown, hlo_stack_trace.cc).

Its labels are raw bytes of op_names, line feeds and complete fake lines included, so the tree is kept as it was
printed; what is proved here is that it is a whole tree and nothing else.
"""

import re

from bufferhouse.dump import grammar
from bufferhouse.dump.columns import Dump, content_end
from bufferhouse.dump.diagnose_lines import TRACE_HEADER, refuse
from bufferhouse.dump.errors import error_at

_HEADER = re.compile(rf"{grammar.TRACE_HEADER}({grammar.SPACED}) bytes\n")
_SUFFIX = re.compile(
    rf" \([0-9]++\.[0-9]%, total: {grammar.SPACED} bytes, current: ({grammar.SPACED}) bytes,"
    rf" remaining: ({grammar.SPACED}) bytes\)\n"
)


def _rail(encoding: str) -> re.Pattern[str]:
    """Return the pattern of a branch in a text decoded from UTF-8 or, where that failed, from latin-1."""
    line, branch, last = (rail.encode().decode(encoding) for rail in ("│   ", "├── ", "└── "))
    return re.compile(rf"  (?:    |{line})*(?:{branch}|{last})")


_BRANCHES = {encoding: _rail(encoding) for encoding in ("utf-8", "latin-1")}
_ROOT = "    "


def parse(dump: Dump, text: str, start: int, role: str) -> int:
    """Keep the tree that starts at `start`; return the character behind it.

    Raises:
        DumpError: a line that belongs to no node, or nodes whose `current` bytes do not add up to the header, as they
            do not when the file is cut.
    """
    header = _HEADER.match(text, start)
    if header is None:
        raise refuse(text, start, role, TRACE_HEADER)
    stop = content_end(text)
    if stop > len(text):
        raise error_at(text, len(text), "the end of the line", role=role)
    branch = _BRANCHES[dump.text_encoding]
    remaining = total = _number(header[1])
    node = header.end()  # where the next node begins
    odd = None  # where a node could end, if another began there
    for suffix in _SUFFIX.finditer(text, node, stop):
        # A label may hold a line that looks like the end of a node: `remaining`, and what follows, tell it from one.
        if remaining - _number(suffix[1]) != _number(suffix[2]):
            continue
        if suffix.end() != stop and branch.match(text, suffix.end()) is None:
            odd = odd or suffix.end()
            continue
        if node == header.end() and not text.startswith(_ROOT, node):
            break
        remaining = _number(suffix[2])
        node, odd = suffix.end(), None
    if node != stop:
        raise error_at(text, odd or node, "a node of the stack trace tree, or the end of the file", role=role)
    if remaining:
        raise error_at(
            text, stop, f"nodes for the remaining {remaining} of {total} bytes", role=role, rule="stack_trace"
        )
    dump.stack_trace = text[start:stop]
    return stop


def _number(spaced: str) -> int:
    return int(spaced.replace(" ", ""))
