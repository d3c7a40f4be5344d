"""Where the dumps that benchmarks ingest lie: the shared corpus unpacked, else the small fleet of the project."""

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import CORPUS
from bufferhouse.dump.identity import SUFFIXES
from bufferhouse.paths import CHECKOUT
from tests.samples import unpack

EXAMPLES = CHECKOUT / "examples" / "fleet"


class Places(NamedTuple):
    """Folders of dumps: a fleet with its repeats, its distinct contents alone, large dumps; `scratch` is free to use.

    Without the corpus there is nothing large.
    """

    name: str
    fleet: Path
    distinct: Path
    large: Path | None
    scratch: Path

    @property
    def all(self) -> list[str]:
        """What is stored to see how large a warehouse gets: the fleet, the builds, the large dumps."""
        builds = [path for path in sorted((CORPUS / "builds").glob("*.tar.gz")) if "-hlo." not in path.name]
        return [str(path) for path in (self.fleet, *builds, self.large) if path]


@contextlib.contextmanager
def unpacked() -> Iterator[Places]:
    """Yield the places, in a temporary folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        name, fleet, large = "examples/fleet", EXAMPLES, None
        if CORPUS.is_dir():
            name, fleet, large = "fleet", root / "fleet", root / "large"
            for folder in (fleet, large):
                for archive in sorted((CORPUS / folder.name).glob("*.tar.gz")):
                    unpack(archive, folder)
        _copy_distinct(fleet, root / "distinct")
        (root / "scratch").mkdir()
        yield Places(name, fleet, root / "distinct", large, root / "scratch")


def _copy_distinct(fleet: Path, folder: Path) -> None:
    """Put one file of each content below a folder, under its own path; the files of a split dump stay together."""
    seen = set()
    for path in sorted(path for path in fleet.rglob("*.txt") if path.name.endswith("-buffer-assignment.txt")):
        stem = path.name.removesuffix("-buffer-assignment.txt")
        places = (path.with_name(f"{stem}{suffix}") for suffix in SUFFIXES.values())
        files = [place for place in places if place.exists()]
        content = hashlib.sha256(b"".join(one.read_bytes() for one in files)).digest()
        if content not in seen:
            seen.add(content)
            for one in files:
                target = folder / one.relative_to(fleet)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(one, target)
