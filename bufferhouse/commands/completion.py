"""What a shell proposes behind a verb: runs, programs and questions, from the warehouse or what was kept of it.

To open a warehouse takes as long as all the rest, so its names are kept in the cache as long as it does not change.
Nothing is proposed where it cannot be read: a shell has no place for messages.
"""

import hashlib
import json
from contextlib import suppress

import typer

from bufferhouse.errors import ModelError, SourceUnavailable, UsageError, WarehouseBusy, WarehouseError
from bufferhouse.paths import QUERIES, cache_folder, replacing
from bufferhouse.warehouse.address import Address, FileAddress, address_of

_MOST = 5000  # names of each kind
_WORDS = ("latest", "previous")


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Propose runs, the newest first, and the words for them."""
    return _beginning([*_WORDS, *_names(ctx)["runs"]], incomplete)


def programs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Propose names of programs."""
    return _beginning(_names(ctx)["programs"], incomplete)


def questions(incomplete: str) -> list[str]:
    """Propose questions of the cookbook."""
    return _beginning(sorted(path.stem for path in QUERIES.glob("*.sql")), incomplete)


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _names(ctx: typer.Context) -> dict[str, list[str]]:
    with suppress(UsageError, WarehouseError, WarehouseBusy, SourceUnavailable, ModelError, OSError):
        given = ctx.params.get("warehouse")
        return _kept(given if isinstance(given, Address) else address_of(given))
    return {"runs": [], "programs": []}


def _kept(place: Address) -> dict[str, list[str]]:
    if not isinstance(place, FileAddress):
        return _read(place)
    try:
        path = cache_folder() / f"names-{hashlib.sha256(place.key.encode()).hexdigest()[:16]}.json"
    except RuntimeError:  # the user has no home directory
        return _read(place)
    about = place.file.stat()
    state = [place.key, about.st_size, about.st_mtime_ns]
    with suppress(OSError, ValueError, KeyError):
        held = json.loads(path.read_text(encoding="utf-8"))
        if held["state"] == state:
            return held["names"]
    names = _read(place)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as new:
            new.write_text(json.dumps({"state": state, "names": names}), encoding="utf-8")
    return names


def _read(place: Address) -> dict[str, list[str]]:
    from bufferhouse.warehouse.open import reading

    with reading(place) as warehouse:
        asked = {
            "runs": "SELECT run_name FROM staging.runs ORDER BY started_at DESC, natural_name DESC",
            "programs": "SELECT DISTINCT program_name FROM staging.observations ORDER BY program_name",
        }
        return {
            kind: [name for (name,) in warehouse.con.execute(f"{sql} LIMIT {_MOST}").fetchall() if _is_plain(name)]
            for kind, sql in asked.items()
        }


def _is_plain(name: str) -> bool:
    """Return whether a shell takes a name as it is; others are not proposed: whoever wrote the dumps chose them."""
    return all(char.isalnum() or char in "._-+/:@%" for char in name)
