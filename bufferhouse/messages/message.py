"""Messages about memory that does not suffice, read as strictly as dumps: each line is accounted for, or refused.

The dialects, by the letters of this module: T1 and T2 a listing of libtpu, T3 one sentence of later releases, T4 a
compilation that was given up early, or TensorCore and SparseCore that take too much together, T5 one value that is
larger than the memory, T6 VMEM, T7 a failed check of a size, T8 a program that did not fit while it ran; G1 and G2 are
those of GPU, and what CPU says is a G1, too (`MaybeOwningCpuMemory::Allocate`; where a buffer that
is waited for brings the failure, `TrackedCpuDeviceBuffer` and what ran the program put words before it), as is what
`StreamExecutorMemoryAllocator::Allocate` says, what a GPU says where the constants of a program do not fit
(`CreateOrShareConstant`), and what its allocator writes to the log before an exception
(`BFCAllocator::AllocateRawInternal`, `GpuCudaMallocAsyncAllocator::AllocateRaw`). An exception with its bytes is a G1,
one with a rounded size a G2 (`MemoryAllocationError`, xla/stream_executor/integrations/tf_allocator_adapter.cc). G3 is
what GPU's scheduler logs where arguments and outputs alone are over its limit (`GetSchedulerMemoryLimit`,
xla/service/gpu/gpu_hlo_schedule.cc); the compilation goes on. R is a warning of rematerialization: a program of which
it speaks may fit. D is a warning of JAX about arguments whose donation it does not hand on to XLA
(`lower_jaxpr_to_module`, jax/_src/interpreters/mlir.py; until 2021 in xla.py): its allocations are these arguments.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import BinaryIO

from bufferhouse.errors import LARGEST_NUMBER
from bufferhouse.messages.figures import SIZE, Figure, nominal, range_of
from bufferhouse.messages.log import ALLOCATOR_KEY, CLOCK, DONATION_KEY, DRIVER_KEYS, KEYS, Line, lines

DONATION = "D"
# What an allocator says of itself in the log where it fails (`AllocatorStats::DebugString`, xla/tsl/framework/
# allocator.cc) is no message: a failure of the same process has these figures beside its own.
_STATISTICS = "S"
ALLOCATOR_LIMIT, IN_USE, LARGEST_FREE = "allocator_limit", "in_use", "largest_free_block"
_OF_ALLOCATOR = {
    "Limit": ALLOCATOR_LIMIT, "InUse": IN_USE, "MaxInUse": "most_in_use", "LargestFreeBlock": LARGEST_FREE,
}  # fmt: skip
_NOT_IMPLEMENTED = "Donation is not implemented for "
_S = f"(?:{SIZE})"
_END = r"(?P<more>.*)"
_SEE = re.compile(r"See https?://\S+ for more details\.")


@dataclass(frozen=True, slots=True)
class Allocation:
    """A numbered block of a listing. Sizes are as printed, None where the compiler prints none."""

    number: int
    size: str
    kind: str | None = None
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    shape: str | None = None
    unpadded: str | None = None
    padding: str | None = None
    tag: str | None = None
    label: str | None = None

    @property
    def instruction(self) -> str | None:
        """The name of the instruction in the label `fusion.2 = fusion(…)`."""
        return self.label.partition(" = ")[0].lstrip("%") if self.label and " = " in self.label else None


@dataclass(slots=True)
class Message:
    """What XLA said once, with the log and the line at which it first began and the ranks that said it.

    `faults` says what is wrong with it: it is cut, or its figures contradict each other; then nothing is summed up.
    `lines` are its own, without prefixes and blank lines: read again they are the same message. `other_logs` say it
    as well.
    """

    dialect: str
    line_number: int
    memory_space: str | None
    module: str | None
    instruction: str | None = None
    shape: str | None = None
    tag: str | None = None
    figures: list[Figure] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    log: str = ""
    ranks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    other_logs: list[str] = field(default_factory=list)

    def figure(self, name: str) -> Figure | None:
        """Return the figure of a name, if the message has it."""
        return next((one for one in self.figures if one.name == name), None)

    @property
    def needed(self) -> Figure | None:
        """The figure that did not fit."""
        return next(filter(None, map(self.figure, ("used", "allocation", "words", "scoped_size"))), None)

    @property
    def limit(self) -> Figure | None:
        """The figure that it did not fit into."""
        return self.figure("capacity") or self.figure("scoped_limit")

    @property
    def is_failure(self) -> bool:
        """Whether something did not fit; a warning while it was compiled says only that it may not."""
        return self.dialect not in ("G3", "R", DONATION)

    @property
    def is_of_default_space(self) -> bool:
        """Whether it is about memory space 0; of VMEM and SMEM a dump does not hold what a kernel takes as it runs."""
        return self.memory_space in ("hbm", None)

    @property
    def is_rounded_up(self) -> bool:
        """Whether its allocation is printed as a multiple of ROUNDED_TO."""
        return self.dialect == "G1" and self.lines[0].startswith("Allocator ")

    @property
    def is_of_allocator(self) -> bool:
        """Whether it is what an allocator wrote to the log, and no exception."""
        return self.is_rounded_up or (self.dialect == "G1" and _ASYNC in self.lines[0])

    @property
    def own_figures(self) -> list[Figure]:
        """Its figures but those of the allocator, which are others each time that the same is said."""
        return [one for one in self.figures if one.name not in _OF_ALLOCATOR.values()]

    @property
    def key(self) -> tuple:
        """What is equal in two messages that say the same."""
        return (
            self.dialect, self.memory_space, self.module, self.instruction, self.shape, self.tag,
            tuple(self.own_figures), tuple(self.allocations), tuple(self.faults),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that begins like a message and is none that is known: where, what was expected and what was found.

    Line and column are None where a whole log cannot be read. `count` is more than 1 where it stands for all the lines
    from there on that are refused, too. `text` is the line as far as it is kept.
    """

    line_number: int | None
    column_number: int | None
    expected: str
    found: str
    log: str
    count: int = 1
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Opening:
    dialect: str
    pattern: re.Pattern[str]
    memory_space: str | None
    has_listing: bool


def _opening(dialect: str, pattern: str, memory_space: str | None = None, *, has_listing: bool = False) -> _Opening:
    pattern = re.sub(r"@(\w+)@", lambda name: f"(?P<{name[1]}>{_S})", pattern)
    return _Opening(dialect, re.compile(pattern), memory_space, has_listing)


# With other words behind the size it is no failure: the program tries again with less.
# That of pinned memory of the host is called `xla_gpu_host_bfc`.
_ALLOCATOR = (
    r"Allocator \((?:[^()]*(?P<space>host)_bfc|[^()]*)\) ran out of memory trying to allocate \S+ \(rounded to "
)
_ASYNC = "cuMemAllocAsync failed to allocate "
_EXCEPTION = r"Out of (?:(?P<space>host) )?memory while trying to allocate "
# Since 2026 it says whose memory it is; that of the host goes on with how to get more.
_EXCEPTION_END = (
    r"(?: with allocator \S+ on device [0-9]+)?\.(?: Please set [^\[]*)?(?: ?\[executable_name='(?P<module>[^']*)'\])?"
    + _END
)
# What CPU puts before it where a buffer brings the failure: once for each program between.
_OF_A_BUFFER = r"(?:(?:Buffer Definition Event|Error (?:preparing|dispatching) computation): )"
_OPENINGS = (
    _opening(
        "T1",
        r"(?:(?P<code>E1000: CompileTimeHbmOom: )?XLA:TPU compile permanent error\. )?"
        r"Ran out of memory in memory space (?P<space>\w+)\. Used @used@ of @capacity@ (?P=space)\."
        r"(?: Exceeded (?P=space) capacity by @exceeded@\.)?"
        r"(?:(?: HLO module: (?P<module>\S+?)\.)?(?P<report> Memory usage report:))?[ ]*",
        has_listing=True,
    ),
    _opening(
        "T6",
        r"(?:E1001: CompileTimeScopedVmemOom:\s*)?Ran out of memory in memory space (?P<space>\w+) while allocating on "
        r"stack for %?(?P<text>[^=\n]+ = .+)\. Scoped allocation with size @scoped_size@ and limit @scoped_limit@ "
        r"exceeded scoped (?P=space) limit by @exceeded@\." + _END,
    ),
    _opening(
        "T3",
        r"(?P<code>E1000: CompileTimeHbmOom: )?Ran out of memory on HBM, the total memory required for HLO temporaries "
        r"\(@used@\) exceeds available HBM \(@capacity@\)\.(?: HLO module: (?P<module>\S+?)\.)?"
        r"(?: " + _SEE.pattern + ")?[ ]*",
        "hbm",
        has_listing=True,
    ),
    _opening(
        "T4",
        r"Compilation failure: Aborting compilation early because it's unlikely to have enough device memory\. "
        r"Requires @used@, has @capacity@ available\." + _END,
        "hbm",
    ),
    _opening(
        "T5",
        r"Allocation \(size=@allocation@\) would exceed memory \(size=@capacity@\) :: #allocation[0-9]+ \[shape = "
        r"'(?P<shape>[^']*)', space=(?P<space>\w+), size = 0x[0-9a-f]+, (?:scoped, )?tag = '(?P<tag>.*)'\] :: "
        r"(?P<text>\S.*)",
    ),
    _opening(
        "T7",
        r"RET_CHECK failure \([^()]*bounds_check\.cc:[0-9]+\) allocation_size_words <= "
        r"std::numeric_limits<int32_t>::max\(\) @words@ (?P<text>.*)",
        "hbm",
    ),
    _opening(
        "T8",
        r"(?:Error loading program(?: '(?P<module>[^']*)')?: )?"
        r"Attempting to (?:allocate|reserve) @allocation@(?: at the bottom of memory)?\. That was not possible\. "
        r"There are @free@ free(?:, " + _S + " reserved, and " + _S + r" reservable)?\." + _END,
        "hbm",
    ),
    _opening(
        "T4",
        r"(?:E1000: CompileTimeHbmOom: )?TPU TensorCore Hbm usage: @tensorcore@, SparseCore Hbm usage:? @sparsecore@, "
        r"exceeding available bytes: @capacity@\.?" + _END,
        "hbm",
    ),
    _opening(
        "G1",
        _ALLOCATOR + r"(?P<allocation>[0-9]{1,20})\)(?: from the \w+ end)? ?requested by op" + _END,
    ),
    _opening("G1", _ASYNC + r"(?P<allocation>[0-9]{1,20})(?: bytes)?(?::| \().*"),
    _opening(
        "G2",
        _EXCEPTION + r"(?P<allocation>[0-9]{1,20}(?:\.[0-9]{1,9})?(?:[KMGTPE]i)?B)" + _EXCEPTION_END,
    ),
    _opening(
        "G1",
        _EXCEPTION + r"(?P<allocation>[0-9]{1,20}) bytes" + _EXCEPTION_END,
        has_listing=True,
    ),
    _opening(
        "G1",
        r"(?:(?:RESOURCE_EXHAUSTED|INTERNAL): )?" + _OF_A_BUFFER
        + r"*Out of memory allocating (?P<allocation>[0-9]{1,20}) bytes\." + _END,
    ),
    _opening(
        "G1",
        r"Failed to allocate request for " + _S + r" \((?P<allocation>[0-9]{1,20})B\) on device ordinal [0-9]+" + _END,
    ),
    _opening(
        "G1",
        r"(?:INTERNAL: )?Failed to allocate (?P<allocation>[0-9]{1,20}) bytes for new constant" + _END,
    ),
    _opening(
        "G3",
        r"The byte size of input/output arguments \((?P<arguments_and_outputs>[0-9]{1,20})\) exceeds the base limit "
        r"\((?P<limit>[0-9]{1,20})\)\." + _END,
    ),
    _opening(_STATISTICS, r"Limit: +@allocator_limit@", has_listing=True),
    _opening(DONATION, r"Some donated buffers were not usable: (?P<arguments>[A-Za-z].*)", has_listing=True),
    _opening(
        "R",
        # Below nothing where arguments and outputs alone are over it.
        r"Can't reduce memory use below -?" + _S + r" \((?:@limit@|-[0-9]{1,20}) bytes\) by rematerialization; "
        r"only reduced to " + _S
        + r" \(@reduced@ bytes\), down from " + _S + r" \(@original@ bytes\) originally",
    ),
)  # fmt: skip
_BEGINS = re.compile(
    r"(?:E100[01]: \w+: ?)?(?:XLA:TPU compile permanent error\. )?(?:Ran out of memory (?:in memory space|on HBM)"
    r"|Compilation failure: Aborting compilation early|Allocation \(size="
    r"|RET_CHECK failure \([^()]*\) allocation_size_words"
    r"|(?:Error loading program(?: '[^']*')?: )?Attempting to (?:allocate|reserve) [0-9]"
    r"|Out of (?:host )?memory while trying to allocate|Failed to allocate request for [0-9]\S* \([0-9]"
    r"|(?:RESOURCE_EXHAUSTED: |(?:(?:RESOURCE_EXHAUSTED|INTERNAL): )?"
    + _OF_A_BUFFER
    + r"{1,100})Out of memory allocating [0-9]"  # without an end the time would not be linear
    r"|(?:INTERNAL: )?Failed to allocate [0-9]+ bytes for new constant"
    r"|Can't reduce memory use below|The byte size of input/output arguments \("
    r"|TPU TensorCore Hbm usage:|" + _ALLOCATOR + r"|E1001: CompileTimeScopedVmemOom:)"
    r"|" + _ASYNC + r"[0-9]|" + ALLOCATOR_KEY.decode() + rf" *{_S}\s*$"
    # Python prints the statement that warns behind the warning: there no argument follows.
    r"|Some donated buffers were not usable: [A-Za-z]"
)
_OF_GPU = re.compile("|".join(key.decode() for key in DRIVER_KEYS))
_SIGNS = "|".join(re.escape(key.decode()) for key in KEYS if key not in (DONATION_KEY, ALLOCATOR_KEY, *DRIVER_KEYS))
_LOOKS_LIKE = re.compile(rf'(?:{_SIGNS})(?!"?: ?false)')  # `docker inspect` says so of OOMKilled where nobody was
_STATUS = re.compile(r"(?<![A-Z_])[A-Z_]{2,}: ")
# What a GPU's driver refuses an allocator asks for again, in smaller pieces; where it gives up it says so itself.
_OF_DRIVER = re.compile(r"failed to alloc(?:ate)? [0-9]")
HOST = "host"  # the memory space of a message about pinned memory of the host of a GPU
REPORT = "T3r"  # what libtpu since 0.0.42.1 writes to its log beside a T3; specimens show it, upstream does not
REPORTED = "all_allocations"  # the figure of a report whose bytes are exact
_ESCAPED = "[type.googleapis.com/"  # the payload of a status, which quotes the beginning of the message once more


# The lines of a listing outside its numbered blocks, stripped; libtpu writes them in this order, GPU only the last two.
_LISTING = {
    "total": re.compile(rf"Total \w+ usage >= (?P<size>{_S}):"),
    "requirement": re.compile(rf"Program \w+ requirement (?P<size>{_S}):"),
    "part": re.compile(
        rf"(?P<name>reserved|program|arguments|global|scoped|overlays|HLO temp|stack|heap)\s+"
        rf"(?P<size>{_S}|unknown size)"
        rf"(?: \([0-9.]+% utilization(?:: Unpadded \((?P<unpadded>{_S})\) Padded \((?P<padded>{_S})\))?, "
        rf"[0-9.]+% fragmentation \((?P<fragmentation>{_S})\)\))?"
    ),
    "output": re.compile(rf"Output size (?P<size>{_S}); shares (?P<shared>{_S}) with arguments\."),
    "block": re.compile(rf"(?P<number>[0-9]{{1,9}})\. Size: (?P<size>{_S})"),
    "heading": re.compile(
        r"Largest program (?:allocations|arguments and outputs) in \w+:|No allocations in \w+|Output size unknown\."
        r"|BufferAssignment OOM Debugging\.|BufferAssignment stats:|Peak buffers:"
    ),
    "link": _SEE,
    "module": re.compile(r"HLO module: (?P<module>\S+?)\.?"),
    "statistic": re.compile(
        rf"(?P<name>parameter|constant|maybe_live_out|preallocated temp|total) (?P<what>allocation|fragmentation):\s+"
        rf"(?P<size>{_S})(?: \([0-9.]+%\))?"
    ),
    "buffer": re.compile(r"Buffer (?P<number>[0-9]{1,9}):"),
    "space": re.compile(r"Memory Space: \w+ \(color=(?P<color>[0-9]{1,9})\)"),
    "bytes": re.compile(rf"Total bytes: (?P<bytes>[0-9]{{1,20}}) \((?P<size>{_S})\)"),
    "row": re.compile(
        rf"cumulative_size;\s+size;\s+offset; used_by_n_values; shapes_list|-+"
        rf"|{_S}\(\s*[0-9]+%\);\s+{_S};\s+[0-9]+;\s+[0-9]+; .+"
    ),
}
_NAMED_SPACE = re.compile(r"(?:Total|Program|Largest program allocations in|No allocations in) (\w+)")
_OF_THE_PROGRAM = "Largest program allocations in"
_BEHIND_A_SENTENCE = ("link", "module")  # a T3 has no listing: one behind it is of another process
_FIELDS = {
    "Size": "size", "Operator": "operator", "Shape": "shape", "Unpadded size": "unpadded", "Tag": "tag",
    "Extra memory due to padding": "padding", "XLA label": "label", "XLA Label": "label", "Allocation type": "kind",
    "Entry Parameter Subshape": "shape",
}  # fmt: skip


class _Reader:
    """Takes line by line what belongs to one message; `is_open` as long as more may belong to it.

    `head` is what stands before the message in its first line: what all lines of its process begin with may be in it.
    """

    def __init__(self, message: Message, head: str, *, has_listing: bool, has_bounds: bool) -> None:
        self.message = message
        self.last_line = message.line_number
        self.head = self._head = head
        self._prefix = re.compile("")
        self.is_open = has_listing or has_bounds
        self._has_bounds = has_bounds
        self._block: dict[str, str] | None = None
        self._color: int | None = None
        self._headings: list[str] = []  # of its listing
        self._last_number = 0  # of the blocks behind the last of them
        self._has_strangers = False

    def owns(self, text: str) -> bool:
        """Return whether a line begins as those of the process of the message do, as far as that is known."""
        if self._head and text.strip():
            prefix = _prefix(self._head, text)
            if prefix is None:
                return False
            self._prefix, self._head = prefix, ""
        return self._prefix.match(text) is not None

    def take(self, text: str) -> bool:
        """Return whether a line that it owns belongs to the message; one that does not ends it."""
        text = text[self._prefix.match(text).end() :].strip()
        if len(self.message.lines) == MOST_LINES:
            self.message.faults.append(f"it has more than {MOST_LINES} lines")
            self.end()
            return False
        if self.message.dialect == DONATION:
            self.is_open, is_taken = False, text.startswith(_NOT_IMPLEMENTED)
        elif self._block is not None and text:
            is_taken = self._in_block(text)
        elif self.message.dialect == _STATISTICS:
            is_taken = self._of_allocator(text)
        elif self._has_bounds:
            is_taken = bool(re.fullmatch(r"\w+: [(0-9].*", text))
            self.is_open = not text.endswith("*/")
        else:
            kinds = _BEHIND_A_SENTENCE if self.message.dialect in ("T3", "T3b") else _LISTING
            is_taken = not text or any(
                self._note(kind, found) for kind in kinds if (found := _LISTING[kind].fullmatch(text))
            )
        if not is_taken:
            # The next allocation begins with these words, of which a cut leaves some.
            begin = f"{self._last_number + 1}. Size:"
            if self._headings and (begin.startswith(text) or text.startswith(begin)):
                self.message.faults.append(f"it is cut within allocation {self._last_number + 1} of its listing")
            self.end()
        elif text:
            self.message.lines.append(text)
        return is_taken

    def _of_allocator(self, text: str) -> bool:
        """Return whether a line is of a block of statistics; note what is asked of it."""
        found = re.fullmatch(rf"(?P<name>\w+):\s+(?P<size>{SIZE})", text)
        name = _OF_ALLOCATOR.get(found["name"]) if found else None
        if name and not (name == LARGEST_FREE and found["size"].rstrip("B") == "0"):  # 0 where it does not know it
            self.message.figures.append(_figure(name, found["size"]))
        return found is not None

    def end(self) -> None:
        """End the message, and note what is wrong with it."""
        self.is_open, message = False, self.message
        if self._block is not None:
            message.faults.append(f"it is cut within allocation {self._block['number']} of its listing")
            self._block = None
        elif message.figure("used") and message.dialect in ("T1", "T2", "T6"):
            message.faults += self._missing()
        message.faults += _contradictions(message)

    def _missing(self) -> list[str]:
        """Return what a listing must have and this one has not: then it is cut, or lines of others stand in it."""
        requirement = self.message.figure("requirement")
        if requirement is None:
            return ["it is cut before its listing, or its lines begin with what is not known"]
        if not self._headings and requirement.printed != "0B":
            return ["it is cut before its allocations, or their lines begin with what is not known"]
        if self._headings and self._headings[-1].startswith("Largest") and not self._last_number:
            return ["it is cut before the first allocation of its listing"]
        if self._headings and self._headings[0].startswith(_OF_THE_PROGRAM) and self.message.allocations:
            size = self.message.allocations[0].size
            if range_of(size)[0] > range_of(requirement.printed)[1]:
                return [f"it lists {size} of a program that needs {requirement.printed}"]
        return []

    def _note_foreign(self, kind: str, about: dict[str, str | None], text: str) -> None:
        """Note a line that a message has once, or in another order: lines of another message are among its own."""
        space = _NAMED_SPACE.match(text) if kind in ("total", "requirement", "heading") else None
        if space and space[1] != self.message.memory_space:
            self._note_strangers(f"it says {text!r} of memory space {self.message.memory_space}")
        if kind == "heading" and text.startswith(("Largest", "No allocations")):
            if text in self._headings:
                self._note_strangers(f"it says {text!r} twice")
            self._headings.append(text)
            self._last_number = 0
        elif kind == "block":
            number, expected = int(about["number"] or 0), self._last_number + 1
            if number != expected:
                self._note_strangers(f"its listing has allocation {number} where {expected} is expected")
            elif not self._headings:
                self._note_strangers(f"allocation {number} stands before the heading of its listing")
            self._last_number = number
        elif kind in ("total", "requirement", "output"):
            if self.message.figure(kind) is not None:
                self._note_strangers(f"it says its {kind} twice")
            elif self._headings:
                self._note_strangers(f"it says its {kind} behind its listing")

    def _note_strangers(self, why: str) -> None:
        if not self._has_strangers:
            self.message.faults.append(f"{why}: lines of another message are in it")
        self._has_strangers = True

    def _in_block(self, text: str) -> bool:
        if re.fullmatch("={26}", text):
            self.message.allocations.append(_allocation(self._block))
            self._block = None
            return True
        name, colon, value = text.partition(":")
        name = _FIELDS.get(name, "")
        is_wrong = name in ("size", "unpadded") and not re.fullmatch(SIZE, value.strip())
        if not colon or not name or name in self._block or is_wrong:
            return False
        self._block[name] = value.strip()
        return True

    def _note(self, kind: str, found: re.Match[str]) -> bool:
        about, figures = found.groupdict(), self.message.figures
        self._note_foreign(kind, about, found[0])
        if kind in ("block", "buffer"):
            self._block = about
        elif kind == "part":
            # `reserved` stands in the total and once more in the requirement of the program.
            is_program = self.message.figure("requirement") is not None and about["name"] != "HLO temp"
            name = f"{'program_' if is_program else ''}{about['name'].lower().replace(' ', '_')}"
            figures.extend([Figure(name, about["size"])] if about["size"] != "unknown size" else [])
            parts = [part for part in ("unpadded", "padded", "fragmentation") if about[part]]
            figures.extend(Figure(f"{name}_{part}", about[part]) for part in parts)
        elif kind == "output":
            figures += [Figure("output", about["size"]), Figure("shared_output", about["shared"])]
        elif kind == "statistic":
            figures.append(Figure(f"{about['name'].replace(' ', '_')}_{about['what']}", about["size"]))
        elif kind == "module":
            self.message.module = about["module"]
        elif kind == "space":
            self._color = int(about["color"])
        elif kind == "bytes" and self._color == 0 and self.message.dialect == REPORT:
            if self.message.figure(REPORTED) is None:
                figures.append(Figure(REPORTED, about["size"], int(about["bytes"])))
        elif kind in ("total", "requirement"):
            figures.append(Figure(kind, about["size"]))
        return True


_WORDS = re.compile(rf"{CLOCK}|[0-9]+|\s+|.")
_LONGEST_PREFIX = 200  # characters


@lru_cache(maxsize=256)  # a line is compared with the first ones of all messages that are open
def _words(text: str) -> list[str]:
    return _WORDS.findall(text)


def _prefix(head: str, text: str) -> re.Pattern[str] | None:
    """Return what a line shares with the head of the first line, up to a blank, such as `[trainer 3] `; it may be "".

    A time may be another. Where another number differs, the line is of another process: then it is None.
    """
    whole = pattern = ""
    words, others = (_words(one[:_LONGEST_PREFIX]) for one in (head, text))
    for one, other in zip(words, [*others, " "], strict=False):
        if one.isspace() and other.isspace():
            pattern += r"(?:\s+|$)" if pattern else r"\s+"
            whole = pattern
        elif ":" in one[1:] and ":" in other[1:]:
            pattern += CLOCK
        elif one == other:
            pattern += re.escape(one)
        elif one.isdecimal() and other.isdecimal():
            return None
        else:
            break
    return re.compile(whole)


_OPERATOR = re.compile(
    r'op_name="(?P<op_name>[^"]*)"|source_file="(?P<source_file>[^"]*)"|source_line=(?P<source_line>[0-9]{1,9})'
)


def _allocation(block: dict[str, str]) -> Allocation:
    operator: dict[str, str] = {}
    for found in _OPERATOR.finditer(block.get("operator", "")):
        operator.update({name: text for name, text in found.groupdict().items() if text is not None})
    line = operator.pop("source_line", None)
    facts = {name: block[name] for name in ("kind", "shape", "unpadded", "padding", "tag", "label") if name in block}
    size = block.get("size", "")
    return Allocation(int(block["number"]), size, **facts, **operator, source_line=int(line) if line else None)


def _contradictions(message: Message) -> list[str]:
    """Return where figures of a message cannot be of one program, within their rounding."""
    used, capacity, over, total = (message.figure(name) for name in ("used", "capacity", "exceeded", "total"))
    if used and capacity and over:
        (low, high), (least, most), (few, many) = (range_of(one.printed) for one in (used, capacity, over))
        if not (low - most <= many and few <= high - least):
            return [f"used {used.printed} of {capacity.printed} is not {over.printed} too much"]
    if used and total:
        (low, high), (least, most) = range_of(used.printed), range_of(total.printed)
        # What is reserved is in the sentence of 2019, and in none since.
        besides = [(0, 0), *(range_of(one.printed) for one in [message.figure("reserved")] if one)]
        if not any(low + few <= most and least <= high + many for few, many in besides):
            return [f"its total of {total.printed} is not what it used, {used.printed}, and what is reserved"]
    return []


MOST_LINES = 10_000  # of one message; a listing has a few hundred
MOST_MESSAGES = 1000  # of one log that are not the same
MOST_RANKS = 50_000  # of all of them together
MOST_REFUSED = 100  # lines of one log, each by itself; the others are counted
_MORE = " more such lines, the first of them: "
MOST_OPEN = 100  # messages of one rank at a time, of processes that begin their lines otherwise
PATIENCE_LINES = 20_000  # of others, until a process that says nothing more has ended its message


def read_messages(file: BinaryIO, log: str = "") -> Iterator[Message | Refused]:
    """Yield the messages of a log of that name, each once with all ranks that say it, and the lines that are refused.

    A message comes when the log is read to its end, in the order in which they begin; refused lines come at once. What
    is kept meanwhile does not grow with the log: MOST_MESSAGES different messages, the others are refused; of lines
    that are refused, those behind the first MOST_REFUSED come as one, with their number.
    """
    reading = _Reading(log)
    more: Refused | None = None
    all_lines = lines(file, lambda: bool(reading.open_ones or reading.awaited))
    for count, one in enumerate(reading.refused(all_lines), 1):
        if count <= MOST_REFUSED:
            yield one
        else:
            more = replace(more or one, count=count - MOST_REFUSED)
    if more is not None:
        yield replace(more, found=f"{more.count}{_MORE}{more.found}"[:_SHOWN])
    yield from once(_without_reports(sorted(reading.ended.values(), key=lambda one: one.line_number)))


def count_of(found: str) -> int:
    """Return for how many lines what was found stands: for those behind the first MOST_REFUSED as one."""
    count, is_more, _ = found.partition(_MORE)
    return int(count) if is_more and count.isascii() and count.isdigit() else 1


class _Reading:
    """The messages of one log while it is read: those that are open by rank, and those that have ended."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.open_ones: dict[str, list[_Reader]] = {}  # several of a rank if their lines begin otherwise
        self.awaited: dict[str, Line] = {}  # `E1001: CompileTimeScopedVmemOom:` alone; the sentence follows
        self.ended: dict[tuple, Message] = {}
        self._first: dict[tuple, Message] = {}  # of those that say the same
        self._failed: dict[str, _Reader] = {}  # the last failure of a rank on a GPU
        # What the allocator of a rank said, behind which failure, until its exception comes.
        self._statistics: dict[str, tuple[_Reader | None, _Reader]] = {}

    def refused(self, all_lines: Iterable[Line]) -> Iterator[Refused]:
        """Read all lines; yield those that are refused."""
        for line in all_lines:
            yield from self._refused(line)
            if line.number % 1024 == 0:
                yield from self._give_up(line.number)
        for rank, readers in [*self.open_ones.items()]:
            for reader in [*readers]:
                yield from self._close(rank, reader)
        for first in self.awaited.values():
            yield Refused(first.number, 1, "the sentence about VMEM behind it", "the end of the log", self.log)

    def _refused(self, line: Line) -> Iterator[Refused]:
        readers = self.open_ones.get(line.rank, ())
        if reader := next((one for one in readers if one.owns(line.text)), None):
            reader.last_line = line.number
            if reader.is_open and line.is_whole and not _BEGINS.search(line.text) and reader.take(line.text):
                if not reader.is_open:
                    yield from self._close(line.rank, reader)
                return
            yield from self._close(line.rank, reader)
        begun = _BEGINS.search(line.text) or _looking_like(line.text)
        before = line.text[: begun.start()] if begun else line.text
        if _ESCAPED in before or (_OF_DRIVER.search(before) and _OF_GPU.search(line.text)):
            return
        first = self.awaited.pop(line.rank, None)
        if begun is None:
            if first is not None:
                found = line.text[:_SHOWN]
                yield Refused(first.number, 1, "the sentence about VMEM behind it", found, self.log)
            return
        text = line.text[begun.start() :].partition(f" {_ESCAPED}")[0]
        if text.strip() == "E1001: CompileTimeScopedVmemOom:":
            self.awaited[line.rank] = line
            return
        reader = _begin(text, line, line.text[: begun.start()]) if line.is_whole else None
        if reader is None:
            column = len(line.prefix) + begun.start() + 1
            expected = "a message that is known, whole in its line"
            yield Refused(line.number, column, expected, text[:_SHOWN], self.log, text=line.text[:_KEPT])
            return
        reader.message.log = self.log
        reader.message.lines.append(text.strip())
        readers = self.open_ones.setdefault(line.rank, [])
        readers.append(reader)
        if not reader.is_open:
            yield from self._close(line.rank, reader)
        elif len(readers) > MOST_OPEN:
            yield from self._close(line.rank, readers[0])

    def _give_up(self, number: int) -> Iterator[Refused]:
        """End what waits for ranks that have written nothing for long: then the rest of the log is not read by line."""
        for rank, readers in [*self.open_ones.items()]:
            for reader in [one for one in readers if number - one.last_line > PATIENCE_LINES]:
                yield from self._close(rank, reader)
        for rank, first in [*self.awaited.items()]:
            if number - first.number > PATIENCE_LINES:
                del self.awaited[rank]
                yield Refused(first.number, 1, "the sentence about VMEM behind it", "no line of it any more", self.log)

    def _close(self, rank: str, reader: _Reader) -> Iterator[Refused]:
        self.open_ones[rank].remove(reader)
        if not self.open_ones[rank]:
            del self.open_ones[rank]
        if reader.is_open:
            reader.end()
        message = reader.message
        if message.dialect == _STATISTICS:
            self._note_statistics(rank, reader)
            return
        first = self._first.get(message.key)
        if first is not None:  # what ranks say alike is kept once
            message.lines, message.figures, message.allocations = first.lines, [*first.figures], first.allocations
        elif len(self._first) < MOST_MESSAGES:
            first = self._first[message.key] = replace(message)  # without what the allocator says to each
        if message.dialect in ("G1", "G2"):
            self._note_failed(rank, reader)
        if first is None or len(self.ended) == MOST_RANKS:
            expected = f"at most {MOST_MESSAGES} different messages in a log, and {MOST_RANKS} with those of each rank"
            yield Refused(message.line_number, 1, expected, message.lines[0][:_SHOWN], self.log)
            return
        self.ended.setdefault((message.key, *message.ranks), message)

    def _note_failed(self, rank: str, failed: _Reader) -> None:
        if not failed.message.is_of_allocator and rank in self._statistics:
            line, statistics = self._statistics[rank]
            if line is None or not _is_of_another(line.message, failed.message):
                del self._statistics[rank]
                is_of_process = _prefix(failed.head, statistics.head) is not None
                if is_of_process and (line is None or _is_said_of(line.message, failed.message)):
                    _take_statistics(failed.message, statistics.message)
        if rank in self._failed or len(self._failed) < MOST_RANKS:
            self._failed[rank] = failed

    def _note_statistics(self, rank: str, statistics: _Reader) -> None:
        """Give a failure what its allocator said: a log has that before the exception, the text of a message after.

        Behind an exception of a log it is what is said of a later failure, unless it follows at once.
        """
        figures = statistics.message.figures
        # Upstream they have 64 bits: what no table can hold is none, and the failure is kept without it.
        if statistics.message.figure(IN_USE) is None or any(nominal(one.printed) > LARGEST_NUMBER for one in figures):
            return
        failed = self._failed.get(rank)
        if failed and _prefix(failed.head, statistics.head) is None:  # of another process
            return
        if failed and not failed.message.is_of_allocator and statistics.message.line_number > failed.last_line + 1:
            failed = None
        if failed:
            _take_statistics(failed.message, statistics.message)
        is_awaited = failed is None or failed.message.is_of_allocator
        if is_awaited and (rank in self._statistics or len(self._statistics) < MOST_RANKS):
            self._statistics[rank] = failed, statistics


def _looking_like(text: str) -> re.Match[str] | None:
    """Return where a line begins to look like a message: at a key, or at a status with a GPU's library behind it.

    No pattern that looks for both at once takes linear time.
    """
    key, status = _LOOKS_LIKE.search(text), _STATUS.search(text) if _OF_GPU.search(text) else None
    if status and status.end() <= max(text.rfind(one.decode()) for one in DRIVER_KEYS):
        return min(filter(None, (key, status)), key=lambda found: found.start())
    return key


def _take_statistics(message: Message, said: Message) -> None:
    if message.figure(IN_USE) is None:
        # A limit of 0 is none.
        known = [one for one in said.figures if one.name != ALLOCATOR_LIMIT or nominal(one.printed)]
        message.figures = [*message.figures, *known]
        message.lines = [*message.lines, *said.lines]


def once(messages: Iterable[Message]) -> list[Message]:
    """Return messages without those that say the same as one before, which gets their ranks and logs."""
    found: dict[tuple, Message] = {}
    ranks: dict[tuple, dict[str, None]] = {}
    logs: dict[tuple, dict[str, None]] = {}
    for message in messages:
        found.setdefault(message.key, message)
        ranks.setdefault(message.key, {}).update(dict.fromkeys(message.ranks))
        logs.setdefault(message.key, {}).update(dict.fromkeys((message.log, *message.other_logs)))
    for key, message in found.items():
        message.ranks = [*ranks[key]]
        message.other_logs = [log for log in logs[key] if log != message.log]
    return list(found.values())


def _without_reports(messages: list[Message]) -> list[Message]:
    """Return messages without the reports that the log of a process has beside its exception; their bytes are kept.

    An allocator's line is such a report, too, of the same bytes rounded up. Programs whose figures are printed alike
    are told apart by the bytes of their reports: the sentence takes those of the first, the others are told as well.
    """
    sentences: dict[tuple, list[Message]] = {}
    failures: dict[tuple, list[Message]] = {}
    for message in messages:
        if message.dialect in ("T3", "T3b"):
            sentences.setdefault(_of_a_report(message), []).append(message)
        elif message.dialect in ("G1", "G2") and not message.is_of_allocator:
            failures.setdefault(tuple(message.ranks), []).append(message)
    told = []
    for message in messages:
        found = sentences.get(_of_a_report(message), []) if message.dialect == REPORT else []
        same = [other for other in found if _may_have(other, message)]
        exact = message.figure(REPORTED)
        for other in same:
            if exact and other.figure(REPORTED) is None:
                other.figures.append(exact)
            other.lines = [*other.lines, *message.lines]
            other.faults += message.faults
        same = same or [one for one in failures.get(tuple(message.ranks), ()) if _is_said_of(message, one)]
        if message.memory_space == HOST:
            for other in same:  # the exception does not say which memory it was
                other.memory_space, other.lines = HOST, [*other.lines, *message.lines]
        if not same:
            told.append(message)
    return told


def _is_said_of(line: Message, failure: Message) -> bool:
    """Return whether an allocator's line is about the allocation that a failure of the same process names."""
    least, most = range_of(failure.needed.printed)
    return line.is_of_allocator and least <= line.needed.size_bytes < most + ROUNDED_TO


_ALLOCATOR_NAME = re.compile(r"Allocator \((?P<name>\S+)\) ran|allocator (?P<other>\S+) on device [0-9]")


def _is_of_another(line: Message, failure: Message) -> bool:
    """Return whether an allocator's line and an exception name two allocators: a process has one for each GPU."""
    names = [found["name"] or found["other"] for one in (line, failure)
             if (found := _ALLOCATOR_NAME.search(one.lines[0]))]  # fmt: skip
    return len({*names}) > 1


def _may_have(sentence: Message, report: Message) -> bool:
    """Return whether a report may be that of a sentence: of no other module, and of no other bytes than one before."""
    is_other = report.module and sentence.module and report.module != sentence.module
    return not is_other and sentence.figure(REPORTED) in (None, report.figure(REPORTED))


def _of_a_report(message: Message) -> tuple:
    """Return what a report and the sentence of the same failure have in common."""
    return *message.ranks, message.figure("used").printed, message.figure("capacity").printed


ROUNDED_TO = 256  # bytes of which an allocation of `BFCAllocator` is a multiple
_SHOWN, _KEPT = 120, 1 << 16  # characters of a line that is refused: those of the message, and those of a reject


def _begin(text: str, line: Line, head: str) -> _Reader | None:
    """Return the reader of the message that begins with a text, behind a head; None if no dialect has such a line."""
    for opening in _OPENINGS:
        if found := opening.pattern.fullmatch(text.rstrip()):
            break
    else:
        return None
    about = found.groupdict()
    dialect = opening.dialect
    if dialect == "T1" and about["space"] != "hbm":
        dialect = "T6"
    elif about.get("report"):
        dialect = REPORT
    elif about.get("code"):
        dialect = {"T1": "T2", "T3": "T3b"}[dialect]
    message = Message(
        dialect,
        line.number,
        about.get("space") or opening.memory_space,
        about.get("module"),
        ranks=[line.rank] if line.rank else [],
        shape=about.get("shape"),
        tag=about.get("tag"),
    )
    is_exact = dialect in ("T5", "T7", "R", "G1", "G3", _STATISTICS)
    for name, size in about.items():
        if name in _FIGURES and size is not None:
            message.figures.append(_figure(name, size) if is_exact else Figure(name, size))
    if dialect == DONATION:
        message.allocations, message.faults = _donated(about["arguments"])
    _name(message, about.get("text"))
    has_bounds = dialect == "T7" and text.rstrip().endswith("/*")
    reader = _Reader(message, head, has_listing=opening.has_listing, has_bounds=has_bounds)
    if not reader.is_open:
        reader.end()
    return reader


_FIGURES = {
    "used", "capacity", "exceeded", "scoped_size", "scoped_limit", "allocation", "words", "free", "limit", "reduced",
    "original", "tensorcore", "sparsecore", "arguments_and_outputs", ALLOCATOR_LIMIT,
}  # fmt: skip


def _figure(name: str, size: str) -> Figure:
    """Return a figure whose bytes are exact if it is printed as a number alone."""
    return Figure(name, size, int(size) if size.isdigit() else None)


_MOST_ARGUMENTS = 10_000  # of one warning
_MARKS = re.compile(r"[][(){}<>,]|\Z")
_ARGUMENT = re.compile(r"[A-Za-z]\w*(?:\(.*\)|(?:<[^<>]*>)?\[[^][]*\](?:\{[^{}]*\})?)")


def _donated(text: str) -> tuple[list[Allocation], list[str]]:
    """Return the arguments that JAX lists, and what is wrong: `float32[8,4]`, `ShapedArray(float32[8])`, `f32[8]{0}`.

    A comma inside brackets separates none.
    """
    found, start, depth, faults = [], 0, 0, []
    text = text.rstrip().removesuffix(".")
    for mark in _MARKS.finditer(text):
        char, place = mark[0], mark.start()
        depth += (char in "([{<") - (char in ")]}>") if char else 0
        if char not in ("", ",") or (char and depth > 0):
            continue
        shape, start = text[start:place].strip(), place + 1
        if len(found) == _MOST_ARGUMENTS:
            faults.append(f"it lists more than {_MOST_ARGUMENTS} arguments")
            break
        if not _ARGUMENT.fullmatch(shape):
            faults.append(f"expected an argument such as float32[8,4], found {shape[:_SHOWN]!r}")
            break
        found.append(Allocation(len(found) + 1, "", shape=shape, tag="donated"))
    if depth and not faults:
        faults.append("it is cut within an argument")
    return found, faults


_OUTPUT_OF = re.compile(r"output of (?P<name>\S+?)@(?P<index>\{[0-9,]*\})")


def _name(message: Message, text: str | None) -> None:
    """Note which instruction a message speaks of, by its text or by the tag of an allocation."""
    if found := _OUTPUT_OF.fullmatch(message.tag or ""):
        message.instruction = found["name"]
    elif text and message.dialect == "T6":
        message.instruction, _, rest = text.partition(" = ")
        message.shape = rest.partition(" ")[0]
    elif text and message.dialect == "T5" and not text.startswith("<"):
        message.instruction = text
    elif text and message.dialect == "T7" and (found := re.search(r"\[shape: ([a-z0-9]+\[[0-9,]*\])", text)):
        message.shape = found[1]
