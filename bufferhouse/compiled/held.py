"""One program that was explained, held against a lock or written there."""

from pathlib import Path

from bufferhouse.compiled.explain import Explained
from bufferhouse.config.threshold import parse_threshold
from bufferhouse.errors import UsageError
from bufferhouse.lock.check import ANY_GROWTH, hold, judge_held
from bufferhouse.lock.entry import Entry, Key, Lock
from bufferhouse.lock.file import (
    LockFault,
    Mendable,
    NewerLock,
    held,
    read_lock,
    read_mendable,
    updated,
    write_lock,
)
from bufferhouse.redaction import shell_word
from bufferhouse.report.lock.text import lock_text

_WAY_IN = "Add it with: pytest --memory-lock-update, and commit the file with the change."


def held_text(path: Path, explained: Explained, fail_over: str) -> str | None:
    """Return why a program does not pass: it grew, or the file does not hold it or cannot be read; None if it passes.

    Raises:
        UsageError: the limit is none.
    """
    limit = parse_threshold(fail_over, "memory_lock_fail_over") if fail_over else ANY_GROWTH
    try:
        lock = read_lock(path)
    except LockFault as fault:
        return _faulty(path, fault)
    except UsageError as fault:
        return f"{fault}\n{_WAY_IN}"
    entry = explained.entry
    # Other programs of the function are those of other tests, unless the lock lacks this one: then it is one of them.
    known = [one for one in lock.entries.values() if one.key == entry.key] or [
        one for one in lock.entries.values() if one.key[:2] == entry.key[:2]
    ]
    found = hold(Lock.of(known), explained.lock, outputs=explained.output_sites)
    judged = judge_held(found, limit)
    if judged.is_passed and entry.key in lock.entries:
        return None
    about = lock_text(found, judged, limit, "table", name=path.name)
    missing = "" if entry.key in lock.entries else f"{entry.function} on {entry.chip} is not in {path.name}.\n"
    return f"{missing}{about}\n{_WAY_IN}"


def write(path: Path, explained: Explained, written: dict[Key, Entry]) -> str | None:
    """Write a program into a lock, where it moved, and return None; the file is made if there is none.

    Where a fault of the file hides another program, as in a merge conflict, nothing is written, and why is returned:
    a test knows one program.

    `written` are the entries that these tests wrote before. Of several programs of one function and signature the
    largest stays, as of several dumps: the last one would fail each test that takes more.

    Raises:
        UsageError: the file cannot be read or written at all.
    """
    entry = explained.entry
    before = written.get(entry.key)
    if before is not None and before.size_order() <= entry.size_order():
        return None
    with held(path):
        try:
            kept = read_mendable(path) if path.exists() else Mendable([{}])
            new = updated(kept, explained.lock)
        except LockFault as fault:
            return _faulty(path, fault)
        write_lock(path, new)
    written[entry.key] = entry
    return None


def _faulty(path: Path, fault: LockFault) -> str:
    if isinstance(fault, NewerLock):
        return str(fault)
    return (
        f"{fault}\nTests mend no such file, as each writes one program. Put the file back as it was committed, with: "
        f"git checkout HEAD -- {shell_word(str(path))}, then take in what moved with all tests: "
        "pytest --memory-lock-update"
    )
