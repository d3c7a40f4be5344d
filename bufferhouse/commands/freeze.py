"""Freeze the marts of a release: `python -m bufferhouse.commands.freeze`."""

import json
import sys
from pathlib import Path

from bufferhouse.errors import counted
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.models.freeze import FLEET, LOCK, broken, fingerprints, locked


def main(lock: Path = LOCK) -> int:
    """Freeze the marts of this checkout; return what `release` returns."""
    with in_memory([str(FLEET)]) as con:
        return release(fingerprints(con), lock)


def release(current: dict[str, dict[str, str]], lock: Path) -> int:
    """Add the marts that the lock file lacks; return 1 if a frozen mart has changed."""
    frozen = locked(lock)
    if sentences := broken(current, frozen):
        print("\n".join(sentences), file=sys.stderr)
        return 1
    lock.write_text(json.dumps({**current, **frozen}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{counted(len(current) - len(frozen), 'mart')} frozen; {len(frozen)} were frozen before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
