"""One program as a cell of a notebook shows it: its timeline and the owners of its peak, without a script."""

from bufferhouse.query.statements import Record
from bufferhouse.report.program.data import Program, Space
from bufferhouse.report.program.text import notes, space_heading, subtitle
from bufferhouse.report.text.figures import human_bytes, percent, printable

_WIDTH, _HEIGHT = 640, 96  # pixels of a timeline
_OWNERS = 10
_LONG = 60  # characters of a cell


class ProgramView:
    """A program of a run: `bufferhouse.program` returns it, and a notebook shows it as HTML.

    `dump` is the record of its dump, `answers` has all records by the name of their statement.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.dump: Record = program.dump
        self.answers: dict[str, list[Record]] = {name: answer.records for name, answer in program.answers.items()}

    @property
    def peak(self) -> list[Record]:
        """The records of the values at the occupied peak of each memory space; `owned_bytes` sum to it."""
        return self.answers["program_peak"]

    @property
    def _lines(self) -> list[str]:
        return [*subtitle(self.dump), *notes(self._program, warnings='.answers["program_warnings"]')]

    def __repr__(self) -> str:
        return "\n".join([self._program.name, *self._lines])

    def _repr_html_(self) -> str:
        from bufferhouse.report.html.page import fragment

        spaces = [_space(self._program, space) for space in self._program.spaces]
        return fragment("notebook.html", name=self._program.name, lines=self._lines, spaces=spaces)


def _space(program: Program, space: Space) -> dict[str, object]:
    facts = space.facts
    said = f"{human_bytes(facts['reserved_bytes'])} reserved"
    if space.has_live_ranges:
        position = facts["occupied_peak_position"]
        where = "" if position is None else f" at position {position:,}"
        said += f", occupied peak {human_bytes(facts['occupied_peak_bytes'])}{where}"
    return {
        "title": space_heading(program, space),
        "said": said,
        "width": _WIDTH,
        "height": _HEIGHT,
        **_drawn(space),
        "owners": [_owner(row) for row in space.peak[:_OWNERS]],
        "left": len(space.peak[_OWNERS:]),
    }


def _drawn(space: Space) -> dict[str, object]:
    """Return the corners of the timeline, a step at each position that it has, and where the peak is."""
    top = max((row["occupied_bytes"] for row in space.timeline), default=0)
    if not top:
        return {"points": "", "peak_x": 0}
    end = space.timeline[-1]["schedule_position"] + 1
    corners, before = [(0.0, float(_HEIGHT))], float(_HEIGHT)
    for row in space.timeline:
        x = _WIDTH * row["schedule_position"] / end
        y = _HEIGHT * (1 - row["occupied_bytes"] / top)
        corners += [(x, before), (x, y)]
        before = y
    corners += [(float(_WIDTH), before), (float(_WIDTH), float(_HEIGHT))]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return {"points": points, "peak_x": f"{_WIDTH * (space.facts['occupied_peak_position'] or 0) / end:.1f}"}


def _owner(row: Record) -> dict[str, str]:
    texts = {"value": "value_name", "shape": "shape_text", "op_name": "op_name", "source": "source_place"}
    share = row["peak_share"]
    return {
        "owned": human_bytes(row["owned_bytes"]),
        "share": "" if share is None else percent(share),
        **{name: printable(row[column] or "", _LONG) for name, column in texts.items()},
    }
