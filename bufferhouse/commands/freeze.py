"""Freeze the marts of a release: `python -m bufferhouse.commands.freeze`."""

import json
import sys
from pathlib import Path

from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.models.freeze import FLEET, LOCK, broken, fingerprints, locked


def main(lock: Path = LOCK) -> int:
    """Add marts that are not in the lock file yet; 1 when one that is there has changed."""
    frozen = locked(lock)
    with in_memory([str(FLEET)]) as con:
        current = fingerprints(con)
    if sentences := broken(current, frozen):
        print("\n".join(sentences), file=sys.stderr)
        return 1
    lock.write_text(json.dumps({**current, **frozen}, indent=1, sort_keys=True) + "\n")
    print(f"{len(current) - len(frozen)} marts frozen, {len(frozen)} were")
    return 0


if __name__ == "__main__":
    sys.exit(main())
