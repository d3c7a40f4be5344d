"""How far programs that differ in one number fit a chip, on a terminal, in Markdown and as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bufferhouse.errors import UsageError, counted
from bufferhouse.query.statements import Record
from bufferhouse.report.opening import Origin, find_programs, opened
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import bytes_form, printable
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, plain_json
from bufferhouse.report.whatif.text import capacity_said
from bufferhouse.warehouse.run_names import find
from bufferhouse.whatif.chips import chip_of
from bufferhouse.whatif.series import Fitting, Point, Series, fitting, read_series

_POINTS = [
    Column("number", "N", "count"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("room_bytes", "room", "change"),
    Column("how", "how"),
    Column("run", "run", rank=1),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """Series with a capacity: `chip` is its name, None for a size that was given; `at` are numbers that were asked."""

    capacity_bytes: int
    chip: str | None
    series: Sequence[Series]
    at: Sequence[int]
    note: str | None


def read_fits(
    origin: Origin,
    word: str,
    *,
    capacity_bytes: int,
    chip: str | None,
    at: Sequence[int],
    memory_space: int,
    run: str | None,
    wait: float,
) -> Asked:
    """Return the series of programs whose name begins with a word.

    Raises:
        UsageError: there is none.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with opened(origin, wait) as (con, _, note):
        run_name = find(con, run).run_name if run else ""
        found = read_series(con, word, memory_space=memory_space, run_name=run_name)
        if not found:
            find_programs(con, word)
    if not found:
        named = f" named {printable(word, 80)!r}" if word else ""
        raise UsageError(
            f"no two programs{named} have signatures that differ in one number only: compile one program at several "
            "sizes, such as batches, and ingest the dumps"
        )
    return Asked(capacity_bytes, chip, found, at, note)


def fits_text(asked: Asked, form: str, *, exact: bool) -> str:
    """Return the series as table, markdown or json; `exact` writes all bytes to the byte."""
    if form == "json":
        about = {"chip": asked.chip, "capacity_bytes": asked.capacity_bytes, "capacity_note": _capacity_note(asked)}
        return plain_json({**about, "series": [_record(one, asked) for one in asked.series]})
    sections = [Section("", [note])] if (note := _capacity_note(asked)) else []
    sections += [_section(one, asked, bytes_form(exact=exact)) for one in asked.series]
    name = f"{asked.chip}, " if asked.chip else ""
    title = f"Will it fit: {name}{capacity_said(asked.capacity_bytes)} for a program"
    return report_text(title, sections, form, exact=exact)


def _capacity_note(asked: Asked) -> str | None:
    """Return that programs have less than the memory of the chip, where nobody said how much less."""
    if asked.chip is None or chip_of(asked.chip).reserved_bytes:
        return None
    return (
        "That is the whole memory of the chip. What the driver and the runtime keep of it is not known, and not "
        "subtracted: JAX gives programs 75 % of a GPU unless XLA_PYTHON_CLIENT_MEM_FRACTION says something else. "
        "Give the size that programs have with --capacity."
    )


def _section(series: Series, asked: Asked, said: Callable[[int], str]) -> Section:
    target = series.compile_target
    device = printable(series.device_kind, 60)
    title = f"{', '.join(filter(None, (printable(series.program_name, 80), target, device)))}: {series.what}"
    lines = []
    if asked.chip and not target.startswith(chip_of(asked.chip).target):
        compiled = f"Compiled for {target}" if target else "No file name says what it was compiled for"
        lines.append(f"{compiled}: a compiler for {asked.chip} places and pads differently.")
    elif asked.chip and chip_of(asked.chip).is_other(series.device_kind):
        lines.append(f"Compiled for {device}: a compiler for {asked.chip} places and pads differently.")
    if series.donated:
        numbers = ", ".join(f"{point.number:,}" for point in series.donated)
        lines.append(
            f"Arguments are donated at {numbers} alone: with donation the other points would take other bytes."
        )
    if any(point.has_other_spaces for point in series.points):
        lines.append("The bytes are those of all memory spaces in the memory of the device.")
    if len(compilers := series.compilers) > 1:
        named = ", ".join(printable(one or "one that is not known", 60) for one in compilers)
        lines.append(f"The points are of several compilers: {named}. Choose the dumps of one run with --run.")
    if refused := [f"{point.number:,}" for point in series.points if _is_refused(point, asked)]:
        lines.append(f"Refused by the compiler, although less than this is reserved: {', '.join(refused)}.")
    lines += _lines(series, _fitting(series, asked), said)
    return Section(title, lines, _POINTS, _rows(series, asked))


def _fitting(series: Series, asked: Asked) -> Fitting:
    if asked.chip is None:
        return fitting(series, asked.capacity_bytes)
    chip = chip_of(asked.chip)
    # Where nobody says which device it was, a refusal counts as one of this chip: nothing else would be sure.
    is_unknown = not series.device_kind and series.compile_target.startswith(chip.target)
    return fitting(series, asked.capacity_bytes, is_of_chip=is_unknown or series.device_kind in chip.kinds)


def _is_refused(point: Point, asked: Asked) -> bool:
    """Return whether a point would fit by its bytes, and did not where it was compiled."""
    return point.is_refused and point.reserved_bytes <= asked.capacity_bytes


def _rows(series: Series, asked: Asked) -> list[Record]:
    """Return the measured points and the numbers that were asked, in order; what is not measured says so."""
    capacity = asked.capacity_bytes
    rows = [
        _row(point.number, point.reserved_bytes, capacity, how, point.run_name)
        for point in series.points
        for how in ["measured, but refused" if _is_refused(point, asked) else "measured"]
    ]
    for number in sorted(set(asked.at) - {point.number for point in series.points}):
        piece = next((one for one in series.pieces if one.first.number < number < one.last.number), None)
        if piece is None:
            rows.append(_row(number, None, capacity, "not between measured points", None))
        else:
            how = "interpolated, and the schedule changes" if piece.has_other_schedule else "interpolated"
            rows.append(_row(number, piece.at(number), capacity, how, None))
    return sorted(rows, key=lambda row: row["number"])


def _row(number: int, size: int | None, capacity: int, how: str, run: str | None) -> Record:
    room = None if size is None else capacity - size
    return {"number": number, "reserved_bytes": size, "room_bytes": room, "how": how, "run": run}


def _lines(series: Series, found: Fitting, said: Callable[[int], str]) -> list[str]:
    lines = []
    if found.largest is None:
        lines.append("No measured point fits.")
    elif found.largest.is_refused:
        lines.append(f"Whether {found.largest.number:,} fits, as its bytes do, is not known.")
    elif found.next is None:
        lines.append(f"The largest measured, {found.largest.number:,}, fits; nothing larger was measured.")
    else:
        lines.append(f"The largest measured that fits is {found.largest.number:,}.")
    if found.interpolated is not None:
        lines.append(f"Interpolated, {found.interpolated:,} may fit: a guess on the line to {found.next.number:,}.")
    if found.short_bytes is not None:
        place = "smallest" if found.largest is None else "next"
        lines.append(f"The {place} measured, {found.next.number:,}, takes {said(found.short_bytes)} too much.")
    if not found.is_monotonic:
        lines.append("Not all smaller ones fit: the peak does not grow with the number alone.")
    changed = [f"{one.first.number:,} and {one.last.number:,}" for one in series.pieces if one.has_other_schedule]
    if changed:
        lines.append(
            f"The schedule changes between {', between '.join(changed)}: what lies between may be far from the line."
        )
    falling = [one for one in series.pieces if one.step_bytes < 0]
    if falling:
        lines.append(f"In {counted(len(falling), 'stretch')} a larger number takes fewer bytes.")
    return lines


def _record(series: Series, asked: Asked) -> Record:
    found = _fitting(series, asked)
    return {
        "program": series.program_name,
        "compile_target": series.compile_target or None,
        "device_kind": series.device_kind or None,
        "number": series.what,
        "compilers": series.compilers,
        "donated": [point.number for point in series.points if point.has_donation],
        "refused": [point.number for point in series.points if point.is_refused],
        "has_other_spaces": any(point.has_other_spaces for point in series.points),
        "points": _rows(series, asked),
        "pieces": [
            {
                "first": one.first.number,
                "last": one.last.number,
                "step_bytes": one.step_bytes,
                "is_interpolated": True,
                "has_other_schedule": one.has_other_schedule,
            }
            for one in series.pieces
        ],
        "largest_measured": found.largest.number if found.largest else None,
        "largest_interpolated": found.interpolated,
        "next_measured": found.next.number if found.next else None,
        "short_bytes": found.short_bytes,
        "is_monotonic": found.is_monotonic,
    }
