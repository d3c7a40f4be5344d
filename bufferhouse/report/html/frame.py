"""What makes a page one of a site: where it stands, what it leads to, and the files that all pages share."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_DIGITS = 10  # of the hash in a file's name


class Shared:
    """Scripts and styles of a site: each a file named by a hash of what is in it, so that it never changes.

    `used` has the paths of the files that each page needs, by its address.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.used: dict[str, set[str]] = {}
        self._paths: dict[str, str] = {}

    def path(self, name: str, suffix: str, content: Callable[[], str]) -> str:
        """Return the path of a file below the root of the site; `content` is called once for each name."""
        key = f"{name}.{suffix}"
        if key not in self._paths:
            data = content().encode("utf-8")
            digest = hashlib.sha256(data).hexdigest()[:_DIGITS]
            self._paths[key] = f"assets/{name}-{digest}.{suffix}"
            self.files[self._paths[key]] = data
        return self._paths[key]


def beside(address: str, suffix: str) -> str:
    """Return the address of what lies beside a page: its figures (`json`), or these as a script (`js`)."""
    return f"{address.removesuffix('.html')}.{suffix}"


def root_of(address: str) -> str:
    """Return what leads from a page to the root of the site."""
    return "../" * address.count("/")


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of the page at an `address` below the root of the site.

    `place` is the part of the site that it belongs to, `crumbs` are the pages above it with their addresses below the
    root, `scripts` are further scripts beside the page, `said` is said of it in the last line. With `has_figures` its
    figures lie beside it.
    """

    address: str
    place: str
    shared: Shared
    crumbs: Sequence[tuple[str, str]] = ()
    scripts: Sequence[str] = ()
    said: str = ""
    has_figures: bool = True

    @property
    def root(self) -> str:
        """What leads from the page to the root of the site: `../` for each folder."""
        return root_of(self.address)

    @property
    def data(self) -> str:
        """The file of its figures, from the page; empty without any."""
        return beside(self.address, "json").rpartition("/")[2] if self.has_figures else ""

    def keep(self, name: str, suffix: str, content: Callable[[], str]) -> str:
        """Return the address of a shared file, from the page."""
        path = self.shared.path(name, suffix, content)
        self.shared.used.setdefault(self.address, set()).add(path)
        return self.root + path
