"""Two runs as one HTML page: what changed in which program and why, what is new, what is gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bufferhouse.compare.compare import UNCHANGED, AtPeaks
from bufferhouse.compare.pairing import RESHAPED
from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.records import key_of, match_records, unmatched_records
from bufferhouse.report.compare.sections import (
    METRIC_NAMES,
    compare_sections,
    notes,
    place_key,
    subtitle,
    title,
)
from bufferhouse.report.compare.waterfall import STEPS, axis_said, waterfall_chart, waterfall_records
from bufferhouse.report.html.charts import Chart, change_chart
from bufferhouse.report.html.frame import Frame
from bufferhouse.report.html.page import page
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import human_bytes, printable, space_title
from bufferhouse.report.text.sections import Section

LISTED = 200  # values of a program at its peaks: of five programs a page stays small
_CAUSES, _MATCHED, _ALONE = "compare_causes", "compare_matches", "compare_unmatched"  # answers
_NAME = 40  # characters of an instruction
_MATCHES = [
    Column("before_instruction", "before", limit=_NAME),
    Column("after_instruction", "after", limit=_NAME),
    Column("difference_bytes", "difference", "change"),
    Column("before_owned_bytes", "owned before", "bytes"),
    Column("after_owned_bytes", "owned after", "bytes"),
    Column("before_slot_bytes", "slot before", "bytes"),
    Column("after_slot_bytes", "slot after", "bytes"),
    Column("shape", "shape"),
    Column("before_start_position", "from, before", "count"),
    Column("before_end_position", "to, before", "count"),
    Column("after_start_position", "from, after", "count"),
    Column("after_end_position", "to, after", "count"),
    Column("tier", "matched by"),
]
_UNMATCHED = [
    Column("instruction", "instruction", limit=_NAME),
    Column("side", "at the peak"),
    Column("difference_bytes", "difference", "change"),
    Column("slot_bytes", "slot", "bytes"),
    Column("shape", "shape"),
    Column("start_position", "from", "count"),
    Column("end_position", "to", "count"),
    Column("cause_label", "cause"),
    Column("like_instruction", "on the other side", limit=_NAME),
    Column("like_memory_space", "memory space there", "count"),
    Column("like_start_position", "from there", "count"),
    Column("like_end_position", "to there", "count"),
    Column("tier", "found by"),
]


@dataclass(frozen=True, slots=True)
class _Part:
    """A section, its chart with a line about it, and the values at the peaks of a program that the section explains."""

    section: Section
    chart: Chart | None
    about: str
    at_peaks: Sequence[Section] = ()


def compare_page(
    comparison: Comparison,
    frame: Frame | None = None,
    links: Sequence[tuple[str, str]] = (),
    *,
    by: Sequence[str] = (),
) -> str:
    """Return the whole page; in a site with `links` to other pages, and without the records of unchanged programs.

    `by` adds tables as in `compare_text`.
    """
    made: dict[str, list[Record]] = {STEPS: [], _MATCHED: [], _ALONE: []}
    sections = [_part(section, comparison, made) for section in compare_sections(comparison, by=by)[1:]]
    name, loads = title(comparison), [side["loaded_at"] for side in (comparison.before, comparison.after)]
    answers = comparison.answers
    if frame:
        shown = [row for row in comparison.programs if row["status"] != UNCHANGED]
        answers = answers | {"compare_programs": Answer.of(shown)}
    return page(
        "compare.html",
        f"Memory of two runs: {name}",
        answers | {source: Answer.of(records) for source, records in made.items() if records},
        **comparison.provenance,
        loaded_at=max(filter(None, loads), default=None),
        shared_texts=(_CAUSES, *made, *(["compare_programs"] if frame else [])),
        frame=frame,
        links=links,
        name=name,
        subtitle=subtitle(comparison),
        notes=notes(comparison),
        sections=sections,
    )


def _part(section: Section, comparison: Comparison, made: dict[str, list[Record]]) -> _Part:
    """Return a section with what the page shows beside it; records that no answer has yet go into `made`."""
    metric = METRIC_NAMES[comparison.metric]
    if section.source != _CAUSES:
        is_changed = section.where.get("status") in (RESHAPED, "changed")
        chart = change_chart(section.records, section.where, section.title) if is_changed else None
        return _Part(section, chart, f"Change of {metric}.")
    key = key_of(section.where)
    row = comparison.by_key[key]
    steps = waterfall_records(section.where, row, section.records)
    made[STEPS] += steps
    chart = waterfall_chart(steps, section.where, section.title)
    about = f"{axis_said(chart)}{metric.capitalize()} before and after, cause by cause."
    at_peaks = next(one.at_peaks for one in comparison.rows if one.key == key)
    if at_peaks is None:
        return _Part(section, chart, about)
    values = _at_peaks(row, section.where, at_peaks)
    for one in values:
        made[one.source] += one.records
    return _Part(section, chart, about, values)


def _at_peaks(row: Record, where: Mapping[str, Any], at_peaks: AtPeaks) -> list[Section]:
    """Return the values of a program side by side, and those at one of the peaks only: of each the first, if any.

    `row` is the record of `compare_programs`.
    """
    matched, alone = match_records(where, at_peaks), unmatched_records(where, at_peaks)
    differing = sum(bool(one["difference_bytes"]) for one in matched)
    befores = sum(one["side"] == "before" for one in alone)
    of = f"{printable(row['program_label'], 80)} in {space_title(row['platform'], row['memory_space'])}"
    lines = [
        f"{counted(len(matched), 'pair')} of values at both peaks, the biggest differences first: {differing:,} with "
        f"different bytes, {len(matched) - differing:,} with equal bytes. A shared byte is owned by one value.",
        *_left(matched, "after_owned_bytes"),
    ]
    lines_alone = [
        f"{counted(befores, 'value')} of the peak before and {len(alone) - befores:,} of the peak after without a "
        "partner at the other peak. Their differences and those of the matched values sum to the change of the peak.",
        *_left(alone, "difference_bytes"),
    ]
    key = place_key(row)
    sections = (
        Section(f"Matched at the peaks of {of}", lines, _MATCHES, matched[:LISTED], f"matched-{key}", _MATCHED, where),
        Section(f"Unmatched at the peaks of {of}", lines_alone, _UNMATCHED, alone[:LISTED], f"unmatched-{key}", _ALONE,
                where),
    )  # fmt: skip
    return [one for one in sections if one.records]


def _left(records: Sequence[Record], column: str) -> list[str]:
    """Return the sentence about the rows that the page leaves out."""
    left = records[LISTED:]
    if not left:
        return []
    differing = sum(bool(one["difference_bytes"]) for one in left)
    size = human_bytes(sum(abs(one[column]) for one in left))
    return [
        f"The page lists the first {LISTED} and leaves out {len(left):,} with {size}; {differing:,} of these differ."
    ]
