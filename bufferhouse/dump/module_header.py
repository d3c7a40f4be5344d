"""The first line of a module text: which arguments the program offers to XLA to place outputs on.

`input_output_alias` is what is to be placed where (HloInputOutputAliasConfig::ToShortString), `buffer_donor` what is
offered and was placed nowhere (HloBufferDonorConfig::ToShortString). What JAX itself finds no output for, it does not
offer: then neither is there.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from bufferhouse.dump.errors import DumpError, quoted

_INDEX = r"\{(?:\d{1,9}(?:, ?\d{1,9})*)?\}"
_ALIAS = re.compile(rf"({_INDEX}): \((\d{{1,9}}), ({_INDEX})(?:, (may-alias|must-alias))?\)")
_DONOR = re.compile(rf"\((\d{{1,9}}), ({_INDEX})\)")
_ATTRIBUTE = {
    "input_output_alias": (re.compile(r", input_output_alias=\{ ?"), _ALIAS, "{0}: (1, {}, may-alias)"),
    "buffer_donor": (re.compile(r", buffer_donor=\{ ?"), _DONOR, "(1, {})"),
}


class Donation(NamedTuple):
    """A leaf of a parameter that is offered; `output_index` says where it is placed, None where it is nowhere.

    `kind` is may-alias, must-alias or buffer-donor. Indices are written as a dump writes them: `{}`, `{0,1}`.
    """

    parameter_number: int
    parameter_shape_index: str
    output_index: str | None
    kind: str


def read_donations(head: bytes) -> list[Donation] | None:
    """Return what a module text offers, by its head; None where this is not the head of one.

    Raises:
        DumpError: an attribute is damaged or cut, with its place, or places one leaf twice.
    """
    if not head.startswith(b"HloModule "):
        return None
    # Both stand before the layout; behind it come texts of the framework, which may hold anything.
    line = head.split(b"\n", 1)[0].split(b", entry_computation_layout=", 1)[0].decode("utf-8", "replace")
    found = [
        Donation(int(number), _plain(index), _plain(output), kind or "may-alias")
        for output, number, index, kind in _entries(line, "input_output_alias")
    ]
    placed = {(one.parameter_number, one.parameter_shape_index) for one in found}
    if len(placed) < len(found):
        raise DumpError(1, 1, "each leaf of a parameter once in input_output_alias", "one of them twice")
    for number, index in _entries(line, "buffer_donor"):
        if (int(number), _plain(index)) not in placed:
            placed.add((int(number), _plain(index)))
            found.append(Donation(int(number), _plain(index), None, "buffer-donor"))
    return sorted(found, key=lambda one: one[:2])


def _entries(line: str, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the entries of an attribute, which ends with ` }` or `}`; none where the line does not have it."""
    begin, entry, example = _ATTRIBUTE[name]
    match = begin.search(line)
    if match is None:
        return
    place = match.end()
    line += "\n"  # so that a line which is cut has no end of the attribute
    while not line.startswith(("}", " }"), place):
        one = entry.match(line, place)
        if one is None:
            raise DumpError(1, place + 1, f"an entry of {name} such as {example}", quoted(line[place : place + 80]))
        yield one.groups()
        place = one.end()
        if line.startswith(", ", place):
            place += 2
        elif not line.startswith(("}", " }"), place):
            raise DumpError(1, place + 1, f"the next entry of {name}, or its end", quoted(line[place : place + 80]))


def _plain(index: str) -> str:
    return index.replace(" ", "")
