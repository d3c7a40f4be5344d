"""The place where a refused input stops being a dump.

Runs only after the fast reader gave up, so it can afford to go line by line, with the state the fast reader does not
keep: which line may follow which, and which value was seen where.
"""

import re
from collections import Counter
from collections.abc import Sequence

from bufferhouse.dump import diagnose_lines, grammar
from bufferhouse.dump.columns import content_end
from bufferhouse.dump.diagnose_lines import Furthest, follow, refuse
from bufferhouse.dump.errors import DumpError, error_at, quoted

_KINDS = {
    "BufferAssignment:\r": "line ends changed to CRLF; transfer the dump as a binary file",
    "BufferAssignment stats": "XLA's log output of statistics, which is not a dump",
    "*** Begin ": "standard output of --xla_dump_to=-; cut out the lines between '*** Begin …' and '*** End …'",
    "\x1f\x8b": "gzip data; name the file …-buffer-assignment.txt.gz",
    "\x28\xb5\x2f\xfd": "zstd data; name the file …-buffer-assignment.txt.zst",
    "\xfd7zXZ\0": "xz data; name the file …-buffer-assignment.txt.xz",
    "BZh": "bzip2 data; decompress it first",
    "PK\x03\x04": "a zip archive; name the file ….zip",
    "\xff\xfe": "UTF-16 text; transfer the dump as a binary file",
    "\xfe\xff": "UTF-16 text; transfer the dump as a binary file",
    "\ufeff": "a byte order mark, which XLA does not write",
    "\ufeff".encode().decode("latin-1"): "a byte order mark, which XLA does not write",
    "HloModule ": "an HLO module; the dump is the file …-buffer-assignment.txt beside it",
    "\nTotal bytes used": "the values file of a split dump; name its …-buffer-assignment.txt",
    "HloLiveRange ": "the live range file of a split dump; name its …-buffer-assignment.txt",
    "Total bytes used": "a memory usage report; the dump is the file …-buffer-assignment.txt beside it",
    "Memory Space: ": "a memory usage report; the dump is the file …-buffer-assignment.txt beside it",
}
_LOG = re.compile(r"RESOURCE_EXHAUSTED|\b[Oo]ut of memory\b")  # of a program that did not fit
_HEAD = 12  # a checksum, and the mark of DuckDB behind it


def not_a_dump(text: str, role: str) -> DumpError:
    """Return the error for a file that does not begin like a dump, naming what it seems to be."""
    expected = repr(grammar.FIRST_LINE.rstrip("\n"))
    for start, kind in _KINDS.items():
        if text.startswith(start):
            return error_at(text, 0, expected, found=kind, role=role)
    if "\0" in text[:4096]:
        kind = "a file of DuckDB; name a warehouse with --warehouse" if "DUCK" in text[:_HEAD] else "binary data"
        return error_at(text, 0, expected, found=kind, role=role)
    if (markup := text[:4096].lstrip()).startswith("<"):
        return error_at(text, 0, expected, found=f"markup, {quoted(markup)}", role=role)
    if _LOG.search(text):
        kind = "a log; name it …log, as train.log, to have it read as one, or ask: bufferhouse oom LOG"
        return error_at(text, 0, expected, found=kind, role=role)
    return refuse(text, 0, role, diagnose_lines.FIRST_LINE)


_TOO_OLD = "a dump written since 2019-09 (TensorFlow 2.1, any jaxlib)"
_OLD_VALUE = re.compile(r"  (?:[A-Za-z_][A-Za-z0-9_.\-]*+(?:\[[0-9,]*\])?\(#[0-9]|[0-9]++ (?:PHI )?[A-Za-z_])")


def refuse_if_too_old(text: str, pointers: Sequence[str | None]) -> None:
    """Refuse a file of pre-2019-09 XLA whose allocations happen to show no value line: pointers, and nothing after."""
    if any(pointers):
        found = "the pre-2019-09 dialect, or a file that was cut (pointers, but no used values)"
        raise error_at(text, content_end(text), _TOO_OLD, found=found, role="combined")


_FOLLOWERS = {
    "start": ("header",),
    "header": ("header", "value", "cross header"),
    "value": ("header", "value", "cross header"),
    "cross header": ("cross",),
    "cross": ("header", "cross"),
}
_LINES = {
    "header": diagnose_lines.HEADER,
    "value": diagnose_lines.VALUE,
    "cross header": diagnose_lines.CROSS_HEADER,
    "cross": diagnose_lines.CROSS,
}


def allocations(text: str, start: int, stop: int, role: str) -> DumpError:
    """Return the error for a section of allocations with a line that is none, or that breaks an assertion."""
    heads = {match[1] for match in grammar.VALUE.finditer(text, start - 1, stop)}
    at, kind = start, "start"
    ids, last_id, index = set(), -1, 0
    while at < stop:
        furthest = Furthest()
        for following in _FOLLOWERS[kind]:
            end = follow(text, at, _LINES[following], furthest)
            if end is not None:
                kind = following
                break
        else:
            if kind in ("header", "value") and _OLD_VALUE.match(text, at):
                return error_at(text, at, _TOO_OLD, found="the pre-2019-09 dialect of value lines", role=role)
            if furthest.offset == at and kind != "cross header":
                furthest.note(at, "an empty line")
            return furthest.error(text, role)
        if kind == "header":
            if error := _header(text, at, end, index, role):
                return error
            index, last_id = index + 1, -1
        elif kind == "value":
            place = at + len(" value: ")
            value_id = int(grammar.VALUE.match(text, at - 1)[2])
            if value_id in ids:
                expected = f"a value other than {value_id}, which stands above already"
                return error_at(text, place, expected, role=role, rule="value_id")
            if value_id < last_id:
                expected = f"a value id above {last_id}"
                return error_at(text, place, expected, role=role, rule="value_order")
            ids.add(value_id)
            last_id = value_id
        elif kind == "cross" and (match := grammar.CROSS.match(text, at - 1)) and match[1] not in heads:
            return error_at(text, match.start(1), "a value of some allocation", role=role, rule="cross_color_value")
        at = end
    return refuse(text, stop, role, *(_LINES[following] for following in _FOLLOWERS[kind]))


def _header(text: str, at: int, end: int, index: int, role: str) -> DumpError | None:
    match = grammar.HEADER.match(text, at - 1)
    if match[1] != str(index):
        return error_at(text, match.start(1), f"allocation index {index}", role=role, rule="allocation_index")
    has_other_flag = any(match.group(6, 10, 11, 12))
    # IsPreallocatedTempBuffer is computed as "none of the other four".
    if match[13] and has_other_flag:
        return error_at(text, match.start(13), "no other flag beside it", role=role, rule="flags")
    if not match[13] and not has_other_flag:
        expected = "', parameter ', ', constant', ', thread-local', ', maybe-live-out' or ', preallocated-temp'"
        return error_at(text, end - len(":\n"), expected, role=role, rule="flags")
    return None


def behind_allocations(text: str, start: int, role: str) -> DumpError:
    """Return the error for text behind the allocations that is neither their total nor `Used values:`."""
    if role == "values":
        return refuse(text, start, role, diagnose_lines.TOTALS)
    return refuse(text, start, role, diagnose_lines.TOTALS, diagnose_lines.USED_VALUES)


_BLOCK_HEAD = re.compile(r"(?m)^(<[^\n<]+)\n positions:\n")


def of_cut_allocations(error: DumpError, values: str, heads: Sequence[str]) -> DumpError:
    """Return `error`, which is about a file of values; it says so if the fault may be that the allocations were cut.

    A file of allocations that ends too early, but with a whole line, is right by itself. Only a file of values that has
    all of its values, `heads`, and others beside shows it.
    """
    if error.rule not in ("total_bytes", "used_values") or not set(heads) < set(_BLOCK_HEAD.findall(values)):
        return error
    expected = f"{error.expected} (…-buffer-assignment.txt probably ends too early)"
    return DumpError(error.line, error.column, expected, error.found, role=error.role, rule=error.rule)


def block(text: str, at: int, head: str, role: str, *, may_be_instruction: bool = False) -> DumpError:
    """Return the error for the block of the value `head`, which should stand at `at` and does not, or is none."""
    if not text.startswith(head, at):
        instruction = f"'{grammar.INSTRUCTION_PREFIX}' or " if may_be_instruction else ""
        expected = f"{instruction}the block of value {head}, which an allocation holds"
        return error_at(text, at, expected, role=role, rule="used_values")
    furthest = Furthest()
    _block_lines(text, at + len(head), furthest)
    return furthest.error(text, role)


def instruction(text: str, at: int, space: str | None, role: str) -> DumpError:
    """Return the error for a block whose instruction, at `at`, is none or not printed as in the first block.

    `space` is what stands before the instruction there, None where the dialect prints no instruction.
    """
    furthest = Furthest()
    if (
        text.startswith(grammar.INSTRUCTION_PREFIX, at)
        and follow(text, at, diagnose_lines.INSTRUCTION, furthest) is None
    ):
        return furthest.error(text, role)
    expected = "no instruction" if space is None else f"'{grammar.INSTRUCTION_PREFIX}{space}%name = …'"
    return error_at(text, at, f"{expected}, as in the first block", role=role, rule="dialect")


def missing_line_feed(text: str, ends: Sequence[int], role: str) -> DumpError:
    """Return the error for instruction texts one of whose `ends` has no line feed before it, while others have."""
    at = next(end for end in ends if text[end - 1] != "\n")
    if text.startswith("\n\n", at):
        return error_at(text, at + 2, "a second empty line", role=role)
    return error_at(text, at, "the end of the line", role=role)


def behind_last_block(text: str, at: int, role: str) -> DumpError:
    """Return the error for text behind the block of the last value that is neither live range section nor file end."""
    if text.startswith("<", at):
        expected = "no more blocks, because no allocation holds another value"
        return error_at(text, at, expected, role=role, rule="used_values")
    if role == "combined":
        return behind_used_values(text, at, role)
    while text.startswith("\n", at):
        at += 1
    return error_at(text, at, "the end of the file", role=role)


def lines_of_blocks(text: str, starts: Sequence[int], heads: Sequence[str], role: str) -> DumpError:
    """Return the error for blocks at `starts`, one of which holds a line that is neither position nor use."""
    blocks = zip(starts, heads, strict=True)
    at, head = next((at, head) for at, head in blocks if _block_lines(text, at + len(head), Furthest()) is None)
    return block(text, at, head, role)


def first_position(text: str, at: int, head: str, role: str) -> DumpError:
    """Return the error for the block at `at`, whose first position is not where the value `head` is defined."""
    place = at + len(head) + len("\n positions:\n") + len("  ")
    expected = f"the position at which value {head} is defined"
    return error_at(text, place, expected, role=role, rule="positions")


def mixed_empty_uses(text: str, starts: Sequence[int], uses: Sequence[str], role: str) -> DumpError:
    """Return the error for blocks at `starts` whose empty use lists are printed in two ways."""
    empty = [piece for piece in uses if piece in (grammar.USES, grammar.NO_USES)]
    row = next(row for row, piece in enumerate(uses) if piece in empty and piece != empty[0])
    at = text.index("\n uses:\n", starts[row]) + len("\n uses:\n")
    expected = "nothing or uses" if empty[0] == grammar.USES else "'  (none)' or uses"
    return error_at(text, at, f"{expected}, as in the blocks above", role=role, rule="none_form")


def _block_lines(text: str, at: int, furthest: Furthest) -> int | None:
    """Follow the lines of a block from behind its head to its instruction; None where one of them is wrong."""
    end = follow(text, at, diagnose_lines.POSITIONS, furthest)
    if end is None:
        return None
    end = _repeated(text, end, diagnose_lines.POSITION, furthest)
    if (known := follow(text, end, diagnose_lines.USES_UNINITIALIZED, furthest)) is not None:
        return known
    end = follow(text, end, diagnose_lines.USES, furthest)
    if end is None:
        return None
    none = follow(text, end, diagnose_lines.NO_USES, furthest)
    end = _repeated(text, end, diagnose_lines.USE, furthest) if none is None else none
    if not text.startswith("  ", end):
        return end
    furthest.note(end, f"'{grammar.INSTRUCTION_PREFIX}' or the next value")
    return None


def _repeated(text: str, at: int, parts: Sequence[diagnose_lines.Part], furthest: Furthest) -> int:
    while (end := follow(text, at, parts, furthest)) is not None:
        at = end
    return at


def behind_used_values(text: str, at: int, role: str) -> DumpError:
    """Return the error for text behind the used values that is no live range section."""
    if not text.startswith("\n\n", at):
        expected = "two empty lines and the live range section ('HloLiveRange (max N):')"
        return error_at(text, at, expected, role=role)
    return refuse(text, at + 2, role, diagnose_lines.LIVE_RANGE)


def cell(
    text: str, start: int, number: int, pattern: re.Pattern[str], group: int, expected: str, *, role: str, rule: str
) -> DumpError:
    """Return the error for line `number` (from 0) behind `start`: its cell `group` breaks the assertion `rule`."""
    for _ in range(number):
        start = text.index("\n", start) + 1
    return error_at(text, pattern.match(text, start).start(group), expected, role=role, rule=rule)


def mixed_peak_forms(text: str, start: int, indices: Sequence[str], sums: Sequence[str], role: str) -> DumpError:
    """Return the error for peak lines not all of which are printed like the first."""
    forms = [(bool(index), bool(cell)) for index, cell in zip(indices, sums, strict=True)]
    row = next(row for row, form in enumerate(forms) if form != forms[0] or form == (False, True))
    expected = "a shape index wherever cumulative bytes stand, and every line like the first"
    return cell(text, start, row, grammar.PEAK, 1, expected, role=role, rule="peak_form")


def peak_set(
    text: str, start: int, names: Sequence[str], indices: Sequence[str], covering: Sequence[tuple[str, str]], role: str
) -> DumpError:
    """Return the error for peak lines that are not one for each value, (name, shape index), alive at the peak."""
    is_name_alone = "" in indices
    keys = [(name, "" if is_name_alone else index) for name, index in zip(names, indices, strict=True)]
    missing = Counter((name, "" if is_name_alone else index) for name, index in covering)
    for row, key in enumerate(keys):
        if not missing[key]:
            expected = "a value that is alive at the peak and stands in no line above"
            return cell(text, start, row, grammar.PEAK, 1, expected, role=role, rule="peak_set")
        missing[key] -= 1
    name, index = next(key for key in missing.elements())
    for _ in names:
        start = text.index("\n", start) + 1
    return error_at(text, start, f"a line for {name}{index}, which is alive at the peak", role=role, rule="peak_set")
