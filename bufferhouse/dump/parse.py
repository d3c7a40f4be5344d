"""Bytes to columns, section by section in the order of the file.

The reader takes the fast road first: one `findall` a section, then a proof that no line was passed over. Where it
fails, `used_values` looks for the ends of instruction texts that hold line feeds, and `diagnose` finds line, column and
what was expected in what is still not a dump.
"""

from collections.abc import Mapping

from bufferhouse.dump import allocations, diagnose, grammar, live_range, used_values
from bufferhouse.dump.columns import LARGEST_SIZE, Dump, content_end, decode
from bufferhouse.dump.diagnose_lines import USED_VALUES, refuse
from bufferhouse.dump.errors import DumpError, error_at

ROLES = ("allocations", "values", "live_range")


def parse(files: bytes | Mapping[str, bytes]) -> Dump:
    """Read one logical dump: the bytes of its one file, or those of its split files by role.

    Roles are `combined` alone, or `allocations` with `values`, `live_range` or both. Accepts every dialect from 2019-09
    on.

    Raises:
        DumpError: a byte that no rule of the grammar accounts for, or a violated assertion, with line and column.
        ValueError: roles that make no dump, which is a mistake of the caller.
    """
    if isinstance(files, bytes | bytearray | memoryview):
        files = {"combined": bytes(files)}
    if set(files) != {"combined"} and not {"allocations"} <= set(files) <= set(ROLES):
        raise ValueError(f"files of one dump are 'combined', or 'allocations' and its siblings, not {sorted(files)}")
    texts, encoding = decode(files)
    dump = Dump(text_encoding=encoding)
    if "combined" in texts:
        _combined(dump, texts["combined"])
    else:
        _split(dump, texts)
    return dump


def _combined(dump: Dump, text: str) -> None:
    end, heads = allocations.parse(dump, text, "combined")
    if end is None:
        diagnose.refuse_if_too_old(text, dump.allocations.pointer)
        _trailing(dump, text, content_end(text), "combined")
        return
    start = _totals(dump, text, end, "combined")
    stop = _used_values(dump, text, start, heads, "combined")
    if text.startswith("\n\n" + grammar.LIVE_RANGE_START, stop):
        stop = live_range.parse(dump, text, stop + 2, "combined")
    elif dump.has_instruction_texts or text.count("\n", stop) != len(text) - stop:
        raise diagnose.behind_used_values(text, stop, "combined")
    _trailing(dump, text, stop, "combined")


def _split(dump: Dump, texts: Mapping[str, str]) -> None:
    dump.file_layout = "split"
    text = texts["allocations"]
    end, heads = allocations.parse(dump, text, "allocations")
    if end is not None:
        expected = "the end of the file, because the values are in a file of their own"
        raise error_at(text, end + 1, expected, role="allocations")
    _trailing(dump, text, content_end(text), "allocations")
    if (text := texts.get("values")) is not None:
        try:
            start = _totals(dump, text, 0, "values")
            stop = _used_values(dump, text, start, heads, "values")
        except DumpError as error:
            raise diagnose.of_cut_allocations(error, text, heads) from None
        _trailing(dump, text, stop, "values")
    if (text := texts.get("live_range")) is not None:
        if text.startswith(grammar.LIVE_RANGE_UNAVAILABLE):
            dump.live_range_state = "not available"
            stop = len(grammar.LIVE_RANGE_UNAVAILABLE)
        else:
            stop = live_range.parse(dump, text, 0, "live_range")
        _trailing(dump, text, stop, "live_range")


def _trailing(dump: Dump, text: str, stop: int, role: str) -> None:
    """Count the line feeds behind the end of a dump, which ends at `stop`."""
    rest = text[stop:]
    if foreign := rest.lstrip("\n"):
        raise error_at(text, len(text) - len(foreign), "the end of the file", role=role)
    dump.trailing_newlines[role] = len(rest)


def _totals(dump: Dump, text: str, start: int, role: str) -> int:
    match = grammar.TOTALS.match(text, start)
    if match is None:
        # Dumps without a total were written until 2019-10, those in several files not before 2026.
        if role == "combined" and text.startswith(grammar.USED_VALUES, start):
            return start + len(grammar.USED_VALUES)
        raise diagnose.behind_allocations(text, start, role)
    dump.total_bytes = int(match[1])
    dump.total_human = match[2]
    total = sum(dump.allocations.size_bytes)
    if total > LARGEST_SIZE:
        raise error_at(text, match.start(1), "a total of at most 2^53 bytes", role=role, rule="size")
    if total != dump.total_bytes:
        expected = f"the sum of the allocation sizes, {total}"
        raise error_at(text, match.start(1), expected, role=role, rule="total_bytes")
    if not text.startswith(grammar.USED_VALUES, match.end()):
        raise refuse(text, match.end(), role, USED_VALUES)
    return match.end() + len(grammar.USED_VALUES)


def _used_values(dump: Dump, text: str, start: int, heads: list[str], role: str) -> int:
    """Read the value blocks from `start`; return the character behind the last one."""
    dump.has_used_values = True
    cut = used_values.cut(text, start, heads, role)
    dump.is_glued = cut.is_glued
    dump.has_instruction_texts = cut.texts is not None
    dump.has_instruction_space = cut.has_space
    if not used_values.fill(dump, cut):
        raise diagnose.lines_of_blocks(text, cut.starts(start, heads), heads, role)
    if (row := used_values.defined_elsewhere(dump)) is not None:
        raise diagnose.first_position(text, cut.starts(start, heads)[row], heads[row], role)
    empty = used_values.none_forms(cut.uses)
    if len(empty) > 1:
        raise diagnose.mixed_empty_uses(text, cut.starts(start, heads), cut.uses, role)
    dump.none_form = empty[0] if empty else None
    return cut.stop
