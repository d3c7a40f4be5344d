"""Source files as a lock names them: the same words on every machine that compiles one checkout."""

import os
from functools import lru_cache
from pathlib import Path, PurePosixPath

_INSTALLED = ("site-packages", "dist-packages")


def folder_in_repository(root: Path) -> str:
    """Return a folder as the git repository that it is in calls it; empty at its top, and outside of any."""
    root = Path(os.path.abspath(root))
    top = next((one for one in (root, *root.parents) if (one / ".git").exists()), root)
    return "" if top == root else root.relative_to(top).as_posix()


class Checkout:
    """The folder that paths of the user's own files are told from: that of the lock."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))
        self.told = lru_cache(maxsize=None)(self._told)

    def _told(self, source: str) -> str:
        """Return a `file:line` with the file as it is called below the root; of installed packages from the package on.

        The dumps may come from another machine: the longest end of the path that is a file below the root is the file.
        """
        path, colon, line = source.rpartition(":")
        if not colon or not line.isdigit():
            path, colon, line = source, "", ""
        parts = PurePosixPath(path).parts
        for at, part in enumerate(parts):
            if part in _INSTALLED:
                return "/".join(parts[at + 1 :]) + colon + line
        own = parts[1:] if path.startswith("/") else parts
        for at in range(len(own)):
            if ".." not in own[at:] and (self._root / Path(*own[at:])).is_file():
                return "/".join(own[at:]) + colon + line
        return path + colon + line
