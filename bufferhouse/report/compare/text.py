"""Two runs as text: on a terminal, in Markdown, as JSON."""

from collections.abc import Sequence

from bufferhouse.compare.gate import Verdict
from bufferhouse.config.threshold import Threshold
from bufferhouse.query.statements import Record
from bufferhouse.report.compare.data import Comparison
from bufferhouse.report.compare.gate import gate_object, gate_sections, github_text
from bufferhouse.report.compare.records import OF_THE_PROGRAM, key_of
from bufferhouse.report.compare.sections import compare_sections, notes, rollup_section, title
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import plain_json


def compare_text(
    comparison: Comparison,
    form: str,
    *,
    by: Sequence[str] = (),
    exact: bool = False,
    gate: tuple[Verdict, Threshold] | None = None,
) -> str:
    """Return the comparison in a form of `sections.FORMATS`; `exact` writes all bytes to the byte.

    `by` adds a table of all changes for each of the groupings, which are among `rollup.GROUPINGS`. `gate` adds the
    verdict of a gate with that limit, and allows the form `github`, too.
    """
    if gate and form == "github":
        return github_text(comparison, *gate, exact=exact)
    if form == "json":
        judged = {"gate": gate_object(comparison, *gate)} if gate else {}
        return plain_json({**compare_object(comparison, by=by), **judged})
    # The gate explains what failed it.
    explain = comparison.records(gate[0].offenders) if gate and gate[0].offenders else None
    first, *others = compare_sections(comparison, by=by, exact=exact, explain=explain)
    judged = gate_sections(comparison, *gate, exact=exact) if gate else []
    return report_text(title(comparison), [first, *judged, *others], form, exact=exact)


def compare_object(comparison: Comparison, *, by: Sequence[str] = ()) -> Record:
    """Return the comparison as one object of lists and numbers, for machines.

    `programs` has one entry for each pair of dumps and memory space, with its `causes`, whose `bytes` sum to
    `delta_bytes`; `totals` has one for each memory space, over the programs that are in both runs. `notes` are the
    warnings of the text, such as two kinds of device or pairs that may be wrong. `flags` has the options of the
    compilations that differ, `lost_donations` the donations that were taken before and are not any more. `part` of a
    run says which of its dumps were compared; null is all.
    """
    return {
        **comparison.provenance,
        "before": {**comparison.before, "part": comparison.before.get("part")},
        "after": {**comparison.after, "part": comparison.after.get("part")},
        "metric": comparison.metric,
        "relevance": comparison.relevant._asdict(),
        "notes": notes(comparison),
        "flags": list(comparison.flags),
        "lost_donations": list(comparison.lost_donations),
        "programs": with_causes(comparison.programs, comparison.causes),
        "totals": comparison.totals,
        **{f"by_{key}": section.records for key, section in zip(by, rollup_section(comparison, by), strict=True)},
    }


def with_causes(programs: Sequence[Record], causes: Sequence[Record]) -> list[Record]:
    """Return the records of programs, each with its causes."""
    by_key: dict[tuple, list[Record]] = {}
    for one in causes:
        about = {name: value for name, value in one.items() if name not in OF_THE_PROGRAM}
        cause = {"cause": about.pop("cause"), "bytes": about.pop("cause_bytes"), **about}
        by_key.setdefault(key_of(one), []).append(cause)
    return [{"module_name": row["program_name"], **row, "causes": by_key.get(key_of(row), [])} for row in programs]
