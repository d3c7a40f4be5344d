"""Build a site: which pages are to be made, in which order they appear, and what stays as it is.

All links of the site work, even if a build is killed. A placeholder is written at each new address before any page
links to it; the figures of a page, and the scripts that it needs, are written before the page; a page is replaced
in one step. The manifest is written every few seconds, so that the next build continues where a killed one stopped.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bufferhouse.report.html.frame import Shared, root_of
from bufferhouse.report.html.page import waiting_page
from bufferhouse.report.site.manifest import NAME, Built, Manifest, Progress, digest
from bufferhouse.report.site.target import Target

INDEX = "index.html"
_PENDING_BYTES = 8 << 20
_BETWEEN_MANIFESTS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Made:
    """A page: its address, its text, and the files beside it by their names below the root."""

    address: str
    text: str
    beside: Mapping[str, bytes] = field(default_factory=dict)


class Shelf(Protocol):
    """Pages of one kind. `wanted` has the fingerprint of what each shows by its address."""

    wanted: Mapping[str, str]

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages with these addresses, in any order."""


class Builder:
    """Writes pages into a target, and before them the files that they need."""

    def __init__(self, target: Target, manifest: Manifest, shared: Shared, progress: Progress | None) -> None:
        self.target, self.manifest, self.shared = target, manifest, shared
        self.built = Built()
        self._progress = progress
        self._pending: list[tuple[Made, str, str]] = []
        self._pending_bytes = 0
        self._saved_at = time.monotonic()
        self._total = self._done = 0

    def build(self, shelves: Sequence[Shelf], inputs: str) -> Built:
        """Bring the site up to date. The shelves are made in their order; the last one links to all others."""
        todo = [
            [address for address, shown in shelf.wanted.items() if self.manifest.shown(address) != shown]
            for shelf in shelves
        ]
        self._total = sum(map(len, todo))
        self.built.page_count = sum(len(shelf.wanted) for shelf in shelves)
        if self._total:
            if not self.manifest.inputs:
                self.target.tidy()
            self.manifest.inputs = ""
            self._save()
            self._hold_places([address for addresses in todo for address in addresses])
        for shelf, addresses in zip(shelves, todo, strict=True):
            for made in shelf.make(addresses) if addresses else ():
                self._add(made, shelf.wanted[made.address])
            self._flush()
        self.manifest.inputs = inputs
        unused = self._unused()
        self.manifest.assets = [name for name in self.manifest.assets if name not in unused]
        self._save()
        self.target.remove(unused)  # last, so that the manifest of a killed build names no missing file
        return self.built

    def _unused(self) -> set[str]:
        """Return the shared files that no page needs; none if pages of an earlier release do not say what they need."""
        if not self.manifest.pages.keys() <= self.manifest.used.keys():
            return set()
        return set(self.manifest.assets) - {name for used in self.manifest.used.values() for name in used}

    def _hold_places(self, addresses: Sequence[str]) -> None:
        """Write a placeholder at each new address; the index first, because the others link to it."""
        new = [address for address in addresses if address not in self.manifest.pages]
        missing = self.target.missing(new)
        missing.sort(key=lambda address: address != INDEX)
        first = [one for one in missing if one == INDEX]
        for group in (first, missing[len(first) :]):
            self._write((address, waiting_page(root_of(address)).encode()) for address in group)

    def _add(self, made: Made, shown: str) -> None:
        files = digest([made.text.encode("utf-8"), *made.beside.values()])
        self._done += 1
        if self._progress:
            self._progress(self._done, self._total)
        if self.manifest.pages.get(made.address, ("", ""))[1] == files:
            self._know(made.address, shown, files)
            return
        self._pending.append((made, shown, files))
        self._pending_bytes += len(made.text) + sum(map(len, made.beside.values()))
        if self._pending_bytes > _PENDING_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write the finished pages: first shared files, then the files beside pages, then the pages."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        shared = [(name, data) for name, data in self.shared.files.items() if name not in self.manifest.assets]
        if pending:
            self._write(shared)
            self.manifest.assets += [name for name, _ in shared]
        self._write(file for made, _, _ in pending for file in made.beside.items())
        self._write((made.address, made.text.encode("utf-8")) for made, _, _ in pending)
        for made, shown, files in pending:
            self._know(made.address, shown, files)
        self.built.written_count += len(pending)
        if pending and time.monotonic() - self._saved_at > _BETWEEN_MANIFESTS_SECONDS:
            self._save()

    def _know(self, address: str, shown: str, files: str) -> None:
        self.manifest.pages[address] = (shown, files)
        self.manifest.used[address] = sorted(self.shared.used.get(address, ()))

    def _save(self) -> None:
        self._write([(NAME, self.manifest.written())])
        self._saved_at = time.monotonic()

    def _write(self, files: Iterable[tuple[str, bytes]]) -> None:
        self.target.write(self._counted(files))

    def _counted(self, files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        for name, data in files:
            self.built.file_count += 1
            self.built.written_bytes += len(data)
            yield name, data
