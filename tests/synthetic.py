"""Dumps written by hand, for what no real dump at hand shows: any slots, any live ranges, any memory spaces."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """A value: where its bytes are and when it is alive, both ends included; `shape` None is bytes of its size."""

    start: int
    end: int
    offset: int
    size: int
    allocation: int = 0
    shape: str | None = None

    @property
    def shape_text(self) -> str:
        return f"u8[{self.size}]{{0}}" if self.shape is None else self.shape


def dump_text(slots: list[Slot], headers: list[str] | None = None) -> bytes:
    """Write slots as a dump without a printed peak; the k-th slot is the value with id k.

    `headers` are what stands behind the size of each allocation, such as `, color 1, preallocated-temp`; by default
    every allocation is a temporary one in memory space 0. An allocation is as large as its values need.
    """
    headers = headers or [", preallocated-temp"] * (max((slot.allocation for slot in slots), default=0) + 1)
    lines = ["BufferAssignment:"]
    total = 0
    for index, header in enumerate(headers):
        inside = [slot for slot in slots if slot.allocation == index]
        size = max((slot.offset + slot.size for slot in inside), default=0)
        total += size
        lines.append(f"allocation {index}: size {size}{header}:")
        for number, slot in enumerate(slots):
            if slot.allocation == index:
                lines.append(
                    f" value: <{number} v{number} @0> (size={slot.size},offset={slot.offset}): {slot.shape_text}"
                )
    lines += ["", f"Total bytes used: {total}", "", "Used values:"]
    for number, slot in enumerate(slots):
        lines += [f"<{number} v{number} @0>", " positions:", f"  v{number}", " uses:"]
        lines += [f" from instruction: %v{number} = {slot.shape_text} custom-call()"]
    last = max([len(slots), *(slot.end for slot in slots)])
    lines += ["", "", f"HloLiveRange (max {last}):", "  InstructionSequence:"]
    lines += [f"    {position}:v{position}" for position in range(last)]
    lines += ["  BufferLiveRange:"]
    lines += [f"    v{number}{{}}:{slot.start}-{slot.end}" for number, slot in enumerate(slots)]
    lines += ["  Peak memory could not be determined due to unbounded dynamic shape."]
    return ("\n".join(lines) + "\n").encode()


def colored(sizes: list[int], colors: list[int]) -> bytes:
    """A dump of a temporary in each of some memory spaces, all alive at once."""
    headers = [f", color {color}, preallocated-temp" if color else ", preallocated-temp" for color in colors]
    return dump_text([Slot(0, 2, 0, size, number) for number, size in enumerate(sizes)], headers)


def small_dump(number: int) -> bytes:
    """One of any number of small dumps that all differ."""
    return dump_text([Slot(0, 2, 0, 64), Slot(1, 2, 64, 8 + number)])
