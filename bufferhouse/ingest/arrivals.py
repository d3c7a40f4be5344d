"""Which new files are ready to be read, and which are still arriving.

Nothing here reads a file whose path, size and time are known. The next pass looks again at files that wait, and needs
no state of this one: the time of a file says how long it has been unchanged.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.sources.compression import plain_name
from bufferhouse.sources.directory import Entry, StillWritten, split_at_archive
from bufferhouse.sources.found import Found, FoundDumps
from bufferhouse.sources.run import parent_of

_FIRST_OF_THREE_HAS_NO = (b"\nUsed values:\n", b"\nTotal bytes used: ")  # BufferAssignment::ToString since 2026-04
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Rules:
    """When a file counts as complete.

    `settle`: seconds for which its size and time have not changed. `grace`: seconds for which a dump in several files
    waits for the others. `marker`: name of a file that says that all files beside and below it are complete.
    """

    settle: float = 0.0
    grace: float = 0.0
    marker: str | None = None


@dataclass(slots=True)
class Arrivals:
    """The dumps of one pass, seen at one moment: `ready` may be read, `waiting` says why others may not.

    `waiting_dumps` counts the dumps in it; archives, logs, and files of dumps that are not there yet may wait, too.
    """

    rules: Rules
    now_ns: int
    complete_runs: frozenset[str] = frozenset()  # declared so: their dumps wait for no other file
    ready: FoundDumps = field(default_factory=FoundDumps)
    waiting: list[str] = field(default_factory=list)
    waiting_dumps: int = 0
    marked: dict[str, int] = field(default_factory=dict)  # runs by name, with the time of the marker at their root
    _markers: dict[tuple[str, str], Entry | None] = field(default_factory=dict)

    def sort(self, fresh: FoundDumps, roots: Mapping[str, str]) -> None:
        """Part new or changed dumps into those to read and those that wait; `roots` has the directory of each run."""
        ready = array("L")
        for dump in fresh:
            reason = self._reason(dump, roots.get(dump.run_name))
            if reason is None:
                ready.append(dump.number)
            else:
                self._wait(dump, reason)
        self.ready = fresh.only(ready)

    def _reason(self, dump: Found, root: str | None) -> str | None:
        """Return what a dump waits for; None if it is ready."""
        if self._is_settled_as_a_whole(dump):
            return None
        if self.rules.marker:
            marker = self._marker_of(dump)
            if marker is None:
                return f"no {self.rules.marker} beside or above it yet"
            if root is not None and parent_of(marker.path) == root:
                self.marked[dump.run_name] = marker.mtime_ns
            if max(part.mtime_ns for part in dump.parts.values()) <= marker.mtime_ns:
                return None
        own = dump if dump.content is None else None
        for what, file in (("it", own), ("its module text", dump.module_text), ("its proto", dump.proto)):
            if file is not None and self._age(file.mtime_ns) < self.rules.settle:
                return f"{what} changed less than {self.rules.settle:g} s ago"
        if "proto" in dump.parts and self._is_in_grace(dump):
            return f"…{SUFFIXES['allocations']} may still come"
        if dump.content is None and len(dump.parts) > 1 and len(dump.parts) < len(SUFFIXES) and self._is_in_grace(dump):
            missing = ", ".join(f"…{SUFFIXES[role]}" for role in SUFFIXES if role not in dump.parts)
            return f"{missing} may still come"
        return None

    def hold(self, dump: Found, files: Mapping[str, bytes] | Exception) -> bool:
        """Return whether a dump that was just read must wait after all, and note why."""
        reason = None
        if isinstance(files, StillWritten):
            reason = str(files)
        elif not isinstance(files, Exception) and self._is_alone(dump) and _is_first_of_three(files):
            reason = f"…{SUFFIXES['values']}, …{SUFFIXES['live_range']} may still come"
        if reason is not None:
            self._wait(dump, reason)
        return reason is not None

    def _wait(self, dump: Found, reason: str) -> None:
        self.waiting.append(f"{dump.uri}: {reason}")
        self.waiting_dumps += 1

    def _is_alone(self, dump: Found) -> bool:
        """Return whether a dump in one file may be the first of three; only reading it tells."""
        if set(dump.parts) != {"combined"} or self._is_settled_as_a_whole(dump) or not self._is_in_grace(dump):
            return False
        if not plain_name(dump.uri).endswith(SUFFIXES["allocations"]):
            return False
        marker = self._marker_of(dump) if self.rules.marker else None
        return marker is None or dump.mtime_ns > marker.mtime_ns

    def _is_settled_as_a_whole(self, dump: Found) -> bool:
        return split_at_archive(dump.uri)[1] is not None  # an archive comes whole or is damaged

    def _is_in_grace(self, dump: Found) -> bool:
        return dump.run_name not in self.complete_runs and self._age(dump.mtime_ns) < self.rules.grace

    def _age(self, mtime_ns: int) -> float:
        """Return for how many seconds a file has been unchanged.

        The clock of a file server may be ahead of ours: a time in the future counts as being as far in the past, or the
        file would never count as settled.
        """
        return abs(self.now_ns - mtime_ns) / _SECOND_NS

    def _marker_of(self, dump: Found) -> Entry | None:
        """Return the nearest marker beside a dump or above it, not above its source."""
        entry = dump.main
        directory = parent_of(entry.path)
        while True:
            key = (directory, entry.base)
            if key not in self._markers:
                self._markers[key] = entry.tree.beside(f"{directory.rstrip('/')}/{self.rules.marker}")
            if self._markers[key] is not None or directory.rstrip("/") == entry.base.rstrip("/"):
                return self._markers[key]
            above = parent_of(directory)
            if above == directory:
                return None
            directory = above


def _is_first_of_three(files: Mapping[str, bytes]) -> bool:
    """Return whether the one file of a dump ends behind its allocations, as the first of three does."""
    (data,) = files.values()
    return data.startswith(b"BufferAssignment:\n") and not any(mark in data for mark in _FIRST_OF_THREE_HAS_NO)


def orphans(paths: Sequence[str]) -> list[str]:
    """Return why values and live range files are not read: without the file that they belong to they are no dump."""
    return [f"{path}: its …{SUFFIXES['allocations']} has not arrived" for path in sorted(paths)]
