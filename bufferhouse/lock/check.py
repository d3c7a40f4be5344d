"""Dumps compared with a lock: rows as `compare` makes them, which its gate judges, with causes that sum to each change.

A lock holds the largest sites of a peak, not all values. These sites have causes; all other sites are one sum.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from bufferhouse.compare import causes
from bufferhouse.compare.compare import CHANGED, GONE, NEW, UNCHANGED, Compared
from bufferhouse.compare.functions import join
from bufferhouse.compare.gate import Verdict, judge
from bufferhouse.compare.groups import by
from bufferhouse.compare.pairing import RESHAPED, Dump, Pair
from bufferhouse.compare.sizes import Sizes, metric_bytes
from bufferhouse.compare.tiers import phase_and_primitive
from bufferhouse.config.threshold import Threshold
from bufferhouse.lock.entry import PEAK_SITES, Entry, Lock, Site, Space
from bufferhouse.query.statements import Record
from bufferhouse.sources.flags import differing

METRICS = ("reserved", "occupied")
ANY_GROWTH = Threshold(0.0, 1)
DONATION_LOST = "donation lost"
_DIMENSIONS = re.compile(r"\[[^\]]*\]")
_NOTHING = Space(0, 0, 0, 0, 0, 0, 0, 0, 0)
_sizes = attrgetter(
    "reserved_bytes", "occupied_peak_bytes", "layout_padding_bytes", "parameter_bytes", "output_bytes", "temp_bytes",
    "constant_bytes",
)  # fmt: skip


class Moved(NamedTuple):
    """Some bytes of a change: the cause, and the operation and line of the values concerned."""

    cause: str
    size_bytes: int
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Dumps compared with a lock.

    `rows` are all memory spaces of all programs, in the order of `compare`: `before` is the lock. `entries` are those
    of the lock and of the dumps, by the dump_ids of the pairs, which are numbers of this comparison alone. `donations`
    are, by the key of a row, the bytes of parameters on which outputs were placed and are no longer placed.
    """

    before: Lock
    after: Lock
    metric: str
    rows: Sequence[Compared]
    entries: dict[int, Entry]
    donations: dict[tuple, int]

    @property
    def absent_chips(self) -> dict[str, int]:
        """The chips of the lock for which there are no dumps, with the number of programs that were not compared."""
        there = self.after.chips
        return dict(Counter(entry.chip for entry in self.before.entries.values() if entry.chip not in there))


class Judged(NamedTuple):
    """The verdict of the gate about dumps that are compared with a lock, and what the gate does not judge.

    `unknown` are programs that the lock does not hold, `shrunk` those that take less than the lock says, `gone` those
    without a dump. `undonated` lost donations over the limit without growing: at their end their outputs take memory
    beside their arguments. `refused` are dumps that could not be read. `unjudged` are programs of both sides for which
    one side lacks the bytes of the metric, or whose dump has allocations alone, as one does that was cut short.
    `joined` are those that the lock holds under another name or signature, except those that grew.
    `within_limit` are all others that grew, by less than the limit.
    """

    verdict: Verdict
    unknown: Sequence[Compared]
    shrunk: Sequence[Compared]
    gone: Sequence[Compared]
    undonated: Sequence[Compared]
    refused: Sequence[str]
    unjudged: Sequence[Compared]
    joined: Sequence[Compared]
    within_limit: Sequence[Compared]

    @property
    def is_passed(self) -> bool:
        """Whether nothing grew too far, no donation was lost, all programs are in the lock, and all bytes are known."""
        return self.verdict.is_passed and not (self.unknown or self.undonated or self.refused or self.unjudged)


def hold(lock: Lock, dumps: Lock, *, metric: str = "reserved", outputs: dict[int, list[Site]] | None = None) -> Held:
    """Compare dumps with a lock; chips without dumps have no rows: they are `absent_chips`.

    `outputs` are, by dump_id, the sites of outputs with memory of their own: they give the lines of lost donations.
    """
    entries: dict[int, Entry] = {}
    pairs: list[Pair] = []
    for chip in dumps.chips:
        sides = []
        for side in (lock, dumps):
            own = [entry for entry in side.entries.values() if entry.chip == chip]
            numbers = range(len(entries) + 1, len(entries) + len(own) + 1)
            entries.update(zip(numbers, own, strict=True))
            sides.append({entry.program_id: _dump(number, entry) for number, entry in zip(numbers, own, strict=True)})
        pairs += _paired(*sides, entries)
    rows: list[Compared] = []
    donations: dict[tuple, int] = {}
    for pair in pairs:
        before, after = (entries[dump.dump_id] if dump else None for dump in pair[:2])
        sites = (outputs or {}).get(after.dump_id, []) if after and after.dump_id else []
        for row, lost in _rows(pair, before, after, metric, sites):
            rows.append(row)
            if lost:
                donations[row.key] = lost
    return Held(lock, dumps, metric, sorted(rows, key=_order), entries, donations)


def less_donated(lock: Lock, dumps: Lock) -> list[Entry]:
    """Return the entries of dumps with fewer bytes of donated parameters than the lock says."""
    donated = {key: sum(space.donated_bytes for space in entry.spaces) for key, entry in lock.entries.items()}
    return [
        entry
        for key, entry in dumps.entries.items()
        if sum(space.donated_bytes for space in entry.spaces) < donated.get(key, 0)
    ]


def judge_held(held: Held, limit: Threshold = ANY_GROWTH, reshaped: str = "fail") -> Judged:
    """Return what the gate says about rows that grew over a limit, and the rows that it does not judge."""
    both = [row for row in held.rows if row.status not in (NEW, GONE)]
    known = [row for row in both if not may_be_cut(held, row)]
    # A program that takes bytes in another memory space than before is not new: it grew from nothing there.
    verdict = judge(known, limit, reshaped=reshaped)
    grown = {row.key for row in (*verdict.offenders, *verdict.warned)}
    undonated = [
        row
        for row in known
        if row.key not in grown and limit.is_crossed(row.before_bytes or 0, held.donations.get(row.key, 0))
    ]
    joined = [row for row in known if row.pair.change and row.key not in grown]
    told = grown.union(row.key for row in (*undonated, *joined))
    return Judged(
        verdict,
        [row for row in held.rows if row.status == NEW],
        [row for row in known if (row.delta_bytes or 0) < 0],
        [row for row in held.rows if row.status == GONE],
        undonated,
        held.after.refused,
        [row for row in both if row.is_unknown or may_be_cut(held, row)],
        joined,
        [row for row in known if (row.delta_bytes or 0) > 0 and row.key not in told],
    )


def may_be_cut(held: Held, row: Compared) -> bool:
    """Return whether the dump of a program has allocations alone, where the lock knows its peak."""
    before, after = (held.entries[dump.dump_id] if dump else None for dump in row.pair[:2])
    return before is not None and after is not None and before.has_peak and after.has_allocations_alone


def _dump(number: int, entry: Entry) -> Dump:
    return Dump(number, entry.program_id, entry.function, entry.platform, entry.chip, 1, entry.signature)


def _paired(before: dict[int, Dump], after: dict[int, Dump], entries: dict[int, Entry]) -> list[Pair]:
    pairs = [
        Pair(before.get(program_id), after.get(program_id), False) for program_id in dict.fromkeys([*before, *after])
    ]
    return join(pairs, lambda numbers: {number: _op_names(entries[number]) for number in numbers})


def _op_names(entry: Entry) -> Counter[str]:
    names: Counter[str] = Counter()
    for space in entry.spaces:
        for site in space.sites[:PEAK_SITES]:
            if site.op_name:
                names[site.op_name] += site.value_count
    return names


def _rows(
    pair: Pair, before: Entry | None, after: Entry | None, metric: str, outputs: Sequence[Site]
) -> Iterable[tuple[Compared, int]]:
    olds, news = ({space.memory_space: space for space in side.spaces} if side else {} for side in (before, after))
    for number in sorted({*olds, *news}) or [0]:
        old = None if before is None else olds.get(number, replace(_NOTHING, memory_space=number))
        new = None if after is None else news.get(number, replace(_NOTHING, memory_space=number))
        sizes = [Sizes(*_sizes(space)) if space else None for space in (old, new)]
        size_bytes = [metric_bytes(one, metric) if one else None for one in sizes]
        status = NEW if old is None else GONE if new is None else UNCHANGED if old.figures == new.figures else CHANGED
        row = Compared(pair, number, pair.change or status, None, *sizes, *size_bytes)
        lost = 0
        if old and new and row.delta_bytes is not None and old.figures != new.figures:
            lost = min(max(old.donated_bytes - new.donated_bytes, 0), max(new.output_bytes - old.output_bytes, 0))
            lost = 0 if pair.change == RESHAPED else lost  # a renamed program returns the same outputs as before
            found = _causes(old, new, metric, lost, outputs, is_reshaped=pair.change is not None)
            row = replace(row, causes=sorted(found, key=lambda one: -abs(one.size_bytes)))
        yield row, lost


def _causes(
    old: Space, new: Space, metric: str, lost: int, outputs: Sequence[Site], *, is_reshaped: bool
) -> list[Moved]:
    """Return causes whose bytes sum to the change of the metric."""
    if old.occupied_peak_bytes is None or new.occupied_peak_bytes is None:
        return [Moved(causes.NO_LIVE_RANGES, new.reserved_bytes - old.reserved_bytes)]
    found = list(_at_the_peak(old, new, is_reshaped))
    if metric == "reserved":
        delta = new.reserved_bytes - old.reserved_bytes
        occupied = new.occupied_peak_bytes - old.occupied_peak_bytes
        found.append(Moved(causes.PACKING, delta - occupied))
        if lost:
            found = _with_donations(found, lost, outputs)
    return [one for one in found if one.size_bytes]


def _with_donations(found: Sequence[Moved], lost: int, outputs: Sequence[Site]) -> list[Moved]:
    """Return the causes with the bytes of lost donations as a cause: these outputs have memory of their own now.

    Their bytes are subtracted from the causes at the peak, or from the bytes beyond it.
    """
    left, kept = lost, []
    for one in found:
        is_output = one.site is not None and one.site.kind == "output" and one.size_bytes > 0
        taken = min(one.size_bytes, left) if is_output else 0
        left -= taken
        kept.append(one._replace(size_bytes=one.size_bytes - taken))
    kept = [one._replace(size_bytes=one.size_bytes - left) if one.cause == causes.PACKING else one for one in kept]
    return [Moved(DONATION_LOST, lost, next(iter(outputs), None)), *kept]


def _at_the_peak(old: Space, new: Space, is_reshaped: bool) -> Iterable[Moved]:
    """Yield causes whose bytes sum to the change of the occupied peak."""
    olds, news = _by_key(old.sites[:PEAK_SITES], is_reshaped), _by_key(new.sites, is_reshaped)
    # A site that the lock does not list took at most as many bytes as the smallest site that it lists.
    is_whole = sum(site.owned_bytes for site in old.sites[:PEAK_SITES]) == old.occupied_peak_bytes
    least = 0 if is_whole else min((site.owned_bytes for site in olds.values()), default=0)
    pairs = [(olds[key], now) for key, now in news.items() if key in olds]
    gone = [site for key, site in olds.items() if key not in news]
    come = [site for key, site in news.items() if key not in olds and site.owned_bytes > least]
    found, gone, come = _under_other_names(gone, come)
    moved = [one for pair in (*pairs, *found) for one in _differences(*pair, is_reshaped)]
    moved += [Moved(causes.LIVES_TO_PEAK, now.owned_bytes, now) for now in come]
    moved += [Moved(causes.FREED_BEFORE, -then.owned_bytes, then) for then in gone]
    yield from moved
    change = new.occupied_peak_bytes - old.occupied_peak_bytes
    yield Moved(causes.NOT_LISTED, change - sum(one.size_bytes for one in moved))


def _under_other_names(
    gone: Iterable[Site], come: Iterable[Site]
) -> tuple[list[tuple[Site, Site]], list[Site], list[Site]]:
    """Return the pairs of sites whose operation has another name now, and the sites of each side without a partner.

    A release that renames an operation neither removes its values nor adds any. As in a comparison of two runs bytes
    alone prove nothing: the phase is the same, and the shape, or its dimensions and the primitive. Of several values
    in a site the lock knows but one shape, so their number and bytes have to be the same, too.
    """
    found: list[tuple[Site, Site]] = []
    gone, come = list(gone), list(come)
    for key in (_renamed, _shaped, _retyped):
        waiting = by(key, come)
        left = []
        for then in gone:
            if same := waiting.get(key(then)):
                # Of several those of equal bytes, so that no difference is made up.
                now = min(same, key=lambda one: abs(one.owned_bytes - then.owned_bytes))
                same.remove(now)
                come.remove(now)
                found.append((then, now))
            else:
                left.append(then)
        gone = left
    return found, gone, come


def _renamed(site: Site) -> tuple:
    return site.kind, _primitive(site), *_shaped(site)


def _shaped(site: Site) -> tuple:
    # What is stored in the forward pass is not what was recomputed: the first costs memory that the second saved.
    return _primitive(site)[0], _opcode_and_shape(site)[1], *_together(site)


def _retyped(site: Site) -> tuple:
    return _primitive(site), tuple(_DIMENSIONS.findall(site.shape)), *_together(site)


def _together(site: Site) -> tuple[int, int | None]:
    return site.value_count, site.owned_bytes if site.value_count > 1 else None


def _primitive(site: Site) -> tuple[str, str]:
    """Return phase and primitive; the opcode alone of values without an operation."""
    return phase_and_primitive(site.op_name) if site.op_name else ("", _opcode_and_shape(site)[0])


def _opcode_and_shape(site: Site) -> tuple[str, str]:
    """Return the opcode, which stands before the shape of values without an operation, and the shape."""
    first, _, rest = site.shape.partition(" ")
    return (first, rest) if rest and "[" not in first else ("", site.shape)


def _differences(then: Site, now: Site, is_reshaped: bool) -> Iterable[Moved]:
    """Yield what moved in a site. One operation has values of several layers, so other values may now be at the peak.

    If the number of values and the shape of the largest are the same, a lock does not show whether a smaller value, a
    slot or its sharing has changed.
    """
    change = now.owned_bytes - then.owned_bytes
    padding = now.layout_padding_bytes - then.layout_padding_bytes
    is_another = not is_reshaped and _DIMENSIONS.findall(now.shape) != _DIMENSIONS.findall(then.shape)
    if is_another and now.value_count == then.value_count == 1:
        yield Moved(causes.FREED_BEFORE, -then.owned_bytes, then)
        yield Moved(causes.LIVES_TO_PEAK, now.owned_bytes, now)
    elif is_another or now.value_count != then.value_count:
        yield Moved(causes.LIVES_TO_PEAK if change > 0 else causes.FREED_BEFORE, change, now)
    else:
        yield Moved(causes.LAYOUT_PADDING, padding, now)
        yield Moved(causes.LOGICAL_SIZE if now.shape != then.shape else causes.OWN_OTHERS, change - padding, now)


def _by_key(sites: Iterable[Site], is_reshaped: bool) -> dict[tuple[str, str], Site]:
    """Return the sites by the key by which they are recognized; sites of one operation at several lines become one.

    In a reshaped program a value without an operation is recognized by the rank and the type of its shape alone.
    """
    found: dict[tuple[str, str], Site] = {}
    for site in sites:
        kind, name = site.key
        if is_reshaped and not site.op_name:
            name = _DIMENSIONS.sub(lambda sizes: f"[{',' * sizes[0].count(',')}]", name)
        key = kind, name
        found[key] = found[key].plus(site) if key in found else site
    return found


def _order(row: Compared) -> tuple:
    dump = row.pair.any
    return (
        -abs(row.delta_bytes or 0),
        -(row.after_bytes or 0),
        dump.program_name,
        str(dump.compile_target),
        row.memory_space,
    )


def _flags(words: Sequence[str], known: str) -> str:
    """Return the flags that the other side lacks, as text; if there are none, whether the flags are known at all."""
    return " ".join(words) or ("no such flag" if known else "none, or not known")


def changed_builds(held: Held) -> list[Record]:
    """Return where both sides have other compilers or flags: chip, before, after, and how many programs."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for before, after in {(row.pair.before, row.pair.after): None for row in held.rows if None not in row.pair[:2]}:
        old, new = held.entries[before.dump_id], held.entries[after.dump_id]
        if old.compiler and new.compiler and old.compiler != new.compiler:
            seen[new.chip, old.compiler, new.compiler] += 1
        if old.flags != new.flags:
            gone, come = differing(old.flags, new.flags)
            seen[new.chip, _flags(gone, old.flags), _flags(come, new.flags)] += 1
    return [
        {"chip": chip, "before": before, "after": after, "program_count": count}
        for (chip, before, after), count in seen.most_common()
    ]
