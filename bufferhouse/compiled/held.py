"""One program that was explained, held against a lock or written there."""

from pathlib import Path

from bufferhouse.compiled.explain import Explained
from bufferhouse.config.threshold import parse_threshold
from bufferhouse.errors import UsageError
from bufferhouse.lock.check import ANY_GROWTH, hold, judge_held
from bufferhouse.lock.entry import Entry, Lock
from bufferhouse.lock.file import Mendable, held, read_lock, read_mendable, updated, write_lock
from bufferhouse.report.lock.text import lock_text

_WAY_IN = "Take it in with: pytest --memory-lock-update, and commit the file with the change."


def held_text(path: Path, explained: Explained, fail_over: str) -> str | None:
    """Return why a program does not pass: it grew, or the file does not hold it or cannot be read; None if it passes.

    Raises:
        UsageError: the limit is none.
    """
    limit = parse_threshold(fail_over) if fail_over else ANY_GROWTH
    try:
        lock = read_lock(path)
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


def write(path: Path, explained: Explained, written: dict[tuple[str, str, int], Entry]) -> None:
    """Write a program into a lock, where it moved; the file is made if there is none.

    `written` are the entries that these tests wrote before. Of several programs of one function and signature the
    largest stays, as of several dumps: the last one would fail each test that takes more.
    """
    entry = explained.entry
    before = written.get(entry.key)
    if before is not None and before.size_order() <= entry.size_order():
        return
    with held(path):
        kept = read_mendable(path) if path.exists() else Mendable([{}])
        write_lock(path, updated(kept, explained.lock))
    written[entry.key] = entry
