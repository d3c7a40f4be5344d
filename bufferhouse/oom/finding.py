"""A message put together with its dump: what was refused, where the bytes go, and what would have to go to fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import duckdb

from bufferhouse.messages import join, rules
from bufferhouse.messages.figures import nominal
from bufferhouse.messages.message import DONATION, HOST, REPORTED, Message, once
from bufferhouse.messages.rules import Reproduced
from bufferhouse.query.statements import Record, ask
from bufferhouse.whatif.moments import Moments
from bufferhouse.whatif.space import read_space

_PARTS = {"arguments": "parameters", "outputs": "outputs", "temporaries": "temporaries"}
VALUES = 10  # that a finding names


@dataclass(slots=True)
class Finding:
    """One message, explained as far as the dump goes.

    `several` are the dumps that fit it as well as each other: it may be about more than one, and none is taken apart.
    `chosen` says why the dump was taken where others fit as well.
    `doubt` says why the only dump there, or of the module, may be another program's: then it is not taken apart.
    `parts` are bytes by kind, and what of them is padding or fragmentation. `values` are the largest of the
    `value_count` at the peak with their worth: by how much it falls without each; or the first of as many allocations
    that the message lists. `advice` are changes that the dump supports, with the bytes they concern, and the first of
    the `of_count` values that they are about. `alike_count` is how many messages with faults it stands for: they begin
    as it does. `lacks` is the size that failed in the module of the dump, where the dump has no allocation of it.
    """

    message: Message
    capacity_bytes: int | None
    figures: list[Reproduced]
    dump: Record | None
    reason: str | None
    several: Sequence[Record]
    doubt: str | None = None
    parts: dict[str, int] = field(default_factory=dict)
    values: list[Record] = field(default_factory=list)
    value_count: int = 0
    advice: list[Record] = field(default_factory=list)
    alike_count: int = 0
    lacks: str | None = None
    chosen: str | None = None

    @property
    def needed_bytes(self) -> int | None:
        """The bytes that did not fit, where a rule gives them."""
        return next((one.size_bytes for one in self.figures if one.figure == self.message.needed), None)

    @property
    def over_bytes(self) -> int | None:
        """By how many bytes it is too much; of the code of the program, which is in no dump, nothing is counted.

        Where what the dump needs would fit without the code, or the bytes of the capacity are known only as it is
        rounded, it is what the message prints.
        """
        over = self.message.figure("exceeded")
        if None not in (self.needed_bytes, self.capacity_bytes) and (self._is_capacity_exact or over is None):
            more = self.needed_bytes - self.capacity_bytes
            if more > 0 or over is None:
                return more
        return nominal(over.printed) if over else None

    @property
    def is_over_estimate(self) -> bool:
        """Whether `over_bytes` are as rough as the capacity is printed; the message does not say them itself."""
        is_told = self.message.figure("exceeded") is not None
        return self.over_bytes is not None and not (is_told or self._is_capacity_exact)

    @property
    def _is_capacity_exact(self) -> bool:
        return any(one.figure == self.message.limit and one.size_bytes is not None for one in self.figures)


def explain(
    con: duckdb.DuckDBPyConnection | None,
    messages: Iterable[Message],
    candidates: Sequence[Record],
    *,
    has_unread: bool = False,
    is_told: bool = False,
) -> list[Finding]:
    """Return a finding for each message; `candidates` are the dumps (`join.dumps`) that it may be about.

    Messages that say the same have one, and so have those with faults that begin alike: of processes whose lines are
    mixed each says the same with other lines between. `has_unread` is whether there are dumps besides, which could not
    be read; `is_told`, whether the reader was told that no dumps are named, and how to get some.

    Warnings of donations are about no failure: marts.donation_warnings has them.
    """
    findings = []
    for message, alike in _gathered([one for one in once(messages) if one.dialect != DONATION]):
        joined = join.join(con, message, candidates, has_unread=has_unread)
        capacity, figures = rules.capacity_bytes(message), rules.reproduce(message, joined.parts)
        found = Finding(message, capacity, figures, joined.dump, joined.reason, joined.several, alike_count=alike)
        found.chosen = joined.chosen
        if is_told:
            found.reason = "none is named"
        findings.append(found)
    # The sum of what a kernel takes is that of the message alone, and tells no dump.
    summed = [one for one in findings if one.dump and one.message.dialect in rules.SUMS]
    taken = {one.dump["dump_id"] for one in summed if rules.is_explained(one.figures)}
    for finding in findings:
        message, dump = finding.message, finding.dump
        if dump is None:
            if message.is_failure and message.allocations:
                finding.values, finding.value_count = _listed(None, message, None)
            continue
        if message.dialect in ("T5", "T7"):
            is_there = join.has_named(con, message, dump["dump_id"])
            finding.figures = [one if is_there else _unproved(one) for one in finding.figures]
        finding.doubt = _doubt(con, finding, is_taken=dump["dump_id"] in taken)
        # A TPU reserves at once what a program takes, which is no allocation.
        is_sized = message.module and message.dialect in ("G1", "G2") and not message.faults
        if is_sized and not join.has_allocation(con, message, dump["dump_id"]):
            finding.lacks = join.allocated(message)
        if finding.doubt is None:
            _take_apart(con, finding)
    return findings


def _gathered(messages: Sequence[Message]) -> list[tuple[Message, int]]:
    """Return messages, each with how many that have faults begin alike and are left out; it gets their ranks and logs.

    One without faults stands for them, else the one that has most of its lines.
    """
    alike: dict[tuple, list[Message]] = {}
    for message in messages:
        alike.setdefault((message.dialect, message.module, message.lines[0]), []).append(message)
    counts: dict[int, int] = {}
    for group in alike.values():
        first = min(group, key=lambda one: (bool(one.faults), -len(one.lines)))
        left_out = [one for one in group if one.faults and one is not first]
        counts[id(first)] = len(left_out)
        for one in left_out:
            first.ranks = [*dict.fromkeys((*first.ranks, *one.ranks))]
            first.other_logs = [
                *dict.fromkeys(log for log in (*first.other_logs, one.log, *one.other_logs) if log != first.log)
            ]
    return [(one, counts.get(id(one), 0)) for one in messages if not one.faults or id(one) in counts]


def without_message(findings: Iterable[Finding], candidates: Sequence[Record]) -> list[Record]:
    """Return the dumps of programs that did not fit, as files beside them say, and that no failure here is about."""
    failures = [one for one in findings if one.message.is_failure and one.doubt is None]
    said = {dump["dump_id"] for one in failures for dump in (*filter(None, [one.dump]), *one.several)}
    silent = {one["dump_id"]: one for one in candidates if one["has_failed"] and one["dump_id"] not in said}
    return list(silent.values())


_NOT_THE_SUM = "its bytes are not the sum of what was used"


def _doubt(con: duckdb.DuckDBPyConnection, finding: Finding, *, is_taken: bool) -> str | None:
    """Return what speaks against a dump that was taken as the only one there, or the only one of the module.

    `is_taken` is whether the dump explains a message, this one or another.
    """
    message, dump_id = finding.message, finding.dump["dump_id"]
    if message.faults and message.dialect in rules.SUMS:
        is_other = not rules.may_be_of(message, join.parts_of(finding.dump))
    else:
        has_sum = any(one.figure.name in ("used", REPORTED) and one.found_bytes is not None for one in finding.figures)
        is_other = has_sum and not rules.is_explained(finding.figures)
    if message.module:
        # A module of other sizes has the same name. Of one that failed a newer compiler may add up otherwise.
        if not (is_other and message.is_failure):
            return None
        if is_taken:
            return f"{_NOT_THE_SUM}, but the sum of what another message says"
        return None if finding.dump["has_failed"] else f"{_NOT_THE_SUM}, and no file beside it says that it failed"
    if is_other:
        return _NOT_THE_SUM
    if message.allocations and not join.has_any(con, message, dump_id):
        return "it has none of the allocations that the message lists"
    if message.dialect in ("T5", "T6", "T7") and not message.allocations:
        wanted = join.named(message)
        if wanted is None:
            return "the message names nothing that could be compared with it"
        if not join.has_named(con, message, dump_id):
            return f"it does not have {wanted}"
    if message.dialect in join.SIZES and not join.has_allocation(con, message, dump_id):
        return f"it has no allocation of {join.allocated(message)}"
    return None


def _unproved(one: Reproduced) -> Reproduced:
    """Return a figure of one value as the message alone proves it, where the dump has no such value."""
    return one._replace(rule="as printed; the dump has no such value") if one.is_reproduced else one


def _take_apart(con: duckdb.DuckDBPyConnection, finding: Finding) -> None:
    dump_id, parts = finding.dump["dump_id"], finding.dump
    if not finding.message.is_failure or finding.message.memory_space == HOST:
        return
    if not finding.message.is_of_default_space:
        finding.values, finding.value_count = _listed(con, finding.message, dump_id)
        return
    at_peak = ask(con, "oom_values", dump_id=dump_id, memory_space=0).records
    moments = Moments(read_space(con, dump_id))
    rows, peak = moments.space.rows, moments.line.peak
    finding.values = [
        {**one, "worth_bytes": peak - moments.without(rows[one["value_id"]])}
        for one in at_peak[:VALUES]
        if one["value_id"] in rows
    ]
    finding.value_count = len(at_peak)
    finding.parts = {name: parts[part] for name, part in _PARTS.items()}
    if parts["other_spaces"]:
        finding.parts["other memory spaces"] = parts["other_spaces"]
    if at_peak:  # else the dump has no live ranges, and nothing is known of a peak
        temporaries = sum(one["bytes"] for one in at_peak if one["kind"] == "temp")
        finding.parts["padding"] = sum(one["padding_bytes"] for one in at_peak)
        finding.parts["fragmentation"] = max(parts["temporaries"] - temporaries, 0)
    finding.advice = _advice(con, finding, at_peak)


def _listed(con: duckdb.DuckDBPyConnection | None, message: Message, dump_id: int | None) -> tuple[list[Record], int]:
    """Return the first allocations that a message lists, and how many it lists.

    With each comes the line of code of its instruction from the dump, if any.
    """
    listed = message.allocations or [None]
    found = []
    for one in listed[:VALUES]:
        name = (one and one.instruction) or message.instruction
        known = ask(con, "oom_instruction", dump_id=dump_id, instruction=name or "").records if con is not None else []
        size = one.size if one else next(
            (message.figure(name).printed for name in ("allocation", "scoped_size") if message.figure(name)), None
        )  # fmt: skip
        found.append(
            {
                "instruction": name,
                "shape": (one and one.shape) or message.shape,
                "bytes": nominal(size) if size else None,
                "tag": (one and one.tag) or message.tag,
                "op_name": known[0]["op_name"] if known else one and one.op_name,
                "source": known[0]["source"] if known else None,
            }
        )
    return found, len(listed)


def _advice(con: duckdb.DuckDBPyConnection, finding: Finding, at_peak: Sequence[Record]) -> list[Record]:
    """Return the changes that the dump supports, the largest first: what they concern, never a promise."""
    candidates = ask(con, "oom_donations", dump_id=finding.dump["dump_id"]).records
    temporaries = [record for record in at_peak if record["kind"] == "temp"]
    kept = [
        one
        for one in temporaries
        if one["op_name"] and "jvp(" in one["op_name"] and "transpose(" not in one["op_name"] and one["positions"] > 2
    ]
    wide = [one for one in temporaries if one["shape"].startswith(("f32", "f64"))]
    padded = [one for one in at_peak if one["padding_bytes"] * 4 > one["size_bytes"]]
    found = [
        ("donation", "an output of its shape takes the place of the argument (donate_argnums in JAX)",
         sum(one["size_bytes"] for one in candidates), [f"parameter {one['parameter_number']}" for one in candidates]),
        ("rematerialization", "jax.checkpoint: values of the forward pass that wait for the backward pass",
         sum(one["bytes"] for one in kept), [one["value_name"] for one in kept]),
        ("dtype", "bfloat16 for f32, f32 for f64: half of the bytes of these temporaries",
         sum(one["bytes"] for one in wide) // 2, [one["value_name"] for one in wide]),
        ("layout", "another order of dimensions, or larger minor ones: fewer bytes that tiles add",
         sum(one["padding_bytes"] for one in padded), [one["value_name"] for one in padded]),
        ("sharding", "over n devices arguments that are split take 1/n each",
         finding.parts.get("arguments", 0), []),
    ]  # fmt: skip
    least = (finding.over_bytes or 0) // 100
    told = [
        {"kind": kind, "change": change, "bytes": size, "of": names[:VALUES], "of_count": len(names)}
        for kind, change, size, names in found
        if size > least
    ]
    return sorted(told, key=lambda one: -one["bytes"])


def record(finding: Finding) -> Record:
    """Return a finding as JSON knows it."""
    message, dump = finding.message, finding.dump
    return {
        "dialect": message.dialect,
        "memory_space": message.memory_space,
        "module": message.module or (dump["module_name"] if dump and not finding.doubt else None),
        "log": message.log,
        "line": message.line_number,
        "dump": dump["source_uri"] if dump else None,
        "reason": finding.reason,
        "chosen": finding.chosen,
        "doubt": finding.doubt,
        "lacks": finding.lacks,
        "is_failure": message.is_failure,
        "capacity_bytes": finding.capacity_bytes,
        "over_bytes": finding.over_bytes,
        "is_over_estimate": finding.is_over_estimate,
        "ranks": message.ranks,
        "other_logs": message.other_logs,
        "faults": message.faults,
        "alike_count": finding.alike_count,
        "figures": [
            {
                "name": one.figure.name,
                "printed": one.figure.printed,
                "bytes": one.size_bytes,
                "rule": one.rule,
                "is_reproduced": one.is_reproduced,
                "found_bytes": one.found_bytes,
            }
            for one in finding.figures
        ],
        "parts": finding.parts,
        "values": finding.values,
        "value_count": finding.value_count,
        "advice": finding.advice,
    }
