"""The points of a bisection and the causes of its step: on a terminal, in Markdown, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from bufferhouse.bisect.points import Asked, Point
from bufferhouse.bisect.search import Step
from bufferhouse.errors import counted
from bufferhouse.oom.finding import Finding, record
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.sections import METRIC_NAMES, compare_sections
from bufferhouse.report.compare.text import compare_object
from bufferhouse.report.oom.text import oom_sections, told
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import human_bytes, printable
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, plain_json

_POINTS = [
    Column("name", "point", limit=60),
    Column("verdict", "verdict"),
    Column("bytes", "takes", "bytes"),
    Column("source", "from", rank=1, limit=80),
    Column("seconds_said", "seconds", "figure", rank=2),
    Column("fault", "fault", limit=100),
]


@dataclass(frozen=True, slots=True)
class Bisected:
    """A bisection that ended: its points by their indices, the comparison of the two runs beside the step, if any.

    `findings` explain why the first bad point did not fit.
    """

    asked: Asked
    step: Step
    points: dict[int, Point]
    notes: Sequence[str] = ()
    comparison: Comparison | None = None
    findings: Sequence[Finding] = ()

    @property
    def compile_count(self) -> int:
        """How many points were compiled."""
        return sum(point.is_compiled for point in self.points.values())


def bisect_text(bisected: Bisected, form: str, *, exact: bool) -> str:
    """Return a bisection in a form of `sections.FORMATS`; `exact` writes all bytes to the byte."""
    if form == "json":
        return plain_json(bisect_object(bisected))
    sections = [_points_section(bisected)]
    if bisected.comparison is not None:
        sections += compare_sections(bisected.comparison, exact=exact)
    for finding in told(bisected.findings):
        sections += oom_sections(finding)
    return report_text(verdict(bisected), sections, form, exact=exact)


def bisect_object(bisected: Bisected) -> Record:
    """Return a bisection for machines."""
    asked, step = bisected.asked, bisected.step
    return {
        "program": asked.program,
        "axis": asked.axis,
        "metric": asked.metric,
        "memory_space": asked.memory_space,
        "verdict": verdict(bisected),
        "point_count": len(asked.names),
        "compile_count": bisected.compile_count,
        "last_good": asked.names[step.last_good],
        "first_bad": None if step.first_bad is None else asked.names[step.first_bad],
        "unknown": [asked.names[at] for at in step.unknown],
        "points": _records(bisected),
        "notes": list(bisected.notes),
        "compare": bisected.comparison and compare_object(bisected.comparison),
        "findings": [record(finding) for finding in bisected.findings],
    }


def verdict(bisected: Bisected) -> str:
    """Return in a sentence where the step is."""
    asked, step = bisected.asked, bisected.step
    good = printable(asked.names[step.last_good], 80)
    what = f"{METRIC_NAMES[asked.metric]} of {printable(asked.program, 80)}"
    if step.unknown and step.first_bad is not None:
        count, says = counted(len(step.unknown), "point"), _says(step)
        among = "one of " if len(step.unknown) > 1 else ""
        bad = printable(asked.names[step.first_bad], 80)
        fails = bisected.points[step.first_bad].size_bytes is None
        did = f"{printable(asked.program, 80)} fails" if fails else f"{what} moved"
        return f"{asked.axis}: {did} after {good}, at {bad} or at {among}{count} between them that {says} nothing"
    if step.first_bad is None:
        more = f"; {counted(len(step.unknown), 'point')} after it {_says(step)} nothing" if step.unknown else ""
        return f"{asked.axis}: {what} did not move up to {good}{more}"
    before, after = (bisected.points[at] for at in (step.last_good, step.first_bad))
    named = printable(after.name, 80)
    if after.size_bytes is None:
        return f"{asked.axis} {named} is the first that fails: {printable(asked.program, 80)}"
    moved = human_bytes(after.size_bytes - before.size_bytes, signed=True)
    return f"{asked.axis} {named} is the first that moves {what}: {moved}"


def _says(step: Step) -> str:
    return "says" if len(step.unknown) == 1 else "say"


def _points_section(bisected: Bisected) -> Section:
    asked = bisected.asked
    known = len(bisected.points) - bisected.compile_count
    lines = [
        f"{counted(len(asked.names), 'point')} from {printable(asked.names[0], 80)} to "
        f"{printable(asked.names[-1], 80)}: {counted(bisected.compile_count, 'compilation')}"
        + (f", {known} known or not compiled." if known else ".")
    ]
    if bisected.step.first_bad is not None:
        lines.append("Good points take as many bytes as the first. There may be other steps between the ends.")
    lines += [printable(note, 200) for note in bisected.notes]
    return Section("Points", lines, _POINTS, _records(bisected), "points")


def _records(bisected: Bisected) -> list[Record]:
    return [
        {
            "name": point.name,
            "verdict": point.verdict,
            "bytes": point.size_bytes,
            "source": "compiled" if point.is_compiled else f"run {point.run_name}" if point.run_name else None,
            "run_name": point.run_name,
            "seconds": round(point.seconds, 1),
            "seconds_said": f"{point.seconds:.1f}" if point.is_compiled else None,
            "fault": point.fault,
        }
        for _, point in sorted(bisected.points.items())
    ]
