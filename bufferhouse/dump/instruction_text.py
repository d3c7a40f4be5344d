"""Instruction texts as columns: opcode, result shape, operands and metadata.

Nearly all texts of a batch are read by one `findall` over all of them. A text that is not of the common form (line
feeds, quotes or open braces before its metadata, items in another order, custom calls) is read by itself, by the full
rules of `attributes`, which says what both return.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import islice

from bufferhouse.dump import grammar
from bufferhouse.dump.instruction_end import Brackets
from bufferhouse.dump.tiling import optional, optional_ints


@dataclass(frozen=True, slots=True)
class Attributes:
    """The columns of `raw.instruction_texts` for one instruction text, unescaped; None where not printed.

    `result_shape` is as printed; `operands` are the names of the operands, in order.
    """

    instruction_name: str
    opcode: str | None = None
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    stack_frame_id: int | None = None
    custom_call_target: str | None = None
    result_shape: str | None = None
    operands: tuple[str, ...] = ()


@dataclass(slots=True)
class AttributeColumns:
    """The fields of `Attributes`, each a list with a cell per text."""

    instruction_name: list[str]
    opcode: list[str | None]
    op_name: list[str | None]
    source_file: list[str | None]
    source_line: list[int | None]
    stack_frame_id: list[int | None]
    custom_call_target: list[str | None]
    result_shape: list[str | None]
    operands: list[tuple[str, ...]]


_LISTED = r'[^()"\n]*+(?:\((?:[^()"\n]++|\((?:[^()"\n]++|\([^()"\n]*+\))*\))*\)[^()"\n]*+)*'
_FREE = r'[^"\n,{}]*+(?:(?:\{[^{}"\n]*+\}|,(?! metadata=\{))[^"\n,{}]*+)*'
_QUOTED = r'"(?!")([^"\\\n]*+(?:\\.[^"\\\n]*+)*)" ?'
_SKIPPED = r'"[^"\\\n]*+"'
_DIGITS = r"[0-9]{1,18}+"
# A line is either of the common form or caught whole by the last group, and a group that fails once has failed:
# the time is linear. OpMetadataToString (xla/hlo/ir/hlo_op_metadata.cc) prints the items in this order.
_COMMON = re.compile(
    rf"%({grammar.NAME}) = ((?:[^ \n]++ )+?)([a-z][a-z0-9\-]++)\(({_LISTED})\){_FREE}"
    rf"(?:, metadata=\{{(?:op_type={_SKIPPED} ?)?(?:op_name={_QUOTED})?(?:source_file={_QUOTED})?"
    rf"(?:source_line=({_DIGITS}) ?)?(?:source_end_line={_DIGITS} ?)?(?:source_column={_DIGITS} ?)?"
    rf"(?:source_end_column={_DIGITS} ?)?(?:deduplicated_name={_SKIPPED} ?)?(?:stack_frame_id=({_DIGITS}) ?)?"
    rf"(?:scheduling_name={_SKIPPED})?(\}}))?[^\n]*+\n"
    r"|[^\n]*+\n"
)
_OPERAND = re.compile(rf"%({grammar.NAME})")


def read(texts: Sequence[str]) -> AttributeColumns:
    """Return the columns of instruction texts, a cell per text."""
    # A text with line feeds of its own leaves an empty line, which is not of the common form either.
    lines = "".join(["\n" if "\n" in text else text + "\n" for text in texts])
    columns = list(zip(*_COMMON.findall(lines), strict=True)) or [()] * 9
    names, shapes, opcodes, listed, op_names, files, source_lines, frames, metadata_ends = columns
    found = AttributeColumns(
        list(names),
        optional(opcodes),
        [unescaped(cell) if "\\" in cell else cell or None for cell in op_names],
        [unescaped(cell) if "\\" in cell else cell or None for cell in files],
        optional_ints(source_lines),
        optional_ints(frames),
        [None] * len(texts),
        [shape[:-1] for shape in shapes],
        _listed_names(listed),
    )
    for row in _uncommon(texts, names, opcodes, listed, metadata_ends):
        one = attributes(texts[row])
        for field in fields(one):
            getattr(found, field.name)[row] = getattr(one, field.name)
    return found


def _uncommon(
    texts: Sequence[str],
    names: Sequence[str],
    opcodes: Sequence[str],
    listed: Sequence[str],
    metadata_ends: Sequence[str],
) -> set[int]:
    """Return the rows that the common form does not describe."""
    custom_calls = {opcode for opcode in set(opcodes) if opcode.startswith(_CUSTOM_CALL)}
    rows = {row for row, name in enumerate(names) if not name}
    rows |= {row for row, end in enumerate(metadata_ends) if not end and _METADATA_MARK in texts[row]}
    rows |= {row for row, cell in enumerate(listed) if cell.count("{") != cell.count("}")}
    return rows | {row for row, opcode in enumerate(opcodes) if opcode in custom_calls} if custom_calls else rows


def _listed_names(listed: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the operand names in each operand list."""
    names = _OPERAND.findall("\n".join(listed))
    counts = [cell.count("%") for cell in listed]
    if sum(counts) != len(names):  # a percent sign that begins no name
        return [tuple(_OPERAND.findall(cell)) for cell in listed]
    remaining = iter(names)
    return [tuple(islice(remaining, count)) for count in counts]


_BRACKET = re.compile(r"[()]")
# The opcode is the first lower-case word with a bracket behind it: nothing in a shape looks like that but `b(`.
_START = re.compile(rf"%({grammar.NAME}) = ((?:[^ ]++ )+?)([a-z][a-z0-9\-]++)\(")
_STRING = r'"([^"\\]*+(?:\\.[^"\\]*+)*)"'
_METADATA = re.compile(
    # The only name that is not escaped ends at the quote behind which the next item, or nothing, begins.
    r'scheduling_name=".*?"(?: (?=[a-z_]++=)|(?=\}))'
    rf"|([a-z_]++)=(?:{_STRING}|([^ \"{{}}]++)|\{{[^{{}}]*+\}}) ?",
    re.DOTALL,
)
_METADATA_MARK = ", metadata={"
_CUSTOM_CALL = "custom-call"
_TARGET = re.compile(rf", custom_call_target={_STRING}", re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_PLAIN_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def attributes(text: str) -> Attributes:
    """Read one instruction text (HloInstruction::PrintWithCanonicalNameMap), whatever its form."""
    match = _START.match(text)
    if match is None:
        return Attributes(text[1:].split(" ", 1)[0])
    found: dict[str, str] = {}
    start = _metadata_start(text, match.end())
    while start >= 0 and (item := _METADATA.match(text, start)):
        if item[1]:
            found[item[1]] = item[3] or item[2] or ""
        start = item.end()
    target = _TARGET.search(text, match.end()) if match[3].startswith(_CUSTOM_CALL) else None
    return Attributes(
        match[1],
        match[3],
        unescaped(found.get("op_name")),
        unescaped(found.get("source_file")),
        _number(found.get("source_line")),
        _number(found.get("stack_frame_id")),
        unescaped(target[1]) if target else None,
        match[2][:-1],
        _operands(text, match.end()),
    )


def _operands(text: str, start: int) -> tuple[str, ...]:
    """Return the names between the bracket before `start` and the one that closes it; operand shapes are skipped."""
    end = text.find(")", start)
    if "(" in text[start:end]:  # operand shapes with tuples or tiles: find the bracket that closes the list
        depth = 1
        for bracket in _BRACKET.finditer(text, start):
            depth += 1 if bracket[0] == "(" else -1
            if depth == 0:
                end = bracket.start()
                break
    return tuple(_OPERAND.findall(text, start, end if end >= 0 else len(text)))


def _metadata_start(text: str, start: int) -> int:
    """Return where the items of the top-level `metadata={…}` begin, -1 where there is none.

    The same words may stand inside an attribute before it or inside the `backend_config` behind it; only where the
    first hit has quotes or open braces before it does the text have to be followed bracket by bracket.
    """
    hit = text.find(_METADATA_MARK, start)
    if hit < 0:
        return -1
    if text.find('"', start, hit) >= 0 or text.count("{", start, hit) != text.count("}", start, hit):
        brackets = Brackets(text, start, depth=1)  # that of the operands
        while hit >= 0 and not brackets.closed_at(hit):
            hit = text.find(_METADATA_MARK, hit + 1)
        if hit < 0 and brackets.closed_at(len(text)):
            return -1
        if hit < 0:  # quotes that XLA did not escape
            hit = text.rfind(_METADATA_MARK, start)
    return hit + len(_METADATA_MARK)


def _number(text: str | None) -> int | None:
    is_number = text and len(text) <= 18 and text.isascii() and text.isdigit()
    return int(text) if is_number else None


def unescaped(text: str | None) -> str | None:
    """Undo absl::CEscape; bytes above 0x7f come back as the UTF-8 text they were, else as latin-1."""
    if text is None or "\\" not in text:
        return text
    if text.count("\\") == text.count("\\'"):  # the only escape of most op_names
        return text.replace("\\'", "'")
    plain = _ESCAPE.sub(
        lambda m: bytes([int(m[1], 8) & 0xFF]) if m[1][0] in b"01234567" else _PLAIN_ESCAPES.get(m[1], m[1]),
        text.encode(),
    )
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return plain.decode("latin-1")
