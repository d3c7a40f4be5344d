"""What an ingest did, in numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bufferhouse.dump.identity import SUFFIXES as PARTS
from bufferhouse.dump.identity import ending_of, file_of
from bufferhouse.errors import counted
from bufferhouse.ingest.logs import LoadedLogs
from bufferhouse.redaction import printable
from bufferhouse.sources.compression import SUFFIXES, is_unread, plain_name
from bufferhouse.sources.directory import split_at_archive
from bufferhouse.sources.discover import Discovery
from bufferhouse.warehouse.load import Loaded

NAMED_KNOWN_REJECTS = 3
_ONLY_IF_ANY = (
    "other_facts",
    "other_endings",
    "twins",
    "unread_keys",
    "ahead",
    "orphans",
    "allocations_alone",
    "unplaced",
)


@dataclass(slots=True)
class Summary:
    """What an ingest did to one source, or to several together; `as_dict` is what `ingest --format json` prints.

    `unreadable` says which paths could not be read, and why; `left_out` counts the dumps among them. `waiting` says
    what is left for a later pass, and why; `waiting_dumps` counts the dumps among that, and `late` the dumps that came
    after their run was complete. A `fault` says why a source could not be listed, or not completely; `error` is the
    exception. `archives` are archives beside dumps, which were not opened, and dumps in a compression that is not read.
    `orphans` are files of dumps whose first file is missing; in a configured pass they are `waiting` instead.

    `known_reject_files` are some of the `known_rejected`, which are all counted.

    Of runs: `other_names` has the name that their run.json gives, if the warehouse has another one; `other_facts` has
    facts that the call or the run.json gives and the warehouse contradicts; `ahead` has new runs that start in the
    future, with that moment and its source; `undescribed` are new runs with what is not known of compiler and platform,
    unless all their dumps wait. For some of these `run_files_below` has a run.json further below than the directory of
    the run, which is not read, and that directory. `unread_keys` has keys of run.json files that are not read.
    `other_endings` counts the dumps that a run has twice, because their files were compressed in another way when they
    were first seen; `twins` counts those of which several files lie there, plain or compressed in different ways.
    `pruned` counts the dumps that a configured source still has of runs that retention removed; they are left out.

    `allocations_alone` are the files of new dumps that have neither values nor live ranges, and so no peak. `endings`
    counts files by their ending if no dump was found, and `named_logs` the logs among them, if files were named; else
    it is None. `logs` were read; they have new `messages` about programs that did not fit, and `refused_messages`,
    which do not count as rejected dumps. `unreadable_logs` counts the logs among `unreadable`; `unplaced` are logs that
    were read and whose run no dump tells: the next pass reads them again. `log_notes` say what was left out of logs.
    `reparsed` dumps of the warehouse were parsed again; None if that was not requested.
    """

    seen: int = 0
    new: int = 0
    known: int = 0
    ignored: int = 0
    rejected: int = 0
    known_rejected: int = 0
    known_reject_files: list[str] = field(default_factory=list)
    left_out: int = 0
    unreadable: list[str] = field(default_factory=list)
    reject_lines: list[str] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    head_faults: list[str] = field(default_factory=list)
    allocations_alone: list[str] = field(default_factory=list)
    log_notes: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    seconds: float = 0.0
    runs: list[str] = field(default_factory=list)
    conflicts: int | None = None
    retries: int | None = None
    waiting: list[str] = field(default_factory=list)
    waiting_dumps: int = 0
    late: int = 0
    fault: str | None = None
    error: Exception | None = None
    archives: list[str] = field(default_factory=list)
    undescribed: dict[str, list[str]] = field(default_factory=dict)
    run_files_below: dict[str, tuple[str, str]] = field(default_factory=dict)
    unread_keys: dict[str, list[str]] = field(default_factory=dict)
    ahead: dict[str, str] = field(default_factory=dict)
    orphans: list[str] = field(default_factory=list)
    other_names: dict[str, str] = field(default_factory=dict)
    other_facts: dict[str, dict[str, str]] = field(default_factory=dict)
    other_endings: Counter[str] = field(default_factory=Counter)
    twins: Counter[str] = field(default_factory=Counter)
    pruned: Counter[str] = field(default_factory=Counter)
    endings: dict[str, int] | None = None
    named_logs: int = 0
    logs: int = 0
    messages: int = 0
    refused_messages: int = 0
    unreadable_logs: int = 0
    unplaced: list[str] = field(default_factory=list)
    reparsed: int | None = None

    def note_nothing(self, discovery: Discovery) -> None:
        """Note that no dump was found, and what was."""
        # Logs are read beside dumps alone: here they are files like others.
        logs = [ending_of(plain_name(log.entry.path)) for log in discovery.logs]
        parts = [ending_of(plain_name(path)) for path in discovery.orphans]
        self.named_logs = len(logs) if discovery.has_named_files else 0
        self.ignored = discovery.ignored_count + len(logs)
        self.unreadable += discovery.refused
        self.endings = dict((discovery.endings + Counter([*logs, *parts])).most_common())

    def leave_out(self, unreadable: Sequence[str]) -> None:
        """Note dumps that were seen and could not be read, each with the reason."""
        self.left_out += len(unreadable)
        self.unreadable += unreadable

    def add(self, loaded: Loaded) -> None:
        """Add the figures of one load."""
        self.new += loaded.new_count
        self.known += loaded.known_count
        self.rejected += len(loaded.rejects)
        self.add_known_rejects(loaded.known_rejects)
        self.bytes += loaded.text_bytes
        self.reject_lines += [
            f"{file_of(s.source_uri, refusal.role)}:{'' if refusal.line else ' '}{refusal}"
            for s, refusal in loaded.rejects
        ]
        self.leave_out(loaded.unreadable)
        self.head_faults += loaded.head_faults
        self.allocations_alone += loaded.allocations_alone
        self.warnings.update(loaded.warnings)
        self.rows.update(loaded.rows)
        if loaded.conflicts is not None:  # else nobody else writes
            self.conflicts = (self.conflicts or 0) + loaded.conflicts
            self.retries = (self.retries or 0) + loaded.retries

    def add_known_rejects(self, files: Sequence[str]) -> None:
        """Count files that were refused before; the first few are named."""
        self.known_rejected += len(files)
        self.known_reject_files += files[: max(NAMED_KNOWN_REJECTS - len(self.known_reject_files), 0)]

    def add_logs(self, loaded: LoadedLogs) -> None:
        """Add the figures of logs."""
        self.logs += loaded.log_count
        self.messages += loaded.message_count
        self.refused_messages += len(loaded.rejects)
        self.reject_lines += loaded.rejects
        self.unreadable += loaded.unreadable
        self.unreadable_logs += len(loaded.unreadable)
        self.unplaced += loaded.unplaced
        self.waiting += loaded.waiting
        self.log_notes += loaded.notes
        self.rows.update(loaded.rows)

    def include(self, other: "Summary") -> None:
        """Add the figures of another source: numbers are added up, lists and mappings joined.

        A run with dumps in both is counted once.
        """
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if name == "runs":
                mine.extend(run for run in theirs if run not in mine)
            elif isinstance(mine, list):
                mine.extend(theirs)
            elif isinstance(mine, dict):
                mine.update(theirs)
            elif isinstance(theirs, int):
                setattr(self, name, (mine or 0) + theirs)

    @property
    def found_nothing(self) -> bool:
        """Whether there was no dump, and nothing that cannot be read, in which one may be."""
        return self.endings is not None and not self.unreadable

    @property
    def exit_code(self) -> int:
        """1 when something was refused, could not be read or is of no known run, or no dump was found, else 0."""
        is_left_out = self.rejected or self.refused_messages or self.unreadable or self.unplaced
        return 1 if is_left_out or self.endings is not None else 0

    def orphan_lines(self) -> list[str]:
        """Return the line about files of dumps that are not there, as nothing else says that programs are missing."""
        if not self.orphans:
            return []
        others = f" and {counted(len(self.orphans) - 1, 'other file')}" if len(self.orphans) > 1 else ""
        return [
            f"{printable(self.orphans[0])}{others}: not loaded, as …{PARTS['allocations']} of the same name is missing"
        ]

    def archive_lines(self) -> list[str]:
        """Return a line for each kind of archive or compression that was skipped, and what to do about it."""
        unread = [path for path in self.archives if is_unread(path)]
        archives = [path for path in self.archives if not is_unread(path)]
        beside = [path for path in archives if split_at_archive(path)[1] is None]
        inner = [path for path in archives if split_at_archive(path)[1] is not None]
        return [
            f"{printable(paths[0])}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}: {what}"
            for paths, what in (
                (beside, "archives beside dumps are opened only when named"),
                (inner, "archives inside archives are not opened; unpack them"),
                (unread, f"this compression is not read, only {', '.join(SUFFIXES)} and .zip; decompress them"),
            )
            if paths
        ]

    def as_dict(self) -> dict:
        """Return the summary as in JSON."""
        names = ("seen", "new", "known", "ignored", "rejected", "known_rejected", "unreadable", "rows", "bytes",
                 "seconds", "runs", "warnings", "undescribed", "other_names")  # fmt: skip
        tries = ("conflicts", "retries") if self.conflicts is not None else ()
        found = ("endings",) if self.endings is not None else ()
        logs = ("logs", "messages", "refused_messages", "log_notes") if self.logs else ()
        others = [name for name in _ONLY_IF_ANY if getattr(self, name)]
        again = ("reparsed",) if self.reparsed is not None else ()
        figures = {name: getattr(self, name) for name in (*names, *tries, *found, *logs, *others, *again)}
        return {**figures, "undescribed": list(self.undescribed)}

    def told(self) -> dict:
        """Return the summary of a pass as in JSON, with what waits, came late, or was skipped."""
        passed_by = {"pruned": self.pruned, "archives": self.archives}
        return {**self.as_dict(), "waiting": self.waiting, "late": self.late, **passed_by}


def total_of(by_source: Mapping[str, Summary]) -> Summary:
    """Return the figures of all sources together."""
    total = Summary()
    for one in by_source.values():
        total.include(one)
    return total
