"""An entry of a lock: the bytes of one program on one chip, in each memory space, and the sites of its peak."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

# The bytes of a memory space, in the order of the file.
FIGURES = (
    "reserved_bytes",
    "parameter_bytes",
    "output_bytes",
    "constant_bytes",
    "temp_bytes",
    "donated_bytes",
    "occupied_peak_bytes",
    "layout_padding_bytes",
)
PEAK_SITES = 8  # of a memory space in the file: the others are one sum
PADDING_SITES = 3
Key = tuple[str, str, int]
"""Function, chip and program_id, which identify an entry."""


class Site(NamedTuple):
    """Values at the occupied peak that one operation of one source line defines; each byte has one owner.

    `layout_padding_bytes` is part of `owned_bytes`. `shape` is that of the largest of the values, without its layout.
    `source` is `file:line`; `op_name` and `source` are empty if no file has them.
    """

    owned_bytes: int
    kind: str
    value_count: int
    shape: str
    op_name: str = ""
    source: str = ""
    layout_padding_bytes: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """The key by which it is recognized in another compilation; lines move, and shapes change with the batch."""
        return self.kind, self.op_name or self.shape

    def plus(self, other: "Site") -> "Site":
        """Return both as one, with kind, shape and place of the first."""
        return self._replace(
            owned_bytes=self.owned_bytes + other.owned_bytes,
            value_count=self.value_count + other.value_count,
            layout_padding_bytes=self.layout_padding_bytes + other.layout_padding_bytes,
        )


@dataclass(frozen=True, slots=True)
class Space:
    """One memory space of a program, in bytes.

    `donated_bytes` are those of parameters on which outputs are placed, part of `parameter_bytes`. If the dump has no
    live ranges, the occupied peak and the padding in it are None, and there are no sites. `sites` are sorted, the
    largest first: all of a dump, the first `PEAK_SITES` in a file. `padding` are those with the most layout padding.
    """

    memory_space: int
    reserved_bytes: int
    parameter_bytes: int
    output_bytes: int
    constant_bytes: int
    temp_bytes: int
    donated_bytes: int
    occupied_peak_bytes: int | None
    layout_padding_bytes: int | None
    sites: Sequence[Site] = ()
    padding: Sequence[Site] = ()

    @property
    def figures(self) -> tuple[int | None, ...]:
        """The bytes, as in `FIGURES`."""
        return tuple(getattr(self, name) for name in FIGURES)

    @property
    def told(self) -> tuple:
        """The memory space as the file stores it, without source lines, which change with every edit above them."""
        peak = [site._replace(source="") for site in self.sites[:PEAK_SITES]]
        padding = [(one.layout_padding_bytes, *one.key) for one in self.padding[:PADDING_SITES]]
        return self.memory_space, self.figures, peak, padding


@dataclass(frozen=True, slots=True)
class Entry:
    """The memory of one program on one chip.

    `parameters` and `outputs` are the leaves of its entry signature, equal ones together: the count and the leaf, in
    the order of first occurrence. `compiler` and `flags` are empty if they are not known. `dump_id` is None for an
    entry of a file. `why` is the reason for which growth was accepted, `growth_bytes` the growth of the memory space
    that grew most; the reason stays as long as the bytes do. `has_allocations_alone` is True for a dump without values
    and live ranges: nothing says that its allocations are all.
    """

    function: str
    chip: str
    program_id: int
    parameters: Sequence[tuple[int, str]]
    outputs: Sequence[tuple[int, str]]
    spaces: Sequence[Space]
    compiler: str = ""
    flags: str = ""
    platform: str | None = None
    dump_id: int | None = None
    why: str = ""
    growth_bytes: int = 0
    has_allocations_alone: bool = False

    @property
    def key(self) -> Key:
        """The key that identifies it, which also gives the order in the file."""
        return self.function, self.chip, self.program_id

    @property
    def told(self) -> list[tuple]:
        """The facts that must be equal for an entry to stay unchanged."""
        return [space.told for space in self.spaces]

    @property
    def signature(self) -> str:
        """The entry signature with equal leaves together: for sentences about changes, not for identity."""
        return f"({_leaves(self.parameters)})->({_leaves(self.outputs)})"

    @property
    def has_peak(self) -> bool:
        """Whether its occupied bytes are known: the dump has live ranges."""
        return any(space.occupied_peak_bytes is not None for space in self.spaces)

    def size_order(self) -> tuple:
        """Return the key by which the largest of several dumps of a program comes first."""
        occupied = sum(space.occupied_peak_bytes or 0 for space in self.spaces)
        return -sum(space.reserved_bytes for space in self.spaces), -occupied, self.dump_id or 0


@dataclass(slots=True)
class Lock:
    """The entries of a file or of dumps, sorted; `notes` are remarks for the reader.

    `refused` are dumps that could not be read, so that their programs are not known.
    """

    entries: dict[Key, Entry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Lock":
        """Return a lock of entries, sorted."""
        return cls({entry.key: entry for entry in sorted(entries, key=lambda entry: entry.key)})

    @property
    def chips(self) -> list[str]:
        """The chips of its entries, in order."""
        return sorted({entry.chip for entry in self.entries.values()})


def grouped(leaves: Iterable[str]) -> list[tuple[int, str]]:
    """Return equal leaves together, each with its count, in the order in which they come first."""
    return [(count, leaf) for leaf, count in Counter(leaves).items()]


def _leaves(groups: Iterable[tuple[int, str]]) -> str:
    return ", ".join(leaf for count, leaf in groups for _ in range(count))
