"""The manifest of a site, which is a file of it: the fingerprint of what each page shows; and what a build did.

It is read without the modules that make pages, which take half a second to import.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bufferhouse.paths import MODELS, PACKAGE, QUERIES, REPORTS
from bufferhouse.version import __version__

NAME = "manifest.json"
_FORMAT = 1
_DIGITS = 16  # of a fingerprint
GONE = "gone"  # the fingerprint of a page about what is no longer in the warehouse

Progress = Callable[[int, int], None]


@dataclass
class Built:
    """What a build did."""

    page_count: int = 0
    written_count: int = 0
    file_count: int = 0
    written_bytes: int = 0
    is_new: bool = True


@dataclass
class Manifest:
    """The pages of a site, by address: a fingerprint of what each shows, and one of its files.

    `inputs` is the fingerprint of everything from which the last complete build was made. It is empty during a build,
    so that the build after a killed one checks each page. `assets` are the files that pages share, `used` says which of
    them each page needs. `targets` has the compile target of each program whose address names none.
    """

    inputs: str = ""
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    assets: list[str] = field(default_factory=list)
    used: dict[str, list[str]] = field(default_factory=dict)
    targets: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes | None) -> "Manifest":
        """Return the manifest of a site; an empty one, so that all pages are made, if none can be read."""
        try:
            found = json.loads(data or b"{}")
            if found.get("format") != _FORMAT:
                return cls()
            pages = {address: (shown, files) for address, (shown, files) in found["pages"].items()}
            assets = list(found["assets"])
            # Files named here are overwritten or removed: the folder may be shared, and hold files of others.
            if not (all(map(_is_inside, (*pages, *assets))) and all(name.startswith("assets/") for name in assets)):
                return cls()
            used = {address: [assets[place] for place in places] for address, places in found.get("used", {}).items()}
            return cls(found["inputs"], pages, assets, used, dict(found.get("targets", {})))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            return cls()

    def shown(self, address: str) -> str:
        """Return the fingerprint of what the page at an address shows; empty if there is none."""
        return self.pages.get(address, ("", ""))[0]

    def written(self) -> bytes:
        """Return the bytes of the file."""
        assets = sorted(self.assets)
        places = {asset: place for place, asset in enumerate(assets)}
        found = {
            "format": _FORMAT,
            "inputs": self.inputs,
            "assets": assets,
            "used": {address: sorted(places[asset] for asset in used) for address, used in self.used.items()},
            "targets": self.targets,
            "pages": self.pages,
        }
        return json.dumps(found, separators=(",", ":"), sort_keys=True).encode()


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/")


def fingerprint(*things: object) -> str:
    """Return a fingerprint of things that are written the same way whenever they are equal."""
    return hashlib.sha256(repr(things).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def digest(files: Iterable[bytes]) -> str:
    """Return a fingerprint of the files of a page."""
    found = hashlib.sha256()
    for data in files:
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()[:_DIGITS]


@cache
def code() -> str:
    """Return the fingerprint of the code that makes the pages: another release may show figures differently."""
    found = hashlib.sha256(__version__.encode())
    for folder in (PACKAGE / "report", PACKAGE / "compare", REPORTS, QUERIES, MODELS):
        for path in sorted(_files(folder)):
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:_DIGITS]


def _files(folder: Path) -> Iterable[Path]:
    kinds = (".py", ".sql", ".html", ".js", ".css")
    return (path for path in folder.rglob("*") if path.suffix in kinds and path.is_file())
