"""How the figures of a message come from the bytes of the dump: one rule a figure and dialect.

The rules are those that reproduce every specimen to the last printed digit; libtpu's own sources are not public. A rule
that does not reproduce a printed figure is not nearly right: then the figure is unknown.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bufferhouse.messages.figures import Figure, nominal, printed, shows
from bufferhouse.messages.message import REPORTED, Message


class Parts(NamedTuple):
    """Bytes of the allocations of memory space 0 of a dump.

    `shared` is what of the outputs is placed on parameters; it is no part of `outputs`.
    """

    parameters: int
    temporaries: int
    outputs: int
    shared: int
    constants: int
    thread_local: int

    @property
    def granules(self) -> int:
        """The temporaries as libtpu gives memory out for them: in whole 16 KiB."""
        return -(-self.temporaries // _GRANULE_BYTES) * _GRANULE_BYTES


class Rule(NamedTuple):
    """A figure is the sum of these parts, in messages of these dialects of which `holds` is true.

    `without` and `beside` name a figure that the message must not have, or print as 0B, and one that it must have. Of
    several rules that hold the first counts.
    """

    name: str
    dialects: tuple[str, ...]
    figure: str
    parts: tuple[str, ...]
    without: str | None = None
    beside: str | None = None

    def holds(self, message: Message) -> bool:
        """Return whether the rule is about the figure in this message."""
        return (self.without is None or _prints_nothing(message, self.without)) and (
            self.beside is None or not _prints_nothing(message, self.beside)
        )


class Reproduced(NamedTuple):
    """A figure beside what the dump or the message itself says it must be.

    `size_bytes` is None, and `rule` too, where no rule reproduces it; `found_bytes` is what the rule gives then.
    """

    figure: Figure
    size_bytes: int | None
    rule: str | None
    is_reproduced: bool
    found_bytes: int | None = None


def _prints_nothing(message: Message, name: str) -> bool:
    figure = message.figure(name)
    return figure is None or figure.printed == "0B"


_LISTINGS = ("T1", "T2")
_SENTENCES = ("T3", "T3b", "T3r")
SUMS = _LISTINGS + _SENTENCES  # dialects of which a figure is a sum that tells the dump
NOT_COUNTED = "not counted"
# Which of parameters and temporaries is too much by itself decides what libtpu adds up until 0.0.40: where temporaries
# are, it prints `arguments 0B`, where parameters are `program unknown size`.
RULES = (
    Rule("temporaries", _LISTINGS, "used", ("granules",), without="arguments"),
    Rule("parameters", _LISTINGS, "used", ("parameters",), without="program"),
    Rule("temporaries and parameters", _LISTINGS, "used", ("granules", "parameters"), beside="arguments"),
    # Without temporaries they are the code of the program alone, which is in no dump.
    Rule("temporaries", _LISTINGS, "program", ("granules",), beside="hlo_temp"),
    Rule("temporaries", _LISTINGS, "requirement", ("granules",), beside="hlo_temp"),
    Rule("temporaries", _LISTINGS, "hlo_temp", ("granules",)),
    Rule("parameters", _LISTINGS, "arguments", ("parameters",), beside="arguments"),
    Rule("outputs", _LISTINGS, "output", ("outputs", "shared"), beside="output"),
    Rule("outputs placed on parameters", _LISTINGS, "shared_output", ("shared",), beside="shared_output"),
    # Thread-local ones do not count: a specimen has 210 GiB of them. The report in the log, equal to the byte in all
    # specimens that have it, adds them up, too.
    Rule("all allocations", _SENTENCES, "used", ("parameters", "temporaries", "outputs", "constants")),
    Rule("all allocations, thread-local ones too", _SENTENCES, REPORTED,
         ("parameters", "temporaries", "outputs", "constants", "thread_local")),
)  # fmt: skip
_GIB, _MIB = 1 << 30, 1 << 20
# What a chip has for programs where a message does not say what libtpu keeps of its HBM: a v5e; a v6e, v5p and v7x,
# each up to libtpu 0.0.42.1 and from 0.0.45 on; a v2, v3 and v4. A v4 has more on devices than ahead of time, where it
# lacks 1.5 MiB of what is printed as 15.25G.
_CAPACITIES = (
    16 * _GIB - 258 * _MIB, 63 * _GIB // 2 - 260 * _MIB, 63 * _GIB // 2 - 264 * _MIB, 96 * _GIB - 263 * _MIB,
    96 * _GIB - 279 * _MIB, 95 * _GIB - 260 * _MIB, 95 * _GIB - 268 * _MIB, 8 * _GIB - 530 * _MIB,
    16 * _GIB - 530 * _MIB, 61 * _GIB // 4 - 3 * _MIB // 2, 123 * _GIB // 4,
)  # fmt: skip
_MEMORIES = range(_GIB // 2, 512 * _GIB + 1, _GIB // 2)  # of all chips so far
_GRANULE_BYTES = 1 << 14
_WORD_BYTES = 64  # a word of bounds_check.cc, as both specimens of T7 show


def reproduce(message: Message, parts: Parts | None) -> list[Reproduced]:
    """Return each figure of a message with the rule that gives it; without a dump those of the message alone.

    The figures of a message with a fault are not judged.
    """
    if message.faults:
        return [Reproduced(figure, figure.size_bytes, None, False) for figure in message.figures]
    found: dict[str, Reproduced] = {}
    for figure in message.figures:
        found[figure.name] = _own(message, figure) or _of_parts(message, figure, parts)
    for name in ("exceeded", "total"):
        if name in found and not found[name].is_reproduced:
            found[name] = _derived(name, found)
    return list(found.values())


def is_explained(figures: Iterable[Reproduced]) -> bool:
    """Return whether figures of sums are those of a dump: the main one, or temporaries, and arguments where they count.

    What a program takes besides (`global`, `scoped`, `reserved`), which no dump has, is in the main figure, too.
    """
    sums = {one.figure.name: one for one in figures if one.figure.name in ("used", "hlo_temp", "arguments", REPORTED)}
    if REPORTED in sums and not sums[REPORTED].is_reproduced:
        return False
    if "used" in sums and sums["used"].is_reproduced:
        return True
    temporaries = sums.get("hlo_temp")
    return bool(temporaries and temporaries.size_bytes) and all(
        one.is_reproduced for name, one in sums.items() if name != "used"
    )


def may_be_of(message: Message, parts: Parts) -> bool:
    """Return whether any rule of its dialect gives the main figure of a message with a fault.

    The lines that say which of them holds may be missing, but that of the figure is whole.
    """
    figure = message.figure("used")
    return figure is not None and any(
        shows(figure.printed, sum(getattr(parts, part) for part in rule.parts))
        for rule in RULES
        if message.dialect in rule.dialects and figure.name == rule.figure
    )


def capacity_bytes(message: Message) -> int | None:
    """Return the capacity of a message: exact where it can be told, else what the printed figure stands for."""
    figure = message.limit
    if figure is None:
        return None
    exact = _exact_capacity(message, figure)
    return nominal(figure.printed) if exact is None else exact


def _exact_capacity(message: Message, figure: Figure) -> int | None:
    """Return the bytes of a capacity: half GiB without what is reserved, or whole MiB; None where several print so."""
    if figure.size_bytes is not None or figure.printed.endswith(".00M"):
        return figure.size_bytes or nominal(figure.printed)
    known = message.figure("reserved")
    if known and not known.printed.endswith("G"):
        reserved = nominal(known.printed)
        sizes = [size - reserved for size in _MEMORIES]
    else:  # what is printed in G is known to 5 MiB
        sizes = _CAPACITIES
    return _only([size for size in sizes if printed(size) == figure.printed])


def _exact_reserved(message: Message, figure: Figure) -> int | None:
    """Return the bytes that libtpu keeps: as printed, or where that is rounded what the capacity leaves of a memory."""
    if not figure.printed.endswith("G"):
        return nominal(figure.printed)
    known = message.figure("capacity")
    capacity = _exact_capacity(message, known) if known else None
    if capacity is None:
        return None
    rests = [size - capacity for size in _MEMORIES if size > capacity]
    return _only([rest for rest in rests if printed(rest) == figure.printed])


def _only(sizes: Sequence[int]) -> int | None:
    return sizes[0] if len(sizes) == 1 else None


def _own(message: Message, figure: Figure) -> Reproduced | None:
    """Return a figure that the message itself shows to the byte, or by its own arithmetic."""
    is_sum = any(message.dialect in rule.dialects and figure.name == rule.figure for rule in RULES)
    if figure.size_bytes is not None and message.dialect != "T7" and not is_sum:
        return Reproduced(figure, figure.size_bytes, "as printed", True)
    if message.dialect == "T7" and figure.name == "words":
        return Reproduced(figure, figure.size_bytes * _WORD_BYTES, "words of 64 bytes", True)
    if message.dialect == "T6" and figure.name in ("used", "requirement", "program_scoped"):
        size = sum(nominal(one.size) for one in message.allocations if one.kind == "scoped")
        if size and shows(figure.printed, size):
            return Reproduced(figure, size, "allocations of the listing", True)
    if message.dialect in _LISTINGS and figure.printed == "0B" and figure.name in _ZERO:
        return Reproduced(figure, 0, NOT_COUNTED, True)
    if figure.name in ("capacity", "reserved"):
        size = _exact_capacity(message, figure) if figure.name == "capacity" else _exact_reserved(message, figure)
        if size is not None:
            return Reproduced(figure, size, "of the device", True)
    return None


_ZERO = {"arguments", "output", "shared_output", "requirement", "program"}


def _of_parts(message: Message, figure: Figure, parts: Parts | None) -> Reproduced:
    for rule in RULES:
        if message.dialect in rule.dialects and figure.name == rule.figure and rule.holds(message):
            if parts is None:
                return Reproduced(figure, None, None, False)
            size = sum(getattr(parts, part) for part in rule.parts)
            is_right = shows(figure.printed, size) and figure.size_bytes in (None, size)
            return (
                Reproduced(figure, size, rule.name, True) if is_right else Reproduced(figure, None, None, False, size)
            )
    return Reproduced(figure, None, None, False)


def _derived(name: str, found: dict[str, Reproduced]) -> Reproduced:
    """Return what follows from other figures: what is too much, and the total with what is reserved."""
    figure = found[name].figure
    first, second, rule = {
        "exceeded": ("used", "capacity", "used without the capacity"),
        "total": ("used", "reserved", "used and reserved"),
    }[name]
    if "scoped_size" in found and name == "exceeded":
        sizes = [nominal(found[one].figure.printed) for one in ("scoped_size", "scoped_limit")]
        size, rule = sizes[0] - sizes[1], "size without the limit"
    else:
        one, other = found.get(first), found.get(second)
        if one is None or other is None or None in (one.size_bytes, other.size_bytes):
            return found[name]
        size = one.size_bytes + (other.size_bytes if name == "total" else -other.size_bytes)
    if shows(figure.printed, size):
        return Reproduced(figure, size, rule, True)
    return Reproduced(figure, None, None, False, max(size, 0) or None)
