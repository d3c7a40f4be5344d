"""The grammar of each line of a dump, in the order of the file.

Every pattern matches one whole line and captures all that is not fixed in it. `findall` turns a section into columns
at the speed of the regular-expression engine, and the proof that nothing was skipped is a comparison: as many matches
as the section has lines account for every byte of it. Where one kind of line fills a section, a match begins where a
line does (`^`) and takes its line feed; where several kinds share one (the allocations), it takes the line feed before
the line, which is what the engine can search for, and looks at the one behind it.

Repetitions of single characters are possessive, and no free part can run over a place where the same pattern could
start anew, so the time is linear in the input, whatever it holds. Repetitions of groups are never possessive: before
Python 3.11.5 such a group that fails in its middle does not give back what it took.

Upstream: BufferAssignment::ToString, BufferAllocation::ToString (xla/service/buffer_assignment.cc), HloValue::ToString
(xla/service/hlo_value.cc), HloLiveRange::ToString (xla/hlo/utils/hlo_live_range.cc).
"""

import re

LARGEST_INT = 2**63 - 1


def up_to(limit: int) -> str:
    """Return the pattern of the numbers from 0 to `limit`; no digit may stand behind them."""
    digits = str(limit)
    as_long = [
        f"{digits[:place]}[{0 if place else 1}-{int(digit) - 1}][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if int(digit) > (0 if place else 1)
    ]
    # The shorter ones first: an engine looks at the rest only where a number is as long as the limit.
    return rf"(?:0|[1-9][0-9]{{0,{len(digits) - 2}}}+|{'|'.join([*as_long, digits])})"


INT = up_to(LARGEST_INT)
NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*+"  # NameUniquer::GetSanitizedName
INDEX = rf"\{{(?:{INT}(?:,{INT})*)?\}}"  # ShapeIndex::ToString
_SHAPE_CHARACTER = r"[ -9;-{}~]"  # printable ASCII but `:` and `|`
SHAPE = rf"{_SHAPE_CHARACTER}++(?::(?! ){_SHAPE_CHARACTER}*+)*"  # ShapeUtil::PrintHumanStringWithLayout
HUMAN = r"[0-9]++(?:\.[0-9]++)?(?:[KMGTPE]iB|B)"  # HumanReadableNumBytes
VALUE_HEAD = rf"<{INT} {NAME}(?:{INDEX})?(?: \(phi\))?(?: @{INT})?>"  # HloValue::ToShortString

FIRST_LINE = "BufferAssignment:\n"

HEADER = re.compile(
    rf"\nallocation ({INT}): (?:(0x[0-9a-f]++), )?size ({INT})(?:, color ((?!0){INT}))?"
    rf"(?:, page ({INT}|-[1-9][0-9]{{0,17}}+))?"
    rf"(?:, parameter ({INT})(?:, shape \|({SHAPE})\|)? at ShapeIndex ({INDEX}))?(?:, output shape is \|({SHAPE})\|)?"
    r"(, constant)?(, thread-local)?(, maybe-live-out)?(, preallocated-temp)?:(?=\n)"
)
VALUE = re.compile(
    rf"\n value: (<({INT}) ({NAME})({INDEX})?( \(phi\))?(?: @({INT}))?>)"
    rf" \(size=({INT}),offset=({INT})\): ({SHAPE})(?=\n)"
)
CROSS_HEADER = " reused by buffers of a different color:\n"
CROSS = re.compile(rf"\n  value: ({VALUE_HEAD}) \(color=({INT})\)(?=\n)")

TOTALS = re.compile(rf"\nTotal bytes used: ({INT})(?: \(({HUMAN})\))?\n")
USED_VALUES = "\nUsed values:\n"

# One block per value. The shape of its lines is loose here and strict in POSITION and USE; its head is compared with
# the value line that named it.
_BLOCK = r"(<[^\n<]++)\n positions:\n((?:  [^\n]++\n)+)( uses:\n(?:  [^\n]++\n)*| uses are not initialized yet\.\n)"
INSTRUCTION = rf"%{NAME} = "  # how every instruction text begins
BLOCK = re.compile(_BLOCK)
BLOCK_WITH_INSTRUCTION = re.compile(_BLOCK + rf" from instruction:( ?)({INSTRUCTION}[^\n]++)\n")
# The final line feed of an instruction is missing (2024-01-16 to 2024-11-01), so the next head stands behind it: the
# last `<` of the line opens it, because a head holds only one.
BLOCK_GLUED = re.compile(_BLOCK + rf" from instruction:( ?)({INSTRUCTION}[^\n]+)(?={VALUE_HEAD}\n positions:\n|\Z)")
POSITION = re.compile(rf"(?m)^  ({NAME})(?: ({INDEX}))?\n")
USE = re.compile(rf"(?m)^  ({NAME}), operand ({INT})(?: ({INDEX}))?\n")
USES = " uses:\n"
NO_USES = " uses:\n  (none)\n"
USES_UNINITIALIZED = " uses are not initialized yet.\n"
INSTRUCTION_PREFIX = " from instruction:"

LIVE_RANGE_START = "HloLiveRange (max "
LIVE_RANGE = re.compile(rf"HloLiveRange \(max ({INT})\):\n  InstructionSequence:\n")
LIVE_RANGE_UNAVAILABLE = "HloLiveRange not available (finalized or constructed from proto)"
SEQUENCE = re.compile(rf"(?m)^    ({INT}):({NAME})\n")
RANGES_HEADER = "  BufferLiveRange:\n"
RANGE = re.compile(rf"(?m)^    ({NAME})({INDEX}):({INT})-({INT})\n")
PEAK_HEADER = re.compile(rf"  Live ranges at ({INT}) \(peak\):\n")
PEAK_UNBOUNDED = "  Peak memory could not be determined due to unbounded dynamic shape.\n"
PEAK = re.compile(rf"(?m)^    ({NAME})({INDEX})?: ({INT}) bytes(?: \(cumulative: ({INT}) bytes\))?\n")
SPACED = r"(?:0|[1-9][0-9]{0,2}(?: [0-9]{3}){0,5})"
TRACE_HEADER = "  Stack trace breakdown for peak usage: "
