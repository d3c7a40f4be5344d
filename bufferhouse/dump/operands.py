"""What an instruction text says before its attributes: the shape of its result, and its operands."""

import re
from dataclasses import dataclass

from bufferhouse.dump import grammar

# The opcode is the first lower-case word with a bracket behind it: nothing in a shape looks like that but `b(`.
_START = re.compile(rf"%{grammar.NAME} = ((?:[^ ]++ )+?)[a-z][a-z0-9\-]++\(")
_BRACKET = re.compile(r"[()]")
_OPERAND = re.compile(rf"%({grammar.NAME})")


@dataclass(frozen=True, slots=True)
class Definition:
    """`result_shape` as printed, None where the text is no instruction; names of the operands, in order."""

    result_shape: str | None
    operands: tuple[str, ...]


def definition(text: str) -> Definition:
    """Read result shape and operands (HloInstruction::PrintWithCanonicalNameMap); operand shapes are skipped."""
    match = _START.match(text)
    if match is None:
        return Definition(None, ())
    end = text.find(")", match.end())
    if "(" in text[match.end() : end]:  # operand shapes with tuples or tiles: find the bracket that closes the list
        depth = 1
        for bracket in _BRACKET.finditer(text, match.end()):
            depth += 1 if bracket[0] == "(" else -1
            if depth == 0:
                end = bracket.start()
                break
    listed = text[match.end() : end if end >= 0 else len(text)]
    return Definition(match[1][:-1], tuple(_OPERAND.findall(listed)) if "%" in listed else ())
