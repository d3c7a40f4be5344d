"""Numbers and names for people."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import islice

from bufferhouse import redaction
from bufferhouse.query.statements import Record

_redact = redaction.redactor()
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMES = ((86400, "d"), (3600, "h"), (60, "min"))
_BARS = "▁▂▃▄▅▆▇█"

# The preferred names of marts.memory_spaces, to which a test holds them: a dump holds only the number.
_SPACE_NAMES = {
    ("cpu", 0): "default",
    ("cpu", 5): "host",
    ("cpu", 6): "unpinned host",  # of XLA's layout.h, as the mart names it for gpu; the mart has none of a CPU
    ("gpu", 0): "device",
    ("gpu", 1): "collective",
    ("gpu", 2): "temp buffer",
    ("gpu", 5): "host",
    ("gpu", 6): "unpinned host",
    ("gpu", 7): "collective",  # where jaxlib 0.12 puts what it put into 1; the mart's version has no such row
    ("tpu", 0): "HBM",
    ("tpu", 1): "VMEM",
    ("tpu", 2): "SEMAPHORE_MEM",
    ("tpu", 3): "CMem",
    ("tpu", 4): "SMEM",
    ("tpu", 5): "HOST",
    ("tpu", 6): "SMEM of scalars",
    ("tpu", 7): "tuple tables of SparseCore",
    ("tpu", 8): "SC_SCALAR_SEMAPHORE_MEM",
    ("tpu", 9): "Pinned HBM",
    ("tpu", 10): "SC_VECTOR_SEMAPHORE_MEM",
    ("tpu", 11): "SC_SCALAR_SMEM",
    ("tpu", 12): "SC_VECTOR_SMEM",
}


def human_bytes(count: int | None, *, signed: bool = False) -> str:
    """Return bytes in the largest unit that keeps a digit before the point: 18.5 KiB, +3.0 MiB, –."""
    if count is None:
        return "–"
    size, unit = float(abs(count)), 0
    while size >= 1023.95 and unit < len(_UNITS) - 1:  # what would be printed as 1024.0
        size, unit = size / 1024, unit + 1
    sign = "-" if count < 0 else "+" if signed and count > 0 else ""
    return f"{sign}{size:.0f} B" if unit == 0 else f"{sign}{size:.1f} {_UNITS[unit]}"


def human_seconds(seconds: float) -> str:
    """Return a time in the largest unit that keeps a digit before the point: 0.5 s, 90 s as 1.5 min, 2 h, 7 d."""
    size, unit = next(((seconds / size, unit) for size, unit in _TIMES if seconds >= size), (seconds, "s"))
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"


def tick_bytes(count: int) -> str:
    """Return bytes without loss, for the ticks of an axis: 1.25 MiB, or 6,691,772 B where that is shorter."""
    power = 0
    while abs(count) >= 1024 ** (power + 1) and power < len(_UNITS) - 1:
        power += 1
    text = f"{count / 1024**power:.12g} {_UNITS[power]}"
    return text if len(text) <= len(exact_bytes(count)) else exact_bytes(count)


def exact_bytes(count: int | None, *, signed: bool = False) -> str:
    """Return bytes to the byte: 6,691,772 B, +192 B, –."""
    return "–" if count is None else f"{count:{'+' if signed and count else ''},} B"


def percent(share: float, *, signed: bool = False) -> str:
    """Return a share in percent with one digit: 1.1%, -0.6%, +25.5%; what is rounded to nothing has no minus."""
    return f"{share:+z.1%}" if signed else f"{share:z.1%}"


Bytes = Callable[..., str]  # human_bytes or exact_bytes


def bytes_form(*, exact: bool) -> Bytes:
    """Return what writes bytes: to the byte if they are to be `exact`, else in the largest unit."""
    return exact_bytes if exact else human_bytes


@lru_cache(4096)  # a page or table tells many texts again and again, in cells and beside them
def printable(text: str, limit: int | None = None) -> str:
    """Return text of a dump without control sequences for a terminal or a browser, at most `limit` characters long.

    It holds no secret. Control characters, marks that change the direction of text and lone surrogates are written as
    escapes. A text that is too long loses its middle, as the names of instructions differ at their ends.
    """
    text = redaction.printable(_redact(text))
    if limit is None or len(text) <= limit:
        return text
    tail = limit // 2
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def sentence(said: str) -> str:
    """Return what an error says as a sentence of its own; where it ends with a full stop or `)` it keeps that end."""
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", ")")) else ".")


def some_of(names: Collection[str], most: int, limit: int | None = None) -> str:
    """Return the first names, each `printable` within the limit, and how many more there are: a, b and 3 more."""
    named = ", ".join(printable(name, limit) for name in islice(names, most))
    return named if len(names) <= most else f"{named} and {len(names) - most:,} more"


def sparkline(values: Sequence[int | None]) -> str:
    """Return one bar for each value, scaled from the lowest to the highest; a space for None."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0), max(known, default=0)
    top = len(_BARS) - 1
    return "".join(
        " " if value is None else _BARS[(value - low) * top // (high - low) if high > low else top // 2]
        for value in values
    )


def space_title(platform: str | None, memory_space: int) -> str:
    """Return `memory space N` with its name on the platform: memory space 1 (VMEM)."""
    name = _SPACE_NAMES.get((platform or "", memory_space))
    if memory_space == 0:
        name = f"default: {name}" if name not in (None, "default") else "default"
    return f"memory space {memory_space}" + (f" ({name})" if name else "")


def space_word(platform: str | None, memory_space: int) -> str:
    """Return the name of a memory space on the platform alone, VMEM, or its number where it has none."""
    return _SPACE_NAMES.get((platform or "", memory_space), str(memory_space))


def space_heading(space: Record) -> str:
    """Return platform and memory space: tpu, memory space 1 (VMEM)."""
    return f"{space['platform'] or 'unknown platform'}, {space_title(space['platform'], space['memory_space'])}"


def space_key(space: Record) -> str:
    """Return the end of the names of tables about a memory space."""
    return printable(f"{space['platform'] or 'unknown'}-{space['memory_space']}")


def compiler_said(facts: Record) -> str:
    """Return compiler and version of a run as far as they are known, uncut: jaxlib 0.9.0."""
    return " ".join(filter(None, (facts["compiler"], facts["compiler_version"])))


def reject_line(reject: Record) -> str:
    """Return one reject as `run/path:line:column: expected …, found …`."""
    place = ":".join(str(part) for part in (reject["line_number"], reject["column_number"]) if part is not None)
    where = printable(f"{reject['run_name']}/{reject['relative_path']}", 200) + (f":{place}" if place else "")
    expected, found = printable(reject["expected"], 200), printable(reject["found"], 200)
    return f"{where}: expected {expected}, found {found}"
