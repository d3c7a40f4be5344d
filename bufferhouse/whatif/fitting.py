"""The least set of edits with which a program fits: fewest values first, then fewest bytes."""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from bufferhouse.errors import UsageError
from bufferhouse.whatif.edits import SIZES, Edit, narrower
from bufferhouse.whatif.moments import Moments
from bufferhouse.whatif.outcome import Bytes, after, before, check_live_ranges, is_untouched
from bufferhouse.whatif.packing import WORK
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.slots import lower_bound, most_alive
from bufferhouse.whatif.space import ARENA, Space

MEANS = ("donate", "free", "remove")  # kinds of edit that are tried by default
# Kinds whose edits change instructions, and not only lives: compiled again, a program may take less than they say.
_GUESSED = {"shrink", "remat", "offload"}
NODES = 3_000  # sets of edits that are tried before a set is called the least without proof
_VISITS = 2_500_000  # slots that all searches look at, and as many again without proof: together about a minute
_PAIRS = 40  # pairs of slots that a packing compares while a set of edits looks at one slot
LARGE = 4_000  # slots: without proof, a program with N times as many slots is given N times as many edits in one step
_SIZE = re.compile(r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(?P<unit>[KMGT]I?B?|B)?")
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}
_FEWEST = 1 << 20  # bytes that a number without a unit may be: whoever writes 4 for a memory means 4 GiB


class Fit(NamedTuple):
    """The answer to a capacity.

    `edits` is the least set that fits; it is empty if the program fits already, or cannot fit. `bound_bytes` is the
    least that the memory space takes with every means used on every value. `is_minimal` is whether no smaller set is
    sure to fit. `may_fit` is whether no set is sure to fit, but the compiler may do better: if results are dropped, it
    may leave out more than the dump shows, and a donated parameter may take the place of an output of other dimensions.
    `fewer_may_fit` is whether it may do so with fewer edits than those that fit. `is_guess` is whether none fits, with
    means for which the dump gives only estimates.
    """

    capacity_bytes: int
    fits: bool
    edits: Sequence[Edit]
    bytes: Bytes
    bound_bytes: int
    is_minimal: bool
    may_fit: bool = False
    fewer_may_fit: bool = False
    is_guess: bool = False


def read_size(text: str, option: str = "--fit") -> int:
    """Return the bytes of a size such as `15.75GiB`, `16G`, `16909336576` or `16GB`, of which the last is decimal.

    Raises:
        UsageError: the text is not a size, or not a whole number of bytes; or it is a number that is too small for the
            bytes of a memory and has no unit.
    """
    found = _SIZE.fullmatch(text.strip().upper())
    if found is None or ("." in found["number"] and found["unit"] in (None, "B")):
        raise UsageError(f"{option}: expected a size such as 15.75GiB, found {text!r}")
    if found["unit"] is None and int(found["number"]) < _FEWEST:
        number = found["number"]
        raise UsageError(
            f"{option}: expected a unit, such as {number}GiB, or {number}B for so few bytes; found {text!r}"
        )
    unit = (found["unit"] or "B")[0]
    if found["unit"] in ("KB", "MB", "GB", "TB"):
        return int(Decimal(found["number"]) * 1000 ** _POWERS[unit])
    return int(Decimal(found["number"]) * 1024 ** _POWERS.get(unit, 0))


def fit(
    space: Space,
    capacity_bytes: int,
    *,
    means: Sequence[str] = MEANS,
    nodes: int = NODES,
    large: int = LARGE,
    visits: int = _VISITS,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Return the least set of single edits with which all allocations of a space take at most `capacity_bytes`.

    A set fits if a placement is found that fits; it has at most one edit for each value. After `nodes` sets, or
    `visits` to slots, a set that fits is searched without proof, with as many visits again; in a program with more than
    `large` slots several edits are added at a time. `progress` is told the visits.

    Raises:
        UsageError: the dump has no live ranges.
    """
    check_live_ranges(space)
    is_in_the_place = {"remove", "free"} <= {*means}
    if is_in_the_place:
        means = [kind for kind in means if kind != "free"]  # to remove a value never leaves more bytes alive
    now = before(space)
    if now.reserved_high_bytes <= capacity_bytes:
        return Fit(capacity_bytes, True, [], now, now.reserved_low_bytes, True)
    moments = Moments(space)
    at_once = len(moments.slots.value) // large
    # One kind alone makes fewer sets, so more of them can be tried; the set that was found may be larger than needed.
    kinds = means if len(means) > 1 and not at_once else ()
    work = _Work(visits, 1 + len(kinds), progress)
    search = _Search(moments, capacity_bytes, means, nodes, at_once, work)
    is_guess = not _GUESSED.isdisjoint(means)
    if search.bound_bytes > capacity_bytes:
        return Fit(capacity_bytes, False, [], now, search.bound_bytes, True, is_guess=is_guess)
    found = search.run(now)
    found = found._replace(is_guess=is_guess and not found.fits)
    if found.fits and len(found.edits) > 1 and search.does_better:
        found = found._replace(fewer_may_fit=True)
    if not found.fits and (search.may_fit or search.does_better):
        found = found._replace(is_minimal=False, may_fit=True)
    if found.is_minimal and is_in_the_place and search.is_beaten_by_packing(found):
        return found._replace(is_minimal=False)
    if found.is_minimal or at_once:
        return found
    alone = [_Search(moments, capacity_bytes, [kind], nodes, at_once, work).run(now) for kind in kinds]
    best = min([one for one in (found, *alone) if one.fits] or [found], key=lambda one: len(one.edits))
    return best._replace(bound_bytes=found.bound_bytes, is_minimal=False)


class _Candidate(NamedTuple):
    """One edit of one value: `size_bytes` is its slot, `most_bytes` the most that the edit can take off a moment."""

    edit: Edit
    row: int
    size_bytes: int
    most_bytes: int


class _Work:
    """The visits to slots that searches may make: each has a share for its sets, and another for a set without proof.

    The number of visits depends on the program alone, so every machine finds the same set.
    """

    def __init__(self, visits: int, searches: int, progress: Callable[[int, int], None] | None) -> None:
        self.share = visits // searches
        self._total, self._done, self._progress = 2 * searches * self.share, 0, progress
        self.left = 0

    def begin(self) -> None:
        """Begin a share."""
        self.left = self.share

    def pay(self, visits: int) -> None:
        """Take visits off the share, and report the progress."""
        self.left -= visits
        self._done = min(self._done + visits, self._total)
        if self._progress:
            self._progress(self._done, self._total)


class _Search:
    """All sets of one size, then of the next; each is extended only by values alive at a moment that needs too much.

    A set that fits must have a value that is alive at the moment at which the smaller set needs most. So only such
    values are tried, and those that were tried in one branch are left out of the next. A branch ends when even the
    largest values that are left could not remove the excess.
    """

    def __init__(
        self, moments: Moments, capacity_bytes: int, means: Sequence[str], nodes: int, at_once: int, work: _Work
    ) -> None:
        self.space, self.capacity = moments.space, capacity_bytes
        self.slots = moments.slots
        self.at_once, self.nodes, self.work = at_once, nodes, work
        self.candidates = list(_candidates(moments, means))
        self.drops_results = any(
            one.row in self.space.results and one.edit.kind in ("free", "remove") for one in self.candidates
        )
        # Parameters for which JAX may find an output, though no edit does.
        self.donors = [
            row for row, role in enumerate(self.space.columns["role"])
            if "donate" in means and role == "parameter"
            and self.space.columns["allocation"][row] not in self.space.live_out
            and self.space.of_as_many_elements(row)
        ]  # fmt: skip
        self.may_fit = False
        self.bound_bytes = self._bound()
        self.best: tuple[int, list[int], list[Edit], Bytes] | None = None
        self.is_cut = False

    @property
    def does_better(self) -> bool:
        """Whether the compiler may do better with some edits than the dump shows."""
        return self.drops_results or bool(self.donors)

    def _bound(self) -> int:
        """Return the least that the space takes if all values that can be edited are gone, or as small as possible."""
        is_of_sizes = not self.donors and all(one.edit.kind in SIZES for one in self.candidates)
        if is_of_sizes and self._can(self.candidates):
            plan = self._plan(self.candidates)
            return sum(plan.fixed.values()) + lower_bound(plan.slots, self.space.alignment)
        plan = self._plan([])
        gone = {one.row for one in self.candidates if one.edit.kind != "donate"}
        gone = gone.union(*(self.space.places_for(one.row) for one in self.candidates if one.edit.kind == "donate"))
        gone = gone.union(*map(self.space.places_for, self.donors))
        gone = gone.union(*map(self.space.tables_of, gone))
        # All that was computed only for a result goes with it.
        left = [at for at, row in enumerate(plan.slots.value) if row not in gone and not self.drops_results]
        plan.slots.keep(left)
        allocations = self.space.allocations
        held = {self.space.columns["allocation"][row] for row in gone}
        resized = {self.space.columns["allocation"][one.row] for one in self.candidates if one.edit.kind != "donate"}
        fixed = sum(
            size for index, (kind, size) in allocations.items()
            if kind != ARENA
            and not (kind == "constant" and self.drops_results)
            and (index not in held or (kind == "parameter" and index not in resized))
        )  # fmt: skip
        return fixed + lower_bound(plan.slots, self.space.alignment)

    def _plan(self, chosen: Iterable[_Candidate]) -> Plan:
        self.work.pay(len(self.slots.value))
        return Plan(self.space, self.slots).apply([one.edit for one in chosen])

    def _packed(self, plan: Plan) -> Bytes:
        if not is_untouched(plan):
            self.work.pay(min(len(self.slots.value) ** 2, WORK) // _PAIRS)
        return after(plan)

    def _can(self, chosen: Iterable[_Candidate]) -> bool:
        try:
            self._plan(chosen)
        except NoCandidate:
            return False
        return True

    def run(self, now: Bytes) -> Fit:
        """Try sets of one value, of two, and so on."""
        self.work.begin()
        for count in range(1, len({one.row for one in self.candidates}) + 1):
            fewer_may_fit = self.may_fit
            self._extend([], list(self.candidates), count, 0)
            if self.best is not None:
                _, _, edits, found = self.best
                is_minimal = not self.is_cut
                return Fit(self.capacity, True, edits, found, self.bound_bytes, is_minimal, fewer_may_fit=fewer_may_fit)
            if self.is_cut:
                break
        return self._greedy() or Fit(self.capacity, False, [], now, self.bound_bytes, not self.is_cut)

    def is_beaten_by_packing(self, found: Fit) -> bool:
        """Return whether fewer edits may fit if one of them frees an output where the search has removed it.

        If no edit concerns the arena, it stays XLA's own. A freed output becomes a temporary, so the arena is packed
        again, and may be tighter than XLA's, even with more bytes alive in it.
        """
        if len(found.edits) == 1:
            return False
        plan, c = self._plan([]), self.space.columns
        low = lower_bound(plan.slots, self.space.alignment)
        taken = sorted((one.most_bytes for one in self.candidates if c["kind"][one.row] != ARENA), reverse=True)
        fewer = len(found.edits) - 1 if found.fits else len(taken)
        return low < self.space.arena_bytes and sum(plan.fixed.values()) + low - sum(taken[:fewer]) <= self.capacity

    def _extend(self, chosen: list[_Candidate], left: list[_Candidate], count: int, size: int) -> None:
        """Try all sets that hold `chosen` and `count` more of `left`, and keep the one with the fewest bytes."""
        if self.nodes <= 0 or self.work.left <= 0:
            self.is_cut = True
            return
        self.nodes -= 1
        try:
            plan = self._plan(chosen)
        except NoCandidate:
            return
        need, moment = self._excess(plan)
        if count == 0:
            if need <= 0 and (self.best is None or self._key(chosen, size) < self.best[:2]):
                found = self._packed(plan)
                self.may_fit |= found.reserved_low_bytes <= self.capacity
                if found.reserved_high_bytes <= self.capacity:
                    self.best = (*self._key(chosen, size), [one.edit for one in chosen], found)
            return
        helping = self._helping(left, plan, need, moment)
        if sum(one.most_bytes for one in helping[:count]) < need:
            return
        rest = left
        for one in helping:
            if self.is_cut:
                return
            rest = [other for other in rest if other is not one]
            if self.best is not None and size + one.size_bytes > self.best[0]:
                continue
            self._extend([*chosen, one], [other for other in rest if other.row != one.row], count - 1,
                         size + one.size_bytes)  # fmt: skip

    def _key(self, chosen: Sequence[_Candidate], size: int) -> tuple[int, list[int]]:
        return size, sorted(one.row for one in chosen)

    def _helping(self, left: Iterable[_Candidate], plan: Plan, need: int, moment: int | None) -> list[_Candidate]:
        """Return the edits that can take bytes off a moment, or off what is there at every moment, the largest first.

        Values count as alive after the edits so far: operands of a value that is computed again stay alive until then.
        """
        slots, kinds = plan.slots, self.space.columns["kind"]
        alive = set()
        if moment is not None and need > 0:
            lives = zip(slots.value, slots.start, slots.end, strict=True)
            alive = {row for row, start, end in lives if start <= moment <= end}
        helping = [one for one in left if need <= 0 or one.row in alive or kinds[one.row] != ARENA]
        return sorted(helping, key=lambda one: (-one.most_bytes, one.row))

    def _excess(self, plan: Plan) -> tuple[int, int | None]:
        """Return the least excess in bytes, and its moment."""
        low, moment = most_alive(plan.slots, self.space.alignment)
        return sum(plan.fixed.values()) + low - self.capacity, moment

    def _greedy(self) -> Fit | None:
        """Return a set that fits, without proof that it is the least: the largest values at each moment of need.

        After half of the work it adds as many edits at a time as the excess needs, then twice and four times as many.
        """
        self.work.begin()
        chosen: list[_Candidate] = []
        left = list(self.candidates)
        times = 1
        while left and self.work.left > 0:
            if self.work.left < self.work.share // 2:
                self.at_once, times = len(left), 2 * times
            plan = self._plan(chosen)
            need, moment = self._excess(plan)
            helping = self._helping(left, plan, need, moment)
            if need <= 0:
                found = self._packed(plan)
                need = found.reserved_high_bytes - self.capacity
                if need <= 0:
                    return Fit(self.capacity, True, [one.edit for one in chosen], found, self.bound_bytes, False)
            step = self._step(chosen, helping, need * times)
            if not step:
                return None
            chosen += step
            rows = {one.row for one in step}
            left = [other for other in left if other.row not in rows]
        return None

    def _step(self, chosen: list[_Candidate], helping: Sequence[_Candidate], need: int) -> list[_Candidate]:
        """Return the first edit that can be added; in a large program several, until they take off what is needed."""
        together: dict[int, _Candidate] = {}
        taken = 0
        for one in helping[: self.at_once]:
            if taken >= max(need, 1):
                break
            if one.row not in together:
                together[one.row] = one
                taken += one.most_bytes
        if len(together) > 1 and self._can([*chosen, *together.values()]):
            return list(together.values())
        return next(([one] for one in helping if self.work.left > 0 and self._can([*chosen, one])), [])


def _candidates(moments: Moments, means: Sequence[str]) -> Iterable[_Candidate]:
    """Yield the edits that some value can take; `remove` represents all edits that take off fewer bytes."""
    space = moments.space
    c = space.columns
    for row in range(len(space)):
        size = c["size_bytes"][row]
        if not size or c["is_tuple"][row]:  # a table of addresses goes with its values
            continue
        for kind in means:
            dtype = narrower(c["shape"][row]) if kind == "shrink" else None
            if kind == "shrink" and dtype is None:
                continue
            edit = Edit(kind, f"#{c['value_id'][row]}", dtype=dtype)
            try:
                moments.alone(row).apply_one(edit, row)
            except NoCandidate:
                continue
            most = space.allocations[c["allocation"][row]][1] if c["kind"][row] in ("output", "parameter") else 0
            most += sum(c["size_bytes"][table] for table in space.tables_of(row))
            yield _Candidate(edit, row, size, max(size, most) + (-size % space.alignment))
