"""What edits do, and what each is worth, on a terminal, in Markdown and as JSON."""

from collections.abc import Sequence

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import bytes_form, exact_bytes, human_bytes, printable, space_title
from bufferhouse.report.text.screen import report_text
from bufferhouse.report.text.sections import Section, plain_json
from bufferhouse.report.whatif.data import Change, Savings, Subject
from bufferhouse.whatif.fitting import Fit, read_size
from bufferhouse.whatif.outcome import Outcome
from bufferhouse.whatif.plan import Applied
from bufferhouse.whatif.ranking import MOST, Group, Worth

SHOWN = 20  # edits and groups
_BYTES = [
    Column("name", ""),
    Column("before", "before", "bytes"),
    Column("after", "after", "bytes"),
    Column("change", "change", "change"),
]
_EDITS = [
    Column("kind", "edit"),
    Column("name", "value"),
    Column("shape", "shape", limit=40, rank=2),
    Column("label", "label"),
    Column("why", "why", limit=110, rank=1, is_prose=True),
]
_WORTHS = [
    Column("worth_bytes", "worth", "bytes"),
    Column("kind", "edit"),
    Column("name", "value"),
    Column("shape", "shape", limit=36, rank=2),
    Column("size_bytes", "slot", "bytes", rank=1),
    Column("label", "label"),
    Column("peak_position", "then peak at", "count", rank=3),
    Column("op_name", "op_name", limit=60, rank=4),
    Column("source", "source", limit=40, rank=1),
]
_GROUPS = [
    Column("worth_bytes", "worth", "bytes"),
    Column("name", "values of", limit=80),
    Column("value_count", "values", "count"),
    Column("size_bytes", "slots", "bytes", rank=1),
    Column("peak_position", "then peak at", "count", rank=2),
]


def change_text(change: Change, form: str, *, exact: bool = False) -> str:
    """Return what edits do as table, markdown or json; `exact` writes all bytes to the byte."""
    subject, outcome = change.subject, change.outcome
    if form == "json":
        return plain_json({**about(subject, outcome), "edits": [edit_record(subject, one) for one in outcome.applied],
                           **({"fit": _fit_record(change, change.fit)} if change.fit else {})})  # fmt: skip
    return report_text(change_title(change), change_sections(change), form, exact=exact)


def change_title(change: Change) -> str:
    """Return the title of a change: the program and the memory space."""
    return f"What if: {_title(change.subject)}"


def change_sections(change: Change) -> list[Section]:
    """Return the sections with the bytes before and after, with notes, and with the edits."""
    rows = [edit_record(change.subject, one) for one in change.outcome.applied]
    sections = [Section("", change_lines(change), _BYTES, _bytes_rows(change.outcome), "bytes")]
    return [*sections, _some("Edits", _EDITS, rows)] if rows else sections


def savings_text(savings: Savings, form: str, *, exact: bool = False) -> str:
    """Return what each edit alone is worth, in the same forms."""
    subject, ranking = savings.subject, savings.ranking
    worths = [worth_record(subject, one) for one in ranking.worths]
    groups = [_group_record(one) for one in ranking.groups]
    if form == "json":
        best = worths[0] if worths else None
        return plain_json(
            {**about(subject, savings.outcome()), "edits": worths, "groups": groups, "after_edit": _edit_word(best)}
        )
    lines = [
        f"The peak is {bytes_form(exact=exact)(ranking.peak_bytes)} at position {ranking.position:,}."
        if ranking.position is not None else "No value is alive at any moment.",
        "Worth is how far the occupied peak falls with one edit alone. The next highest moment limits it. Edits do not "
        "add up; whatif computes several together.",
    ]  # fmt: skip
    if not worths and savings.kinds:
        lines.append(f"No {' or '.join(savings.kinds)} of one value lowers the peak; other kinds of edit may.")
    elif not worths and ranking.position is not None:
        lines.append("No edit of one value lowers the peak: it is reached more than once.")
    sections = [Section("", lines), _some("Edits", _WORTHS, worths)]
    for by, title in (("op_name", "Without all values of one op_name"), ("line", "Without all values of one line")):
        members = [one for one in groups if one["by"] == by]
        if members:
            sections.append(_some(title, _GROUPS, members))
    return report_text(f"Savings: {_title(subject)}", sections, form, exact=exact)


def about(subject: Subject, outcome: Outcome) -> Record:
    """Return what JSON says of a subject, and of its bytes before and after."""
    before, after = outcome.before, outcome.after
    return {
        "program": subject.dump["program_name"],
        "run": subject.dump["run_name"],
        "memory_space": subject.space.memory_space,
        "before": {
            "occupied_bytes": before.occupied_bytes,
            "arena_bytes": before.arena_high_bytes,
            "reserved_bytes": before.reserved_high_bytes,
        },
        "after": {
            "occupied_bytes": after.occupied_bytes,
            "arena_low_bytes": after.arena_low_bytes,
            "arena_high_bytes": after.arena_high_bytes,
            "reserved_low_bytes": after.reserved_low_bytes,
            "reserved_high_bytes": after.reserved_high_bytes,
            "host_bytes": after.host_bytes,
            "packer": after.packer,
            "is_cut": after.is_cut,
        },
    }


def edit_record(subject: Subject, one: Applied) -> Record:
    """Return what JSON says of an edit of one value; `value` is its name, None for a whole schedule."""
    c, row = subject.space.columns, one.row
    name = None if row is None else subject.space.name(row)
    return {
        "kind": one.edit.kind,
        "value": name,
        "label": one.label,
        "why": one.why,
        "argument": one.edit.argument or None,
        "value_id": None if row is None else c["value_id"][row],
        "shape": None if row is None else c["shape"][row],
        "size_bytes": None if row is None else c["size_bytes"][row],
        "name": name or "the whole schedule",
    }


def worth_record(subject: Subject, one: Worth) -> Record:
    """Return what JSON says of an edit and its worth; `peak_position` is where the peak is then."""
    c, row = subject.space.columns, one.applied.row
    return {
        **edit_record(subject, one.applied),
        "worth_bytes": one.worth_bytes,
        "peak_position": one.position,
        "op_name": c["op_name"][row],
        "source": c["source"][row],
    }


def _edit_word(record: Record | None) -> str | None:
    """Return an edit of one value as `whatif --edit` reads it; None for none."""
    if record is None:
        return None
    return ":".join(filter(None, (record["kind"], f"#{record['value_id']}", record["argument"])))


def _group_record(one: Group) -> Record:
    return {
        "by": one.by,
        "name": one.name,
        "value_count": len(one.rows),
        "size_bytes": one.slot_bytes,
        "worth_bytes": one.worth_bytes,
        "peak_position": one.position,
    }


def _fit_record(change: Change, found: Fit) -> Record:
    return {
        "capacity_bytes": change.capacity_bytes,
        "other_spaces_bytes": change.other_bytes,
        "fits": change.fits,
        "is_refused": change.is_refused,
        "is_estimate": _is_estimate(change.outcome) or found.is_guess,
        "is_minimal": found.is_minimal,
        "may_fit": found.may_fit,
        "fewer_may_fit": found.fewer_may_fit,
        "bound_bytes": found.bound_bytes,
    }


def _title(subject: Subject) -> str:
    name = printable(subject.dump["program_name"], 100)
    return f"{name}, {space_title(subject.dump['platform'], subject.space.memory_space)}"


def change_lines(change: Change) -> list[str]:
    """Return where the dump is, whether it fits, and what a reader must know of the bounds."""
    subject, found = change.subject, change.fit
    lines = [f"run {printable(subject.dump['run_name'], 80)}, {printable(subject.dump['relative_path'], 200)}"]
    if change.other_bytes:
        lines.append(
            f"Its other memory spaces lie in the same memory and take {human_bytes(change.other_bytes)} of "
            f"{capacity_said(change.capacity_bytes)}: this one must fit into the rest."
        )
    if change.is_refused:
        lines.append(
            f"Its allocations fit into {capacity_said(found.capacity_bytes)} as they are. Yet it did not fit where it "
            "was compiled, as files beside its dump or a message of its run say: see bufferhouse oom."
        )
    elif found is not None:
        lines.append(_verdict(found, is_estimate=_is_estimate(change.outcome)))
        if found.fits and subject.space.memory_space and subject.dump["platform"] == "tpu":
            lines.append(
                "What kernels take of this memory space while they run is in no dump: it may not fit all the same."
            )
        if not found.fits:
            lines.append(f"Kinds of edit that were tried: {', '.join(change.means)}; --means allows others.")
    if change.outcome.after.is_cut:
        lines.append(
            "The packer's search was cut short: the arena lies between its bounds, and may be smaller than the upper."
        )
    return lines


def capacity_said(size: int) -> str:
    """Return a capacity in the largest unit, and to the byte where that is not what was asked."""
    said = human_bytes(size)
    return said if read_size(said) == size else f"{said} ({exact_bytes(size)})"


def _is_estimate(outcome: Outcome) -> bool:
    return any(one.label == "estimate" for one in outcome.applied)


def _verdict(found: Fit, *, is_estimate: bool) -> str:
    capacity = capacity_said(found.capacity_bytes)
    if found.fits and not found.edits:
        return f"It fits into {capacity} as it is."
    if found.fits:
        it_fits = "By estimate it fits" if is_estimate else "It fits"
        return f"{it_fits} into {capacity} with {counted(len(found.edits), 'edit')}.{_least(found)}"
    it_cannot, anew = "It cannot", ""
    if found.is_guess:
        it_cannot = "By estimate it cannot"
        anew = " The compiler schedules the changed program anew, and may do better."
    if found.bound_bytes > found.capacity_bytes:
        return (
            f"{it_cannot} fit into {capacity} with these kinds of edit: even with all of them together it takes at "
            f"least {exact_bytes(found.bound_bytes)}.{anew}"
        )
    if found.is_minimal:
        return f"{it_cannot} fit into {capacity} with these kinds of edit: every set of edits was tried.{anew}"
    if found.may_fit:
        return (
            f"No set of edits is sure to fit into {capacity}; some may, where the compiler does better than the bounds."
        )
    return f"No set of edits was found that fits into {capacity}; not all were tried."


def _least(found: Fit) -> str:
    """Return a sentence about smaller sets than the one that fits; nothing of one edit, as only none is fewer."""
    if len(found.edits) == 1:
        return ""
    if not found.is_minimal:
        return " It is not proved that no smaller set does."
    if found.fewer_may_fit:
        return " No set of fewer values is sure to; some may, where the compiler does better than the bounds."
    return " No set of fewer values does."


def _bytes_rows(outcome: Outcome) -> list[Record]:
    before, after = outcome.before, outcome.after
    # In any schedule only the least is known: the one that the compiler chooses may take more.
    is_least = any(one.edit.kind == "reschedule" for one in outcome.applied)
    peak = "occupied at the peak, at least" if is_least else "occupied at the peak"
    rows: list[tuple[str, int, int]] = [(peak, before.occupied_bytes, after.occupied_bytes)]
    rows += _between("arena", before.arena_high_bytes, after.arena_low_bytes, after.arena_high_bytes)
    rows += _between("other allocations", before.other_bytes, after.other_bytes - after.fading_bytes, after.other_bytes)
    rows += _between("reserved", before.reserved_high_bytes, after.reserved_low_bytes, after.reserved_high_bytes)
    if after.host_bytes:
        rows.append(("on the host", before.host_bytes, after.host_bytes))
    return [{"name": name, "before": old, "after": new, "change": new - old} for name, old, new in rows]


def _between(name: str, before: int, low: int, high: int) -> list[tuple[str, int, int]]:
    if low == high:
        return [(name, before, low)]
    return [(f"{name}, at least", before, low), (f"{name}, at most", before, high)]


def _some(title: str, columns: Sequence[Column], records: Sequence[Record]) -> Section:
    """Return a section with the first records, and how many there are; of a ranking no more than MOST are known."""
    count, has = (f"the {MOST} best", "them") if len(records) == MOST else (len(records), "all")
    more = f"The first {SHOWN} of {count}; --format json has {has}."
    return Section(title, [more] if len(records) > SHOWN else (), columns, records[:SHOWN])
