"""A gate for CI: which changes of a comparison are refused, and the file of accepted growth."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from bufferhouse.compare.compare import GONE, Compared
from bufferhouse.compare.groups import by
from bufferhouse.compare.pairing import RESHAPED
from bufferhouse.config.load import Config
from bufferhouse.config.threshold import Threshold
from bufferhouse.config.toml import read_toml
from bufferhouse.errors import UsageError

_KEYS = {"program": str, "memory_space": int, "up_to_bytes": int, "why": str}


class Accepted(NamedTuple):
    """An entry of the accept file: the bytes that a program may take in a memory space, and why."""

    program: str
    memory_space: int
    up_to_bytes: int
    why: str

    def covers(self, row: Compared) -> bool:
        """Return whether the entry is about the program and memory space of a row; bytes do not count.

        A reshaped or renamed program is known by what it was before, too.
        """
        names = {word for dump in row.pair[:2] if dump for word in (dump.program_name, str(dump.program_id))}
        return self.memory_space == row.memory_space and self.program in names


class Verdict(NamedTuple):
    """The verdict of a gate: rows that grew over the limit, the accepted ones among them, and stale entries.

    An entry is stale if no row that it covers grew over the limit: it would hide the next growth. `warned` are rows of
    reshaped programs that grew over the limit and do not count. `tight` are rows that leave
    less room than is asked for. `ignored` are rows of reshaped programs that were not looked at.
    `exceeded` are offenders that take more than an entry about them accepts, with that entry. `missing` are rows of
    dumps of the run before without a partner of their own, where dumps of the run after are not there to be compared.
    `maybe_cut` are rows that are no offenders, of dumps that may have been cut short: nobody knows how far they grew.
    """

    offenders: list[Compared]
    accepted: list[tuple[Compared, Accepted]]
    stale: list[Accepted]
    compared_count: int
    warned: Sequence[Compared]
    tight: Sequence[Compared]
    ignored: Sequence[Compared]
    exceeded: Sequence[tuple[Compared, Accepted]]
    missing: Sequence[Compared]
    maybe_cut: Sequence[Compared]

    @property
    def is_passed(self) -> bool:
        """Whether nothing grew too far or leaves too little room, as far as all can be judged.

        A comparison of nothing passes no gate, nor does a run after that may have in a refused dump what is missing, or
        that has of a dump perhaps the beginning only.
        """
        return not (self.offenders or self.tight or self.missing or self.maybe_cut) and self.compared_count > 0


class Headroom(NamedTuple):
    """The share (0 to 1) of the memory of a device that a program must leave free."""

    share: float
    device_memory_bytes: int

    @property
    def most_bytes(self) -> int:
        """The bytes that a program may take."""
        return int(self.device_memory_bytes * (1 - Fraction(repr(self.share))))

    def lacks(self, row: Compared) -> bool:
        """Return whether a row takes more, whether it grew or not; all that lies on the device stands in one space.

        A program that did not fit leaves no room, whatever its allocations take: a device offers less than its memory.
        """
        taken = row.on_device[1]
        return taken is not None and (taken > self.most_bytes or bool(row.pair.after.did_not_fit))


def judge(
    rows: Iterable[Compared],
    limit: Threshold,
    accepted: Sequence[Accepted] = (),
    reshaped: str = "fail",
    headroom: Headroom | None = None,
    *,
    is_partial: bool = False,
) -> Verdict:
    """Return the rows that grew over the limit. A row that shrank, is new or is gone is no offense.

    `reshaped` is one of `RESHAPED_MODES`: the growth of reshaped programs is an offense, a warning, or not looked at.
    With `headroom` each program of the run after must leave so much room. `is_partial` is whether dumps of the run
    after were refused or could not be read: what is missing there was not judged, and no entry about it is stale.
    """
    rows = list(rows)
    known = [row for row in rows if row.delta_bytes is not None]
    unknown = [row for row in rows if row.is_unknown]
    ignored = [row for row in known if reshaped == "ignore" and row.status == RESHAPED]
    compared = [row for row in known if reshaped != "ignore" or row.status != RESHAPED]
    grown = [row for row in compared if row.delta_bytes > 0 and limit.is_crossed(row.before_bytes, row.delta_bytes)]
    let_through = {
        id(row): (row, entry)
        for row in grown
        for entry in accepted
        if entry.covers(row) and row.after_bytes <= entry.up_to_bytes
    }
    refused = [row for row in grown if id(row) not in let_through]
    silenced = {id(row) for row in refused if reshaped == "warn" and row.status == RESHAPED}
    offenders = [row for row in refused if id(row) not in silenced]
    missing = _missing(rows) if is_partial else []
    settled = {id(row) for row in (*ignored, *refused)}
    cut = {id(row): row for row in rows if row.may_be_cut and id(row) not in settled}
    # Whether an entry is needed by a row that was not judged, or by a dump that was refused, nobody knows.
    stale = [
        entry
        for entry in accepted
        if not any(entry.covers(row) for row in (*grown, *ignored, *unknown, *missing, *cut.values()))
        and (not is_partial or any(entry.covers(row) for row in known))
    ]
    return Verdict(
        offenders=offenders,
        accepted=[found for number, found in let_through.items() if number not in cut],
        stale=stale,
        compared_count=sum(id(row) not in cut for row in compared),
        warned=[row for row in refused if id(row) in silenced],
        tight=[row for row in rows if headroom and headroom.lacks(row)],
        ignored=ignored,
        exceeded=[(row, entry) for row in offenders for entry in accepted if entry.covers(row)],
        missing=missing,
        maybe_cut=list(cut.values()),
    )


def _missing(rows: Sequence[Compared]) -> list[Compared]:
    """Return the rows of dumps of the run before that have none of their own in the run after.

    One that is the largest of its program is compared with a dump that is another one's partner already, and a program
    of another signature or name is only taken for the one before because that is not there.
    """
    pairs = by(
        lambda row: (row.pair.after.dump_id, row.pair.after.program_id, row.memory_space), filter(_is_pair, rows)
    )
    lent = {
        id(row)
        for found in pairs.values()
        if len(found) > 1 and sum(row.pair.before.dump_count for row in found) > found[0].pair.after.dump_count
        for row in found
        if row.pair.before.dump_id != row.pair.after.dump_id
    }
    return [
        row for row in rows if id(row) in lent or row.pair.change or (row.status == GONE and row.pair.after is None)
    ]


def _is_pair(row: Compared) -> bool:
    return None not in row.pair[:2]


def read_accepted(path: Path) -> list[Accepted]:
    """Return the entries of an accept file: TOML, one table `[[accept]]` each, with all four keys.

    Raises:
        UsageError: the file cannot be read, or an entry is incomplete. The message says which.
    """
    file = read_toml(path)
    found = file.document
    entries = found.pop("accept", [])
    if found or not isinstance(entries, list):
        raise UsageError(f"{path}: expected tables [[accept]], found {', '.join(found) or 'another accept'}")
    return [
        _accepted(f"{file.at('accept', number)}: entry {number + 1}", entry) for number, entry in enumerate(entries)
    ]


def accepted_by(conf: Config) -> list[Accepted]:
    """Return the entries of the accept file that a configuration names; none where it names none.

    Raises:
        UsageError: as `read_accepted`; the message says first where the file is named.
    """
    file = conf["regressions"]["accept"]
    if not file:
        return []
    try:
        return read_accepted(Path(conf.place(file)))
    except UsageError as error:
        raise UsageError(f"{conf.origins['regressions.accept']}: regressions.accept: {error}") from None


def _accepted(place: str, entry: object) -> Accepted:
    keys = entry if isinstance(entry, dict) else {}
    wrong = [key for key, kind in _KEYS.items() if type(keys.get(key)) is not kind] + sorted(keys.keys() - _KEYS)
    if wrong or not keys["why"].strip():
        expected = ", ".join(f"{key} ({'text' if kind is str else 'a number'})" for key, kind in _KEYS.items())
        raise UsageError(f"{place}: expected {expected}; look at {', '.join(wrong) or 'why'}")
    return Accepted(**keys)
