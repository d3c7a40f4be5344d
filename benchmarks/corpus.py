"""The dumps that benchmarks read: those of the shared corpus where it is there, else the small fleet of the project."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from bufferhouse.paths import CHECKOUT
from bufferhouse.sources.discover import discover, read

CORPUS = CHECKOUT.parent / "shared" / "corpus"
Files = dict[str, bytes]


def dumps_of(*archives: Path) -> list[Files]:
    """Return the distinct dumps of some archives or folders, their files by role."""
    found = discover([str(path) for path in archives])
    distinct = {tuple(files.values()): files for _, files in read(found.dumps) if not isinstance(files, Exception)}
    return list(distinct.values())


def sets() -> Iterator[tuple[str, list[Files]]]:
    """Yield the sets a benchmark runs over, with their names."""
    if not CORPUS.is_dir():
        yield "examples/fleet", dumps_of(CHECKOUT / "examples" / "fleet")
        return
    yield "fleet, distinct contents", dumps_of(*sorted((CORPUS / "fleet").glob("*.tar.gz")))
    yield "large, 3 and 11 MB (D7)", dumps_of(CORPUS / "large" / "large-jaxlib-0.4.30.tar.gz")
    yield "large, 37 MB in three files (D11)", dumps_of(CORPUS / "large" / "large-jaxlib-0.10.2.tar.gz")


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the files of a tar."""
    with tarfile.open(archive) as opened:
        for member in opened:
            if member.isreg():
                yield member.name, opened.extractfile(member).read()
