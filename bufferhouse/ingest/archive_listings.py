"""What archives hold, kept between passes: one that is as it was is not decompressed again to be listed.

Kept is the listing and nothing else: which of the members are known, of which run they are and which are read, each
pass decides anew. The folder may be deleted at any time.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bufferhouse.paths import replacing
from bufferhouse.sources.archive import Archive
from bufferhouse.sources.directory import Entry, Tree
from bufferhouse.version import __version__
from bufferhouse.warehouse import address_of
from bufferhouse.warehouse.open import Place

_FORGOTTEN_AFTER_SECONDS = 30 * 86400
_FRESH_SECONDS = 86400
_FORM = 5  # of what is kept: 5 knows each run.json that is a link


class Listings:
    """Listings of archives in a folder, one file each; where nothing can be written, nothing is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def beside(cls, warehouse: Place) -> "Listings":
        """Return those of the archives that a warehouse is filled from; each host that fills a lake has its own."""
        address = address_of(warehouse)
        return cls(address.folder / f"{address.name.replace('/', '_')}.listings")

    def entries(self, tree: Tree) -> Iterable[Entry]:
        """List the files of a tree; an archive whose path, size and time are as they were is not opened for it.

        A damaged archive is listed anew each time, and so is one in a bucket.
        """
        if not isinstance(tree, Archive) or tree.opened is not None:
            return tree.entries()
        now = _state(tree.path)
        file = self.folder / f"{hashlib.sha256(os.fsencode(os.path.abspath(tree.path))).hexdigest()[:32]}.json"
        kept = _read(file)
        if kept is not None and kept["archive"] == now:
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > _FRESH_SECONDS:
                    os.utime(file)
            return _restored(tree, kept)
        found = list(tree.entries())
        if not (tree.refused or tree.unread) and _state(tree.path) == now:
            with suppress(OSError):
                self._keep(file, {"archive": now, **_told(tree, found)})
        return found

    def _keep(self, file: Path, listing: dict[str, Any]) -> None:
        self.folder.mkdir(exist_ok=True)
        with replacing(file) as new, new.open("w", encoding="utf-8") as opened:
            json.dump(listing, opened)
        limit = time.time() - _FORGOTTEN_AFTER_SECONDS
        for other in self.folder.iterdir():  # of archives that no pass has come by for a month
            if other.stat().st_mtime < limit:
                other.unlink()


def _state(path: str) -> list:
    stat = os.stat(path)
    return [__version__, _FORM, path, stat.st_size, stat.st_mtime_ns]


def _read(file: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and "archive" in kept else None


def _told(archive: Archive, found: list[Entry]) -> dict[str, Any]:
    return {
        "entries": [(one.path, one.size_bytes, one.mtime_ns, one.begins_like_a_dump) for one in found],
        "texts": {path: data.decode("latin-1") for path, data in archive.texts.items()},
        "links": archive.links,
        "ordinals": archive.ordinals,
    }


def _restored(archive: Archive, kept: dict[str, Any]) -> list[Entry]:
    archive.texts = {path: text.encode("latin-1") for path, text in kept["texts"].items()}
    archive.links, archive.ordinals = kept["links"], kept["ordinals"]
    base = archive.base
    return [
        Entry(archive, path, base, size, mtime_ns, begins_like_a_dump=looks)
        for path, size, mtime_ns, looks in kept["entries"]
    ]
